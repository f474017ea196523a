"""ProjectionService, where the vectors do not look: views on demand, failures, cells."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.duration_pb2 import Duration
from sidecall.v1 import call_outcome_pb2 as outcome_pb
from sidecall.v1 import projection_service_pb2 as pb
from sidecall.v1 import tool_call_pb2 as call_pb
from sidecall.v1 import tool_output_pb2 as output_pb

from tests.rpc.live import Live

_DIRECT = call_pb.ToolCallSource(direct=call_pb.DirectSource())
_NESTED = call_pb.ToolCallSource(code_mode=call_pb.CodeModeSource(cell_id="cell"))
_CUSTOM = call_pb.ToolPayload(custom=call_pb.CustomPayload(input=b"x"))
_SEARCH = call_pb.ToolPayload(tool_search=call_pb.ToolSearchPayload(query="q", limit=3))


def _call(**changes: Any) -> call_pb.ToolCall:
    fields: dict[str, Any] = {
        "call_id": "c",
        "tool_name": call_pb.ToolName(name="tool", namespace="ns::"),
        "payload": call_pb.ToolPayload(function=call_pb.FunctionPayload(arguments=b"{}")),
    }
    return call_pb.ToolCall(**{**fields, **changes})


def _text(text: bytes) -> output_pb.ContentItem:
    return output_pb.ContentItem(input_text=output_pb.InputText(text=text))


async def _project(live: Live, views: list[output_pb.View.ValueType] | None, **output: Any) -> Any:
    request = pb.ProjectToolOutputRequest(
        call=_call(),
        output=output_pb.ToolOutput(**output),
        views=None if views is None else output_pb.ViewSelection(views=views),
    )
    return (await live.projection.ProjectToolOutput(request)).projections


@pytest.mark.parametrize(
    ("view", "field"),
    [
        (output_pb.VIEW_LOG, "log"),
        (output_pb.VIEW_RESPONSE_ITEM, "response_item"),
        (output_pb.VIEW_RESPONSE_ITEM_JSON, "response_item_json"),
        (output_pb.VIEW_HOOK, "hook"),
        (output_pb.VIEW_CODE_MODE, "code_mode_json"),
    ],
)
async def test_only_the_view_that_is_asked_for_comes(
    live: Live, view: output_pb.View.ValueType, field: str
) -> None:
    views = await _project(live, [view], json=output_pb.JsonOutput(value_json=b"1", success=False))
    every = {"log", "response_item", "response_item_json", "hook", "code_mode_json"}
    assert {name for name in every if views.HasField(name)} == {field}
    assert views.success_for_logging is False


async def test_a_selection_without_views_gives_none(live: Live) -> None:
    views = await _project(live, [], json=output_pb.JsonOutput(value_json=b"1"))
    assert {field.name for field, _ in views.ListFields()} == {"success_for_logging"}


async def test_the_typed_item_says_the_same_as_its_json(live: Live) -> None:
    image = output_pb.InputImage(image_url=b"u", detail=output_pb.IMAGE_DETAIL_LOW)
    content = [
        _text(b"t"),
        output_pb.ContentItem(input_image=image),
        output_pb.ContentItem(input_image=output_pb.InputImage(image_url=b"v")),
        output_pb.ContentItem(input_audio=output_pb.InputAudio(audio_url=b"a")),
        output_pb.ContentItem(encrypted_content=output_pb.EncryptedContent(encrypted_content=b"e")),
    ]
    views = await _project(
        live, None, function=output_pb.FunctionOutput(content=content, success=False)
    )
    item = views.response_item.function_call_output
    assert list(item.output.items.items) == content
    assert (item.call_id, item.success, views.response_success) == ("c", False, False)
    assert views.response_item_json == (
        b'{"type":"function_call_output","call_id":"c","output":['
        b'{"type":"input_text","text":"t"},'
        b'{"type":"input_image","image_url":"u","detail":"low"},'
        b'{"type":"input_image","image_url":"v"},'
        b'{"type":"input_audio","audio_url":"a"},'
        b'{"type":"encrypted_content","encrypted_content":"e"}]}'
    )


async def test_a_success_that_was_not_said_stays_unsaid(live: Live) -> None:
    views = await _project(live, None, function=output_pb.FunctionOutput(content=[_text(b"t")]))
    assert not views.HasField("response_success")
    assert not views.response_item.function_call_output.HasField("success")
    assert views.success_for_logging


async def test_an_mcp_result_as_it_is_has_an_item_of_its_own(live: Live) -> None:
    raw = output_pb.McpRawOutput(result_json=b'{"content": [], "isError": false}')
    item = (await _project(live, None, mcp_raw=raw)).response_item.mcp_tool_call_output
    assert (item.call_id, item.output_json) == ("c", b'{"content":[],"isError":false}')


_FAILURES: list[tuple[dict[str, Any], str, bool]] = [
    ({"respond_to_model": b"no\xff"}, "no\ufffd", False),
    ({"fatal": b"dead"}, "dead", True),
    ({"unhandled": b"boom"}, "tool task failed to receive: boom", True),
    ({"unknown_tool": pb.UnknownTool()}, "unsupported call: ns::tool", False),
    (
        {"payload_mismatch": pb.PayloadMismatch()},
        "tool ns::tool invoked with incompatible payload",
        True,
    ),
]


@pytest.mark.parametrize(("failure", "message", "fatal"), _FAILURES)
async def test_a_direct_failure_answers_the_call_or_ends_the_turn(
    live: Live, failure: dict[str, Any], message: str, fatal: bool
) -> None:
    answer = await live.projection.ProjectToolFailure(
        pb.ProjectToolFailureRequest(call=_call(source=_DIRECT), **failure)
    )
    assert answer.message == message
    assert answer.ends_turn is fatal
    assert answer.HasField("projections") is not fatal
    assert not answer.HasField("script_error")
    if not fatal:
        item = answer.projections.response_item.function_call_output
        assert (item.output.text.decode(), item.success) == (message, False)


@pytest.mark.parametrize(("failure", "message", "fatal"), _FAILURES)
async def test_a_nested_failure_is_a_script_s_exception(
    live: Live, failure: dict[str, Any], message: str, fatal: bool
) -> None:
    answer = await live.projection.ProjectToolFailure(
        pb.ProjectToolFailureRequest(call=_call(source=_NESTED), **failure)
    )
    assert answer.message == message
    assert answer.script_error == (f"Fatal error: {message}" if fatal else message)
    assert not answer.ends_turn
    assert not answer.HasField("projections")


async def test_a_failed_search_loses_its_message_and_an_unknown_custom_tool_says_so(
    live: Live,
) -> None:
    search = await live.projection.ProjectToolFailure(
        pb.ProjectToolFailureRequest(call=_call(payload=_SEARCH), respond_to_model=b"lost")
    )
    item = search.projections.response_item.tool_search_output
    assert (item.status, item.execution, list(item.tools_json)) == ("completed", "client", [])
    custom = await live.projection.ProjectToolFailure(
        pb.ProjectToolFailureRequest(call=_call(payload=_CUSTOM), unknown_tool=pb.UnknownTool())
    )
    assert custom.message == "unsupported custom tool call: ns::tool"
    assert custom.projections.response_item.HasField("custom_tool_call_output")


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (outcome_pb.ABORT_REASON_CANCELLED, "aborted by user after 1.2s"),
        (outcome_pb.ABORT_REASON_TIMED_OUT, "timed out after 1.2s"),
        (
            outcome_pb.ABORT_REASON_SESSION_LOST,
            "aborted after 1.2s: the agent's connection was lost",
        ),
        (outcome_pb.ABORT_REASON_DRAINED, "aborted after 1.2s: the sidecar is shutting down"),
        (
            outcome_pb.ABORT_REASON_TURN_FATAL,
            "aborted after 1.2s: the turn ended with a fatal error",
        ),
    ],
)
@pytest.mark.parametrize("source", [_DIRECT, _NESTED], ids=["direct", "nested"])
async def test_an_aborted_call_gets_an_output_and_no_error(
    live: Live, reason: outcome_pb.AbortReason.ValueType, text: str, source: call_pb.ToolCallSource
) -> None:
    elapsed = Duration(seconds=1, nanos=250_000_000)
    answer = await live.projection.ProjectToolFailure(
        pb.ProjectToolFailureRequest(
            call=_call(source=source), aborted=pb.AbortedCall(reason=reason, elapsed=elapsed)
        )
    )
    assert answer.message == text
    assert not answer.HasField("script_error")
    views = answer.projections
    assert views.response_item.function_call_output.output.text.decode() == text
    assert not views.HasField("response_success")
    assert views.success_for_logging is False


async def test_an_abort_shows_a_tenth_of_a_second_at_least(live: Live) -> None:
    answer = await live.projection.ProjectToolFailure(
        pb.ProjectToolFailureRequest(
            call=_call(tool_name=call_pb.ToolName(name="shell_command")),
            aborted=pb.AbortedCall(reason=outcome_pb.ABORT_REASON_CANCELLED),
        )
    )
    assert answer.message == "Wall time: 0.1 seconds\naborted by user"


@pytest.mark.parametrize(
    ("status", "line", "success"),
    [
        ({"running_cell_id": "7"}, "Script running with cell ID 7", True),
        ({"terminated": pb.CellTerminated()}, "Script terminated", True),
        ({"completed": pb.CellCompleted()}, "Script completed", True),
        ({"script_error": b"boom"}, "Script failed", False),
    ],
)
async def test_a_cell_s_output_begins_with_how_it_stands(
    live: Live, status: dict[str, Any], line: str, success: bool
) -> None:
    answer = await live.projection.ProjectCellResult(
        pb.ProjectCellResultRequest(
            call=_call(payload=_CUSTOM),
            content=[_text(b"out")],
            wall_time=Duration(seconds=2, nanos=50_000_000),
            **status,
        )
    )
    item = answer.projections.response_item.custom_tool_call_output
    texts = [part.input_text.text.decode() for part in item.output.items.items]
    assert texts[0].startswith(f"{line}\nWall time 2.")
    assert texts[1] == "out"
    assert texts[2:] == ([] if success else ["Script error:\nboom"])
    assert answer.projections.response_success is success


async def test_a_cell_s_output_keeps_to_its_tokens_and_its_views(live: Live) -> None:
    answer = await live.projection.ProjectCellResult(
        pb.ProjectCellResultRequest(
            call=_call(payload=_CUSTOM),
            content=[_text(b"x" * 100)],
            completed=pb.CellCompleted(),
            max_output_tokens=1,
            views=output_pb.ViewSelection(views=[output_pb.VIEW_LOG]),
        )
    )
    assert "Warning: truncated output" in answer.projections.log.preview
    assert not answer.projections.HasField("response_item")


async def test_feedback_is_read_by_the_model_alone(live: Live) -> None:
    answer = await live.projection.ProjectToolOutput(
        pb.ProjectToolOutputRequest(
            call=_call(),
            output=output_pb.ToolOutput(json=output_pb.JsonOutput(value_json=b"[1]")),
            feedback=b"rather not\xff",
        )
    )
    views = answer.projections
    assert views.response_item.function_call_output.output.text.decode() == "rather not\ufffd"
    assert views.code_mode_json == b"[1]"
    assert views.log.preview == "[1]"
