"""Loses what a sidecar says to its agent, and tells what happened all the same."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from sidecall.client import Endpoint
from sidecall.v1 import session_service_pb2 as session_pb
from sidecall.v1.session_service_pb2_grpc import SessionServiceStub


class Hole:
    """Passes bytes on between an agent and a sidecar, until what comes down falls into it."""

    def __init__(self, sidecar: str) -> None:
        self._sidecar = sidecar
        self._writers: set[asyncio.StreamWriter] = set()
        self.is_open = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_unix_connection(self._sidecar)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._pass_on(reader, far_writer, down=False))
            group.create_task(self._pass_on(far_reader, writer, down=True))

    async def _pass_on(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, down: bool
    ) -> None:
        self._writers.add(writer)
        with contextlib.closing(writer), contextlib.suppress(OSError):
            while data := await reader.read(65536):
                if not (down and self.is_open):
                    writer.write(data)
        self._writers.discard(writer)

    def cut(self) -> None:
        """End all connections; those that come are whole again."""
        for writer in self._writers:
            writer.close()
        self.is_open = False


@contextlib.asynccontextmanager
async def hole_before(sidecar: Endpoint, folder: Path) -> AsyncIterator[tuple[Hole, Endpoint]]:
    """A hole, and where agents reach the sidecar through it."""
    hole = Hole(sidecar.address.removeprefix("unix://"))
    near = folder / "s.sock"
    async with await asyncio.start_unix_server(hole.serve, near):
        yield hole, Endpoint(f"unix://{near}")


async def calls_until(sidecar: Endpoint, session_id: str, event_kind: str, count: int) -> None:
    """Until so many calls of the session have started, or finished, since the watch began; those
    that had finished before count."""
    async with sidecar.aio_channel() as channel:
        watch = SessionServiceStub(channel).WatchSession(
            session_pb.WatchSessionRequest(session_id=session_id)
        )
        async for event in watch:
            if event.WhichOneof("event") == "snapshot" and event_kind == "call_finished":
                count -= event.snapshot.session.terminal_calls
            elif event.WhichOneof("event") == "snapshot":
                count -= len(event.snapshot.calls)
            count -= event.WhichOneof("event") == event_kind
            if count <= 0:
                return
