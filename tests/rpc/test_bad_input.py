"""Bad input gets a code, a reason and a field, and harms nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc.error_details_pb2 import ResourceInfo
from sidecall.v1 import call_outcome_pb2 as outcome_pb
from sidecall.v1 import projection_service_pb2 as projection_pb
from sidecall.v1 import recorder_service_pb2 as recorder_pb
from sidecall.v1 import runtime_service_pb2 as runtime_pb
from sidecall.v1 import runtime_stream_pb2 as stream_pb
from sidecall.v1 import session_service_pb2 as session_pb
from sidecall.v1 import tool_call_pb2 as call_pb
from sidecall.v1 import tool_output_pb2 as output_pb

from tests.rpc.live import Live, refused, serving

_INVALID = grpc.StatusCode.INVALID_ARGUMENT
_MIB = 1 << 20


def _call(**changes: Any) -> call_pb.ToolCall:
    fields: dict[str, Any] = {
        "call_id": "c",
        "turn_id": "t",
        "tool_name": call_pb.ToolName(name="tool"),
        "payload": call_pb.ToolPayload(function=call_pb.FunctionPayload(arguments=b"{}")),
    }
    return call_pb.ToolCall(**{**fields, **changes})


def _record(**changes: Any) -> recorder_pb.RecordToolCallRequest:
    return recorder_pb.RecordToolCallRequest(session_id="s", call=_call(**changes))


def _attach(**changes: Any) -> recorder_pb.AttachExecutedToolCallsRequest:
    fields: dict[str, Any] = {"session_id": "s", "sampling_request_id": "r"}
    return recorder_pb.AttachExecutedToolCallsRequest(**{**fields, **changes})


def _output(**output: Any) -> projection_pb.ProjectToolOutputRequest:
    return projection_pb.ProjectToolOutputRequest(
        call=_call(), output=output_pb.ToolOutput(**output)
    )


def _json(value: bytes) -> projection_pb.ProjectToolOutputRequest:
    return _output(json=output_pb.JsonOutput(value_json=value))


def _exec(**changes: Any) -> projection_pb.ProjectToolOutputRequest:
    fields: dict[str, Any] = {"truncation_policy": output_pb.TruncationPolicy(bytes=1)}
    return _output(exec_command=output_pb.ExecCommandOutput(**{**fields, **changes}))


def _mcp(**changes: Any) -> projection_pb.ProjectToolOutputRequest:
    fields: dict[str, Any] = {
        "result_json": b'{"content":[]}',
        "truncation_policy": output_pb.TruncationPolicy(bytes=1),
    }
    return _output(mcp=output_pb.McpOutput(**{**fields, **changes}))


def _content(*items: output_pb.ContentItem) -> projection_pb.ProjectToolOutputRequest:
    return _output(function=output_pb.FunctionOutput(content=items))


def _create(**options: Any) -> session_pb.CreateSessionRequest:
    return session_pb.CreateSessionRequest(options=session_pb.SessionOptions(**options))


def _cell(**changes: Any) -> projection_pb.ProjectCellResultRequest:
    fields: dict[str, Any] = {"call": _call(), "completed": projection_pb.CellCompleted()}
    return projection_pb.ProjectCellResultRequest(**{**fields, **changes})


def _failure(**failure: Any) -> projection_pb.ProjectToolFailureRequest:
    return projection_pb.ProjectToolFailureRequest(call=_call(), **failure)


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

_CASES = [
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
            call=_call(),
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
        _attach(sampling_request_id=""),
        "MISSING_FIELD",
        ["sampling_request_id"],
    ),
    Case(
        "outputs of no kind and of an unknown one",
        _attach(
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
        _attach(formats=[0, 8]),
        "MISSING_FIELD",
        ["formats[0]", "formats[1]"],
    ),
    Case(
        "no output",
        projection_pb.ProjectToolOutputRequest(call=_call()),
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
        _output(function=_FUNCTION(content=[_TEXT], post_tool_use_response_json=b"{")),
        "INVALID_JSON",
        ["output.function.post_tool_use_response_json"],
    ),
    Case(
        "one tool of three that is not JSON",
        _output(tool_search=output_pb.ToolSearchOutput(tools_json=[b"1", b"x", b"3"])),
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
        _output(mcp_raw=output_pb.McpRawOutput(result_json=b"x")),
        "INVALID_JSON",
        ["output.mcp_raw.result_json"],
    ),
    Case(
        "no truncation policy, and a negative time",
        _output(mcp=output_pb.McpOutput(result_json=b"{}", wall_time=Duration(seconds=-1))),
        "INVALID_FIELD",
        ["output.mcp.wall_time", "output.mcp.truncation_policy"],
    ),
    Case(
        "a time that is negative by its fraction",
        _exec(wall_time=Duration(nanos=-1)),
        "INVALID_FIELD",
        ["output.exec_command.wall_time"],
    ),
    Case(
        "a time with a fraction above one",
        _exec(wall_time=Duration(nanos=1_000_000_000)),
        "INVALID_FIELD",
        ["output.exec_command.wall_time"],
    ),
    Case(
        "a time of many lifetimes",
        _exec(wall_time=Duration(seconds=1 << 40)),
        "INVALID_FIELD",
        ["output.exec_command.wall_time"],
    ),
    Case(
        "a policy without a unit",
        _exec(truncation_policy=output_pb.TruncationPolicy()),
        "MISSING_FIELD",
        ["output.exec_command.truncation_policy"],
    ),
    Case(
        "content of no kind, and a detail that is unknown",
        _content(
            output_pb.ContentItem(),
            _TEXT,
            output_pb.ContentItem(input_image=output_pb.InputImage(detail=12)),  # type: ignore[arg-type]
        ),
        "MISSING_FIELD",
        ["output.function.content[0]", "output.function.content[2].input_image.detail"],
    ),
    Case(
        "a call and an output that are both bad",
        projection_pb.ProjectToolOutputRequest(call=_call(call_id=""), output=_json(b"x").output),
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
        projection_pb.ProjectCellResultRequest(call=_call()),
        "MISSING_FIELD",
        ["status"],
    ),
    Case(
        "a cell that runs under no id, in negative time",
        projection_pb.ProjectCellResultRequest(
            call=_call(), running_cell_id="", wall_time=Duration(seconds=-1)
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
]

_METHODS: dict[type[Message], Callable[[Live], Any]] = {
    session_pb.CreateSessionRequest: lambda live: live.session.CreateSession,
    session_pb.GetSessionRequest: lambda live: live.session.GetSession,
    session_pb.ListSessionsRequest: lambda live: live.session.ListSessions,
    session_pb.DeleteSessionRequest: lambda live: live.session.DeleteSession,
    session_pb.EndTurnRequest: lambda live: live.session.EndTurn,
    recorder_pb.RecordToolCallRequest: lambda live: live.recorder.RecordToolCall,
    recorder_pb.RegisterCellRequest: lambda live: live.recorder.RegisterCell,
    recorder_pb.AttachExecutedToolCallsRequest: (
        lambda live: live.recorder.AttachExecutedToolCalls
    ),
    projection_pb.ProjectToolOutputRequest: lambda live: live.projection.ProjectToolOutput,
    projection_pb.ProjectToolFailureRequest: lambda live: live.projection.ProjectToolFailure,
    projection_pb.ProjectCellResultRequest: lambda live: live.projection.ProjectCellResult,
    projection_pb.TruncateTextRequest: lambda live: live.projection.TruncateText,
    runtime_pb.GetToolCallRequest: lambda live: live.runtime.GetToolCall,
    runtime_pb.ListToolCallsRequest: lambda live: live.runtime.ListToolCalls,
    runtime_pb.CancelToolCallRequest: lambda live: live.runtime.CancelToolCall,
    runtime_pb.NormalizePromptRequest: lambda live: live.runtime.NormalizePrompt,
}


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case.name)
async def test_what_a_field_cannot_hold_is_refused_by_its_path(live: Live, case: Case) -> None:
    await live.session.CreateSession(session_pb.CreateSessionRequest(session_id="s"))
    before = await live.session.GetSession(session_pb.GetSessionRequest(session_id="s"))
    refusal = await refused(_METHODS[type(case.request)](live)(case.request))
    assert refusal.code is _INVALID
    assert refusal.reason == case.reason
    assert refusal.fields == case.fields
    assert all(field in refusal.message for field in case.fields[:3])
    after = await live.session.GetSession(session_pb.GetSessionRequest(session_id="s"))
    assert after == before


@pytest.mark.parametrize(
    "request_",
    [
        session_pb.GetSessionRequest(session_id="nowhere"),
        session_pb.DeleteSessionRequest(session_id="nowhere"),
        session_pb.EndTurnRequest(session_id="nowhere", turn_id="t"),
        recorder_pb.RecordToolCallRequest(session_id="nowhere", call=_call()),
        recorder_pb.RegisterCellRequest(session_id="nowhere", cell_id="cell", output_call_id="c"),
        _attach(session_id="nowhere"),
        runtime_pb.ListToolCallsRequest(session_id="nowhere"),
        runtime_pb.GetToolCallRequest(
            session_id="nowhere", call=outcome_pb.CallReference(call_id="c")
        ),
        runtime_pb.CancelToolCallRequest(
            session_id="nowhere", target=stream_pb.CancelTarget(all=stream_pb.AllCalls())
        ),
    ],
    ids=lambda request: type(request).__name__,
)
async def test_a_session_that_does_not_exist_is_not_found(live: Live, request_: Message) -> None:
    refusal = await refused(_METHODS[type(request_)](live)(request_))
    assert refusal.code is grpc.StatusCode.NOT_FOUND
    assert refusal.reason == "SESSION_NOT_FOUND"
    assert refusal.detail(ResourceInfo).resource_name == "nowhere"


_TRUNCATE = "/sidecall.v1.ProjectionService/TruncateText"
_GET_SESSION = "/sidecall.v1.SessionService/GetSession"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\xff\xff\xff\xff", "INVALID_FIELD"),
        (b"\x0a\x02\xff\xfe", "INVALID_UTF8"),
    ],
    ids=["bytes that are no message", "a string that is not UTF-8"],
)
async def test_bytes_that_are_no_request_are_refused(live: Live, data: bytes, reason: str) -> None:
    refusal = await refused(live.call_bytes(_GET_SESSION, data))
    assert refusal.code is _INVALID
    assert refusal.reason == reason
    await live.session.ListSessions(session_pb.ListSessionsRequest())


_SMALL_TEXT = projection_pb.TruncateTextRequest(
    text=b"hello", policy=output_pb.TruncationPolicy(bytes=1)
)


def _text_of_size(size: int) -> bytes:
    """A request of exactly so many bytes."""
    request = projection_pb.TruncateTextRequest(policy=output_pb.TruncationPolicy(bytes=1))
    overhead = len(request.SerializeToString()) + 5
    request.text = b"x" * (size - overhead)
    data = request.SerializeToString()
    assert len(data) == size
    return data


@pytest.mark.parametrize("size", [4 * _MIB + 1, 8 * _MIB])
async def test_a_message_above_the_limit_is_refused_with_a_reason(live: Live, size: int) -> None:
    refusal = await refused(live.call_bytes(_TRUNCATE, _text_of_size(size)))
    assert refusal.code is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert refusal.reason == "MESSAGE_TOO_LARGE"
    assert await live.projection.TruncateText(_SMALL_TEXT)


async def test_a_message_far_above_the_limit_is_refused(live: Live) -> None:
    refusal = await refused(live.call_bytes(_TRUNCATE, _text_of_size(8 * _MIB + 1)))
    assert refusal.code is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert await live.projection.TruncateText(_SMALL_TEXT)


async def test_a_message_at_the_limit_is_served(live: Live) -> None:
    answer = await live.call_bytes(_TRUNCATE, _text_of_size(4 * _MIB))
    assert b"chars truncated" in answer


async def test_an_answer_above_the_limit_is_refused_with_a_reason(tmp_path: Path) -> None:
    async with serving(tmp_path, max_message_bytes=4096) as live:
        text = output_pb.InputText(text=b"\x01" * 1000)
        function = output_pb.FunctionOutput(content=[output_pb.ContentItem(input_text=text)])
        refusal = await refused(live.projection.ProjectToolOutput(_output(function=function)))
        assert refusal.code is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert refusal.reason == "MESSAGE_TOO_LARGE"


async def test_limits_as_large_as_they_get_change_nothing(live: Live) -> None:
    largest = (1 << 64) - 1
    request = _exec(
        output=b"hello",
        max_output_tokens=largest,
        original_token_count=largest,
        truncation_policy=output_pb.TruncationPolicy(tokens=largest),
        process_id=-(1 << 63),
    )
    answer = await live.projection.ProjectToolOutput(request)
    assert answer.projections.response_item_json.decode().endswith(
        f'session ID -{1 << 63}\\nOriginal token count: {largest}\\nOutput:\\nhello"}}'
    )


async def test_an_output_of_another_kind_than_the_payload_is_projected_all_the_same(
    live: Live,
) -> None:
    request = projection_pb.ProjectToolOutputRequest(
        call=_call(payload=call_pb.ToolPayload(custom=call_pb.CustomPayload(input=b"x"))),
        output=output_pb.ToolOutput(tool_search=output_pb.ToolSearchOutput()),
    )
    answer = await live.projection.ProjectToolOutput(request)
    assert answer.projections.response_item.HasField("tool_search_output")


async def test_text_that_is_not_utf8_is_shown_and_not_refused(live: Live) -> None:
    answer = await live.projection.ProjectToolOutput(
        _content(output_pb.ContentItem(input_text=output_pb.InputText(text=b"a\xffb")))
    )
    assert answer.projections.log.preview == "a\ufffdb"
