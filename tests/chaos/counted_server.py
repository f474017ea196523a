"""`sidecall serve` that counts what its event loop still holds once it has stopped.

The count comes as one more log record with the field `tasks_left`.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable
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
    left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    names = [str(task.get_coro()) for task in left[:10]]
    log.info("tasks counted", extra={"tasks_left": len(left), "tasks": names})
    return status


if __name__ == "__main__":
    process.serve = _serve_and_count
    sys.exit(run(sys.argv[1:]))
