"""The server's credits, from an agent's side: what does not fit waits, and nothing overtakes it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from sidecall.client import (
    Attachment,
    Completed,
    Hook,
    HookInput,
    Invocation,
    PromptOutput,
    Tool,
    spawn,
)

from tests.client.agents import SIDECALL, Bench, attached, call

ONE_CALL = ["--max-calls-in-flight", "1"]


async def test_the_end_of_a_turn_goes_behind_its_calls() -> None:
    bench = Bench()
    async with (
        spawn(executable=SIDECALL, arguments=ONE_CALL) as small,
        attached(small, bench) as agent,
    ):
        turn = agent.turn("t")
        pending = [turn.dispatch(call(name, "hold")) for name in "abc"]
        ended = turn.end()
        bench.release(*"abc")
        assert [(await one).outcome for one in pending] == [Completed(success=True)] * 3
        await ended


async def test_a_prompt_has_the_records_of_calls_that_waited_for_credits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench, asked = Bench(), asyncio.Event()
    async with (
        spawn(executable=SIDECALL, arguments=ONE_CALL) as small,
        attached(small, bench) as agent,
    ):
        attach = agent.unary.attach

        async def noted(*arguments: Any) -> Attachment:
            asked.set()
            return await attach(*arguments)

        monkeypatch.setattr(agent.unary, "attach", noted)
        pending = [agent.dispatch(call(name, "hold")) for name in "ab"]
        await bench.begun("a")
        await agent.cancel([])  # nothing that was sent is unacknowledged now
        outputs = [PromptOutput("function", name, "t") for name in "ab"]
        attaching = asyncio.create_task(agent.attach("r", outputs))
        await agent.unary.server_version()  # it has begun
        await agent.cancel([])  # the server has read what it said, and answered it
        assert not asked.is_set(), "the second call is not recorded yet"
        bench.release("a", "b")
        attachment = await attaching
        assert [output.output_index for output in attachment.outputs] == [0, 1]
        await asyncio.gather(*pending)


async def test_a_call_waits_while_answers_of_others_fill_the_server() -> None:
    bench, answered, go_on = Bench(), asyncio.Event(), asyncio.Event()

    async def large(invocation: Invocation) -> str:
        return "x" * 60_000

    async def post(asked: HookInput) -> None:
        answered.set()
        await go_on.wait()

    hooks = [Hook("post_tool_use", post, matchers=["large"])]
    limit = ["--max-bytes-in-flight", "100000"]
    async with (
        spawn(executable=SIDECALL, arguments=limit) as small,
        attached(small, bench, hooks=hooks) as agent,
    ):
        await agent.update_tools([Tool("large", large)])
        first = agent.dispatch(call("a", "large"))
        await answered.wait()
        second = agent.dispatch(call("b", "hold", '"' + "x" * 60_000 + '"'))
        await agent.cancel([])  # the server has read what was sent
        assert not second.done()
        go_on.set()
        bench.release("b")
        outcomes = [(await one).outcome for one in (first, second)]
        assert outcomes == [Completed(success=True)] * 2
