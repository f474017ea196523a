"""Outcomes that are lost on their way and not kept: whoever waits for them is told."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sidecall.client import (
    Completed,
    Endpoint,
    Invocation,
    NotFoundError,
    Tool,
    connect,
    spawn,
)
from sidecall.v1 import session_service_pb2 as session_pb
from sidecall.v1.session_service_pb2_grpc import SessionServiceStub

from tests.client.agents import SIDECALL, call

FORGETFUL = [
    *("--max-replay-bytes", "1"),
    *("--max-retained-calls", "1"),
    *("--max-bytes-in-flight", "100000"),
]
CALLS = 4


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


@pytest.fixture
async def forgetful() -> AsyncIterator[Endpoint]:
    """A sidecar that keeps one ended call, and hardly anything that it said."""
    async with spawn(executable=SIDECALL, arguments=FORGETFUL) as spawned:
        yield spawned


async def finished_calls(sidecar: Endpoint, session_id: str, count: int) -> None:
    """Until so many calls of the session have ended."""
    async with sidecar.aio_channel() as channel:
        watch = SessionServiceStub(channel).WatchSession(
            session_pb.WatchSessionRequest(session_id=session_id)
        )
        async for event in watch:
            count -= event.WhichOneof("event") == "call_finished"
            if event.WhichOneof("event") == "snapshot":
                count -= event.snapshot.session.terminal_calls
            if count <= 0:
                return


async def test_who_waits_for_a_lost_outcome_is_told_that_it_is_lost(
    forgetful: Endpoint, tmp_path: Path
) -> None:
    hole = Hole(forgetful.address.removeprefix("unix://"))
    all_run, let_go = asyncio.Barrier(CALLS + 1), asyncio.Event()
    connections: asyncio.Queue[str] = asyncio.Queue()

    async def large(invocation: Invocation) -> str:
        await all_run.wait()
        await let_go.wait()
        return "x" * 60_000

    near = tmp_path / "s.sock"
    async with (
        asyncio.timeout(60),
        await asyncio.start_unix_server(hole.serve, near),
        connect(
            Endpoint(f"unix://{near}"),
            tools=[Tool("large", large, parallel=True)],
            on_connection=connections.put_nowait,
        ) as agent,
    ):
        assert await connections.get() == "new"
        pending = [agent.dispatch(call(f"{number}", "large")) for number in range(CALLS)]
        await all_run.wait()
        hole.is_open = True
        let_go.set()
        await finished_calls(forgetful, agent.session_id, CALLS)
        hole.cut()
        assert await connections.get() == "gap"
        await asyncio.wait([one.future for one in pending])
        errors = [one.future.exception() for one in pending]
        lost = [error for error in errors if error is not None]
        assert lost, "the server could not keep all of them"
        assert {type(error) for error in lost} == {NotFoundError}
        assert {getattr(error, "reason", "") for error in lost} == {"CALL_NOT_FOUND"}
        kept = [one for one, error in zip(pending, errors, strict=True) if error is None]
        assert kept, "what the server keeps it tells anew"
        assert {(await one).outcome for one in kept} == {Completed(success=True)}
        status = await agent.unary.get_tool_call(agent.session_id, kept[-1].reference)
        assert (status.phase, status.outcome) == ("terminal", Completed(success=True))
