"""Fills the record tables of many sessions, and leaves them full."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import grpc.aio

from tests.bench.frames import CALL_COMPLETED, LEAVE, Dispatches, frames_of
from tests.bench.stream import attach
from tests.bench.window import Window

STREAMS: Final = 4
"""Sessions that are filled at a time."""

MESSAGE_CALLS: Final = 32


@dataclass(frozen=True)
class Fill:
    """What is recorded; no two calls of a session are the same."""

    sessions: int
    records: int
    """Of each session; they are of tools that nobody has, so that nothing runs."""
    arguments_bytes: int
    """Of each record."""


class FillLoad:
    """Records as fast as it goes; the window is as long as that takes."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._channel = channel

    async def sidecall(self, fill: Fill, window: Window) -> dict[str, object]:
        """Record."""
        dispatches = Dispatches(fill.arguments_bytes, tool="nobody")
        frames = [dispatches.next()[-1] for _ in range(fill.records)]
        sessions = iter(range(fill.sessions))
        window.open()
        await asyncio.gather(*(self._fill_on(sessions, frames, window) for _ in range(STREAMS)))
        return window.close()

    async def _fill_on(self, sessions: Iterator[int], frames: list[bytes], window: Window) -> None:
        for _ in sessions:
            stream = await attach(self._channel, None)
            for start in range(0, len(frames), MESSAGE_CALLS):
                piece = frames[start : start + MESSAGE_CALLS]
                await stream.send(piece)
                ended = 0
                while ended < len(piece):
                    kinds = [kind for kind, _ in frames_of(await stream.receive())]
                    ended += kinds.count(CALL_COMPLETED)
                window.counts.calls += ended
            await stream.send([LEAVE])
            await stream.end()
