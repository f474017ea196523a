"""Calls against the server's credits: what is sent, what waits, and what goes behind it."""

from __future__ import annotations

from typing import Any

import pytest
from sidecall.client import CallReference, Function, LimitError, ToolCall
from sidecall.client.calls import Calls
from sidecall.client.link import Place
from sidecall.client.pending import PendingCall
from sidecall.v1 import runtime_stream_pb2 as pb
from sidecall.v1 import tool_call_pb2 as call_pb


class Wire:
    """What calls send, in order."""

    def __init__(self, max_calls: int, max_bytes: int) -> None:
        self.said: list[str] = []
        self.places: dict[str, Place] = {}
        self.pending: dict[str, PendingCall] = {}
        self.calls = Calls(self._send, lambda call: self.said.append(f"cancel {call.call_id}"))
        self.calls.granted(max_calls, max_bytes)

    def _send(self, frame: pb.ClientFrame, place: Place) -> None:
        call_id = frame.dispatch_call.call.call_id
        place.put(len(self.said) + 1, 0)
        self.places[call_id] = place
        self.said.append(call_id)

    def dispatch(self, call_id: str) -> PendingCall:
        agent: Any = None
        pending = PendingCall(agent, ToolCall(call_id, "x", Function("{}"), turn_id="t"))
        self.calls.dispatch(pending, frame(call_id))
        return pending

    def end(self, call_id: str) -> None:
        assert self.calls.ended(CallReference("t", call_id)) is not None


def frame(call_id: str) -> pb.ClientFrame:
    call = call_pb.ToolCall(call_id=call_id, turn_id="t")
    return pb.ClientFrame(dispatch_call=pb.DispatchCall(call=call))


SIZE = frame("a").ByteSize()


async def test_answers_count_until_their_call_has_ended() -> None:
    wire = Wire(max_calls=10, max_bytes=3 * SIZE)
    wire.dispatch("a")
    wire.calls.answered(CallReference("t", "a"), 2 * SIZE)
    wire.dispatch("b")
    assert wire.said == ["a"], "the server holds the answer, too"
    wire.end("a")
    assert wire.said == ["a", "b"]
    wire.dispatch("c")
    wire.dispatch("d")
    assert wire.said == ["a", "b", "c", "d"], "the answer is forgotten with its call"


async def test_an_answer_of_an_ended_call_counts_for_nobody() -> None:
    wire = Wire(max_calls=10, max_bytes=2 * SIZE)
    wire.dispatch("a")
    wire.end("a")
    wire.calls.answered(CallReference("t", "a"), 100 * SIZE)
    wire.dispatch("b")
    wire.dispatch("c")
    assert wire.said == ["a", "b", "c"]


async def test_what_must_not_overtake_goes_behind_the_calls_that_wait() -> None:
    wire = Wire(max_calls=1, max_bytes=1000)
    wire.calls.behind(lambda: wire.said.append("first"))
    for call_id in "ab":
        wire.dispatch(call_id)
    wire.calls.behind(lambda: wire.said.append("end"))
    wire.dispatch("c")
    assert wire.said == ["first", "a"]
    assert wire.calls.some_wait
    wire.end("a")
    assert wire.said == ["first", "a", "b", "end"], "it needs no credits"
    wire.end("b")
    assert wire.said == ["first", "a", "b", "end", "c"]
    assert not wire.calls.some_wait


async def test_a_message_that_is_refused_as_a_whole_ends_all_its_calls() -> None:
    wire = Wire(max_calls=10, max_bytes=1000)
    pending = [wire.dispatch(call_id) for call_id in "abc"]
    for call_id in "ab":
        wire.places[call_id].put(9, 0)
    assert wire.calls.refused(pb.FrameError(sequence=9), LimitError("too much"))
    assert [one.done() for one in pending] == [True, True, False]
    for one in pending[:2]:
        with pytest.raises(LimitError):
            await one


async def test_calls_that_wait_can_be_cancelled_with_what_waits_between_them() -> None:
    wire = Wire(max_calls=1, max_bytes=1000)
    wire.dispatch("a")
    wire.calls.behind(lambda: wire.said.append("end"))
    wire.dispatch("b")
    assert list(wire.calls.cancel_waiting(None, "t")) == [CallReference("t", "b")]
    wire.end("a")
    assert wire.said == ["a", "end", "b", "cancel b"]
