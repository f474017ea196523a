"""A run: many agents against one server, and what must be left of them: nothing."""

from __future__ import annotations

import asyncio
import random
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import grpc.aio
from sidecall.v1 import session_service_pb2 as session_pb

from tests.chaos.ledger import Ledger
from tests.chaos.plan import plan_visit
from tests.chaos.server import COUNTED_SERVER, Server, serving
from tests.chaos.visit import visit
from tests.chaos.workers import worker
from tests.chaos.world import END_SECONDS, SERVER_FLAGS, World
from tests.runtime_wire.peer import CHANNEL_OPTIONS

AGENTS: Final = 12
WORKERS: Final = 1
PROGRESS_SECONDS: Final = 5.0
MAX_LATE_SECONDS: Final = 90.0
"""Stays that have begun may take so long to end."""

RSS_GROWTH_BYTES: Final = 48 << 20
"""What the server may have gained since its start, after collecting its garbage: caches, pools,
what malloc keeps."""

FDS_GROWTH: Final = 8
"""Descriptors the server may hold more than before its first client."""


async def run(
    seconds: float,
    seed: int,
    tell: Callable[[str], None],
    *,
    agents: int = AGENTS,
    workers: int = WORKERS,
    end_seconds: float = END_SECONDS,
    command: Sequence[str] = COUNTED_SERVER,
) -> Ledger:
    """Chaos for so long, from this seed.

    `end_seconds`: what is to end by itself has so long; `command`: the server to break.
    """
    ledger = Ledger(tell)
    with tempfile.TemporaryDirectory(prefix="sidecall-chaos-") as folder:
        async with serving(Path(folder), SERVER_FLAGS, command) as server:
            rss_start, fds_start = await server.collected_rss_bytes(), server.fds
            async with grpc.aio.insecure_channel(server.address, CHANNEL_OPTIONS) as channel:
                world = World(server.address, channel, ledger, seed, end_seconds)
                await _unleash(world, server, seconds, agents, workers, tell)
                await check_empty(world)
            await _check_process(server, ledger, rss_start, fds_start)
    return ledger


async def check_empty(world: World) -> None:
    """The server holds no session any more."""
    answer = await world.in_time(
        world.sessions.ListSessions(session_pb.ListSessionsRequest(page_size=1000)),
        "ListSessions",
    )
    for session in answer.sessions:
        state = session_pb.SessionState.Name(session.state)
        world.ledger.broke(
            "leaked",
            f"session {session.session_id} is left, {state}, with {session.open_calls} open calls",
        )


async def _unleash(
    world: World,
    server: Server,
    seconds: float,
    agents: int,
    workers: int,
    tell: Callable[[str], None],
) -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    lives = [
        asyncio.create_task(_agent(world, f"seed {world.seed} agent {number}"))
        for number in range(agents)
    ] + [
        asyncio.create_task(_worker(world, f"seed {world.seed} worker {number}", began + seconds))
        for number in range(workers)
    ]
    progress = asyncio.create_task(_progress(world.ledger, server, tell))
    loop.call_later(seconds, world.stop.set)
    done, late = await asyncio.wait(lives, timeout=seconds + MAX_LATE_SECONDS)
    progress.cancel()
    for life in late:
        life.cancel()
        world.ledger.broke("hung", f"an agent did not end: {life.get_coro()}")
    for life in done:
        if (error := life.exception()) is not None:
            raise error


async def _agent(world: World, who: str) -> None:
    """Stay after stay, each with its own seed."""
    number = 0
    while not world.stop.is_set():
        number += 1
        name = f"{who} stay {number}"
        try:
            await visit(world, name, plan_visit(random.Random(name)))
        except (TimeoutError, ConnectionError, grpc.aio.AioRpcError) as error:
            world.ledger.broke("broken", f"{name} failed: {error!r}")


async def _worker(world: World, who: str, deadline: float) -> None:
    number = 0
    loop = asyncio.get_running_loop()
    while not world.stop.is_set():
        number += 1
        name = f"{who} process {number}"
        try:
            await worker(world, name, random.Random(name), deadline - loop.time())
        except (TimeoutError, ConnectionError, grpc.aio.AioRpcError) as error:
            world.ledger.broke("broken", f"{name} failed: {error!r}")


async def _progress(ledger: Ledger, server: Server, tell: Callable[[str], None]) -> None:
    elapsed = 0.0
    while True:
        await asyncio.sleep(PROGRESS_SECONDS)
        elapsed += PROGRESS_SECONDS
        tell(
            f"{elapsed:4.0f} s  {ledger.line}  evil={ledger.evil.total()}"
            f"  rss={server.rss_bytes >> 20} MiB  fds={server.fds}"
        )


async def _check_process(server: Server, ledger: Ledger, rss_start: int, fds_start: int) -> None:
    """Memory, descriptors and tasks are back; the log has no defect; the server stops well."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + END_SECONDS
    while server.fds > fds_start + FDS_GROWTH and loop.time() < deadline:  # noqa: ASYNC110
        await asyncio.sleep(0.1)
    if (fds := server.fds) > fds_start + FDS_GROWTH:
        ledger.broke("leaked", f"{fds} descriptors are open, {fds_start} were at the start")
    if (grown := await server.collected_rss_bytes() - rss_start) > RSS_GROWTH_BYTES:
        ledger.broke("leaked", f"memory grew by {grown >> 20} MiB")
    status = await server.stop()
    if status != 0:
        ledger.broke("broken", f"the server ended with {status}")
    if tasks := server.tasks_left():
        ledger.broke("leaked", f"{tasks} tasks are left: {server.records()[-1]}")
    elif tasks is None:
        ledger.broke("broken", "the server never counted its tasks")
    for defect in server.defects():
        ledger.broke("broken", f"the server logged {defect}")
