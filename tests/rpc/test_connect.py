"""The reader of a stream: one message after the other, as long as there is room."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc.aio
from sidecall_server.rpc.connect import _read

from tests.runtime.clock import by_hand, settle


class Incoming:
    """What an agent sent, as grpcio hands it over."""

    def __init__(self, *messages: bytes) -> None:
        self._left: list[Any] = [*messages, grpc.aio.EOF]

    async def read(self) -> Any:
        await asyncio.sleep(0)
        return self._left.pop(0)


class Receiver:
    """A connection that has room only when it is told so."""

    full = True

    def __init__(self) -> None:
        self.has_room = asyncio.Event()
        self.heard: list[object] = []

    def put(self, message: bytes) -> None:
        self.heard.append(message)

    async def room(self) -> None:
        await self.has_room.wait()

    def hung_up(self) -> None:
        self.heard.append("hung up")


@by_hand
async def test_nothing_more_is_read_until_there_is_room() -> None:
    receiver: Any = Receiver()
    incoming: Any = Incoming(b"one", b"two")
    reader = asyncio.create_task(_read(receiver, incoming))
    await settle()
    assert receiver.heard == [b"one"]
    receiver.has_room.set()
    await reader
    assert receiver.heard == [b"one", b"two", "hung up"]
