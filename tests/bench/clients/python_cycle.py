"""The cycle through the Python client."""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import time
from typing import Any

from sidecall.client import Agent, Completed, Function, Invocation, Tool, ToolCall, connect


class Cycle:
    """One line's worth of calls."""

    def __init__(self, line: dict[str, Any]) -> None:
        self._line = line
        self._calls = 0
        self._began = 0.0
        self._over = False

    async def run(self) -> dict[str, float]:
        """What came out of it."""

        async def work(invocation: Invocation) -> str:
            return str(self._line["output"])

        tool = Tool("work", work, parallel=True)
        async with connect(self._line["endpoint"], tools=[tool]) as agent:
            loops = [self._loop(agent, number) for number in range(self._line["in_flight"])]
            await asyncio.gather(*loops)
        return {"seconds": self._seconds, "calls": self._calls}

    async def _loop(self, agent: Agent, number: int) -> None:
        for turn in itertools.count():
            turn_id = f"turn_{number}_{turn}"
            for call in range(self._line["turn_calls"]):
                arguments = Function(self._line["arguments"])
                result = await agent.dispatch(
                    ToolCall(f"call_{call}", "work", arguments, turn_id=turn_id)
                )
                assert isinstance(result.outcome, Completed), result
                self._count()
                if self._over:
                    return
            agent.end_turn(turn_id)

    def _count(self) -> None:
        if self._over:
            return
        self._calls += 1
        if not self._began:
            if self._calls == self._line["warm_up_calls"]:
                self._calls, self._began = 0, time.perf_counter()
                print(json.dumps("running"), flush=True)
            return
        self._seconds = time.perf_counter() - self._began
        self._over = self._seconds >= self._line["seconds"]


if __name__ == "__main__":
    for text in sys.stdin:
        print(json.dumps(asyncio.run(Cycle(json.loads(text)).run())), flush=True)
