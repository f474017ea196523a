"""The outbox: bounded messages, pieces of large frames, what a gap says anew (S7, R3)."""

from __future__ import annotations

import pickle
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from sidecall_server.domain.declarations import HookPoint
from sidecall_server.domain.frames import (
    AbortHandler,
    Block,
    CallCompleted,
    CallReference,
    CancelCalls,
    CancelTarget,
    Chunk,
    Envelope,
    FrameError,
    Hello,
    HookVerdict,
    InvokeHandler,
    InvokeHook,
    ResumeOutcome,
)
from sidecall_server.domain.outcome import Aborted, AbortProgress, ModelFailure
from sidecall_server.domain.session_options import SessionOptions
from sidecall_server.domain.values import FunctionPayload
from sidecall_server.runtime.outbox import Outbox

from tests.runtime.clock import advance, by_hand, settle
from tests.runtime.peer import Peer, PickleCodec, call, hook, new_sessions, tool

CHUNK_BYTES = 1000
OVERHEAD_BYTES = 200
"""What pickle writes around a piece."""


def new_outbox(written: list[Any], **limits: Any) -> Outbox:
    defaults: dict[str, Any] = {
        "max_replay_bytes": 10**9,
        "max_chunk_bytes": CHUNK_BYTES,
        "max_waiting_bytes": 10**9,
        "memory_is_scarce": lambda: False,
    }
    return Outbox(
        PickleCodec(), on_written=written.append, on_change=lambda: None, **{**defaults, **limits}
    )


def invocation(name: str, size_bytes: int) -> InvokeHandler:
    return InvokeHandler(
        name.encode(), call(name, payload=FunctionPayload("x" * size_bytes)), False, 1
    )


def frames_of(message: bytes) -> list[Any]:
    return [pickle.loads(frame) for frame in pickle.loads(message).frames]


class Reader:
    """Puts together what an outbox writes."""

    def __init__(self, outbox: Outbox) -> None:
        self.outbox = outbox
        self.frames: list[Any] = []
        self.parts: dict[int, bytes] = {}

    def read(self, messages: int) -> None:
        for _ in range(messages):
            message = self.outbox.next_message(0)
            if message is not None:
                self.take(message[1])

    def take(self, message: bytes) -> None:
        envelope: Envelope = pickle.loads(message)
        assert sum(map(len, envelope.frames)) <= CHUNK_BYTES + OVERHEAD_BYTES
        for frame in frames_of(message):
            if isinstance(frame, Chunk):
                whole = self.parts.get(frame.transfer_id, b"") + frame.data
                self.parts[frame.transfer_id] = whole
                if len(whole) < frame.size_bytes:
                    continue
                frame = pickle.loads(self.parts.pop(frame.transfer_id))
            self.frames.append(frame)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["frame", "control", "bytes"]), st.integers(0, 5000)),
        max_size=12,
    ),
    st.integers(1, 3),
)
def test_everything_arrives_once_in_messages_of_a_bounded_size(
    sent: list[tuple[str, int]], at_a_time: int
) -> None:
    written: list[Any] = []
    outbox = new_outbox(written)
    reader = Reader(outbox)
    expected = []
    for number, (how, size_bytes) in enumerate(sent):
        frame = invocation(f"{number}", size_bytes)
        expected.append(frame)
        data = pickle.dumps(frame)
        outbox.send(data if how == "bytes" else frame, control=how == "control")
        reader.read(at_a_time)
    reader.read(10_000)
    assert sorted(frame.call.call_id for frame in reader.frames) == sorted(
        frame.call.call_id for frame in expected
    )
    assert not reader.parts
    assert outbox.backlog == 0
    told = [int(frame.call.call_id) for frame in written]
    assert sorted(told) == [n for n, (how, _) in enumerate(sent) if how == "frame"]


def test_an_invocation_is_written_when_its_last_piece_is() -> None:
    written: list[Any] = []
    outbox = new_outbox(written)
    frame = invocation("a", 2500)
    outbox.send(frame)
    reader = Reader(outbox)
    reader.read(2)
    assert (written, outbox.waits(frame)) == ([], True)
    reader.read(1)
    assert (written, outbox.waits(frame)) == ([frame], False)
    assert reader.frames == [frame]


def test_what_is_withdrawn_between_its_pieces_never_arrives() -> None:
    written: list[Any] = []
    outbox = new_outbox(written)
    frame, after = invocation("a", 2500), invocation("b", 10)
    outbox.send(frame)
    reader = Reader(outbox)
    reader.read(1)
    assert outbox.withdraw(frame)
    assert not outbox.withdraw(frame)
    outbox.send(after)
    reader.read(10)
    assert (reader.frames, written) == ([after], [after])
    assert outbox.backlog == 0


def test_small_frames_and_pieces_take_turns() -> None:
    outbox = new_outbox([])
    outbox.send(invocation("large", 3500))
    kinds = []
    for number in range(8):
        outbox.send(invocation(f"{number}", 10))
        message = outbox.next_message(0)
        assert message is not None
        kinds.append({type(frame) for frame in frames_of(message[1])})
    assert kinds == [{InvokeHandler}, {Chunk}] * 4


def test_a_gap_tells_outcomes_and_answers_anew_and_what_was_written_in_part() -> None:
    outbox = new_outbox([], max_replay_bytes=1)
    outcome = pickle.dumps(invocation("outcome", 3000))
    cut = invocation("cut", 2500)
    outbox.send(outcome)
    Reader(outbox).read(10)
    outbox.send(cut)
    Reader(outbox).read(1)
    resumed, replay = outbox.resume(0)
    assert (resumed, replay) == (ResumeOutcome.GAP, [])
    reader = Reader(outbox)
    reader.read(20)
    assert [frame.call.call_id for frame in reader.frames] == ["outcome", "cut"]


# --- the same, seen from a call -------------------------------------------------------


LARGE = FunctionPayload('"' + "x" * 5000 + '"')


@by_hand
async def test_a_call_that_is_cancelled_between_the_pieces_of_its_invocation_never_starts() -> None:
    peer = await Peer(new_sessions(max_chunk_bytes=1000)).attach([tool("echo")])
    await peer.stop_reading()
    await peer.dispatch(call("a", payload=LARGE))
    assert peer.session.outbox.next_message(0) is not None
    await peer.cancel("a")
    (ended,) = peer.session.calls()
    assert ended.outcome is not None
    assert isinstance(ended.outcome.result, Aborted)
    assert ended.outcome.result.progress is AbortProgress.NOT_STARTED
    assert ended.durations().dispatch is None, "the handler never started"
    left = Reader(peer.session.outbox)
    while (message := peer.session.outbox.next_message(0)) is not None:
        left.frames += frames_of(message[1])
    assert not [frame for frame in left.frames if isinstance(frame, Chunk | InvokeHandler)]


@by_hand
async def test_the_time_of_hooks_begins_when_they_are_told() -> None:
    before = hook(HookPoint.PRE_TOOL_USE, timeout_seconds=5)
    peer = await Peer(new_sessions(resume_grace_seconds=60)).attach([tool("echo")], [before])
    await peer.stop_reading()
    await peer.dispatch(call("a"))
    await peer.lose()
    await advance(20)
    await peer.again([tool("echo")], [before])
    assert len(peer.of(InvokeHook)) == 1
    assert not peer.of(AbortHandler)
    await peer.judge("a")
    assert peer.invoked() == ["a"]


@by_hand
async def test_after_a_gap_no_hook_is_asked_about_a_call_that_has_ended() -> None:
    before = hook(HookPoint.PRE_TOOL_USE)
    peer = await Peer(new_sessions(max_replay_bytes=1)).attach(
        [tool("echo")], [before], acknowledges=False
    )
    await peer.dispatch(call("a"))
    await peer.cancel("a")
    await peer.lose()
    peer.frames.clear()
    peer.received = 0
    await peer.again([tool("echo")], [before])
    assert not peer.of(InvokeHook)
    assert [frame.call.call_id for frame in peer.of(CallCompleted)] == ["a"]
    assert len(peer.of(AbortHandler)) == 1, "the hook that runs is told to stop"


@by_hand
async def test_a_gap_does_not_start_a_handler_s_time_anew() -> None:
    peer = await Peer(new_sessions(max_replay_bytes=1)).attach([tool("echo")], acknowledges=False)
    await peer.dispatch(call("a"))
    await advance(3)
    await peer.lose()
    peer.frames.clear()
    peer.received = 0
    await peer.again([tool("echo")])
    await peer.answer("a")
    (completed,) = peer.of(CallCompleted)
    assert completed.durations.handler == 3


def test_one_large_frame_is_in_pieces_at_a_time() -> None:
    outbox = new_outbox([])
    data = pickle.dumps(invocation("large", 3000))
    for _ in range(100):
        outbox.send(bytes(bytearray(data)))
    outbox.next_message(0)
    assert len(outbox._pieces) < 10


@by_hand
async def test_an_ended_call_that_is_asked_for_again_and_again_is_told_once() -> None:
    peer = await Peer(new_sessions()).attach([tool("echo")])
    await peer.dispatch(call("a"))
    await peer.answer("a")
    await peer.dispatch(*[call("a")] * 50)
    assert peer.ended_calls() == ["a", "a"]


@by_hand
async def test_an_abort_never_overtakes_the_invocation_that_is_told_anew() -> None:
    peer = await Peer(new_sessions(max_replay_bytes=1, max_chunk_bytes=1000)).attach(
        [tool("echo")], acknowledges=False
    )
    await peer.dispatch(call("a", payload=LARGE))
    assert peer.invoked() == ["a"]
    await peer.lose()
    peer.frames.clear()
    peer.received = 0
    peer.open(acknowledges=False)
    assert peer.welcome is not None
    hello = Hello(
        (1,),
        peer.welcome.session_id,
        peer.welcome.resume_token,
        0,
        SessionOptions(),
        (tool("echo"),),
        (),
        "test",
    )
    target = CancelTarget(calls=(CallReference("turn", "a"),))
    peer.connection.put(pickle.dumps(Envelope(0, 0, [pickle.dumps(hello)])))
    peer.raw(peer.sequence + 1, CancelCalls(9, target))
    await settle()
    assert not peer.of(InvokeHandler)
    assert len(peer.of(AbortHandler)) == len(peer.of(CallCompleted)) == 1


@by_hand
async def test_a_hook_that_runs_is_told_to_stop_though_its_frame_waits_to_be_told_anew() -> None:
    before = hook(HookPoint.PRE_TOOL_USE)
    peer = await Peer(new_sessions(max_replay_bytes=1)).attach(
        [tool("echo")], [before], acknowledges=False
    )
    await peer.dispatch(call("a"))
    await peer.lose()
    session = peer.session
    asked = session.open_calls[CallReference("turn", "a")].hook
    assert asked is not None
    session.outbox.send(asked)
    session.cancel(CancelTarget())
    peer.frames.clear()
    peer.received = 0
    await peer.again([tool("echo")], [before])
    assert not peer.of(InvokeHook)
    assert len(peer.of(AbortHandler)) == 1


@by_hand
async def test_a_block_counts_though_there_is_no_room_for_its_texts() -> None:
    peer = await Peer(new_sessions(max_bytes_in_flight=300)).attach(
        [tool("echo")], [hook(HookPoint.PRE_TOOL_USE)]
    )
    await peer.dispatch(call("a"))
    (asked,) = peer.of(InvokeHook)
    await peer.send(HookVerdict(asked.hook_token, Block("no"), ("x" * 4000,), 4000))
    assert not peer.of(FrameError)
    assert not peer.invoked()
    (completed,) = peer.of(CallCompleted)
    assert completed.additional_contexts == ()
    assert isinstance(completed.outcome.result, ModelFailure)
