"""A soak: a warm-up, then the load, each followed by quiet in which the server is measured."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.chaos.server import COUNTED_SERVER, Server, serving
from tests.soak.load import Load, run_load

WARM_UP_SECONDS: Final = 30.0
"""Caches, pools and malloc's arenas fill; a shorter soak warms up for a quarter of its time."""

PROGRESS_SECONDS: Final = 30.0
RSS_GROWTH_BYTES: Final = 16 << 20
"""What the server may hold more after the soak than after the warm-up, in quiet, after
collecting its garbage."""

LOSING_SECONDS: Final = 60.0
"""After so long slow watchers must have lost events; until then the transport holds them."""

FDS_GROWTH: Final = 2
QUIET_SECONDS: Final = 1.0
"""Descriptors that do not change for so long are those that stay."""

FLAGS: Final = (
    "--resume-grace-seconds=5",
    "--max-watcher-events=32",
    "--max-closed-sessions=8",
)


@dataclass
class Report:
    """What a soak found."""

    seconds: float
    rss_start: int
    rss_end: int
    fds_start: int
    fds_end: int
    tasks_left: int | None
    load: Load
    faults: list[str]

    @property
    def line(self) -> str:
        """The last line of a soak."""
        return (
            f"rss_start={self.rss_start} rss_end={self.rss_end} fds_start={self.fds_start}"
            f" fds_end={self.fds_end} tasks_left={self.tasks_left}"
        )

    def judge(self) -> list[str]:
        """Everything that is not as it must be."""
        faults = [*self.faults, *self.load.broke[:20]]
        if (grown := self.rss_end - self.rss_start) > RSS_GROWTH_BYTES:
            faults.append(f"memory grew by {grown >> 20} MiB")
        if self.fds_end > self.fds_start + FDS_GROWTH:
            faults.append(f"{self.fds_end - self.fds_start} more descriptors are open")
        if self.tasks_left != 0:
            faults.append(f"{self.tasks_left} tasks are left")
        faults += [
            f"the load proves nothing: {what}=0"
            for what in ("calls", "resumes", "cancels", "events_lost")
            if (what != "events_lost" or self.seconds >= LOSING_SECONDS)
            and not getattr(self.load, what)
        ]
        return faults


async def soak(
    seconds: float,
    seed: int,
    tell: Callable[[str], None],
    command: Sequence[str] = COUNTED_SERVER,
) -> Report:
    """Load the server for so long, and measure what it leaves."""
    with tempfile.TemporaryDirectory(prefix="sidecall-soak-") as folder:
        async with serving(Path(folder), FLAGS, command) as server:
            warm_up = min(WARM_UP_SECONDS, seconds / 4)
            await run_load(server.address, warm_up, f"{seed}/warm-up")
            rss_start, fds_start = await _measure(server)
            load = Load(server.address, None)
            progress = asyncio.create_task(_progress(load, server, tell))
            await run_load(server.address, seconds, str(seed), load)
            progress.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await progress
            rss_end, fds_end = await _measure(server)
            status = await server.stop()
            faults = [f"the server logged {defect}" for defect in server.defects()]
            if status != 0:
                faults.append(f"the server ended with {status}")
            return Report(
                seconds, rss_start, rss_end, fds_start, fds_end, server.tasks_left(), load, faults
            )


async def _measure(server: Server) -> tuple[int, int]:
    """Memory and descriptors, once the connections of the clients that left are closed."""
    gc.collect()  # a client's connection is closed when its last reference goes
    fds = -1
    while fds != server.fds:
        fds = server.fds
        await asyncio.sleep(QUIET_SECONDS)
    return await server.collected_rss_bytes(), fds


async def _progress(load: Load, server: Server, tell: Callable[[str], None]) -> None:
    elapsed = 0.0
    while True:
        await asyncio.sleep(PROGRESS_SECONDS)
        elapsed += PROGRESS_SECONDS
        tell(f"{elapsed:5.0f} s  {load.line}  rss={server.rss_bytes >> 20} MiB  fds={server.fds}")
