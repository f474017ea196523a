"""Agents against a real sidecar process, with handlers that tests hold and let go."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from sidecall.client import (
    Agent,
    Custom,
    Endpoint,
    FatalError,
    Function,
    Hook,
    Invocation,
    RespondToModelError,
    Tool,
    ToolCall,
    connect,
)

SIDECALL = str(Path(sys.executable).parent / "sidecall")


class Bench:
    """Handlers that say when they run and wait until they are let go."""

    def __init__(self) -> None:
        self.started: dict[str, asyncio.Event] = {}
        self.let_go: dict[str, asyncio.Event] = {}
        self.cancelled: dict[str, asyncio.Event] = {}
        self.running = 0
        self.most = 0

    def event(self, events: dict[str, asyncio.Event], call_id: str) -> asyncio.Event:
        return events.setdefault(call_id, asyncio.Event())

    async def hold(self, invocation: Invocation) -> str:
        call_id = invocation.call.call_id
        self.running += 1
        self.most = max(self.most, self.running)
        self.event(self.started, call_id).set()
        try:
            await self.event(self.let_go, call_id).wait()
        except asyncio.CancelledError:
            self.event(self.cancelled, call_id).set()
            raise
        finally:
            self.running -= 1
        return f"held {call_id}"

    async def begun(self, call_id: str) -> None:
        await self.event(self.started, call_id).wait()

    def release(self, *call_ids: str) -> None:
        for call_id in call_ids:
            self.event(self.let_go, call_id).set()


async def echo(invocation: Invocation) -> str:
    payload = invocation.call.payload
    return payload.input if isinstance(payload, Custom) else str(invocation.arguments)


async def raises(invocation: Invocation) -> str:
    errors: dict[str, Exception] = {
        "model": RespondToModelError("try again"),
        "fatal": FatalError("no more"),
        "bug": ZeroDivisionError("oops"),
    }
    raise errors[invocation.arguments["kind"]]


@contextlib.asynccontextmanager
async def attached(
    endpoint: Endpoint, bench: Bench | None = None, hooks: Sequence[Hook] = (), **options: Any
) -> AsyncIterator[Agent]:
    bench = bench or Bench()
    tools = [
        Tool("echo", echo, parallel=True, payload_kinds=["function", "custom"]),
        Tool("hold", bench.hold, parallel=True),
        Tool("alone", bench.hold),
        Tool("shell", bench.hold, cancel_mode="wait_for_teardown"),
        Tool("raises", raises),
    ]
    async with asyncio.timeout(60), connect(endpoint, tools=tools, hooks=hooks, **options) as agent:
        yield agent


def call(call_id: str, name: str = "echo", arguments: str = "{}", turn: str = "t") -> ToolCall:
    return ToolCall(call_id, name, Function(arguments), turn_id=turn)


def said(result: Any) -> Any:
    return result.response_item["output"]
