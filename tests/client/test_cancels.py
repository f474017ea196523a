"""Cancels and notices: each is answered, refused, or lost with its session."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from sidecall.client import CallReference, InvalidArgumentError, SessionLostError
from sidecall.client.cancels import Cancels
from sidecall.client.link import Place
from sidecall.v1 import runtime_stream_pb2 as pb

REFUSAL = InvalidArgumentError("no such id", reason="MISSING_FIELD")
END = pb.ClientFrame(end_turn=pb.EndTurn(turn_id="t"))


class Wire:
    """What is said, in order: each frame is a message of its own, counted from 1."""

    def __init__(self) -> None:
        self.frames: list[pb.ClientFrame] = []
        self.cancels = Cancels(self._send)

    def _send(self, frame: pb.ClientFrame, place: Place) -> None:
        self.frames.append(frame)
        place.put(len(self.frames), 0)

    def refuse(self, sequence: int) -> bool:
        return self.cancels.refused(pb.FrameError(sequence=sequence, frame_index=0), REFUSAL)

    def answer(self, sequence: int) -> None:
        cancel_id = self.frames[sequence - 1].cancel_calls.cancel_id
        self.cancels.answered(pb.CancelResult(cancel_id=cancel_id))


async def test_a_cancel_that_is_refused_ends() -> None:
    wire = Wire()
    refused = wire.cancels.cancel([CallReference("t", "")], None)
    other = wire.cancels.cancel(None, "t")
    assert wire.refuse(1)
    with pytest.raises(InvalidArgumentError):
        await refused
    assert not other.done()
    wire.answer(2)
    assert await other == {}
    assert not wire.refuse(1), "nobody is left"


async def test_a_notice_is_settled_once_by_what_came_first() -> None:
    wire = Wire()
    settled: list[tuple[str, bool]] = []
    taken = wire.cancels.notify(END, settled=lambda good: settled.append(("a", good)))
    refused = wire.cancels.notify(END, settled=lambda good: settled.append(("b", good)))
    assert wire.refuse(3)
    assert settled == [("b", False)], "at once"
    wire.answer(2)
    wire.answer(4)
    await taken
    with pytest.raises(InvalidArgumentError):
        await refused
    assert settled == [("b", False), ("a", True)]


async def test_who_gives_up_waiting_does_not_keep_a_notice_from_being_settled() -> None:
    wire = Wire()
    settled: list[bool] = []
    wire.cancels.notify(END, settled=settled.append).cancel()
    assert wire.refuse(1)
    assert settled == [False]


async def test_a_barrier_that_is_refused_ends_its_notice() -> None:
    wire = Wire()
    notice = wire.cancels.notify(END)
    assert wire.refuse(2)
    with pytest.raises(InvalidArgumentError):
        await notice


async def test_what_is_said_later_is_lost_with_the_session_too() -> None:
    wire = Wire()
    later: list[Callable[[], None]] = []
    waiting: list[asyncio.Future[Any]] = [
        wire.cancels.barrier(later.append),
        wire.cancels.notify(END, when=later.append),
    ]
    assert wire.frames == []
    later[0]()
    assert [frame.WhichOneof("frame") for frame in wire.frames] == ["cancel_calls"]
    wire.cancels.lost(SessionLostError("gone"))
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(result) for result in results] == [SessionLostError] * 2
