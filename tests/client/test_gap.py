"""Outcomes that are lost on their way and not kept: whoever waits for them is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from sidecall.client import (
    CallReference,
    Completed,
    Endpoint,
    Invocation,
    NotFoundError,
    SessionLostError,
    SidecallError,
    Tool,
    UnavailableError,
    connect,
    spawn,
)
from sidecall.client import lost_outcomes as lost_outcomes_module
from sidecall.client.calls import Calls
from sidecall.client.lost_outcomes import LostOutcomes
from sidecall.client.pending import PendingCall
from sidecall.v1 import runtime_stream_pb2 as pb

from tests.client.agents import SIDECALL, call
from tests.client.hole import calls_until, hole_before

FORGETFUL = [
    *("--max-replay-bytes", "1"),
    *("--max-retained-calls", "1"),
    *("--max-bytes-in-flight", "100000"),
]
CALLS = 4


@pytest.fixture
async def forgetful() -> AsyncIterator[Endpoint]:
    """A sidecar that keeps one ended call, and hardly anything that it said."""
    async with spawn(executable=SIDECALL, arguments=FORGETFUL) as spawned:
        yield spawned


async def test_who_waits_for_a_lost_outcome_is_told_that_it_is_lost(
    forgetful: Endpoint, tmp_path: Path
) -> None:
    all_run, let_go = asyncio.Barrier(CALLS + 1), asyncio.Event()
    connections: asyncio.Queue[str] = asyncio.Queue()

    async def large(invocation: Invocation) -> str:
        await all_run.wait()
        await let_go.wait()
        return "x" * 60_000

    async with (
        asyncio.timeout(60),
        hole_before(forgetful, tmp_path) as (hole, near),
        connect(
            near,
            tools=[Tool("large", large, parallel=True)],
            on_connection=connections.put_nowait,
        ) as agent,
    ):
        assert await connections.get() == "new"
        pending = [agent.dispatch(call(f"{number}", "large")) for number in range(CALLS)]
        await all_run.wait()
        hole.is_open = True
        let_go.set()
        await calls_until(forgetful, agent.session_id, "call_finished", CALLS)
        hole.cut()
        assert await connections.get() == "gap"
        await asyncio.wait([one.future for one in pending])
        errors = [one.future.exception() for one in pending]
        lost = [error for error in errors if error is not None]
        assert lost, "the server could not keep all of them"
        assert {type(error) for error in lost} == {NotFoundError}
        assert {getattr(error, "reason", "") for error in lost} == {"CALL_NOT_FOUND"}
        kept = [one for one, error in zip(pending, errors, strict=True) if error is None]
        assert kept, "what the server keeps it tells anew"
        assert {(await one).outcome for one in kept} == {Completed(success=True)}
        status = await agent.unary.get_tool_call(agent.session_id, kept[-1].reference)
        assert (status.phase, status.outcome) == ("terminal", Completed(success=True))


class Talk:
    """A link on which something comes in each time somebody looks, so many times."""

    def __init__(self, messages: int, then: Callable[[], object] = lambda: None) -> None:
        self._messages = messages
        self._then = then
        self._received = 0

    @property
    def last_received(self) -> int:
        if self._received < self._messages:
            self._received += 1
        else:
            self._then()
        return self._received


class Unary:
    """Answers what became of a call with these errors, one after the other."""

    def __init__(self, *errors: SidecallError) -> None:
        self.left = list(errors)

    async def get_tool_call(self, session_id: str, call: CallReference) -> None:
        if self.left:
            raise self.left.pop(0)


class Settled:
    """One call that was sent, and what `LostOutcomes` makes of it."""

    def __init__(self, unary: Unary) -> None:
        nobody: Any = None
        self.calls = Calls(lambda frame, place: None, lambda call: None)
        self.calls.granted(10, 1000)
        self.pending = PendingCall(nobody, call("a"))
        self.calls.dispatch(self.pending, pb.ClientFrame())
        self.unary: Any = unary
        self.result: Any = object()

    def end(self) -> None:
        """The outcome comes."""
        if (pending := self.calls.ended(self.pending.reference)) is not None:
            pending.future.set_result(self.result)

    async def ask(self, link: Any, barrier: SidecallError | None = None) -> None:
        async def said() -> None:
            if barrier is not None:
                raise barrier

        lost_outcomes = LostOutcomes(self.unary, link, self.calls, said)
        lost_outcomes.gap("session")
        await lost_outcomes.settled()


GONE = NotFoundError("no call", reason="CALL_NOT_FOUND")


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is waited for by the clock."""
    monkeypatch.setattr(lost_outcomes_module, "QUIET_SECONDS", 0)
    monkeypatch.setattr(lost_outcomes_module, "RETRY_SECONDS", 0)


@pytest.mark.usefixtures("hasty")
async def test_an_outcome_that_is_still_on_its_way_is_waited_for() -> None:
    one = Settled(Unary(GONE))
    await one.ask(Talk(3, then=one.end))
    assert await one.pending is one.result


@pytest.mark.usefixtures("hasty")
async def test_a_stream_that_is_never_quiet_is_not_waited_for_without_end() -> None:
    one = Settled(Unary(GONE))
    await one.ask(Talk(1_000_000))
    with pytest.raises(NotFoundError):
        await one.pending


@pytest.mark.usefixtures("hasty")
async def test_a_question_that_was_not_answered_is_asked_again() -> None:
    one = Settled(Unary(UnavailableError("not now"), UnavailableError("not now"), GONE))
    await one.ask(Talk(0))
    with pytest.raises(NotFoundError):
        await one.pending


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize(
    ("unary", "barrier"),
    [
        (Unary(), None),
        (Unary(NotFoundError("no session", reason="SESSION_NOT_FOUND")), None),
        (Unary(GONE), SessionLostError("gone")),
    ],
)
async def test_a_call_that_is_known_and_one_of_a_lost_session_stay_as_they_are(
    unary: Unary, barrier: SidecallError | None
) -> None:
    one = Settled(unary)
    await one.ask(Talk(0), barrier)
    assert not one.pending.done()
