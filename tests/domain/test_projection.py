"""SPEC A5, A6, B, D7-D9, F5, F9: the views of an output, where no vector says it."""

from __future__ import annotations

import pytest
from sidecall_server.domain.content import ImageDetail, InputAudio, InputImage, InputText
from sidecall_server.domain.hooks import HookKind
from sidecall_server.domain.mcp_result import McpResult
from sidecall_server.domain.outputs import (
    AbortedOutput,
    AnyOutput,
    ApplyPatchOutput,
    FunctionOutput,
    JsonOutput,
    McpOutput,
    McpRawOutput,
    ToolOutput,
    ToolSearchOutput,
)
from sidecall_server.domain.projection import FailureProjection, Projection
from sidecall_server.domain.response_item import (
    CustomToolCallOutput,
    FunctionCallOutput,
    McpToolCallOutput,
    ToolSearchCallOutput,
)
from sidecall_server.domain.truncation import BytesPolicy
from sidecall_server.domain.values import (
    CustomPayload,
    FunctionPayload,
    ToolCall,
    ToolName,
    ToolPayload,
    ToolSearchPayload,
)

FUNCTION = FunctionPayload('{"a": 1}')
CUSTOM = CustomPayload("patch")
SEARCH = ToolSearchPayload("q")
WIDE = BytesPolicy(10_000)
IMAGE_RESULT = '{"content":[{"type":"image","data":"data:i","_meta":{"codex/imageDetail":"%s"}}]}'


def project(
    output: AnyOutput, payload: ToolPayload = FUNCTION, feedback: str | None = None
) -> Projection:
    return Projection(ToolCall("c1", ToolName("t", "ns"), payload), ToolOutput(output), feedback)


@pytest.mark.parametrize(
    ("payload", "item"),
    [
        (FUNCTION, FunctionCallOutput("c1", "m", None)),
        (CUSTOM, CustomToolCallOutput("c1", "m", None)),
        (SEARCH, ToolSearchCallOutput("c1", ())),
    ],
)
def test_an_aborted_output_answers_in_the_call_s_own_kind(
    payload: ToolPayload, item: object
) -> None:
    projection = project(AbortedOutput("m"), payload)
    assert projection.response_item == item
    assert (projection.success_for_logging, projection.response_success) == (False, None)
    assert projection.log_preview == "m"


@pytest.mark.parametrize("payload", [FUNCTION, CUSTOM, SEARCH])
def test_an_mcp_output_is_a_function_output_for_every_kind(payload: ToolPayload) -> None:
    output = McpOutput(McpResult.parse('{"content":[]}'), WIDE)
    assert isinstance(project(output, payload).response_item, FunctionCallOutput)


@pytest.mark.parametrize(
    ("supported", "given", "shown"),
    [
        (False, "original", ImageDetail.HIGH),
        (True, "original", ImageDetail.ORIGINAL),
        (False, "low", ImageDetail.LOW),
    ],
)
def test_an_image_has_no_original_detail_where_the_model_takes_none(
    supported: bool, given: str, shown: ImageDetail
) -> None:
    output = McpOutput(
        McpResult.parse(IMAGE_RESULT % given), WIDE, original_image_detail_supported=supported
    )
    assert project(output).response_item == FunctionCallOutput(
        "c1",
        (InputText("Wall time: 0.0000 seconds\nOutput:"), InputImage("data:i", shown)),
        success=True,
    )


def test_a_raw_mcp_result_keeps_its_original_detail() -> None:
    item = project(McpRawOutput(McpResult.parse(IMAGE_RESULT % "original"))).response_item
    assert isinstance(item, McpToolCallOutput)
    assert item.to_history() == FunctionCallOutput(
        "c1", (InputImage("data:i", ImageDetail.ORIGINAL),), success=True
    )


def test_a_raw_mcp_result_without_text_logs_its_items() -> None:
    result = McpResult.parse('{"content":[{"type":"audio","data":"data:a"}]}')
    projection = project(McpRawOutput(result))
    assert projection.log_preview == '[{"type":"input_audio","audio_url":"data:a"}]'


def test_sound_in_an_mcp_output_costs_of_the_widened_budget() -> None:
    result = McpResult.parse('{"content":[{"type":"audio","data":"data:%s"}]}' % ("a" * 35))
    header = InputText("Wall time: 0.0000 seconds\nOutput:")
    fits, exceeds = McpOutput(result, BytesPolicy(61)), McpOutput(result, BytesPolicy(60))
    sound = InputAudio("data:" + "a" * 35)
    omitted = InputText("[omitted 1 audio items ...]")
    assert project(fits).response_item == FunctionCallOutput("c1", (header, sound), True)
    assert project(exceeds).response_item == FunctionCallOutput("c1", (header, omitted), True)


def test_the_body_of_an_mcp_call_is_not_truncated_in_history() -> None:
    result = McpResult.parse('{"content":[],"isError":true}')
    assert McpToolCallOutput("c1", result).to_history() == FunctionCallOutput("c1", "[]", False)


@pytest.mark.parametrize(
    ("output", "payload", "success"),
    [
        (FunctionOutput(success=None), FUNCTION, True),
        (FunctionOutput(success=False), FUNCTION, False),
        (JsonOutput("1", None), FUNCTION, True),
        (JsonOutput("1", False), FUNCTION, False),
        (JsonOutput("1"), FUNCTION, True),
        (ApplyPatchOutput("p"), CUSTOM, True),
        (ToolSearchOutput(), SEARCH, True),
        (AbortedOutput("m"), FUNCTION, False),
        (McpRawOutput(McpResult.parse('{"content":[],"isError":true}')), FUNCTION, False),
    ],
)
def test_the_log_s_success_is_never_unknown(
    output: AnyOutput, payload: ToolPayload, success: bool
) -> None:
    assert project(output, payload).success_for_logging is success


def test_feedback_takes_the_output_s_place_for_the_model_alone() -> None:
    projection = project(JsonOutput('{"a":1}', success=False)).with_feedback("no")
    assert projection.response_item == FunctionCallOutput("c1", "no", None)
    assert (projection.log_preview, projection.code_mode_json) == ('{"a":1}', '{"a":1}')
    assert projection.success_for_logging is False


@pytest.mark.parametrize(
    ("payload", "kind"),
    [
        (FUNCTION, FunctionCallOutput),
        (CUSTOM, CustomToolCallOutput),
        (SEARCH, FunctionCallOutput),
    ],
)
def test_feedback_is_a_text_output(payload: ToolPayload, kind: type) -> None:
    item = project(ToolSearchOutput(("{}",)), payload, feedback="no").response_item
    assert item == kind("c1", "no", None)


def test_feedback_computes_nothing_anew() -> None:
    original = project(FunctionOutput((InputText("x"),)))
    heard = original.hook_payload()
    assert original.with_feedback("no").hook_payload() == heard
    assert original.response_item == FunctionCallOutput("c1", "x", None)


def test_external_context_is_the_output_s_own() -> None:
    call = ToolCall("c1", ToolName("t"), FUNCTION)
    projection = Projection(call, ToolOutput(JsonOutput("1"), contains_external_context=True))
    assert projection.contains_external_context
    assert projection.with_feedback("no").contains_external_context


@pytest.mark.interpreted
def test_a_view_that_nobody_asks_for_is_not_computed() -> None:
    projection = project(FunctionOutput((InputText("x"),)))
    assert projection.success_for_logging
    assert not {"response_item", "log_preview"} & (
        projection.__dict__.keys() | projection._views.__dict__.keys()
    )


@pytest.mark.parametrize(
    ("output", "payload", "kind", "heard"),
    [
        (
            JsonOutput("[1]"),
            FUNCTION,
            HookKind.MCP,
            ("mcp__ns__t", '{"a":1}', "[1]"),
        ),
        (
            McpOutput(McpResult.parse('{"content":[],"_meta":{"k":1}}'), WIDE, '{"b":2}'),
            FUNCTION,
            HookKind.MCP,
            ("mcp__ns__t", '{"b":2}', '{"content":[],"_meta":{"k":1}}'),
        ),
        (
            FunctionOutput((InputText("x"),)),
            FunctionPayload('{"command":["ls","a b"]}'),
            HookKind.SHELL,
            ("Bash", '{"command":"ls \'a b\'"}', '"x"'),
        ),
        (
            ApplyPatchOutput("done"),
            CUSTOM,
            HookKind.APPLY_PATCH,
            ("apply_patch", '{"command":"patch"}', '"done"'),
        ),
        (FunctionOutput((InputText("x"),)), CUSTOM, HookKind.APPLY_PATCH, None),
        (JsonOutput("1"), FUNCTION, HookKind.NONE, None),
        (JsonOutput("1"), FUNCTION, HookKind.SHELL, None),
        (JsonOutput("1"), CUSTOM, HookKind.DEFAULT, None),
        (JsonOutput("1"), SEARCH, HookKind.DEFAULT, None),
        (ToolSearchOutput(), FUNCTION, HookKind.DEFAULT, None),
        (McpRawOutput(McpResult.parse('{"content":[]}')), FUNCTION, HookKind.DEFAULT, None),
    ],
)
def test_a_post_hook_hears_what_the_tool_s_kind_says(
    output: AnyOutput,
    payload: ToolPayload,
    kind: HookKind,
    heard: tuple[str, str, str] | None,
) -> None:
    seen = project(output, payload).post_tool_use(kind)
    assert (seen and (seen.tool_name, seen.tool_input_json, seen.tool_response_json)) == heard


@pytest.mark.parametrize(
    ("payload", "item_json", "success"),
    [
        (FUNCTION, '{"type":"function_call_output","call_id":"c1","output":"no"}', False),
        (CUSTOM, '{"type":"custom_tool_call_output","call_id":"c1","output":"no"}', False),
        (
            SEARCH,
            '{"type":"tool_search_output","call_id":"c1","status":"completed",'
            '"execution":"client","tools":[]}',
            None,
        ),
    ],
)
def test_a_failed_call_shows_its_message_to_the_model(
    payload: ToolPayload, item_json: str, success: bool | None
) -> None:
    projection = FailureProjection(ToolCall("c1", ToolName("t"), payload), "no")
    assert projection.response_item_json == item_json
    assert projection.response_success is success
    assert (projection.log_preview, projection.success_for_logging) == ("no", False)
    assert not projection.contains_external_context


def test_no_hook_hears_of_a_failed_call() -> None:
    projection = FailureProjection(ToolCall("c1", ToolName("t"), FUNCTION), "no")
    assert projection.hook_payload() is None
    assert projection.post_tool_use(HookKind.DEFAULT) is None
