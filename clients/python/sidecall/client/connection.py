"""One gRPC stream of an agent: handshake, writer, heartbeats, and how it ended."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import grpc.aio
from sidecall.client import messages
from sidecall.client.errors import SidecallError, UnavailableError, error_of
from sidecall.client.link import Link
from sidecall.endpoint import Endpoint
from sidecall.v1 import runtime_service_pb2_grpc
from sidecall.v1 import runtime_stream_pb2 as pb

HANDSHAKE_SECONDS = 20.0


class StreamEnded(Exception):
    """The stream is over; `error` None: the server ended it well."""

    def __init__(self, error: SidecallError | None) -> None:
        super().__init__(str(error))
        self.error = error


class Connection:
    """Reads and writes for a `Link`. `open` makes it."""

    def __init__(self, channel: grpc.aio.Channel, call: Any, link: Link) -> None:
        self._channel = channel
        self._call = call
        self._link = link
        self._loop = asyncio.get_running_loop()
        self._wake = asyncio.Event()
        self._last_heard = self._last_said = self._loop.time()
        self._interval = self._timeout = 0.0
        self._first: list[pb.ServerFrame] = []
        self._tasks: list[asyncio.Task[None]] = []

    @classmethod
    async def open(
        cls, endpoint: Endpoint, link: Link, hello: pb.Hello
    ) -> tuple[Connection, pb.Welcome]:
        """Say Hello and wait for Welcome.

        Raises:
            SidecallError: the server cannot be reached, or refuses.
        """
        channel = endpoint.aio_channel()
        stub = runtime_service_pb2_grpc.RuntimeServiceStub(channel)
        call = stub.Connect(metadata=endpoint.metadata)
        connection = cls(channel, call, link)
        try:
            async with asyncio.timeout(HANDSHAKE_SECONDS):
                welcome = await connection._handshake(hello)
        except TimeoutError:
            await connection.close()
            raise UnavailableError(
                f"the sidecar did not answer Hello within {HANDSHAKE_SECONDS:g} s"
            ) from None
        except StreamEnded as ended:
            await connection.close()
            raise ended.error or UnavailableError("the stream ended before Welcome") from None
        except BaseException:
            await connection.close()
            raise
        return connection, welcome

    def wake(self) -> None:
        """The link has something to write."""
        self._wake.set()

    def cut(self) -> None:
        """End the stream as a broken network would."""
        self._call.cancel()

    async def frames(self) -> AsyncIterator[pb.ServerFrame]:
        """The frames of the server, each once.

        Raises:
            StreamEnded: always, at the end.
        """
        while True:
            for frame in self._first:
                yield frame
            self._first = []
            message = await self._next()
            for frame in self._link.receive(message):
                yield frame
            self._wake.set()  # an acknowledgement may be due

    async def close(self) -> None:
        """End the stream and what belongs to it."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._call.cancel()
        await self._channel.close()

    # --- details ----------------------------------------------------------------------

    async def _handshake(self, hello: pb.Hello) -> pb.Welcome:
        with contextlib.suppress(grpc.RpcError, asyncio.InvalidStateError):  # `_next` says why
            await self._call.write(pb.ConnectRequest(frames=[pb.ClientFrame(hello=hello)]))
        while True:
            message = await self._next()
            if message.frames and message.frames[0].WhichOneof("frame") == "welcome":
                break
        welcome = message.frames[0].welcome
        self._link.welcomed(welcome)
        self._first = list(message.frames[1:])
        self._interval = messages.seconds(welcome, "heartbeat_interval") or 15.0
        self._timeout = messages.seconds(welcome, "heartbeat_timeout") or 45.0
        self._tasks = [
            asyncio.create_task(self._write()),
            asyncio.create_task(self._watch()),
        ]
        return welcome

    async def _next(self) -> pb.ConnectResponse:
        try:
            message: pb.ConnectResponse | Any = await self._call.read()
        except grpc.RpcError as error:
            raise StreamEnded(error_of(error)) from None
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise StreamEnded(UnavailableError("the connection was cut")) from None
        if message is grpc.aio.EOF:
            raise StreamEnded(await self._end())
        self._last_heard = self._loop.time()
        response: pb.ConnectResponse = message
        return response

    async def _end(self) -> SidecallError | None:
        code = await self._call.code()
        if code is grpc.StatusCode.OK:
            return None
        return UnavailableError(await self._call.details() or str(code))

    async def _write(self) -> None:
        """Write what the link has; a stream that fails is noticed by its reader."""
        with contextlib.suppress(grpc.RpcError, asyncio.InvalidStateError):
            while True:
                self._wake.clear()
                while (message := self._link.next_message()) is not None:
                    await self._call.write(message)
                    self._last_said = self._loop.time()
                await self._wake.wait()

    async def _watch(self) -> None:
        """Say something now and then, and notice when the server says nothing."""
        while True:
            await asyncio.sleep(min(self._interval, self._timeout) / 3)
            now = self._loop.time()
            if now - self._last_heard > self._timeout:
                self._call.cancel()
                return
            if now - self._last_said >= self._interval / 3:
                with contextlib.suppress(grpc.RpcError, asyncio.InvalidStateError):
                    await self._call.write(self._link.heartbeat())
                self._last_said = now
