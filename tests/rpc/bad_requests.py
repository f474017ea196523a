"""Requests that are refused for what a field holds, as a table."""

from __future__ import annotations

from typing import Any, NamedTuple

from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from sidecall.v1 import call_outcome_pb2 as outcome_pb
from sidecall.v1 import projection_service_pb2 as projection_pb
from sidecall.v1 import recorder_service_pb2 as recorder_pb
from sidecall.v1 import runtime_service_pb2 as runtime_pb
from sidecall.v1 import runtime_stream_pb2 as stream_pb
from sidecall.v1 import session_service_pb2 as session_pb
from sidecall.v1 import tool_call_pb2 as call_pb
from sidecall.v1 import tool_output_pb2 as output_pb


def tool_call(**changes: Any) -> call_pb.ToolCall:
    fields: dict[str, Any] = {
        "call_id": "c",
        "turn_id": "t",
        "tool_name": call_pb.ToolName(name="tool"),
        "payload": call_pb.ToolPayload(function=call_pb.FunctionPayload(arguments=b"{}")),
    }
    return call_pb.ToolCall(**{**fields, **changes})


def _record(**changes: Any) -> recorder_pb.RecordToolCallRequest:
    return recorder_pb.RecordToolCallRequest(session_id="s", call=tool_call(**changes))


def attach(**changes: Any) -> recorder_pb.AttachExecutedToolCallsRequest:
    fields: dict[str, Any] = {"session_id": "s", "sampling_request_id": "r"}
    return recorder_pb.AttachExecutedToolCallsRequest(**{**fields, **changes})


def output(**output: Any) -> projection_pb.ProjectToolOutputRequest:
    return projection_pb.ProjectToolOutputRequest(
        call=tool_call(), output=output_pb.ToolOutput(**output)
    )


def _json(value: bytes) -> projection_pb.ProjectToolOutputRequest:
    return output(json=output_pb.JsonOutput(value_json=value))


def exec_command(**changes: Any) -> projection_pb.ProjectToolOutputRequest:
    fields: dict[str, Any] = {"truncation_policy": output_pb.TruncationPolicy(bytes=1)}
    return output(exec_command=output_pb.ExecCommandOutput(**{**fields, **changes}))


def _mcp(**changes: Any) -> projection_pb.ProjectToolOutputRequest:
    fields: dict[str, Any] = {
        "result_json": b'{"content":[]}',
        "truncation_policy": output_pb.TruncationPolicy(bytes=1),
    }
    return output(mcp=output_pb.McpOutput(**{**fields, **changes}))


def content(*items: output_pb.ContentItem) -> projection_pb.ProjectToolOutputRequest:
    return output(function=output_pb.FunctionOutput(content=items))


def _create(**options: Any) -> session_pb.CreateSessionRequest:
    return session_pb.CreateSessionRequest(options=session_pb.SessionOptions(**options))


def _cell(**changes: Any) -> projection_pb.ProjectCellResultRequest:
    fields: dict[str, Any] = {"call": tool_call(), "completed": projection_pb.CellCompleted()}
    return projection_pb.ProjectCellResultRequest(**{**fields, **changes})


def _failure(**failure: Any) -> projection_pb.ProjectToolFailureRequest:
    return projection_pb.ProjectToolFailureRequest(call=tool_call(), **failure)


def _cancel(**target: Any) -> runtime_pb.CancelToolCallRequest:
    return runtime_pb.CancelToolCallRequest(session_id="s", target=stream_pb.CancelTarget(**target))


def _outline(*entries: runtime_pb.OutlineEntry) -> runtime_pb.NormalizePromptRequest:
    return runtime_pb.NormalizePromptRequest(entries=entries)


class Case(NamedTuple):
    """A request that is refused for what its fields hold."""

    name: str
    request: Message
    reason: str
    fields: list[str]


_TEXT = output_pb.ContentItem(input_text=output_pb.InputText(text=b"fine"))
_FUNCTION = output_pb.FunctionOutput

CASES = [
    Case("no session id", session_pb.GetSessionRequest(), "MISSING_FIELD", ["session_id"]),
    Case("no session to end", session_pb.DeleteSessionRequest(), "MISSING_FIELD", ["session_id"]),
    Case(
        "a session id of 513 bytes",
        session_pb.CreateSessionRequest(session_id="é" * 256 + "x"),
        "INVALID_FIELD",
        ["session_id"],
    ),
    Case(
        "a long display name",
        _create(display_name="x" * 513),
        "INVALID_FIELD",
        ["options.display_name"],
    ),
    Case(
        "an unknown post hook block",
        _create(post_hook_block=9),
        "UNKNOWN_ENUM_VALUE",
        ["options.post_hook_block"],
    ),
    Case(
        "an unknown tool mode",
        _create(tool_mode=session_pb.ToolModeOptions(model_tool_mode=77)),  # type: ignore[arg-type]
        "UNKNOWN_ENUM_VALUE",
        ["options.tool_mode.model_tool_mode"],
    ),
    Case(
        "views that are none",
        _create(
            direct_views=output_pb.ViewSelection(views=[output_pb.VIEW_LOG, 0, 99]),  # type: ignore[list-item]
        ),
        "INVALID_FIELD",
        ["options.direct_views.views[1]", "options.direct_views.views[2]"],
    ),
    Case(
        "a turn without an id",
        session_pb.EndTurnRequest(session_id="s"),
        "MISSING_FIELD",
        ["turn_id"],
    ),
    Case(
        "a page token of nobody",
        session_pb.ListSessionsRequest(page_token="x"),
        "INVALID_FIELD",
        ["page_token"],
    ),
    Case(
        "no call at all",
        recorder_pb.RecordToolCallRequest(session_id="s"),
        "MISSING_FIELD",
        ["call.call_id", "call.tool_name", "call.payload"],
    ),
    Case("an empty call id", _record(call_id=""), "MISSING_FIELD", ["call.call_id"]),
    Case("a long call id", _record(call_id="x" * 513), "INVALID_FIELD", ["call.call_id"]),
    Case("a long turn id", _record(turn_id="x" * 513), "INVALID_FIELD", ["call.turn_id"]),
    Case(
        "a long tool name and namespace",
        _record(tool_name=call_pb.ToolName(name="x" * 8193, namespace="x" * 8193)),
        "INVALID_FIELD",
        ["call.tool_name.name", "call.tool_name.namespace"],
    ),
    Case(
        "a payload of no kind",
        _record(payload=call_pb.ToolPayload()),
        "MISSING_FIELD",
        ["call.payload"],
    ),
    Case(
        "arguments that are not UTF-8",
        _record(
            payload=call_pb.ToolPayload(function=call_pb.FunctionPayload(arguments=b'{"a":"\xff"}'))
        ),
        "INVALID_UTF8",
        ["call.payload.function.arguments"],
    ),
    Case(
        "custom input that is not UTF-8",
        _record(payload=call_pb.ToolPayload(custom=call_pb.CustomPayload(input=b"\xc3"))),
        "INVALID_UTF8",
        ["call.payload.custom.input"],
    ),
    Case(
        "a script's call without its cell",
        _record(source=call_pb.ToolCallSource(code_mode=call_pb.CodeModeSource())),
        "MISSING_FIELD",
        ["call.source.code_mode.cell_id"],
    ),
    Case(
        "an unknown mode of a turn",
        recorder_pb.RecordToolCallRequest(
            session_id="s",
            call=tool_call(),
            turn_options=session_pb.TurnOptions(
                tool_mode=session_pb.ToolModeOptions(model_tool_mode=9)  # type: ignore[arg-type]
            ),
        ),
        "UNKNOWN_ENUM_VALUE",
        ["turn_options.tool_mode.model_tool_mode"],
    ),
    Case(
        "a cell and an output without ids",
        recorder_pb.RegisterCellRequest(session_id="s"),
        "MISSING_FIELD",
        ["cell_id", "output_call_id"],
    ),
    Case(
        "a sampling request without a name",
        attach(sampling_request_id=""),
        "MISSING_FIELD",
        ["sampling_request_id"],
    ),
    Case(
        "outputs of no kind and of an unknown one",
        attach(
            outputs=[
                recorder_pb.PromptOutput(),
                recorder_pb.PromptOutput(kind=call_pb.PAYLOAD_KIND_CUSTOM),
                recorder_pb.PromptOutput(kind=42, item_id="x" * 513),  # type: ignore[arg-type]
            ]
        ),
        "MISSING_FIELD",
        ["outputs[0].kind", "outputs[2].kind", "outputs[2].item_id"],
    ),
    Case(
        "forms of records that are none",
        attach(formats=[0, 8]),
        "MISSING_FIELD",
        ["formats[0]", "formats[1]"],
    ),
    Case(
        "no output",
        projection_pb.ProjectToolOutputRequest(call=tool_call()),
        "MISSING_FIELD",
        ["output"],
    ),
    Case("JSON that is empty", _json(b""), "INVALID_JSON", ["output.json.value_json"]),
    Case("JSON with NaN", _json(b"[NaN]"), "INVALID_JSON", ["output.json.value_json"]),
    Case(
        "JSON that is nested 10,000 deep",
        _json(b"[" * 10_000 + b"]" * 10_000),
        "INVALID_JSON",
        ["output.json.value_json"],
    ),
    Case(
        "JSON with a lone surrogate",
        _json(rb'"\ud800"'),
        "INVALID_JSON",
        ["output.json.value_json"],
    ),
    Case("JSON that is not UTF-8", _json(b'"\xff"'), "INVALID_UTF8", ["output.json.value_json"]),
    Case(
        "a hook response that is not JSON",
        output(function=_FUNCTION(content=[_TEXT], post_tool_use_response_json=b"{")),
        "INVALID_JSON",
        ["output.function.post_tool_use_response_json"],
    ),
    Case(
        "one tool of three that is not JSON",
        output(tool_search=output_pb.ToolSearchOutput(tools_json=[b"1", b"x", b"3"])),
        "INVALID_JSON",
        ["output.tool_search.tools_json[1]"],
    ),
    Case(
        "an MCP result that is none",
        _mcp(result_json=b'{"content":1}'),
        "INVALID_FIELD",
        ["output.mcp.result_json"],
    ),
    Case(
        "an MCP result and input that are not JSON",
        _mcp(result_json=b"{", tool_input_json=b"x"),
        "INVALID_JSON",
        ["output.mcp.result_json", "output.mcp.tool_input_json"],
    ),
    Case(
        "a raw MCP result that is not JSON",
        output(mcp_raw=output_pb.McpRawOutput(result_json=b"x")),
        "INVALID_JSON",
        ["output.mcp_raw.result_json"],
    ),
    Case(
        "no truncation policy, and a negative time",
        output(mcp=output_pb.McpOutput(result_json=b"{}", wall_time=Duration(seconds=-1))),
        "INVALID_FIELD",
        ["output.mcp.wall_time", "output.mcp.truncation_policy"],
    ),
    Case(
        "a time that is negative by its fraction",
        exec_command(wall_time=Duration(nanos=-1)),
        "INVALID_FIELD",
        ["output.exec_command.wall_time"],
    ),
    Case(
        "a time with a fraction above one",
        exec_command(wall_time=Duration(nanos=1_000_000_000)),
        "INVALID_FIELD",
        ["output.exec_command.wall_time"],
    ),
    Case(
        "a time of many lifetimes",
        exec_command(wall_time=Duration(seconds=1 << 40)),
        "INVALID_FIELD",
        ["output.exec_command.wall_time"],
    ),
    Case(
        "a policy without a unit",
        exec_command(truncation_policy=output_pb.TruncationPolicy()),
        "MISSING_FIELD",
        ["output.exec_command.truncation_policy"],
    ),
    Case(
        "content of no kind, and a detail that is unknown",
        content(
            output_pb.ContentItem(),
            _TEXT,
            output_pb.ContentItem(input_image=output_pb.InputImage(detail=12)),  # type: ignore[arg-type]
        ),
        "MISSING_FIELD",
        ["output.function.content[0]", "output.function.content[2].input_image.detail"],
    ),
    Case(
        "a call and an output that are both bad",
        projection_pb.ProjectToolOutputRequest(
            call=tool_call(call_id=""), output=_json(b"x").output
        ),
        "MISSING_FIELD",
        ["call.call_id", "output.json.value_json"],
    ),
    Case("no failure", _failure(), "MISSING_FIELD", ["failure"]),
    Case(
        "an abort for no reason, in negative time",
        _failure(aborted=projection_pb.AbortedCall(elapsed=Duration(seconds=-3))),
        "MISSING_FIELD",
        ["aborted.reason", "aborted.elapsed"],
    ),
    Case(
        "an abort for an unknown reason",
        _failure(aborted=projection_pb.AbortedCall(reason=99)),  # type: ignore[arg-type]
        "UNKNOWN_ENUM_VALUE",
        ["aborted.reason"],
    ),
    Case(
        "a cell without status",
        projection_pb.ProjectCellResultRequest(call=tool_call()),
        "MISSING_FIELD",
        ["status"],
    ),
    Case(
        "a cell that runs under no id, in negative time",
        projection_pb.ProjectCellResultRequest(
            call=tool_call(), running_cell_id="", wall_time=Duration(seconds=-1)
        ),
        "MISSING_FIELD",
        ["running_cell_id", "wall_time"],
    ),
    Case(
        "content of a cell that is none",
        _cell(content=[output_pb.ContentItem()]),
        "MISSING_FIELD",
        ["content[0]"],
    ),
    Case("no policy", projection_pb.TruncateTextRequest(text=b"x"), "MISSING_FIELD", ["policy"]),
    Case("no target", _cancel(), "MISSING_FIELD", ["target"]),
    Case("a target turn without id", _cancel(turn_id=""), "MISSING_FIELD", ["target.turn_id"]),
    Case(
        "a target call without id",
        _cancel(
            calls=stream_pb.CallReferences(
                calls=[
                    outcome_pb.CallReference(turn_id="t", call_id="c"),
                    outcome_pb.CallReference(turn_id="t"),
                ]
            )
        ),
        "MISSING_FIELD",
        ["target.calls.calls[1].call_id"],
    ),
    Case(
        "a call without id",
        runtime_pb.GetToolCallRequest(session_id="s"),
        "MISSING_FIELD",
        ["call.call_id"],
    ),
    Case(
        "a page token of no call",
        runtime_pb.ListToolCallsRequest(session_id="s", page_token="-1"),
        "INVALID_FIELD",
        ["page_token"],
    ),
    Case(
        "outline entries that are none",
        _outline(
            runtime_pb.OutlineEntry(),
            runtime_pb.OutlineEntry(output=runtime_pb.OutlineOutput(call_id="c")),
        ),
        "MISSING_FIELD",
        ["entries[0]", "entries[1].output.kind"],
    ),
    Case(
        "more outputs than a prompt may have",
        attach(outputs=[recorder_pb.PromptOutput()] * 32_769),
        "INVALID_FIELD",
        ["outputs"],
    ),
    Case(
        "more calls than a cancel may name",
        _cancel(calls=stream_pb.CallReferences(calls=[outcome_pb.CallReference()] * 4_097)),
        "INVALID_FIELD",
        ["target.calls.calls"],
    ),
    Case(
        "a longer outline than can be read at once",
        _outline(*[runtime_pb.OutlineEntry()] * 32_769),
        "INVALID_FIELD",
        ["entries"],
    ),
    Case(
        "more content than can be read at once",
        content(*[output_pb.ContentItem()] * 32_769),
        "INVALID_FIELD",
        ["output.function.content"],
    ),
]
