"""The network between a driver and its sidecar: a socket that passes bytes on, until told not to.

- ``network: cut`` breaks all connections; new ones are made as ever
- ``network: away`` breaks them, and refuses new ones
- ``network: back`` takes new connections again
- ``network: hold`` lets ``after_bytes`` (0) more pass in one ``direction`` (``requests``,
  ``replies``), then none, until the connections are cut
- ``network: held`` waits until ``at_least`` (1) bytes were held back in that ``direction``
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.conformance.clients.expected import Json

CHUNK_BYTES = 1 << 16
REQUESTS, REPLIES = "requests", "replies"


class Flow:
    """One direction of all connections."""

    def __init__(self) -> None:
        self.allowed_bytes: int | None = None
        """What may still pass; None: everything."""
        self.held_bytes = 0
        self.grew = asyncio.Condition()

    async def passes(self, data: bytes) -> bytes:
        """What of it passes; the rest is gone."""
        if self.allowed_bytes is None:
            return data
        passed = data[: self.allowed_bytes]
        self.allowed_bytes -= len(passed)
        async with self.grew:
            self.held_bytes += len(data) - len(passed)
            self.grew.notify_all()
        return passed

    async def held(self, at_least: int) -> None:
        """Wait until so much was held back."""
        async with self.grew:
            await self.grew.wait_for(lambda: self.held_bytes >= at_least)


class Network:
    """Listens at one socket and connects to another."""

    def __init__(self, socket: Path, target: Path) -> None:
        self._socket = socket
        self._target = target
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._flows = {REQUESTS: Flow(), REPLIES: Flow()}

    @property
    def endpoint(self) -> str:
        """Where drivers connect."""
        return f"unix://{self._socket}"

    async def do(self, step: Json) -> None:
        """Carry out a step."""
        match step["network"]:
            case "cut":
                await self.cut()
            case "away":
                await self.close()
            case "back":
                await self.open()
            case "hold":
                self._flows[step["direction"]].allowed_bytes = step.get("after_bytes", 0)
            case "held":
                await self._flows[step["direction"]].held(step.get("at_least", 1))
            case kind:
                raise ValueError(f"the network cannot {kind!r}")

    async def open(self) -> None:
        """Take connections."""
        self._server = await asyncio.start_unix_server(self._accept, self._socket)

    async def cut(self) -> None:
        """Break all connections."""
        self._flows = {REQUESTS: Flow(), REPLIES: Flow()}
        connections = list(self._connections)
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    async def close(self) -> None:
        """Take no connections any more, and break those there are."""
        if self._server is not None:
            self._server.close()
            self._server = None
            self._socket.unlink()
        await self.cut()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._connect(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends = [writer]
        try:
            replies, far = await asyncio.open_unix_connection(self._target)
            ends.append(far)
            async with asyncio.TaskGroup() as group:
                group.create_task(_pass_on(reader, far, self._flows[REQUESTS]))
                group.create_task(_pass_on(replies, writer, self._flows[REPLIES]))
        except* (OSError, _Over):
            pass
        finally:
            for end in ends:
                end.transport.abort()


class _Over(Exception):
    """One side has closed the connection."""


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, flow: Flow) -> None:
    while data := await reader.read(CHUNK_BYTES):
        writer.write(await flow.passes(data))
        await writer.drain()
    raise _Over
