"""Starts client processes, kills most of them, and looks after what they leave."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import sys
from typing import Any, Final

from tests.chaos.accounts import Accounts
from tests.chaos.inspection import Inspection
from tests.chaos.server import ROOT
from tests.chaos.world import World

AGENTS: Final = 3
KILLED_OF_TEN: Final = 7
COMMAND: Final = (sys.executable, "-m", "tests.chaos.worker")


async def worker(world: World, who: str, rng: random.Random, seconds_left: float) -> None:
    """One client process, from its start to the end of its sessions."""
    lifetime_seconds = min(rng.uniform(0.5, 4.0), max(0.2, seconds_left))
    killed = rng.randrange(10) < KILLED_OF_TEN
    process = await asyncio.create_subprocess_exec(
        *COMMAND,
        world.address,
        who,
        str(AGENTS),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=ROOT,
        limit=1 << 24,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    reading = asyncio.create_task(process.stdout.read())
    try:
        await asyncio.sleep(lifetime_seconds)
        world.ledger.evil["SIGKILL" if killed else "worker left"] += 1
        if killed and process.returncode is None:
            process.kill()
        else:
            process.stdin.close()
        said = await world.in_time(reading, f"the end of {who}")
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        await process.wait()
        reading.cancel()
    lines: list[dict[str, Any]] = [json.loads(line) for line in said.splitlines() if line]
    sessions = [line["session_id"] for line in lines if "session_id" in line]
    if killed:
        await asyncio.gather(*(_look_after(world, f"{who} {one}", one) for one in sessions))
        return
    for session_id in sessions:
        await Inspection(world, Accounts(world.ledger, who), session_id).delete()
    if "calls" not in lines[-1]:
        world.ledger.broke("broken", f"{who} ended with {process.returncode} in between")
        return
    world.ledger.calls += lines[-1]["calls"]
    world.ledger.terminals += lines[-1]["terminals"]
    for what in lines[-1]["broke"]:
        fault, _, text = what.partition(": ")
        world.ledger.broke(fault, f"{who}: {text}")


async def _look_after(world: World, who: str, session_id: str) -> None:
    """Its agent was killed: the server has to end its calls and the session (R3)."""
    inspection = Inspection(world, Accounts(world.ledger, who), session_id)
    await inspection.lost()
    await inspection.check_orphans()
    await inspection.delete()
