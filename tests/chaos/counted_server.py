"""`sidecall serve` that counts what it still holds.

Once it has stopped, one more log record has the tasks its event loop still has (`tasks_left`).
At SIGUSR1 it collects its garbage, and a record has the memory that it cannot give back
(`rss_bytes`).
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import logging
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

from sidecall_server.app import process, server
from sidecall_server.app.commands.serve import run
from sidecall_server.app.server import Application
from sidecall_server.app.settings import Settings

log = logging.getLogger(__name__)


async def _serve_and_count(
    settings: Settings, build: Callable[[Settings], Application], ready_to: TextIO
) -> int:
    status = await server.serve(settings, build, ready_to)
    await asyncio.sleep(0)  # what was cancelled last ends now
    left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    names = [str(task.get_coro()) for task in left[:10]]
    log.info("tasks counted", extra={"tasks_left": len(left), "tasks": names})
    return status


def _collect(number: int, frame: object) -> None:
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    pages = Path("/proc/self/statm").read_text().split()[1]
    log.info("collected", extra={"rss_bytes": int(pages) * os.sysconf("SC_PAGE_SIZE")})


def main(flags: Sequence[str]) -> int:
    """Serve, counted; returns the exit status."""
    signal.signal(signal.SIGUSR1, _collect)
    vars(process)["serve"] = _serve_and_count  # what `run_server` calls
    return run(flags)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
