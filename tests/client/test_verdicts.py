"""Several hooks at one point are one answer (SPEC F6, F9)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from sidecall.client import (
    Block,
    CallReference,
    Feedback,
    Hook,
    HookInput,
    HookPayload,
    Proceed,
    Rewrite,
    Verdict,
)
from sidecall.client.tools import HookPoint
from sidecall.client.verdicts import Answer, ask, combine

PRE: HookPoint = "pre_tool_use"
POST: HookPoint = "post_tool_use"
ASKED = HookInput(CallReference("t", "c"), PRE, HookPayload("echo", ("alias",), "c", "{}"))


def answers(*verdicts: Verdict | None) -> list[Answer]:
    """Finished in the order in which they stand."""
    return [Answer(verdict, finished) for finished, verdict in enumerate(verdicts)]


@pytest.mark.parametrize(
    ("point", "verdicts", "combined"),
    [
        (PRE, [], Proceed([])),
        (PRE, [Proceed(["a"]), Proceed(["b"])], Proceed(["a", "b"])),
        (PRE, [Rewrite("1"), Rewrite("2", ["x"])], Rewrite("2", ["x"])),
        (PRE, [Rewrite("1", ["x"]), Block("no", ["y"])], Block("no", ["x", "y"])),
        (PRE, [Block(" "), Block("first"), Block("second")], Block("first", [])),
        (PRE, [Block("")], Block("", [])),
        (PRE, [None, Rewrite("1")], Rewrite("1", [])),
        (PRE, [None, None], None),
        (POST, [Block("one"), Proceed(), Block("two")], Block("one\n\ntwo", [])),
        (POST, [Feedback("a"), Feedback("b")], Feedback("a\n\nb", [])),
        (POST, [Feedback("a", ["x"]), Block("")], Block("", ["x"])),
    ],
)
def test_verdicts_combine(
    point: HookPoint, verdicts: list[Verdict | None], combined: Verdict | None
) -> None:
    assert combine(point, answers(*verdicts)) == combined


def test_of_several_rewrites_the_last_to_finish_wins() -> None:
    given = [Answer(Rewrite("slow"), 2), Answer(Rewrite("fast"), 1)]
    assert combine(PRE, given) == Rewrite("slow", [])


async def test_hooks_run_side_by_side_and_their_end_decides() -> None:
    fast_is_done = asyncio.Event()

    async def slow(asked: HookInput) -> Verdict:
        await fast_is_done.wait()
        return Rewrite("slow")

    async def fast(asked: HookInput) -> Verdict:
        fast_is_done.set()
        return Rewrite("fast")

    assert await ask([Hook(PRE, slow), Hook(PRE, fast)], ASKED) == Rewrite("slow", [])


async def test_a_hook_that_raises_is_as_if_it_had_not_been_asked(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def broken(asked: HookInput) -> None:
        raise ValueError("oops")

    async def silent(asked: HookInput) -> None:
        return None

    assert await ask([Hook(PRE, broken), Hook(PRE, silent)], ASKED) == Proceed([])
    assert await ask([Hook(PRE, broken)], ASKED) is None
    assert "oops" in caplog.text


@pytest.mark.parametrize(
    "answer",
    ["nonsense", "", 0, Block, Block(5), Proceed([b"x"]), Proceed("context")],  # type: ignore
)
async def test_a_hook_that_answers_with_no_verdict_has_failed(
    answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async def wrong(asked: HookInput) -> Any:
        return answer

    async def right(asked: HookInput) -> Verdict:
        return Rewrite("1")

    assert await ask([Hook(PRE, wrong)], ASKED) is None
    assert await ask([Hook(PRE, wrong), Hook(PRE, right)], ASKED) == Rewrite("1", [])
    assert "a hook failed" in caplog.text


async def test_a_hook_that_cancels_itself_leaves_the_others_alone() -> None:
    async def cancels_itself(asked: HookInput) -> None:
        raise asyncio.CancelledError

    async def right(asked: HookInput) -> Verdict:
        return Rewrite("1")

    assert await ask([Hook(PRE, cancels_itself), Hook(PRE, right)], ASKED) == Rewrite("1", [])


async def test_hooks_stop_when_nobody_wants_their_verdict_any_more() -> None:
    started, stopped = asyncio.Event(), asyncio.Event()

    async def held(asked: HookInput) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    asking = asyncio.create_task(ask([Hook(PRE, held)], ASKED))
    await started.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert stopped.is_set()


def test_a_hook_matches_names_and_aliases() -> None:
    async def silent(asked: HookInput) -> None:
        return None

    for matchers, matches in (((), True), (("echo",), True), (("alias",), True), (("x",), False)):
        assert Hook(PRE, silent, matchers).matches(ASKED.payload) is matches
