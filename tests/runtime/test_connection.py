"""Lost connections, resume, take-over, sequence, heartbeats, drain (DESIGN: the stream)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from sidecall_server.domain.declarations import CancelMode, HookPoint
from sidecall_server.domain.errors import NotFound, Reason
from sidecall_server.domain.failure import AbortReason
from sidecall_server.domain.frames import (
    AbortHandler,
    CallCompleted,
    CallReference,
    CancelResult,
    Chunk,
    Detach,
    Drain,
    EndTurn,
    FrameError,
    HandlerResult,
    Heartbeat,
    InvokeHandler,
    InvokeHook,
    RegisterCell,
    ResumeOutcome,
)
from sidecall_server.domain.outcome import Aborted, AbortProgress, Completed, TeardownState
from sidecall_server.domain.session_events import SessionState
from sidecall_server.domain.session_options import SessionOptions

from tests.runtime.clock import advance, by_hand, settle
from tests.runtime.peer import Peer, call, hook, new_sessions, text_output, tool

ECHO = tool("echo", supports_parallel_calls=True)


def reasons(peer: Peer) -> list[Reason]:
    return [error.reason for error in peer.of(FrameError)]


# --- resume ---------------------------------------------------------------------------


@by_hand
async def test_an_agent_that_comes_back_gets_what_it_did_not_see() -> None:
    peer = await Peer(new_sessions()).attach([ECHO])
    await peer.dispatch(call("a"), call("b"))
    await peer.stop_reading()
    await peer.answer("a")
    await peer.lose()
    assert peer.session.state is SessionState.DETACHED
    await peer.again([ECHO])
    assert peer.welcome is not None
    assert peer.welcome.resume_outcome is ResumeOutcome.RESUMED
    assert peer.welcome.last_sequence_received == 2
    assert peer.outcome("a").result == Completed(success=True)
    await peer.answer("b")
    assert peer.outcome("b").result == Completed(success=True)


@by_hand
async def test_messages_that_were_written_but_not_seen_come_again_once() -> None:
    peer = await Peer(new_sessions()).attach([ECHO])
    await peer.dispatch(call("a"))
    seen, peer.received = peer.received, 0  # the agent lost what it had read
    peer.frames.clear()
    await peer.lose()
    await peer.again([ECHO])
    assert peer.received == seen
    assert peer.invoked() == ["a"]


@by_hand
async def test_a_message_that_was_seen_before_is_dropped() -> None:
    peer = await Peer(new_sessions()).attach([ECHO])
    await peer.dispatch(call("a"))
    token = peer.invocation("a").invocation_token
    await peer.answer("a")
    for sequence in (1, 2):
        peer.raw(sequence, HandlerResult(token, text_output("again"), 10))
    await settle()
    assert peer.ended_calls() == ["a"]
    assert peer.session.late_results == 0, "it was not even read"


@by_hand
async def test_a_message_from_the_future_is_refused_and_not_read() -> None:
    peer = await Peer(new_sessions()).attach([ECHO])
    peer.raw(5, EndTurn("turn"))
    await peer.dispatch(call("a"))
    assert reasons(peer) == [Reason.SEQUENCE_OUT_OF_ORDER]
    assert peer.of(FrameError)[0].sequence == 5
    await peer.answer("a")
    assert peer.ended_calls() == ["a"]


@by_hand
async def test_an_acknowledgement_from_the_future_is_refused_and_not_read() -> None:
    peer = await Peer(new_sessions()).attach([ECHO])
    peer.raw(1, EndTurn("turn"), acknowledged=1_000)
    await settle()
    assert reasons(peer) == [Reason.ACKNOWLEDGEMENT_OUT_OF_RANGE]
    await peer.dispatch(call("a"))
    assert peer.invoked() == ["a"]


@by_hand
async def test_when_messages_are_gone_the_agent_is_told_and_what_matters_comes_anew() -> None:
    shell = tool("sh", cancel_mode=CancelMode.WAIT_FOR_TEARDOWN, supports_parallel_calls=True)
    tools, hooks = [ECHO, shell], [hook(HookPoint.PRE_TOOL_USE, "hooked")]
    hooked = tool("hooked", supports_parallel_calls=True)
    peer = await Peer(new_sessions(max_replay_bytes=1)).attach(
        [*tools, hooked], hooks, acknowledges=False
    )
    await peer.dispatch(call("runs"), call("ended"), call("torn", "sh"), call("asked", "hooked"))
    await peer.answer("ended")
    await peer.cancel("torn")
    peer.frames.clear()
    peer.received = 0
    await peer.lose()
    await peer.again([*tools, hooked], hooks)
    assert peer.welcome is not None
    assert peer.welcome.resume_outcome is ResumeOutcome.GAP
    assert peer.invoked() == ["runs"]
    assert peer.ended_calls() == ["ended"]
    assert [frame.call.call_id for frame in peer.of(AbortHandler)] == ["torn"]
    assert [frame.call.call_id for frame in peer.of(InvokeHook)] == ["asked"]
    await peer.answer("runs")
    assert peer.outcome("runs").result == Completed(success=True)


@by_hand
async def test_a_frame_that_was_never_written_is_not_sent_twice_after_a_gap() -> None:
    peer = await Peer(new_sessions(max_replay_bytes=1)).attach([ECHO], acknowledges=False)
    await peer.dispatch(call("a"))
    await peer.stop_reading()
    await peer.dispatch(call("b"))
    await peer.answer("a")
    await peer.lose()
    peer.frames.clear()
    peer.received = 0
    await peer.again([ECHO])
    assert peer.invoked() == ["b"]
    assert peer.ended_calls() == ["a"]


@by_hand
@pytest.mark.parametrize("ring_bytes", [1, 20_000])
async def test_answers_that_are_said_once_survive_a_gap(ring_bytes: int) -> None:
    """Whether their own messages left the ring, or only earlier ones did."""
    peer = await Peer(new_sessions(max_replay_bytes=ring_bytes)).attach([ECHO], acknowledges=False)
    await peer.dispatch(call("a"))
    await peer.send(EndTurn("over"))
    await peer.dispatch(call("late", turn="over"))
    await peer.cancel("a", "nobody")
    for number in range(300):
        await peer.send(b"garbage %d" % number)
    await peer.lose()
    told = [frame for frame in peer.frames if isinstance(frame, FrameError | CancelResult)]
    assert len(told) == 302
    peer.frames.clear()
    peer.received = 0
    await peer.again([ECHO])
    assert peer.welcome is not None
    assert peer.welcome.resume_outcome is ResumeOutcome.GAP
    again = [frame for frame in peer.frames if isinstance(frame, FrameError | CancelResult)]
    assert again == told


@by_hand
async def test_answers_that_were_acknowledged_are_not_said_again() -> None:
    peer = await Peer(new_sessions(max_replay_bytes=1)).attach([ECHO])
    await peer.cancel("nobody")
    await peer.dispatch(call("a"))
    await peer.cancel("nobody")
    peer.raw(0, Heartbeat(), acknowledged=1)
    await peer.lose()
    peer.frames.clear()
    peer.received = 1
    await peer.again([ECHO])
    assert [frame.cancel_id for frame in peer.of(CancelResult)] == [2]


@by_hand
async def test_an_agent_that_does_not_come_back_loses_its_session() -> None:
    peer = await Peer(new_sessions(resume_grace_seconds=30)).attach(
        [ECHO, tool("sh", cancel_mode=CancelMode.WAIT_FOR_TEARDOWN)]
    )
    await peer.dispatch(call("a"), call("s", "sh"))
    session = peer.session
    watcher = session.watch()
    await peer.lose()
    await advance(29)
    assert session.open_calls
    await advance(1.5)
    assert session.state is SessionState.CLOSED
    ends = [one.outcome.result for one in session.calls() if one.outcome is not None]
    text = "aborted after 30.5s: the agent's connection was lost"
    lost, none = AbortReason.SESSION_LOST, TeardownState.NONE
    assert ends == [
        Aborted(lost, AbortProgress.UNKNOWN, none, text),
        Aborted(lost, AbortProgress.NOT_STARTED, none, text),
    ]
    assert [type(event.event).__name__ async for event in watcher][-1] == "StateChanged"
    await peer.again([ECHO])
    assert peer.error is not None
    assert peer.error.reason is Reason.SESSION_CLOSED


@by_hand
async def test_an_agent_that_comes_back_in_time_keeps_its_session() -> None:
    peer = await Peer(new_sessions(resume_grace_seconds=30)).attach([ECHO])
    await peer.lose()
    await advance(29)
    await peer.again([ECHO])
    await advance(29)
    assert peer.session.state is SessionState.ATTACHED


@by_hand
async def test_a_second_attachment_takes_over_with_the_token() -> None:
    sessions = new_sessions()
    peer = await Peer(sessions).attach([ECHO])
    await peer.dispatch(call("a"))
    assert peer.welcome is not None
    other = Peer(sessions)
    other.received, other.sequence = peer.received, peer.sequence
    other.frames = list(peer.frames)
    await other.attach(
        [ECHO], session_id=peer.welcome.session_id, resume_token=peer.welcome.resume_token
    )
    assert peer.ended
    assert peer.error is not None
    assert peer.error.reason is Reason.TAKEN_OVER
    await other.answer("a")
    assert other.ended_calls() == ["a"]


@pytest.mark.parametrize(
    ("token", "reason"),
    [("", Reason.SESSION_ATTACHED), ("wrong", Reason.RESUME_TOKEN_INVALID)],
)
@by_hand
async def test_nobody_takes_over_without_the_token(token: str, reason: Reason) -> None:
    sessions = new_sessions()
    peer = await Peer(sessions).attach([ECHO])
    assert peer.welcome is not None
    other = await Peer(sessions).attach(session_id=peer.welcome.session_id, resume_token=token)
    assert other.error is not None
    assert other.error.reason is reason
    await peer.dispatch(call("a"))
    assert peer.invoked() == ["a"]


@by_hand
async def test_the_session_of_another_owner_does_not_exist() -> None:
    sessions = new_sessions()
    peer = await Peer(sessions, owner="me").attach([ECHO])
    assert peer.welcome is not None
    other = await Peer(sessions, owner="you").attach(
        session_id=peer.welcome.session_id, resume_token=peer.welcome.resume_token
    )
    assert isinstance(other.error, NotFound)
    assert not peer.ended


@by_hand
async def test_a_session_made_beforehand_is_attached_once_without_token() -> None:
    sessions = new_sessions()
    sessions.create("mine", SessionOptions())
    peer = await Peer(sessions).attach([ECHO], session_id="mine")
    assert peer.welcome is not None
    assert peer.welcome.resume_outcome is ResumeOutcome.NEW


@by_hand
async def test_an_agent_that_comes_back_before_anything_was_said_resumes() -> None:
    peer = await Peer(new_sessions()).attach([ECHO])
    await peer.lose()
    await peer.again([ECHO])
    assert peer.welcome is not None
    assert peer.welcome.resume_outcome is ResumeOutcome.RESUMED
    stranger = await Peer(peer.sessions).attach(session_id=peer.welcome.session_id)
    assert stranger.error is not None
    assert stranger.error.reason is Reason.SESSION_ATTACHED


# --- handshake and bad frames ---------------------------------------------------------


@by_hand
async def test_a_stream_begins_with_hello() -> None:
    sessions = new_sessions()
    stranger = Peer(sessions)
    stranger.open()
    stranger.raw(1, EndTurn("turn"))
    await settle()
    assert stranger.error is not None
    assert stranger.error.reason is Reason.HELLO_REQUIRED
    assert len(sessions) == 0


@by_hand
async def test_declarations_beyond_the_limit_leave_no_session_behind() -> None:
    sessions = new_sessions(max_declarations=1)
    peer = await Peer(sessions).attach([ECHO, tool("other")])
    assert peer.error is not None
    assert peer.error.reason is Reason.TOOL_LIMIT
    assert len(sessions) == 0


@by_hand
async def test_a_bad_frame_is_refused_by_its_place_and_its_neighbours_count() -> None:
    peer = await Peer(new_sessions()).attach([ECHO])
    await peer.send(EndTurn("one"), b"garbage", RegisterCell("cell", CallReference("t", "x")))
    (error,) = peer.of(FrameError)
    assert (error.sequence, error.frame_index, error.reason) == (1, 1, Reason.INVALID_FIELD)
    assert peer.session.recorder.sizes().output_cells == 1
    await peer.dispatch(call("a"))
    assert peer.invoked() == ["a"]


@by_hand
async def test_only_connection_frames_come_without_a_sequence() -> None:
    peer = await Peer(new_sessions()).attach([ECHO])
    peer.raw(0, Heartbeat())
    peer.raw(0, EndTurn("turn"))
    await settle()
    assert reasons(peer) == [Reason.SEQUENCE_OUT_OF_ORDER]


@by_hand
async def test_a_message_above_the_limit_is_refused_and_counted_as_read() -> None:
    peer = await Peer(new_sessions(max_message_bytes=1000)).attach([ECHO])
    await peer.send(*(EndTurn(f"turn {number}") for number in range(60)))
    assert reasons(peer) == [Reason.MESSAGE_TOO_LARGE]
    await peer.dispatch(call("a"))
    assert peer.invoked() == ["a"]


# --- large frames ---------------------------------------------------------------------


@by_hand
async def test_a_large_result_comes_in_pieces_with_others_between_them() -> None:
    import pickle

    peer = await Peer(new_sessions(max_chunk_bytes=100)).attach([ECHO])
    await peer.dispatch(call("large"), call("small"))
    token = peer.invocation("large").invocation_token
    data = pickle.dumps(HandlerResult(token, text_output("x" * 300), 300))
    pieces = [Chunk(1, len(data), data[at : at + 100]) for at in range(0, len(data), 100)]
    for piece in pieces[:-1]:
        await peer.send(piece)
    await peer.answer("small")
    assert peer.ended_calls() == ["small"]
    await peer.send(pieces[-1])
    assert peer.ended_calls() == ["small", "large"]


@by_hand
async def test_a_large_frame_of_the_server_comes_in_pieces() -> None:
    peer = await Peer(new_sessions(max_chunk_bytes=64)).attach([ECHO])
    await peer.dispatch(call("a"))
    assert peer.invoked() == ["a"], "put together from pieces"
    assert len(peer.sequences) > 3


# --- leaving --------------------------------------------------------------------------


@by_hand
async def test_detach_aborts_calls_tells_so_and_keeps_the_session() -> None:
    peer = await Peer(new_sessions()).attach([ECHO])
    await peer.dispatch(call("a"))
    await peer.send(Detach(close_session=False))
    assert peer.ended
    assert peer.error is None
    assert peer.aborted("a").reason == "cancelled"
    assert peer.session.state is SessionState.OPEN
    await peer.again([ECHO])
    assert peer.error is None


@by_hand
async def test_detach_closes_the_session_when_asked() -> None:
    peer = await Peer(new_sessions()).attach([ECHO])
    session = peer.session
    await peer.send(Detach(close_session=True))
    assert peer.ended
    assert peer.error is None
    assert session.state is SessionState.CLOSED


@by_hand
async def test_a_deleted_session_ends_its_stream_after_its_calls() -> None:
    sessions = new_sessions()
    peer = await Peer(sessions).attach([ECHO])
    await peer.dispatch(call("a"))
    sessions.delete(peer.session.id)
    await settle()
    assert peer.aborted("a").reason == "cancelled"
    assert peer.error is not None
    assert peer.error.reason is Reason.SESSION_CLOSED


@by_hand
async def test_a_session_that_nobody_uses_is_closed() -> None:
    sessions = new_sessions(session_idle_timeout_seconds=100)
    idle = sessions.create("idle", SessionOptions())
    peer = await Peer(sessions).attach([ECHO])
    for _ in range(6):
        await advance(25)
        peer.raw(0, Heartbeat())
    assert idle.state is SessionState.CLOSED
    assert peer.session.state is SessionState.ATTACHED


# --- heartbeats -----------------------------------------------------------------------


@by_hand
async def test_a_silent_server_says_that_it_is_there() -> None:
    peer = await Peer(
        new_sessions(heartbeat_interval_seconds=10, heartbeat_timeout_seconds=30)
    ).attach()
    for _ in range(4):
        await advance(5)
        peer.raw(0, Heartbeat())
    assert peer.of(Heartbeat)
    assert not peer.ended


@by_hand
async def test_a_silent_agent_is_lost_and_may_come_back() -> None:
    peer = await Peer(new_sessions(heartbeat_timeout_seconds=45)).attach([ECHO])
    for _ in range(8):
        await advance(7.5)
    assert peer.error is not None
    assert peer.error.reason is Reason.HEARTBEAT_TIMEOUT
    await peer.again([ECHO])
    assert peer.session.state is SessionState.ATTACHED


@by_hand
async def test_a_write_that_is_never_taken_is_broken_off_though_the_agent_speaks() -> None:
    peer = await Peer(new_sessions()).attach([ECHO])
    await peer.stop_reading()
    await peer.dispatch(call("a"))
    begun = asyncio.Event()

    async def write(message: bytes) -> None:
        begun.set()
        await asyncio.Event().wait()

    writer = asyncio.create_task(peer.connection.serve(write))
    await begun.wait()
    for _ in range(6):
        await advance(7.5)
        peer.raw(0, Heartbeat())
    assert not peer.abandoned
    await advance(7.5)
    assert peer.abandoned
    writer.cancel()
    await peer.lose()
    assert peer.session.state is SessionState.DETACHED


@by_hand
async def test_what_is_said_before_hello_is_no_sign_of_life() -> None:
    stranger = Peer(new_sessions())
    stranger.open()
    for _ in range(7):
        stranger.connection.put(b"garbage")
        await advance(7.5)
    assert stranger.error is not None
    assert stranger.error.reason is Reason.HEARTBEAT_TIMEOUT


@by_hand
async def test_what_is_read_is_acknowledged_even_when_there_is_nothing_to_say() -> None:
    peer = await Peer(new_sessions()).attach([ECHO])
    acknowledged: list[int] = []
    original = peer.sessions.codec.seal

    def seal(envelope: Any) -> bytes:
        acknowledged.append(envelope.acknowledged)
        return original(envelope)

    peer.connection._protocol._codec.seal = seal  # type: ignore[method-assign]
    for number in range(40):
        await peer.send(EndTurn(f"turn {number}"))
    assert max(acknowledged) >= 32


# --- drain ----------------------------------------------------------------------------


@by_hand
async def test_a_drain_lets_open_calls_end_and_refuses_new_ones() -> None:
    sessions = new_sessions()
    peer = await Peer(sessions).attach([ECHO])
    await peer.dispatch(call("a"))
    drain = asyncio.create_task(sessions.drain(10))
    await settle()
    assert [frame.seconds_left for frame in peer.of(Drain)] == [10]
    await peer.dispatch(call("b"))
    assert reasons(peer) == [Reason.DRAINING]
    assert not peer.ended
    await peer.answer("a")
    await drain
    await settle()
    assert peer.outcome("a").result == Completed(success=True)
    assert peer.error is not None
    assert peer.error.reason is Reason.DRAINING


@by_hand
async def test_a_drain_ends_what_is_left_at_its_deadline() -> None:
    sessions = new_sessions()
    peer = await Peer(sessions).attach([tool("sh", cancel_mode=CancelMode.WAIT_FOR_TEARDOWN)])
    await peer.dispatch(call("a", "sh"))
    drain = asyncio.create_task(sessions.drain(10))
    await advance(10.1)
    await drain
    await settle()
    assert peer.aborted("a").message == "aborted after 10.1s: the sidecar is shutting down"
    assert peer.ended


@by_hand
async def test_an_agent_that_comes_back_during_a_drain_is_told_of_it() -> None:
    sessions = new_sessions()
    peer = await Peer(sessions).attach([ECHO])
    await peer.dispatch(call("a"))
    await peer.lose()
    drain = asyncio.create_task(sessions.drain(10))
    await advance(4)
    await peer.again([ECHO])
    assert [frame.seconds_left for frame in peer.of(Drain)] == [6]
    await peer.answer("a")
    await drain
    assert peer.ended_calls() == ["a"]


@by_hand
async def test_an_end_writes_everything_that_waits_before_it() -> None:
    sessions = new_sessions(max_chunk_bytes=200)
    peer = await Peer(sessions).attach([ECHO])
    names = [f"call {number}" for number in range(50)]
    await peer.dispatch(*(call(name) for name in names))
    sessions.delete(peer.session.id)
    await settle()
    while not peer.ended:
        await settle()
    assert sorted(peer.ended_calls()) == sorted(names)
    assert len(peer.of(InvokeHandler)) == 50
    assert len(peer.of(CallCompleted)) == 50
