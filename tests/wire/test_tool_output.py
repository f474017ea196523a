"""Outputs come in whole; no view goes out that nobody asked for (R6)."""

from __future__ import annotations

import pytest
from sidecall.v1 import tool_output_pb2 as pb
from sidecall_server.domain.errors import InvalidArgument
from sidecall_server.domain.hooks import HookKind
from sidecall_server.domain.outputs import (
    ExecCommandOutput,
    FunctionOutput,
    JsonOutput,
    McpOutput,
    ToolOutput,
)
from sidecall_server.domain.projection import Projection
from sidecall_server.domain.session_options import View
from sidecall_server.domain.truncation import BytesPolicy, TokensPolicy
from sidecall_server.domain.values import FunctionPayload, ToolCall, ToolName
from sidecall_server.wire.tool_output import (
    read_tool_output,
    read_views,
    write_projections,
)

_CALL = ToolCall("c", ToolName("t"), FunctionPayload('{"command":"ls"}'))
_POLICY = pb.TruncationPolicy(tokens=5)


def _read(**output: object) -> ToolOutput:
    return read_tool_output(pb.ToolOutput(**output), "output")  # type: ignore[arg-type]


def test_what_is_optional_and_absent_is_not_zero() -> None:
    read = _read(exec_command=pb.ExecCommandOutput(truncation_policy=_POLICY)).output
    assert read == ExecCommandOutput(b"", TokensPolicy(5))


def test_what_is_optional_and_zero_is_not_absent() -> None:
    message = pb.ExecCommandOutput(
        truncation_policy=pb.TruncationPolicy(bytes=0),
        max_output_tokens=0,
        process_id=0,
        exit_code=0,
        original_token_count=0,
        output_omitted_bytes=0,
        hook_command=b"",
    )
    assert _read(exec_command=message).output == ExecCommandOutput(
        b"",
        BytesPolicy(0),
        max_output_tokens=0,
        process_id=0,
        exit_code=0,
        original_token_count=0,
        output_omitted_bytes=0,
        hook_command="",
    )


def test_bytes_of_a_command_are_kept_as_they_are() -> None:
    message = pb.ExecCommandOutput(output=b"\xff\x00", truncation_policy=_POLICY)
    read = _read(exec_command=message).output
    assert isinstance(read, ExecCommandOutput)
    assert read.output == b"\xff\x00"


@pytest.mark.parametrize("success", [None, True, False])
def test_a_success_that_is_not_said_is_none_for_every_kind(success: bool | None) -> None:
    function = _read(function=pb.FunctionOutput(success=success)).output
    value = _read(json=pb.JsonOutput(value_json=b"1", success=success)).output
    assert isinstance(function, FunctionOutput)
    assert isinstance(value, JsonOutput)
    assert function.success is success
    assert value.success is success


def test_an_mcp_output_without_input_was_called_without_arguments() -> None:
    message = pb.McpOutput(result_json=b'{"content":[]}', truncation_policy=_POLICY)
    read = _read(mcp=message).output
    assert isinstance(read, McpOutput)
    assert read.tool_input_json == "{}"


@pytest.mark.parametrize("flag", [True, False])
def test_external_context_is_said_beside_the_output(flag: bool) -> None:
    json = pb.JsonOutput(value_json=b"1")
    assert _read(json=json, contains_external_context=flag).contains_external_context is flag


def test_a_selection_names_each_view_once() -> None:
    selection = pb.ViewSelection(views=[pb.VIEW_HOOK, pb.VIEW_LOG, pb.VIEW_HOOK])
    assert read_views(selection, "views") == (View.HOOK, View.LOG)


def test_a_view_that_is_none_is_refused_by_its_position() -> None:
    with pytest.raises(InvalidArgument) as caught:
        read_views(pb.ViewSelection(views=[pb.VIEW_LOG, pb.VIEW_UNSPECIFIED]), "wanted")
    assert caught.value.violations[0].field == "wanted.views[1]"


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("views", "computed"),
    [
        ((), set()),
        ((View.LOG,), {"log_preview"}),
        ((View.CODE_MODE,), {"code_mode_json"}),
        ((View.RESPONSE_ITEM,), {"response_item"}),
        ((View.RESPONSE_ITEM_JSON,), {"response_item", "response_item_json"}),
    ],
)
def test_no_view_is_computed_that_nobody_asked_for(
    views: tuple[View, ...], computed: set[str]
) -> None:
    projection = Projection(_CALL, ToolOutput(JsonOutput("1")))
    write_projections(projection, views)
    lazy = {"log_preview", "code_mode_json", "response_item", "response_item_json"}
    assert lazy & vars(projection).keys() == computed


@pytest.mark.parametrize(
    ("kind", "name"),
    [(HookKind.DEFAULT, "t"), (HookKind.SHELL, "Bash"), (HookKind.MCP, "mcp__t")],
)
def test_the_hook_view_is_that_of_the_tool_s_hook_kind(kind: HookKind, name: str) -> None:
    projection = Projection(_CALL, ToolOutput(JsonOutput("1")))
    assert write_projections(projection, (View.HOOK,), kind).hook.tool_name == name


def test_a_tool_that_no_hook_hears_of_has_no_hook_view() -> None:
    projection = Projection(_CALL, ToolOutput(JsonOutput("1")))
    assert not write_projections(projection, (View.HOOK,), HookKind.NONE).HasField("hook")
