"""The load side: a process of its own that is told on stdin what to do, one JSON line each.

`python -m tests.bench.load ADDRESS PID`: the server's address and process. A line is
`[target, cycle, seconds]`; the answer is a line with what was measured.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import sys

import grpc.aio

from tests.bench.cycle import Cycle, Load

OPTIONS = (("grpc.default_authority", "localhost"),)


async def _serve(address: str, pid: int) -> None:
    async with grpc.aio.insecure_channel(address, OPTIONS) as channel:
        load = Load(channel, pid)
        while line := await asyncio.to_thread(sys.stdin.readline):
            target, cycle, seconds = json.loads(line)
            run = {"sidecall": load.sidecall, "echo": load.echo}[target]
            measured = await run(Cycle(**cycle), seconds)
            print(json.dumps(dataclasses.asdict(measured)), flush=True)


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1], int(sys.argv[2])))
