"""An agent that writes whatever bytes it likes: the stream with no client library between.

`StreamPeer` numbers, acknowledges and sends again as the contract says, as long as it is asked
politely (`send`); `write` sends a message as it is.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import grpc
import grpc.aio
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status
from sidecall.v1 import runtime_stream_pb2 as pb

METHOD = "/sidecall.v1.RuntimeService/Connect"

DEADLINE_SECONDS = 20.0
"""Nothing that is waited for takes longer, even on a busy machine."""

CHANNEL_OPTIONS = (
    ("grpc.default_authority", "localhost"),
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.use_local_subchannel_pool", 1),
)


@dataclass(frozen=True)
class StreamEnd:
    """How a stream ended; `reason` is empty where the status has no ErrorInfo."""

    code: grpc.StatusCode
    message: str
    reason: str


class StreamPeer:
    """One session's agent, across its connections."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._open_stream: Any = channel.stream_stream(METHOD)
        self._write_lock = asyncio.Lock()
        self._changed = asyncio.Condition()
        self._unacknowledged: deque[tuple[int, Sequence[pb.ClientFrame]]] = deque()
        self._parts: dict[int, bytearray] = {}
        self._reader: asyncio.Task[None] | None = None
        self._stream: Any = None
        self.frames: list[pb.ServerFrame] = []
        """Every frame of new messages, in order."""
        self.welcome: pb.Welcome | None = None
        self.sequence = 0
        self.received = 0
        self.acknowledged_by_server = 0
        self.attached = False
        """Whether numbered messages may be written: after Welcome and what had to come again."""
        self.end: StreamEnd | None = None
        self.reading = asyncio.Event()
        self.reading.set()

    # --- life -------------------------------------------------------------------------

    async def attach(self, **hello: Any) -> pb.Welcome:
        """Say Hello on a new stream; `hello` are its fields.

        After the first time it resumes: session, token and last sequence are filled in.
        """
        if self.welcome is not None:
            hello.setdefault("session_id", self.welcome.session_id)
            hello.setdefault("resume_token", self.welcome.resume_token)
            hello.setdefault("last_sequence_received", self.received)
        hello.setdefault("protocol_versions", [1])
        known = len(self.frames)
        self.open()
        frame = pb.ClientFrame(hello=pb.Hello(**hello))
        await self.write(pb.ConnectRequest(frames=[frame]).SerializeToString())
        await self.until(lambda: self._welcomed_after(known) or self.end is not None, "Welcome")
        if not self._welcomed_after(known):
            raise ConnectionError(f"Hello was refused: {self.end}")
        assert self.welcome is not None
        await self._send_again(self.welcome.last_sequence_received)
        return self.welcome

    def open(self, **options: Any) -> None:
        """A new stream, without a word; `options` of the rpc."""
        self.attached = False
        self.end = None
        self._stream = self._open_stream(**options)
        self._reader = asyncio.create_task(self._read(self._stream))

    async def lose(self) -> None:
        """The connection breaks."""
        self.attached = False
        if self._stream is not None:
            self._stream.cancel()
        self.reading.set()
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.gather(self._reader, return_exceptions=True)

    async def ended(self) -> StreamEnd:
        """Wait until the stream has ended."""
        await self.until(lambda: self.end is not None, "the end of the stream")
        assert self.end is not None
        return self.end

    # --- out --------------------------------------------------------------------------

    async def send(self, *frames: pb.ClientFrame) -> int:
        """One numbered message, sent again after a lost connection; returns its sequence."""
        self.sequence += 1
        sequence = self.sequence
        self._unacknowledged.append((sequence, frames))
        if self.attached:
            async with self._write_lock:
                if self.attached:
                    await self._write(self._message(sequence, frames))
        return sequence

    async def write_message(
        self, sequence: int, *frames: pb.ClientFrame, acknowledged: int | None = None
    ) -> None:
        """A message with these numbers, once."""
        await self.write(self._message(sequence, frames, acknowledged))

    async def write(self, data: bytes) -> None:
        """Bytes as a message; a stream that is over swallows them."""
        async with self._write_lock:
            await self._write(data)

    # --- in ---------------------------------------------------------------------------

    def of(self, kind: str, where: Callable[[Any], bool] = lambda _: True) -> list[Any]:
        """The frames of a kind that came so far."""
        return [
            content
            for frame in self.frames
            if frame.WhichOneof("frame") == kind and where(content := getattr(frame, kind))
        ]

    async def expect(
        self, kind: str, where: Callable[[Any], bool] = lambda _: True, count: int = 1
    ) -> Any:
        """Wait for the `count`-th frame of a kind."""
        await self.until(lambda: len(self.of(kind, where)) >= count, f"{kind} {count}")
        return self.of(kind, where)[count - 1]

    async def until(self, met: Callable[[], bool], what: str) -> None:
        """Wait until what came in meets a condition."""
        try:
            async with asyncio.timeout(DEADLINE_SECONDS), self._changed:
                await self._changed.wait_for(met)
        except TimeoutError:
            kinds = [frame.WhichOneof("frame") for frame in self.frames[-20:]]
            raise AssertionError(
                f"{what} did not come; end {self.end}, last frames {kinds}"
            ) from None

    def take(self, frame: pb.ServerFrame) -> None:
        """What to do with a frame, as soon as it is read."""
        self.frames.append(frame)

    # --- details ----------------------------------------------------------------------

    def _message(
        self, sequence: int, frames: Sequence[pb.ClientFrame], acknowledged: int | None = None
    ) -> bytes:
        return pb.ConnectRequest(
            sequence=sequence,
            acknowledged=self.received if acknowledged is None else acknowledged,
            frames=frames,
        ).SerializeToString()

    async def _write(self, data: bytes) -> None:
        try:
            with contextlib.suppress(grpc.RpcError, asyncio.InvalidStateError):
                await self._stream.write(data)
        except asyncio.CancelledError:
            # grpcio raises it as well where only the stream was cancelled.
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise

    async def _send_again(self, seen: int) -> None:
        """What the server has not seen; what is sent meanwhile comes after it."""
        while self._unacknowledged and self._unacknowledged[0][0] <= seen:
            self._unacknowledged.popleft()
        async with self._write_lock:
            while True:
                left = [message for message in self._unacknowledged if message[0] > seen]
                if not left:
                    self.attached = True
                    return
                for sequence, frames in left:
                    await self._write(self._message(sequence, frames))
                    seen = sequence

    def _welcomed_after(self, known: int) -> bool:
        return any(frame.WhichOneof("frame") == "welcome" for frame in self.frames[known:])

    async def _read(self, stream: Any) -> None:
        try:
            while True:
                await self.reading.wait()
                data = await stream.read()
                if stream is not self._stream:
                    return  # taken over: what it still says comes again on the new one
                if data is grpc.aio.EOF:
                    break
                self._receive(pb.ConnectResponse.FromString(data))
                await self._notify()
        except grpc.RpcError:
            pass
        if stream is self._stream:
            self.end = await _end_of(stream)
            await self._notify()

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    def _receive(self, message: pb.ConnectResponse) -> None:
        self.acknowledged_by_server = max(self.acknowledged_by_server, message.acknowledged)
        while self._unacknowledged and self._unacknowledged[0][0] <= self.acknowledged_by_server:
            self._unacknowledged.popleft()
        if message.sequence:
            if message.sequence <= self.received:
                return
            assert message.sequence == self.received + 1, (
                f"the server skipped from {self.received} to {message.sequence}"
            )
            self.received = message.sequence
        for frame in message.frames:
            kind = frame.WhichOneof("frame")
            if kind == "welcome":
                self.welcome = frame.welcome
                if frame.welcome.resume_outcome == pb.RESUME_OUTCOME_GAP:
                    self.received = frame.welcome.next_sequence - 1
                    self._parts.clear()
            if kind == "output_chunk":
                piece = frame.output_chunk
                whole = self._parts.setdefault(piece.transfer_id, bytearray())
                whole += piece.data
                if len(whole) >= piece.size_bytes:
                    del self._parts[piece.transfer_id]
                    self.take(pb.ServerFrame.FromString(bytes(whole)))
            else:
                self.take(frame)


async def _end_of(stream: Any) -> StreamEnd:
    code, message = await stream.code(), await stream.details()
    reason = ""
    status: status_pb2.Status | None = await rpc_status.aio.from_call(stream)
    for detail in status.details if status is not None else ():
        info = error_details_pb2.ErrorInfo()
        if detail.Unpack(info):
            reason = info.reason
    return StreamEnd(code, message or "", reason)
