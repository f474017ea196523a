"""What the sidecar refuses, and what an agent's own callbacks do wrong: nothing else suffers."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sidecall.client import (
    CallReference,
    Completed,
    Custom,
    Endpoint,
    Function,
    Hook,
    HookInput,
    InvalidArgumentError,
    LimitError,
    Tool,
    ToolCall,
    ToolSearch,
    backoff,
    spawn,
)
from sidecall.client.values import Payload
from sidecall.v1 import runtime_stream_pb2 as pb

from tests.client.agents import SIDECALL, Bench, attached, call, echo, said
from tests.client.hole import calls_until, hole_before

LIMITED = ["--max-declarations", "8"]


class Connections:
    """Says when an agent has connected, and how."""

    def __init__(self) -> None:
        self._outcomes: asyncio.Queue[str] = asyncio.Queue()

    def __call__(self, outcome: str) -> None:
        self._outcomes.put_nowait(outcome)

    async def next(self) -> str:
        return await self._outcomes.get()


@pytest.fixture
async def limited() -> AsyncIterator[Endpoint]:
    """A sidecar that takes few tools."""
    async with spawn(executable=SIDECALL, arguments=LIMITED) as spawned:
        yield spawned


@pytest.mark.parametrize(
    "target",
    [
        {"calls": [CallReference("t", "")]},
        {"calls": [CallReference("t", "x" * 600)]},
        {"turn_id": ""},
    ],
)
async def test_a_cancel_that_cannot_be_is_refused(
    endpoint: Endpoint, target: dict[str, Any]
) -> None:
    async with attached(endpoint) as agent:
        with pytest.raises(InvalidArgumentError):
            await agent.cancel(**target)
        assert (await agent.call(call("a"))).outcome == Completed(success=True)


@pytest.mark.parametrize("payload", [Function("\udce9"), Custom("\udce9"), ToolSearch("\udce9")])
async def test_a_payload_that_utf_8_cannot_carry_is_not_dispatched(
    endpoint: Endpoint, payload: Payload
) -> None:
    async with attached(endpoint) as agent:
        with pytest.raises(ValueError, match="lone surrogate"):
            agent.dispatch(ToolCall("a", "echo", payload, turn_id="t"))
        assert (await agent.call(call("a"))).outcome == Completed(success=True)


async def test_many_notices_at_once_are_all_taken(endpoint: Endpoint) -> None:
    async with attached(endpoint) as agent:
        await asyncio.gather(*(agent.end_turn(f"turn {number}") for number in range(5000)))


def too_many() -> list[Tool]:
    return [Tool(f"more {number}", echo) for number in range(8)]


async def test_tools_that_are_refused_are_not_declared_again(limited: Endpoint) -> None:
    connections = Connections()
    async with attached(limited, on_connection=connections) as agent:
        assert await connections.next() == "new"
        with pytest.raises(LimitError) as refused:
            await agent.update_tools([*too_many(), Tool("echo", echo, ready=False)])
        assert refused.value.reason == "TOOL_LIMIT"
        agent.drop_connection()
        assert await connections.next() == "resumed"
        assert said(await agent.call(call("a"))) == "{}", "echo is ready as before"


async def test_a_reconnect_with_a_change_on_its_way_refuses_the_change_only(
    limited: Endpoint,
) -> None:
    connections = Connections()
    async with attached(limited, on_connection=connections) as agent:
        await connections.next()
        good = agent.update_tools([Tool("good", echo)])
        bad = agent.update_tools(too_many())
        agent.drop_connection()
        await connections.next()
        with pytest.raises(LimitError):
            await bad
        await good
        assert said(await agent.call(call("a", "good"))) == "{}"


async def test_a_change_that_a_refused_hello_took_back_is_said_again(
    limited: Endpoint, tmp_path: Path
) -> None:
    bench, connections = Bench(), Connections()
    async with (
        hole_before(limited, tmp_path) as (hole, near),
        attached(near, bench, on_connection=connections) as agent,
    ):
        await connections.next()
        hole.is_open = True
        good = agent.update_tools([Tool("good", bench.hold)])
        bad = agent.update_tools(too_many())
        first = agent.dispatch(call("a", "good"))
        await calls_until(limited, agent.session_id, "call_started", 1)
        hole.cut()  # the server has read all of it, and the agent knows nothing
        await connections.next()
        await good
        with pytest.raises(LimitError):
            await bad
        bench.release("a", "b")
        assert said(await first) == "held a"
        assert said(await agent.call(call("b", "good"))) == "held b"


async def test_connections_that_do_not_last_come_back_ever_more_slowly(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    delays: list[float] = []
    next_delay = backoff.Backoff.next_delay

    def noted(self: backoff.Backoff) -> float:
        delays.append(next_delay(self))
        return delays[-1]

    monkeypatch.setattr(backoff.Backoff, "next_delay", noted)
    monkeypatch.setattr(backoff, "STEADY_SECONDS", 1e9)
    connections = Connections()
    async with attached(endpoint, on_connection=connections) as agent:
        for _ in range(3):
            await connections.next()
            agent.drop_connection()
        await connections.next()
        assert delays == list(backoff.DELAYS_SECONDS[:3])


def broken(value: object) -> None:
    raise ZeroDivisionError("a callback broke")


async def test_callbacks_that_raise_do_not_end_the_session(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bench = Bench()
    async with (
        spawn(executable=SIDECALL) as endpoint,
        attached(endpoint, bench, on_connection=broken, on_frame_error=broken) as agent,
    ):
        pending = agent.dispatch(call("a", "hold"))
        await bench.begun("a")
        agent._send(pb.ClientFrame())  # a frame of no kind, which is refused
        await agent._cancels.barrier()
        bench.release("a")
        assert (await pending).outcome == Completed(success=True)
    assert caplog.text.count("a callback failed") == 2, "at the connection, and at the refusal"


async def test_a_drain_callback_that_raises_does_not_end_the_session(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bench, drained = Bench(), asyncio.Event()

    def broken_drain(seconds_left: float) -> None:
        drained.set()
        broken(seconds_left)

    process = await asyncio.create_subprocess_exec(
        *(SIDECALL, "serve", "--listen", "127.0.0.1:0", "--resume-grace-seconds", "1"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout is not None
    endpoint = Endpoint(address_of(await process.stdout.readline()))
    async with attached(endpoint, bench, on_drain=broken_drain) as agent:
        pending = agent.dispatch(call("a", "hold"))
        await bench.begun("a")
        process.send_signal(signal.SIGTERM)
        await drained.wait()
        bench.release("a")
        assert (await pending).outcome == Completed(success=True)
    assert "a callback failed" in caplog.text
    await process.wait()


def address_of(greeting: bytes) -> str:
    """Where a sidecar says that it listens."""
    return str(json.loads(greeting)["address"])


@pytest.mark.parametrize("verdict", ["nonsense", os.fsdecode(b"\xe9")])
async def test_a_hook_that_answers_nonsense_does_not_hold_up_its_call(
    endpoint: Endpoint, verdict: str
) -> None:
    async def wrong(asked: HookInput) -> Any:
        return verdict

    hook = Hook("pre_tool_use", wrong, timeout_seconds=1000)
    async with attached(endpoint, hooks=[hook]) as agent:
        assert said(await agent.call(call("a"))) == "{}"
        assert (await agent.unary.get_session(agent.session_id)).hooks_failed_open == 1
