"""Limits: what is refused is an error with a reason, and nothing else is touched."""

from __future__ import annotations

import asyncio
import pickle

import pytest
from sidecall_server.domain.declarations import HookPoint
from sidecall_server.domain.errors import Reason, ResourceExhausted
from sidecall_server.domain.fields import replace
from sidecall_server.domain.frames import (
    CallCompleted,
    Chunk,
    Detach,
    EndTurn,
    FrameError,
    Heartbeat,
    UpdateTools,
)
from sidecall_server.domain.prompt_description import Prompt, PromptOutput
from sidecall_server.domain.session_options import SessionOptions
from sidecall_server.domain.values import FunctionPayload, PayloadKind
from sidecall_server.runtime.ended_call import EndedCall
from sidecall_server.runtime.outbox import MAX_BACKLOG
from sidecall_server.runtime.protocol import MAX_FRAMES_PER_MESSAGE

from tests.runtime.clock import by_hand, settle
from tests.runtime.peer import Peer, call, hook, new_sessions, text_output, tool

ECHO = tool("echo", supports_parallel_calls=True)


@pytest.mark.parametrize(
    ("limits", "options", "subject"),
    [
        ({"max_calls_in_flight": 2}, {}, "CALL_LIMIT"),
        ({"max_calls_in_flight_total": 2}, {}, "CALL_LIMIT"),
        ({"max_bytes_in_flight": 250}, {"size_bytes": 100}, "BUFFER_LIMIT"),
    ],
)
@by_hand
async def test_calls_beyond_a_limit_are_refused_until_one_ends(
    limits: dict[str, int], options: dict[str, int], subject: str
) -> None:
    peer = await Peer(new_sessions(**limits)).attach([ECHO])
    await peer.dispatch(call("a"), call("b"), call("c"), **options)
    assert [error.reason for error in peer.of(FrameError)] == [subject]
    await peer.answer("a")
    await peer.dispatch(call("c"), **options)
    assert peer.invoked() == ["a", "b", "c"]


@by_hand
async def test_sessions_beyond_the_limit_are_refused_until_one_ends() -> None:
    sessions = new_sessions(max_sessions=1)
    sessions.create("a", SessionOptions())
    with pytest.raises(ResourceExhausted) as refused:
        sessions.create("b", SessionOptions())
    assert refused.value.reason is Reason.SESSION_LIMIT
    assert refused.value.retry_after_seconds
    sessions.delete("a")
    sessions.create("b", SessionOptions())


@by_hand
async def test_watchers_beyond_the_limit_are_refused() -> None:
    session = new_sessions(max_watchers=1).create("a", SessionOptions())
    watcher = session.watch()
    with pytest.raises(ResourceExhausted):
        session.watch()
    watcher.close()
    session.watch()


@by_hand
async def test_tools_beyond_the_limit_are_refused_and_change_nothing() -> None:
    peer = await Peer(new_sessions(max_declarations=2)).attach([ECHO])
    await peer.send(UpdateTools((tool("b"), tool("c")), (), None))
    assert peer.of(FrameError)[0].reason is Reason.TOOL_LIMIT
    assert list(peer.session.declared.tools) == [ECHO.tool_name]


@by_hand
async def test_ended_calls_are_kept_within_bounds_of_number_and_bytes() -> None:
    peer = await Peer(new_sessions(max_retained_calls=3)).attach([ECHO])
    for number in range(5):
        await peer.dispatch(call(f"{number}"))
        await peer.answer(f"{number}")
    assert [one.reference.call_id for one in peer.session.calls()] == ["2", "3", "4"]
    one_bytes = peer.session.calls()[0].held_bytes
    peer = await Peer(new_sessions(max_retained_bytes=2 * one_bytes + 1)).attach([ECHO])
    for number in range(5):
        await peer.dispatch(call(f"{number}"))
        await peer.answer(f"{number}")
    assert [one.reference.call_id for one in peer.session.calls()] == ["3", "4"]


@by_hand
async def test_an_ended_call_keeps_nothing_of_what_it_worked_on() -> None:
    peer = await Peer(new_sessions()).attach([ECHO])
    large = FunctionPayload("x" * 100_000)
    await peer.dispatch(call("a", payload=large), size_bytes=100_000)
    await peer.answer("a", text_output("y" * 50_000), size_bytes=50_000)
    (ended,) = peer.session.calls()
    assert isinstance(ended, EndedCall)
    assert b"y" * 50_000 in ended.completed_data
    assert len(pickle.dumps(replace(ended, completed_data=b""))) < 2000
    await peer.dispatch(call("a", payload=large))
    assert peer.ended_calls() == ["a", "a"]
    await peer.dispatch(call("a", payload=FunctionPayload("x" * 99_999)))
    assert refused(peer) == [Reason.CALL_ID_CONFLICT]


@by_hand
async def test_records_beyond_the_bytes_of_all_sessions_keep_name_and_size() -> None:
    sessions = new_sessions(max_record_bytes_total=3000)
    outputs = [PromptOutput(PayloadKind.FUNCTION, name, "turn", None) for name in "abc"]
    peer = await Peer(sessions).attach([ECHO])
    other = await Peer(sessions).attach([ECHO])
    large = FunctionPayload('{"x":"' + "x" * 2000 + '"}')
    await peer.dispatch(call("a", payload=large))
    await other.dispatch(call("a", payload=large), call("b"))
    kept = [
        item.executed_tool_calls_json for item in peer.session.attach(Prompt(outputs), "s").items
    ]
    marked = [
        item.executed_tool_calls_json for item in other.session.attach(Prompt(outputs), "s").items
    ]
    assert b"xxx" in kept[0]
    assert b'"original_bytes":2008,"max_bytes":0' in marked[0]
    assert sessions.record_bytes <= 3000
    sessions.delete(peer.session.id)
    sessions.delete(other.session.id)
    assert sessions.record_bytes == 0


@by_hand
async def test_an_agent_that_does_not_read_is_not_read() -> None:
    peer = await Peer(new_sessions(max_calls_in_flight=10_000)).attach([ECHO])
    await peer.stop_reading()
    names = [f"{number}" for number in range(MAX_BACKLOG + 1)]
    await peer.dispatch(*(call(name) for name in names[1:]))
    await peer.dispatch(call(names[0]))
    assert peer.connection.full
    reading = asyncio.create_task(peer.connection.room())
    await settle()
    assert not reading.done()
    peer._reader = asyncio.create_task(peer._read(peer.connection))
    await reading
    while len(peer.invoked()) < len(names):
        await settle()
    assert peer.invoked() == [*names[1:], names[0]]


@by_hand
async def test_an_ended_result_does_not_count_as_open_bytes() -> None:
    peer = await Peer(new_sessions(max_bytes_in_flight=250)).attach([ECHO])
    for number in range(10):
        await peer.dispatch(call(f"{number}"))
        await peer.answer(f"{number}", text_output())
    assert not peer.of(FrameError)


# --- the bytes of all sessions --------------------------------------------------------


def refused(peer: Peer) -> list[str]:
    return [error.reason for error in peer.of(FrameError)]


@by_hand
async def test_calls_beyond_the_bytes_of_all_sessions_are_refused_until_one_ends() -> None:
    sessions = new_sessions(max_bytes_in_flight_total=100_000)
    peer = await Peer(sessions).attach([ECHO])
    other = await Peer(sessions).attach([ECHO])
    await peer.dispatch(call("a"), size_bytes=90_000)
    await other.dispatch(call("b"), size_bytes=20_000)
    assert refused(other) == [Reason.BUFFER_LIMIT]
    assert "max_bytes_in_flight_total is 100000" in other.of(FrameError)[0].message
    await peer.answer("a")
    await other.dispatch(call("b"), size_bytes=20_000)
    assert other.invoked() == ["b"]


@by_hand
async def test_ended_calls_are_forgotten_where_their_bytes_are_needed() -> None:
    sessions = new_sessions(max_bytes_in_flight_total=100_000)
    peer = await Peer(sessions).attach([ECHO])
    await peer.dispatch(call("a"), size_bytes=90_000)
    await peer.answer("a", text_output("x" * 30_000))
    assert [one.reference.call_id for one in peer.session.calls()] == ["a"]
    peer.raw(0, Heartbeat())  # acknowledges
    await peer.dispatch(call("c"), size_bytes=200_000)
    assert refused(peer) == [Reason.BUFFER_LIMIT]
    assert [one.reference.call_id for one in peer.session.calls()] == ["a"], "in vain"
    await peer.dispatch(call("b"), size_bytes=90_000)
    assert peer.invoked() == ["a", "b"]
    assert [one.reference.call_id for one in peer.session.calls()] == ["b"]


@by_hand
async def test_what_handlers_and_hooks_answer_counts_as_long_as_the_call_is_open() -> None:
    peer = await Peer(new_sessions(max_bytes_in_flight=1000)).attach(
        [ECHO], [hook(HookPoint.POST_TOOL_USE)]
    )
    await peer.dispatch(call("a"))
    await peer.answer("a", size_bytes=900)
    assert peer.session.bytes_in_flight == 1000
    await peer.dispatch(call("b"))
    assert refused(peer) == [Reason.BUFFER_LIMIT]
    await peer.judge("a")
    await peer.dispatch(call("b"))
    assert peer.invoked() == ["a", "b"]


@by_hand
async def test_an_agent_that_leaves_large_outcomes_unread_is_not_read() -> None:
    peer = await Peer(new_sessions(max_bytes_in_flight=1000)).attach([ECHO])
    await peer.dispatch(*(call(name) for name in "abc"))
    await peer.stop_reading()
    for name in "abc":
        await peer.answer(name, text_output("x" * 400))
    assert peer.connection.full
    reading = asyncio.create_task(peer.connection.room())
    await settle()
    assert not reading.done()
    assert peer.session.outbox.held_bytes >= 1200
    peer._reader = asyncio.create_task(peer._read(peer.connection))
    await reading
    assert [frame.call.call_id for frame in peer.of(CallCompleted)] == ["a", "b", "c"]


@by_hand
async def test_pieces_count_among_the_bytes_of_all_sessions() -> None:
    sessions = new_sessions(max_bytes_in_flight_total=50_000)
    peer = await Peer(sessions).attach([ECHO])
    other = await Peer(sessions).attach([ECHO])
    await peer.send(Chunk(1, 90_000, b"x" * 40_000))
    await other.send(Chunk(1, 90_000, b"x" * 20_000))
    assert (refused(peer), refused(other)) == ([], [Reason.BUFFER_LIMIT])
    await peer.send(Detach(close_session=True))
    await other.send(Chunk(2, 90_000, b"x" * 20_000))
    assert refused(other) == [Reason.BUFFER_LIMIT], "the one of before"


@by_hand
async def test_declarations_count_among_the_bytes_of_all_sessions() -> None:
    sessions = new_sessions(max_bytes_in_flight_total=5000)
    peer = await Peer(sessions).attach([ECHO])
    await peer.send(UpdateTools((tool("x" * 5000),), (), None))
    assert refused(peer) == [Reason.BUFFER_LIMIT]
    assert list(peer.session.declared.tools) == [ECHO.tool_name]
    await peer.send(UpdateTools((), (), (hook(HookPoint.PRE_TOOL_USE, "x" * 2000, "y" * 2000),)))
    assert refused(peer) == [Reason.BUFFER_LIMIT] * 2


@by_hand
async def test_each_matcher_of_a_hook_counts_as_a_declaration() -> None:
    peer = await Peer(new_sessions(max_declarations=2)).attach([ECHO])
    await peer.send(UpdateTools((), (), (hook(HookPoint.PRE_TOOL_USE, "a", "b", "c"),)))
    assert refused(peer) == [Reason.TOOL_LIMIT]


@pytest.mark.parametrize("end", ["delete", "close", "lose"])
@by_hand
async def test_a_session_that_is_gone_holds_nothing(end: str) -> None:
    sessions = new_sessions(max_closed_sessions=0, resume_grace_seconds=0.0)
    peer = await Peer(sessions).attach([ECHO], [hook(HookPoint.POST_TOOL_USE)])
    await peer.dispatch(call("a"), call("b"), call("c"))
    await peer.answer("a")
    await peer.answer("b")
    await peer.judge("a")
    await peer.send(Chunk(1, 500, b"x" * 200))
    assert sessions.bytes_in_flight > 500
    if end == "delete":
        sessions.delete(peer.session.id)
    elif end == "close":
        await peer.send(Detach(close_session=True))
    await peer.lose()
    await settle()
    assert len(list(sessions)) == 0
    assert sessions.bytes_in_flight == 0


# --- what one request may cost the others ---------------------------------------------


@by_hand
async def test_a_message_of_too_many_frames_is_refused_as_a_whole() -> None:
    peer = await Peer(new_sessions()).attach([ECHO])
    await peer.send(*[b""] * (MAX_FRAMES_PER_MESSAGE + 1))
    (error,) = peer.of(FrameError)
    assert (error.frame_index, error.field_violations[0].field) == (None, "frames")
    await peer.dispatch(call("a"))
    assert peer.invoked() == ["a"]


@by_hand
async def test_answers_that_wait_for_a_verdict_are_refused_beyond_the_bytes() -> None:
    peer = await Peer(new_sessions(max_bytes_in_flight=1000)).attach(
        [ECHO], [hook(HookPoint.POST_TOOL_USE)]
    )
    await peer.dispatch(call("a"), call("b"))
    await peer.answer("a", size_bytes=500)
    await peer.answer("b", size_bytes=500)
    assert refused(peer) == [Reason.BUFFER_LIMIT]
    await peer.answer("b", size_bytes=100)
    await peer.judge("a", None, "context")
    await peer.judge("b", None, "context")
    assert peer.ended_calls() == ["a", "b"]


@by_hand
async def test_an_answer_that_waits_for_nobody_needs_no_room() -> None:
    peer = await Peer(new_sessions(max_bytes_in_flight=1000)).attach(
        [ECHO], [hook(HookPoint.POST_TOOL_USE, "another")]
    )
    await peer.dispatch(call("a"))
    await peer.answer("a", size_bytes=5000)
    assert peer.ended_calls() == ["a"]


@by_hand
async def test_the_rest_of_a_refused_transfer_is_dropped_without_a_word() -> None:
    peer = await Peer(new_sessions(max_bytes_in_flight=1000)).attach([ECHO])
    for _ in range(3):
        await peer.send(Chunk(1, 2400, b"x" * 800))
    assert refused(peer) == [Reason.BUFFER_LIMIT]
    assert peer.session.transfers.held_bytes == 0
    await peer.send(Chunk(1, 2400, b"x" * 800))
    assert peer.session.transfers.held_bytes == 800, "the number may be used again"


@by_hand
async def test_the_ids_of_ended_turns_count_among_the_bytes_of_all_sessions() -> None:
    sessions = new_sessions()
    peer = await Peer(sessions).attach([ECHO])
    before = sessions.bytes_in_flight
    await peer.send(EndTurn("t" * 400))
    assert sessions.bytes_in_flight == before + 400
