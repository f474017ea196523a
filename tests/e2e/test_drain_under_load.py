"""SIGTERM in the middle of a load: no call whose handler began is left without an outcome."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections import Counter
from pathlib import Path

from sidecall.client import (
    Aborted,
    Agent,
    Completed,
    Endpoint,
    Function,
    Invocation,
    PendingCall,
    SidecallError,
    Tool,
    ToolCall,
    connect,
)

AGENTS = 4
CALLS_AT_A_TIME = 16
STEADY_OUTCOMES = 400
DRAIN_SECONDS = 2


class Load:
    """Agents that dispatch without end, until they are told that nothing new is taken."""

    def __init__(self) -> None:
        self.began: set[str] = set()
        self.calls: dict[str, PendingCall] = {}
        self.outcomes: Counter[str] = Counter()
        self.steady = asyncio.Event()

    async def quick(self, invocation: Invocation) -> str:
        self.began.add(invocation.call.call_id)
        return "done"

    async def stuck(self, invocation: Invocation) -> str:
        self.began.add(invocation.call.call_id)
        await asyncio.Event().wait()
        raise AssertionError("nobody lets it go")

    async def run(self, agent: Agent, number: int) -> None:
        """Keep calls in flight; the first of each agent never ends by itself."""
        free = asyncio.Semaphore(CALLS_AT_A_TIME)
        calls = 0
        refused = asyncio.Event()

        async def follow(pending: PendingCall) -> None:
            try:
                result = await pending
                self.outcomes[type(result.outcome).__name__] += 1
                if self.outcomes["Completed"] >= STEADY_OUTCOMES:
                    self.steady.set()
            except SidecallError as error:
                self.outcomes[error.reason] += 1
                refused.set()
            finally:
                free.release()

        async with asyncio.TaskGroup() as following:
            while not refused.is_set():
                await free.acquire()
                calls += 1
                call_id = f"{number}/{calls}"
                tool = "stuck" if calls == 1 else "quick"
                call = ToolCall(call_id, tool, Function("{}"), turn_id=f"turn-{number}")
                try:
                    pending = agent.dispatch(call)
                except SidecallError:
                    free.release()
                    break
                self.calls[call_id] = pending
                following.create_task(follow(pending))


async def test_no_call_that_began_is_left_without_an_outcome(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "sidecall_server", "serve"),
        *("--socket", str(tmp_path / "s.sock"), "--drain-seconds", str(DRAIN_SECONDS)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={name: value for name, value in os.environ.items() if "SIDECALL" not in name},
    )
    assert process.stdout is not None
    ready = json.loads(await process.stdout.readline())
    load = Load()
    tools = [Tool("quick", load.quick, parallel=True), Tool("stuck", load.stuck, parallel=True)]

    async def act(number: int) -> None:
        async with connect(Endpoint(ready["address"]), tools=tools) as agent:
            await load.run(agent, number)

    acting = asyncio.gather(*(act(number) for number in range(AGENTS)))
    await load.steady.wait()
    process.send_signal(signal.SIGTERM)
    await acting
    _, log = await process.communicate()

    assert process.returncode == 0, log.decode()
    assert '"level":"error"' not in log.decode()
    for call_id in load.began:
        result = await load.calls[call_id]
        if call_id.endswith("/1"):
            assert isinstance(result.outcome, Aborted)
            assert result.outcome.reason == "drained"
        else:
            assert result.outcome == Completed(success=True)
    assert load.outcomes["Completed"] >= STEADY_OUTCOMES
    assert load.outcomes["Aborted"] == AGENTS
    assert set(load.outcomes) <= {"Completed", "Aborted", "DRAINING"}, load.outcomes
    assert load.outcomes["DRAINING"], "the load went on after SIGTERM"
