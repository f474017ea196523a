"""The load side: a process of its own that is told on stdin what to do.

`python -m tests.bench.load ADDRESS PID`: the server's address and process. One JSON line in:
`[target, shape, seconds]`; without seconds it goes on until the next line. Out: `"running"`
once the window is open, then a line with what was measured.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any, Final

import grpc.aio

from tests.bench.attach import Attach, AttachLoad
from tests.bench.cycle import Cycle, CycleLoad
from tests.bench.fill import Fill, FillLoad
from tests.bench.window import Window

OPTIONS: Final = (("grpc.default_authority", "localhost"),)


async def _serve(address: str, pid: int) -> None:
    async with grpc.aio.insecure_channel(address, OPTIONS) as channel:
        cycles, attaches = CycleLoad(channel), AttachLoad(channel)
        targets: dict[str, tuple[type, Any]] = {
            "cycle": (Cycle, cycles.sidecall),
            "cycle_echo": (Cycle, cycles.echo),
            "attach": (Attach, attaches.sidecall),
            "attach_echo": (Attach, attaches.echo),
            "fill": (Fill, FillLoad(channel).sidecall),
        }
        while line := await asyncio.to_thread(sys.stdin.readline):
            target, fields, seconds = json.loads(line)
            shape, run = targets[target]
            stopped = None
            if seconds is None:
                stopped = asyncio.ensure_future(asyncio.to_thread(sys.stdin.readline))
            window = Window(pid, seconds, stopped, on_open=lambda: _tell("running"))
            _tell(await run(shape(**fields), window))


def _tell(message: object) -> None:
    print(json.dumps(message), flush=True)


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1], int(sys.argv[2])))
