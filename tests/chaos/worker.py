"""A process of well-behaved agents, to be killed at any moment.

Says which sessions it opened (one JSON line each), works until its standard input ends, then
says what it counted. Started as ``python -m tests.chaos.worker ADDRESS SEED AGENTS``.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from typing import Any

from sidecall.client import (
    Agent,
    Block,
    Endpoint,
    FatalError,
    Function,
    Hook,
    HookInput,
    Invocation,
    RespondToModelError,
    SidecallError,
    Tool,
    ToolCall,
    connect,
)

RESULT_SECONDS = 20.0


class Counts:
    """What the process counted."""

    def __init__(self) -> None:
        self.calls = 0
        self.terminals = 0
        self.refused = 0
        self.broke: list[str] = []


async def _handle(invocation: Invocation) -> str:
    arguments: dict[str, Any] = invocation.arguments
    await asyncio.sleep(arguments["delay"])
    match arguments["work"]:
        case "fail":
            raise RespondToModelError("try again")
        case "fatal":
            raise FatalError("no more")
        case "much":
            return "x" * 300_000
    return "done"


async def _judge(asked: HookInput) -> Block | None:
    return Block("not this") if asked.call.call_id.endswith("7") else None


def _call(rng: random.Random, turn: int, number: int) -> ToolCall:
    work = rng.choice(("return",) * 12 + ("fail", "fatal", "much"))
    arguments = {"work": work, "delay": rng.choice((0.0, 0.0, rng.uniform(0, 0.05)))}
    name = rng.choice(("share", "share", "alone", "shell", "nobody"))
    return ToolCall(f"call_{number}", name, Function(json.dumps(arguments)), turn_id=f"turn-{turn}")


async def _turn(agent: Agent, rng: random.Random, turn: int, counts: Counts) -> None:
    pending = [
        agent.dispatch(_call(rng, turn, number), timeout_seconds=rng.choice((None, None, 0.03)))
        for number in range(rng.randrange(1, 12))
    ]
    match rng.randrange(6):
        case 0:
            agent.drop_connection()
        case 1:
            await agent.cancel(turn_id=f"turn-{turn}")
        case 2:
            await pending[0].cancel()
    for one in pending:
        try:
            async with asyncio.timeout(RESULT_SECONDS):
                await one
        except TimeoutError:
            counts.broke.append(f"hung: {one.call}")
        except SidecallError as error:
            counts.refused += 1
            if error.reason != "TURN_ENDED":
                counts.broke.append(f"broken: {one.call}: {error}")
            continue
        else:
            counts.terminals += 1
        counts.calls += 1


async def _work(address: str, rng: random.Random, leaving: asyncio.Event, counts: Counts) -> None:
    tools = [
        Tool("share", _handle, parallel=True),
        Tool("alone", _handle),
        Tool("shell", _handle, cancel_mode="wait_for_teardown"),
    ]
    async with connect(
        Endpoint(address), tools=tools, hooks=[Hook("pre_tool_use", _judge)]
    ) as agent:
        print(json.dumps({"session_id": agent.session_id}), flush=True)
        turn = 0
        while not leaving.is_set():
            turn += 1
            await _turn(agent, rng, turn, counts)


async def _run(address: str, seed: str, agents: int) -> None:
    leaving = asyncio.Event()
    counts = Counts()
    loop = asyncio.get_running_loop()
    loop.run_in_executor(None, sys.stdin.read).add_done_callback(lambda _: leaving.set())
    await asyncio.gather(
        *(
            _work(address, random.Random(f"{seed}/{number}"), leaving, counts)
            for number in range(agents)
        )
    )
    print(json.dumps(vars(counts)), flush=True)


if __name__ == "__main__":
    asyncio.run(_run(sys.argv[1], sys.argv[2], int(sys.argv[3])))
