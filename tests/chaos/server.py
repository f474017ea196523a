"""The sidecar under test: a real process, seen from outside."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, Final

START_SECONDS: Final = 30.0
STOP_SECONDS: Final = 30.0
COUNTED_SERVER: Final = (sys.executable, "-m", "tests.chaos.counted_server")
GRPCIO: Final = "grpc._cython.cygrpc"
ROOT: Final = Path(__file__).parents[2]


class Server:
    """A running sidecar. `serving` starts and ends it."""

    def __init__(self, process: asyncio.subprocess.Process, address: str, log: Path) -> None:
        self._process = process
        self._log = log
        self.address = address

    @property
    def rss_bytes(self) -> int:
        """Memory it holds."""
        pages = Path(f"/proc/{self._process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    @property
    def fds(self) -> int:
        """File descriptors it holds."""
        return len(os.listdir(f"/proc/{self._process.pid}/fd"))

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.returncode is None

    def records(self) -> list[dict[str, Any]]:
        """Its log so far."""
        return [json.loads(line) for line in self._log.read_text().splitlines() if line]

    def defects(self) -> list[str]:
        """What it logged as errors; grpcio calls a peer that goes in mid-write one, too."""
        return [
            json.dumps(record)[:2000]
            for record in self.records()
            if record["level"] in ("error", "critical") and record["logger"] != GRPCIO
        ]

    async def collected_rss_bytes(self) -> int:
        """Memory it holds after collecting its garbage."""
        known = len(self._said("rss_bytes"))
        self._process.send_signal(signal.SIGUSR1)
        async with asyncio.timeout(STOP_SECONDS):
            while len(said := self._said("rss_bytes")) == known:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        return said[-1]

    async def stop(self) -> int:
        """SIGTERM; returns the exit status. A server that does not end is killed."""
        if self.alive:
            self._process.send_signal(signal.SIGTERM)
        try:
            return await asyncio.wait_for(self._process.wait(), STOP_SECONDS)
        except TimeoutError:
            self._process.kill()
            return await self._process.wait()

    def tasks_left(self) -> int | None:
        """Tasks it still had after its orderly end, by its own count; None: it never said."""
        counts = self._said("tasks_left")
        return counts[-1] if counts else None

    def _said(self, field: str) -> list[int]:
        return [record[field] for record in self.records() if field in record]


@contextlib.asynccontextmanager
async def serving(
    folder: Path, flags: Sequence[str], command: Sequence[str] = COUNTED_SERVER
) -> AsyncIterator[Server]:
    """Run the sidecar on a socket in the folder."""
    log = folder / "server.log"
    with log.open("wb") as stderr:
        process = await asyncio.create_subprocess_exec(
            *command,
            "--socket",
            str(folder / "s.sock"),
            "--log-format",
            "json",
            *flags,
            stdout=asyncio.subprocess.PIPE,
            stderr=stderr,
            cwd=ROOT,
        )
    assert process.stdout is not None, "its output is a pipe"
    try:
        ready = await asyncio.wait_for(process.stdout.readline(), START_SECONDS)
        assert ready, await asyncio.to_thread(log.read_text)
        yield Server(process, str(json.loads(ready)["address"]), log)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
