"""Bad input gets a code, a reason and a field, and harms nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
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

from tests.rpc.bad_requests import CASES, Case, attach, content, exec_command, output, tool_call
from tests.rpc.live import Live, refused, serving

_INVALID = grpc.StatusCode.INVALID_ARGUMENT
_MIB = 1 << 20

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


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
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
        recorder_pb.RecordToolCallRequest(session_id="nowhere", call=tool_call()),
        recorder_pb.RegisterCellRequest(session_id="nowhere", cell_id="cell", output_call_id="c"),
        attach(session_id="nowhere"),
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
        refusal = await refused(live.projection.ProjectToolOutput(output(function=function)))
        assert refusal.code is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert refusal.reason == "MESSAGE_TOO_LARGE"


async def test_limits_as_large_as_they_get_change_nothing(live: Live) -> None:
    largest = (1 << 64) - 1
    request = exec_command(
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
        call=tool_call(payload=call_pb.ToolPayload(custom=call_pb.CustomPayload(input=b"x"))),
        output=output_pb.ToolOutput(tool_search=output_pb.ToolSearchOutput()),
    )
    answer = await live.projection.ProjectToolOutput(request)
    assert answer.projections.response_item.HasField("tool_search_output")


async def test_text_that_is_not_utf8_is_shown_and_not_refused(live: Live) -> None:
    answer = await live.projection.ProjectToolOutput(
        content(output_pb.ContentItem(input_text=output_pb.InputText(text=b"a\xffb")))
    )
    assert answer.projections.log.preview == "a\ufffdb"
