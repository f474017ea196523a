"""An event loop whose time stands still until a test moves it."""

from __future__ import annotations

import asyncio
import functools
import selectors
from collections.abc import Callable, Coroutine
from typing import Any

MAX_IDLE_ROUNDS = 10_000
"""Rounds without anything to do before a test is taken to wait for ever."""


class _ImpatientSelector(selectors.DefaultSelector):
    """Never sleeps: in these tests nothing comes from outside."""

    def __init__(self) -> None:
        super().__init__()
        self._idle_rounds = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._idle_rounds = 0 if timeout == 0 else self._idle_rounds + 1
        if self._idle_rounds > MAX_IDLE_ROUNDS:
            raise RuntimeError("the test waits for something that nothing will bring")
        return super().select(0)


class ManualClockLoop(asyncio.SelectorEventLoop):
    """`time` moves by `advance` only."""

    def __init__(self) -> None:
        super().__init__(_ImpatientSelector())
        self._now = 1000.0

    def time(self) -> float:
        return self._now

    def move(self, seconds: float) -> None:
        self._now += seconds


async def settle() -> None:
    """Let everything run that can run now."""
    for _ in range(20):
        await asyncio.sleep(0)


async def advance(seconds: float) -> None:
    """Let time pass, and what is due happen."""
    await settle()
    loop = asyncio.get_running_loop()
    assert isinstance(loop, ManualClockLoop)
    loop.move(seconds)
    await settle()


def by_hand(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run an async test on a loop whose clock it moves by hand."""

    @functools.wraps(test)
    def run(*arguments: Any, **keywords: Any) -> None:
        with asyncio.Runner(loop_factory=ManualClockLoop) as runner:
            runner.run(test(*arguments, **keywords))

    return run
