"""One stream full of calls: dispatch, invoke, result, completed, over and over."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass, field
from typing import Any, Final

import grpc.aio
from sidecall.v1 import runtime_stream_pb2 as pb
from sidecall.v1 import tool_output_pb2 as output_pb

from tests.bench import echo
from tests.bench.frames import (
    CALL_COMPLETED,
    INVOKE_HANDLER,
    Dispatches,
    Results,
    frames_of,
    hello,
    seal,
    sequence_of,
)
from tests.bench.processor import processor_seconds

CONNECT: Final = "/sidecall.v1.RuntimeService/Connect"
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


@dataclass
class Measured:
    """What happened in a window of time."""

    seconds: float = 0.0
    calls: int = 0
    load_cpu_seconds: float = 0.0
    server_cpu_seconds: float = 0.0
    messages_sent: int = 0
    messages_received: int = 0
    latencies: list[float] = field(default_factory=list)
    """Seconds of each call; only where one is in flight at a time."""


class Load:
    """Streams to one server, with what the echoes have to answer."""

    def __init__(self, channel: grpc.aio.Channel, server_pid: int) -> None:
        self._channel = channel
        self._server_pid = server_pid
        self._answers: dict[tuple[int, int, bool], bytes] = {}

    async def sidecall(self, cycle: Cycle, seconds: float) -> Measured:
        """Run calls through the sidecar for so long."""
        stream = await _attach(self._channel, cycle)
        measured = await self._measure(stream, cycle, seconds)
        await stream.write(seal(stream.sequence + 1, stream.seen, [_DETACH]))
        while await stream.read() is not None:
            pass
        return measured

    async def echo(self, cycle: Cycle, seconds: float) -> Measured:
        """Send the same bytes to the echo, which answers as the sidecar did."""
        shape = (cycle.arguments_bytes, cycle.output_bytes, cycle.all_views)
        if shape not in self._answers:
            self._answers[shape] = await _opening(self._channel, cycle)
        stream = _Stream(self._channel, echo.STREAM)
        await stream.write(self._answers[shape])
        measured = await self._measure(stream, cycle, seconds)
        await stream.done()
        return measured

    async def _measure(self, stream: _Stream, cycle: Cycle, seconds: float) -> Measured:
        pump = _Pump(stream, cycle)
        await pump.fill()
        await pump.run(max(WARM_UP_CALLS, 2 * cycle.in_flight), None)
        pump.measured = Measured()
        begin = self._clocks()
        await pump.run(None, begin[0] + seconds)
        end = self._clocks()
        await pump.drain()
        measured = pump.measured
        measured.seconds, measured.load_cpu_seconds, measured.server_cpu_seconds = (
            after - before for before, after in zip(begin, end, strict=True)
        )
        return measured

    def _clocks(self) -> tuple[float, float, float]:
        return (
            time.perf_counter(),
            processor_seconds(os.getpid()),
            processor_seconds(self._server_pid),
        )


class _Stream:
    """A stream of bytes, with its sequences."""

    def __init__(self, channel: grpc.aio.Channel, method: str) -> None:
        self._call: Any = channel.stream_stream(method)()
        self.sequence = 0
        self.seen = 0

    async def write(self, message: bytes) -> None:
        await self._call.write(message)

    async def read(self) -> bytes | None:
        """The next message; None: the stream has ended."""
        message = await self._call.read()
        return None if message is grpc.aio.EOF else message

    async def done(self) -> None:
        """Say that nothing more comes, and wait for the end."""
        await self._call.done_writing()
        while await self.read() is not None:
            pass


class _Pump:
    """Keeps calls in flight on a stream."""

    def __init__(self, stream: _Stream, cycle: Cycle) -> None:
        self._stream = stream
        self._cycle = cycle
        self._dispatches = Dispatches(cycle.arguments_bytes)
        self._results = Results(cycle.output_bytes)
        self._open = 0
        self._began = 0.0
        self.measured = Measured()

    async def fill(self) -> None:
        """Dispatch as many calls as are to be in flight."""
        await self._send([self._dispatch() for _ in range(self._cycle.in_flight)])

    async def run(self, calls: int | None, until: float | None) -> None:
        """Go on until so many calls have ended, or the time has come."""
        measured = self.measured
        while (calls is None or measured.calls < calls) and (
            until is None or time.perf_counter() < until
        ):
            await self._step(refill=True)

    async def drain(self) -> None:
        """Let what is in flight end."""
        measured, self.measured = self.measured, Measured()
        while self._open:
            await self._step(refill=False)
        self.measured = measured

    async def _step(self, *, refill: bool) -> None:
        message = await self._stream.read()
        assert message is not None, "the stream goes on"
        self._stream.seen = max(self._stream.seen, sequence_of(message))
        self.measured.messages_received += 1
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
        self.measured.calls += 1
        if self._cycle.in_flight > 1:
            return
        now = time.perf_counter()
        self.measured.latencies.append(now - self._began)
        if self._cycle.period_seconds:
            await asyncio.sleep(max(0.0, self._began + self._cycle.period_seconds - now))

    def _dispatch(self) -> list[bytes]:
        self._open += 1
        self._began = time.perf_counter()
        return self._dispatches.next()

    async def _send(self, answers: list[list[bytes]]) -> None:
        if self._cycle.batched:
            answers = [[frame for frames in answers for frame in frames]]
        stream = self._stream
        for frames in answers:
            stream.sequence += 1
            self.measured.messages_sent += 1
            await stream.write(seal(stream.sequence, stream.seen, frames))


async def _attach(channel: grpc.aio.Channel, cycle: Cycle) -> _Stream:
    stream = _Stream(channel, CONNECT)
    await stream.write(hello(ALL_VIEWS if cycle.all_views else None))
    welcome = pb.ConnectResponse.FromString(await stream.read() or b"")
    assert welcome.frames[0].HasField("welcome"), welcome
    return stream


async def _opening(channel: grpc.aio.Channel, cycle: Cycle) -> bytes:
    """One real call: the server's two messages of it are what the echo answers with."""
    stream = await _attach(channel, cycle)
    dispatch = seal(1, 0, Dispatches(cycle.arguments_bytes).next())
    await stream.write(dispatch)
    invoke = await stream.read() or b""
    ((_, token),) = frames_of(invoke)
    result = seal(2, 1, [Results(cycle.output_bytes).of(token)])
    await stream.write(result)
    completed = await stream.read() or b""
    frame = pb.ConnectResponse.FromString(completed).frames[0].call_completed
    assert frame.outcome.completed.success, frame
    await stream.write(seal(3, 2, [_DETACH]))
    await stream.done()
    return echo.opening((len(dispatch) + len(result)) // 2, invoke, completed)


_DETACH: Final = pb.ClientFrame(detach=pb.Detach(close_session=True)).SerializeToString()
