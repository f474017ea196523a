"""A stream of ready-made bytes, with its sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import grpc
import grpc.aio
from sidecall.v1 import runtime_stream_pb2 as pb
from sidecall.v1 import tool_output_pb2 as output_pb

from tests.bench.frames import hello, seal, sequence_of

CONNECT: Final = "/sidecall.v1.RuntimeService/Connect"


class Stream:
    """One rpc."""

    def __init__(self, channel: grpc.aio.Channel, method: str) -> None:
        self._call: Any = channel.stream_stream(method)()
        self._sent = 0
        self._seen = 0

    async def send(self, frames: Sequence[bytes]) -> int:
        """Send the frames as one counted message; returns its bytes."""
        self._sent += 1
        message = seal(self._sent, self._seen, frames)
        await self._call.write(message)
        return len(message)

    async def write(self, message: bytes) -> None:
        """Send a message that is not counted."""
        await self._call.write(message)

    async def receive(self) -> bytes:
        """The next message.

        Raises:
            AssertionError: the stream has ended; its text shows the status.
        """
        message: Any = await self._call.read()
        assert message is not grpc.aio.EOF, await self._call.code()
        self._seen = max(self._seen, sequence_of(message))
        return bytes(message)

    async def end(self) -> None:
        """Say that nothing more comes, and wait for the other side's end."""
        await self._call.done_writing()
        while await self._call.read() is not grpc.aio.EOF:
            pass
        status = await self._call.code()
        assert status is grpc.StatusCode.OK, status


async def attach(
    channel: grpc.aio.Channel, views: Sequence[output_pb.View.ValueType] | None
) -> Stream:
    """A new session; `views` of its outcomes, absent the default ones."""
    stream = Stream(channel, CONNECT)
    await stream.write(hello(views))
    welcome = pb.ConnectResponse.FromString(await stream.receive())
    assert welcome.frames[0].HasField("welcome"), welcome
    return stream
