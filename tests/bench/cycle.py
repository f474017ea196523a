"""One stream full of calls: dispatch, invoke, result, completed, over and over."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Final

import grpc.aio
from sidecall.v1 import runtime_stream_pb2 as pb
from sidecall.v1 import tool_output_pb2 as output_pb

from tests.bench import echo
from tests.bench.frames import (
    CALL_COMPLETED,
    DETACH,
    INVOKE_HANDLER,
    Dispatches,
    Results,
    frames_of,
)
from tests.bench.stream import Stream, attach
from tests.bench.window import Window

WARM_UP_CALLS: Final = 100
ALL_VIEWS: Final = tuple(view for view in output_pb.View.values() if view)


@dataclass(frozen=True)
class Cycle:
    """What a stream does."""

    arguments_bytes: int
    output_bytes: int
    in_flight: int = 16
    batched: bool = False
    """Frames that are ready together go in one message; else each in one of its own."""
    all_views: bool = False
    period_seconds: float = 0.0
    """One call starts so long after the other. 0: as fast as it goes."""


class CycleLoad:
    """Streams to one server, with what the echo has to answer for each shape."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._channel = channel
        self._openings: dict[tuple[int, int, bool], bytes] = {}

    async def sidecall(self, cycle: Cycle, window: Window) -> dict[str, object]:
        """Run calls through the sidecar."""
        stream = await _attached(self._channel, cycle)
        measured = await _measure(stream, cycle, window)
        await stream.send([DETACH])
        await stream.end()
        return measured

    async def echo(self, cycle: Cycle, window: Window) -> dict[str, object]:
        """Send the same bytes to the echo, which answers as the sidecar did."""
        shape = (cycle.arguments_bytes, cycle.output_bytes, cycle.all_views)
        if shape not in self._openings:
            self._openings[shape] = await _opening(self._channel, cycle)
        stream = Stream(self._channel, echo.STREAM)
        await stream.write(self._openings[shape])
        measured = await _measure(stream, cycle, window)
        await stream.end()
        return measured


async def _measure(stream: Stream, cycle: Cycle, window: Window) -> dict[str, object]:
    pump = _Pump(stream, cycle, window)
    await pump.fill()
    while window.counts.calls < max(WARM_UP_CALLS, 2 * cycle.in_flight):
        await pump.step()
    window.open()
    while not window.over:
        await pump.step()
    measured = window.close()
    await pump.drain()
    return measured


class _Pump:
    """Keeps calls in flight on a stream."""

    def __init__(self, stream: Stream, cycle: Cycle, window: Window) -> None:
        self._stream = stream
        self._cycle = cycle
        self._window = window
        self._dispatches = Dispatches(cycle.arguments_bytes)
        self._results = Results(cycle.output_bytes)
        self._open = 0
        self._began = 0.0

    async def fill(self) -> None:
        """Dispatch as many calls as are to be in flight."""
        await self._send([self._dispatch() for _ in range(self._cycle.in_flight)])

    async def drain(self) -> None:
        """Let what is in flight end."""
        while self._open:
            await self.step(refill=False)

    async def step(self, *, refill: bool = True) -> None:
        """Read one message and answer its frames."""
        message = await self._stream.receive()
        self._window.counts.messages_received += 1
        answers: list[list[bytes]] = []
        for kind, token in frames_of(message):
            if kind == INVOKE_HANDLER:
                answers.append([self._results.of(token)])
            elif kind == CALL_COMPLETED:
                await self._completed()
                if refill:
                    answers.append(self._dispatch())
        if answers:
            await self._send(answers)

    async def _completed(self) -> None:
        self._open -= 1
        self._window.counts.calls += 1
        if self._cycle.in_flight > 1:
            return
        now = time.perf_counter()
        self._window.counts.latencies.append(now - self._began)
        if self._cycle.period_seconds:
            await asyncio.sleep(max(0.0, self._began + self._cycle.period_seconds - now))

    def _dispatch(self) -> list[bytes]:
        self._open += 1
        self._began = time.perf_counter()
        return self._dispatches.next()

    async def _send(self, answers: list[list[bytes]]) -> None:
        if self._cycle.batched:
            answers = [[frame for frames in answers for frame in frames]]
        for frames in answers:
            self._window.counts.messages_sent += 1
            await self._stream.send(frames)


async def _opening(channel: grpc.aio.Channel, cycle: Cycle) -> bytes:
    """One real call: the server's two messages of it are what the echo answers with."""
    stream = await _attached(channel, cycle)
    dispatch_bytes = await stream.send(Dispatches(cycle.arguments_bytes).next())
    invoke = await stream.receive()
    ((_, token),) = frames_of(invoke)
    result_bytes = await stream.send([Results(cycle.output_bytes).of(token)])
    completed = await stream.receive()
    frame = pb.ConnectResponse.FromString(completed).frames[0].call_completed
    assert frame.outcome.completed.success, frame
    await stream.send([DETACH])
    await stream.end()
    return echo.opening((dispatch_bytes + result_bytes) // 2, invoke, completed)


async def _attached(channel: grpc.aio.Channel, cycle: Cycle) -> Stream:
    return await attach(channel, ALL_VIEWS if cycle.all_views else None)
