"""The agent of the telemetry tests: its secrets are in every place that must not be shown."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence

from sidecall.client import (
    Agent,
    Custom,
    FatalError,
    Function,
    FunctionOutput,
    Hook,
    HookInput,
    Invocation,
    Proceed,
    RespondToModelError,
    Text,
    Tool,
    ToolCall,
    connect,
)

ARGUMENT_SECRET = "argument-hunter2"
OUTPUT_SECRET = "output-hunter2"
ERROR_SECRET = "error-hunter2"
HOOK_SECRET = "hook-hunter2"
SECRETS = (ARGUMENT_SECRET, OUTPUT_SECRET, ERROR_SECRET, HOOK_SECRET)

TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT_ID = "00f067aa0ba902b7"
TRACEPARENT = f"00-{TRACE_ID}-{PARENT_ID}-01"


async def echo(invocation: Invocation) -> str:
    return OUTPUT_SECRET


async def fail(invocation: Invocation) -> str:
    raise RespondToModelError(ERROR_SECRET)


async def break_turn(invocation: Invocation) -> str:
    raise FatalError(ERROR_SECRET)


async def disappoint(invocation: Invocation) -> FunctionOutput:
    return FunctionOutput([Text(OUTPUT_SECRET)], success=False)


async def remark(seen: HookInput) -> Proceed:
    return Proceed([HOOK_SECRET])


HOOKS = (Hook("pre_tool_use", remark), Hook("post_tool_use", remark))


@contextlib.asynccontextmanager
async def attached(
    address: str, hooks: Sequence[Hook] = (), *, held: asyncio.Event | None = None
) -> AsyncIterator[Agent]:
    """An agent with one tool per way to end; `hold` says in `held` that it runs, for ever."""

    async def hold(invocation: Invocation) -> str:
        assert held is not None
        held.set()
        await asyncio.Event().wait()
        return ""

    tools = [
        Tool("echo", echo, parallel=True, payload_kinds=["function", "custom"]),
        Tool("fail", fail),
        Tool("break_turn", break_turn),
        Tool("disappoint", disappoint),
        Tool("hold", hold, parallel=True),
    ]
    async with asyncio.timeout(60), connect(address, tools=tools, hooks=hooks) as agent:
        yield agent


def call(call_id: str, name: str = "echo", turn_id: str = "turn_1") -> ToolCall:
    return ToolCall(call_id, name, Function(f'{{"password":"{ARGUMENT_SECRET}"}}'), turn_id)


async def end_in_every_way(agent: Agent, held: asyncio.Event) -> None:
    """Calls named after their tools, each of which ends differently."""
    await agent.call(call("echo"), traceparent=TRACEPARENT)
    await agent.call(ToolCall("custom", "echo", Custom(ARGUMENT_SECRET), "turn_1"))
    await agent.call(call("disappoint", "disappoint"))
    await agent.call(call("fail", "fail"))
    await agent.call(call("unknown", "no_such_tool"))
    pending = agent.dispatch(call("hold", "hold"))
    await held.wait()
    await pending.cancel()
    await pending
    held.clear()
    await agent.call(call("timed_out", "hold"), timeout_seconds=0.01)
    await agent.call(call("break_turn", "break_turn", "turn_2"))
