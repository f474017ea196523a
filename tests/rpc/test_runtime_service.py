"""RuntimeService without its stream: what the server is, its calls, prompts made whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import ResourceInfo
from sidecall.v1 import call_outcome_pb2 as outcome_pb
from sidecall.v1 import runtime_service_pb2 as pb
from sidecall.v1 import runtime_stream_pb2 as stream_pb
from sidecall.v1 import session_service_pb2 as session_pb
from sidecall.v1 import tool_call_pb2 as call_pb
from sidecall.v1 import tool_output_pb2 as output_pb
from sidecall_server.domain.declarations import ToolDeclaration
from sidecall_server.domain.fields import names_of
from sidecall_server.domain.frames import DispatchCall, HandlerResult
from sidecall_server.domain.outputs import JsonOutput, ToolOutput
from sidecall_server.domain.runtime_limits import RuntimeLimits
from sidecall_server.domain.session_options import SessionOptions, View
from sidecall_server.domain.values import CodeMode, FunctionPayload, ToolCall, ToolName
from sidecall_server.runtime.session import Session

from tests.rpc.live import Live, refused, serving

_TOOL = ToolName("tool", "ns")
_ALL = stream_pb.CancelTarget(all=stream_pb.AllCalls())


@pytest.fixture
async def session(live: Live) -> Session:
    """A session whose tool is declared, and never answers by itself."""
    session = live.sessions.create("s", SessionOptions())
    session.declare([ToolDeclaration(_TOOL, supports_parallel_calls=True)], [])
    return session


def _dispatch(session: Session, call_id: str, turn_id: str = "t", **changes: Any) -> None:
    call = ToolCall(call_id, _TOOL, FunctionPayload("{}"), turn_id=turn_id, **changes)
    session.dispatch(DispatchCall(call, None, (View.LOG, View.CODE_MODE), None, "", 10))


def _answer(session: Session, call_id: str, value_json: str, turn_id: str = "t") -> None:
    """What an agent does that gets the invocation and answers it."""
    session.outbox.next_message(0)
    reference = next(
        reference for reference in session.open_calls if reference == (turn_id, call_id)
    )
    invocation = session.open_calls[reference].invocation
    assert invocation is not None
    output = ToolOutput(JsonOutput(value_json))
    session.handler_answered(HandlerResult(invocation.invocation_token, output, 10))


async def _get(live: Live, call_id: str, *views: output_pb.View.ValueType) -> Any:
    request = pb.GetToolCallRequest(
        session_id="s",
        call=outcome_pb.CallReference(turn_id="t", call_id=call_id),
        views=output_pb.ViewSelection(views=views) if views else None,
    )
    return await live.runtime.GetToolCall(request)


async def _list(live: Live, **changes: Any) -> Any:
    return await live.runtime.ListToolCalls(pb.ListToolCallsRequest(session_id="s", **changes))


async def test_the_server_says_what_it_is(live: Live) -> None:
    info = await live.runtime.GetRuntimeInfo(pb.GetRuntimeInfoRequest())
    assert info.server_version == "1.2.3"
    assert info.server_instance_id == "instance"
    assert list(info.protocol_versions) == [1]
    assert list(info.features) == ["recorder"]
    assert info.recorder_enabled_by_default
    assert not info.draining
    await live.sessions.drain(0)
    assert (await live.runtime.GetRuntimeInfo(pb.GetRuntimeInfoRequest())).draining


async def test_every_limit_is_shown(live: Live) -> None:
    shown = (await live.runtime.GetRuntimeInfo(pb.GetRuntimeInfoRequest())).limits
    assert {field.name for field, _ in shown.ListFields()} == set(
        pb.RuntimeLimits.DESCRIPTOR.fields_by_name
    )
    for limit in names_of(RuntimeLimits):
        value = getattr(RuntimeLimits(), limit)
        name = limit.removesuffix("_seconds")
        if name in pb.RuntimeLimits.DESCRIPTOR.fields_by_name:
            said = getattr(shown, name)
            assert (said.ToSeconds() if isinstance(said, Duration) else said) == value


async def test_an_open_call_is_shown_without_its_arguments(live: Live, session: Session) -> None:
    _dispatch(session, "c", source=CodeMode("cell"))
    shown = await _get(live, "c")
    assert not shown.HasField("projections")
    call = shown.call
    assert (call.session_id, call.call.turn_id, call.call.call_id) == ("s", "t", "c")
    assert (call.tool_name.namespace, call.tool_name.name) == ("ns", "tool")
    assert call.payload_kind == call_pb.PAYLOAD_KIND_FUNCTION
    assert (call.cell_id, call.dispatch_order) == ("cell", 1)
    assert call.phase == outcome_pb.CALL_PHASE_HANDLER
    assert call.submit_time.seconds > 1_700_000_000
    assert not call.HasField("outcome")
    assert not call.durations.HasField("total")


async def test_an_ended_call_is_shown_with_the_views_made_of_it(
    live: Live, session: Session
) -> None:
    _dispatch(session, "c")
    _answer(session, "c", "[1.10]")
    shown = await _get(live, "c")
    assert shown.call.phase == outcome_pb.CALL_PHASE_TERMINAL
    assert shown.call.outcome == outcome_pb.CallOutcome(
        completed=outcome_pb.CompletedOutcome(success=True),
        lifecycle=outcome_pb.LIFECYCLE_FINISH_COMPLETED,
        handler_executed=True,
    )
    assert shown.call.durations.HasField("handler")
    assert shown.call.durations.HasField("total")
    assert shown.projections.log.preview == "[1.10]"
    assert shown.projections.code_mode_json == b"[1.10]"
    assert not shown.projections.HasField("response_item_json")


async def test_of_an_ended_call_one_view_can_be_asked_for(live: Live, session: Session) -> None:
    _dispatch(session, "c")
    _answer(session, "c", "1")
    shown = await _get(live, "c", output_pb.VIEW_LOG)
    assert shown.projections.HasField("log")
    assert not shown.projections.HasField("code_mode_json")


async def test_a_view_that_was_not_made_is_not_made_later(live: Live, session: Session) -> None:
    _dispatch(session, "c")
    _answer(session, "c", "1")
    assert not (await _get(live, "c", output_pb.VIEW_RESPONSE_ITEM)).HasField("projections")


async def test_a_call_that_never_was_is_not_found(live: Live, session: Session) -> None:
    reference = outcome_pb.CallReference(turn_id="t", call_id="never")
    refusal = await refused(
        live.runtime.GetToolCall(pb.GetToolCallRequest(session_id="s", call=reference))
    )
    assert refusal.code is grpc.StatusCode.NOT_FOUND
    assert refusal.reason == "CALL_NOT_FOUND"
    assert refusal.detail(ResourceInfo).resource_name == "s/t/never"


async def test_calls_are_listed_in_their_order_page_by_page(live: Live, session: Session) -> None:
    for number in range(5):
        _dispatch(session, f"c{number}")
    _answer(session, "c3", "1")
    found: list[str] = []
    token = ""
    while True:
        page = await _list(live, page_size=2, page_token=token)
        found += [call.call.call.call_id for call in page.calls]
        token = page.next_page_token
        if not token:
            break
    assert found == ["c0", "c1", "c2", "c3", "c4"]


async def test_the_calls_of_one_turn_are_listed_alone(live: Live, session: Session) -> None:
    _dispatch(session, "c", "t1")
    _dispatch(session, "c", "t2")
    [call] = (await _list(live, turn_id="t2")).calls
    assert call.call.call.turn_id == "t2"


@pytest.mark.parametrize("wanted", [True, False])
async def test_views_are_listed_where_they_are_wanted(
    live: Live, session: Session, wanted: bool
) -> None:
    _dispatch(session, "c")
    _answer(session, "c", "1")
    [call] = (await _list(live, include_projections=wanted)).calls
    assert call.HasField("projections") is wanted


async def test_a_cancel_says_call_by_call_what_it_did(live: Live, session: Session) -> None:
    _dispatch(session, "open")
    _dispatch(session, "ended")
    _answer(session, "ended", "1")
    named = [
        outcome_pb.CallReference(turn_id="t", call_id=call_id)
        for call_id in ("open", "ended", "never")
    ]
    target = stream_pb.CancelTarget(calls=stream_pb.CallReferences(calls=named))
    answer = await live.runtime.CancelToolCall(
        pb.CancelToolCallRequest(session_id="s", target=target)
    )
    assert [call.call.call_id for call in answer.calls] == ["open", "ended", "never"]
    assert [call.disposition for call in answer.calls] == [
        stream_pb.CANCEL_DISPOSITION_ACCEPTED,
        stream_pb.CANCEL_DISPOSITION_ALREADY_TERMINAL,
        stream_pb.CANCEL_DISPOSITION_UNKNOWN,
    ]
    outcome = (await _get(live, "open")).call.outcome
    assert outcome.aborted.reason == outcome_pb.ABORT_REASON_CANCELLED
    assert outcome.lifecycle == outcome_pb.LIFECYCLE_FINISH_ABORTED


async def test_a_turn_or_all_of_a_session_can_be_cancelled(live: Live, session: Session) -> None:
    for turn_id in ("t1", "t2", "t3"):
        _dispatch(session, "c", turn_id)
    one = await live.runtime.CancelToolCall(
        pb.CancelToolCallRequest(session_id="s", target=stream_pb.CancelTarget(turn_id="t2"))
    )
    assert [call.call.turn_id for call in one.calls] == ["t2"]
    rest = await live.runtime.CancelToolCall(pb.CancelToolCallRequest(session_id="s", target=_ALL))
    assert [call.call.turn_id for call in rest.calls] == ["t1", "t3"]


async def test_a_session_counts_its_calls_and_aborts_them_with_itself(
    live: Live, session: Session
) -> None:
    _dispatch(session, "open")
    _dispatch(session, "ended")
    _answer(session, "ended", "1")
    shown = await live.session.GetSession(session_pb.GetSessionRequest(session_id="s"))
    assert (shown.session.open_calls, shown.session.terminal_calls) == (1, 1)
    ended = await live.session.EndTurn(session_pb.EndTurnRequest(session_id="s", turn_id="t"))
    assert ended.open_calls == 1
    deleted = await live.session.DeleteSession(session_pb.DeleteSessionRequest(session_id="s"))
    assert deleted.aborted_calls == 1


async def test_watchers_are_told_when_calls_start_and_end(live: Live, session: Session) -> None:
    _dispatch(session, "before")
    watch = live.session.WatchSession(session_pb.WatchSessionRequest(session_id="s"))
    snapshot = (await watch.read()).snapshot
    assert [call.call.call_id for call in snapshot.calls] == ["before"]
    _dispatch(session, "c")
    _answer(session, "c", "1")
    recorded, started, finished = [await watch.read() for _ in range(3)]
    assert recorded.call_recorded.call.call_id == "c"
    assert started.call_started.tool_name.name == "tool"
    assert finished.call_finished.outcome.completed.success
    assert finished.call_finished.durations.HasField("total")
    numbers = [event.event_number for event in (recorded, started, finished)]
    assert numbers == list(range(numbers[0], numbers[0] + 3))


async def test_connect_is_served_as_a_stream_that_begins_with_hello(live: Live) -> None:
    stream = live.runtime.Connect()
    frame = stream_pb.ClientFrame(heartbeat=stream_pb.Heartbeat())
    await stream.write(stream_pb.ConnectRequest(frames=[frame]))
    refusal = await refused(stream, stream.read())
    assert refusal.code is grpc.StatusCode.FAILED_PRECONDITION
    assert refusal.reason == "HELLO_REQUIRED"


def _entry(**entry: Any) -> pb.OutlineEntry:
    if "call" in entry:
        return pb.OutlineEntry(call=pb.OutlineCall(**entry["call"]))
    return pb.OutlineEntry(output=pb.OutlineOutput(**entry["output"]))


async def test_a_prompt_is_told_what_it_lacks_and_what_is_too_much(live: Live) -> None:
    function, custom = call_pb.PAYLOAD_KIND_FUNCTION, call_pb.PAYLOAD_KIND_CUSTOM
    search = call_pb.PAYLOAD_KIND_TOOL_SEARCH
    entries = [
        _entry(call={"kind": function, "call_id": ""}),
        _entry(output={"kind": function, "call_id": "orphan"}),
        _entry(call={"kind": custom, "call_id": "a"}),
        _entry(call={"kind": search, "call_id": "b"}),
        _entry(call={"kind": search, "call_id": "server", "server_executed": True}),
        _entry(output={"kind": search, "call_id": "other", "server_executed": True}),
        _entry(call={"kind": function, "call_id": "whole"}),
        _entry(output={"kind": function, "call_id": "whole"}),
        _entry(output={"kind": custom, "call_id": "whole"}),
    ]
    answer = await live.runtime.NormalizePrompt(pb.NormalizePromptRequest(entries=entries))
    assert [missing.entry_index for missing in answer.missing_outputs] == [2, 3]
    custom_item, search_item = answer.missing_outputs
    assert custom_item.response_item_json == (
        b'{"type":"custom_tool_call_output","call_id":"a","output":"aborted"}'
    )
    assert custom_item.response_item.custom_tool_call_output.output.text == b"aborted"
    assert search_item.response_item.tool_search_output.status == "completed"
    assert list(answer.orphan_entry_indexes) == [1, 8]


async def test_a_snapshot_of_very_many_calls_holds_the_newest(tmp_path: Path) -> None:
    async with serving(tmp_path, max_message_bytes=16_384) as live:
        session = live.sessions.create("s", SessionOptions())
        session.declare([ToolDeclaration(_TOOL, supports_parallel_calls=True)], [])
        for number in range(60):
            _dispatch(session, f"{number:0>400}")
        watch = live.session.WatchSession(session_pb.WatchSessionRequest(session_id="s"))
        shown = (await watch.read()).snapshot.calls
        assert 5 < len(shown) < 60
        assert [call.dispatch_order for call in shown] == list(range(61 - len(shown), 61))
        watch.cancel()
