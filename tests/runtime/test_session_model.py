"""A session under any interleaving of agent, operator, network and clock (R2, R3, S7).

The agent answers or not, cancels, repeats itself, loses its connection and comes back; the
clock moves. At the end everything is let go: each call that was taken has ended exactly once
for the agent, and the session holds nothing any more.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from sidecall_server.domain.declarations import CancelMode, HookPoint
from sidecall_server.domain.frames import (
    AbortHandler,
    Block,
    CallCompleted,
    CallReference,
    CancelCalls,
    CancelTarget,
    FatalError,
    FrameError,
    HandlerResult,
    HookFailed,
    HookVerdict,
    InvokeHandler,
    InvokeHook,
    Proceed,
    RespondToModel,
    Rewrite,
    TeardownComplete,
    UnhandledError,
    UpdateTools,
)
from sidecall_server.domain.outcome import Aborted, AbortProgress
from sidecall_server.domain.session_events import CallFinished, CallStarted

from tests.runtime.clock import ManualClockLoop, advance, settle
from tests.runtime.peer import Peer, call, hook, new_sessions, text_output, tool

TOOLS = [
    tool("read", supports_parallel_calls=True),
    tool("write", call_timeout_seconds=20),
    tool("shell", cancel_mode=CancelMode.WAIT_FOR_TEARDOWN, teardown_timeout_seconds=5),
    tool("later", ready=False),
]
HOOKS = [
    hook(HookPoint.PRE_TOOL_USE, "write", timeout_seconds=8),
    hook(HookPoint.POST_TOOL_USE, "shell", timeout_seconds=8),
]
RESULTS = [
    text_output(),
    text_output(success=False),
    RespondToModel("sorry"),
    FatalError("over"),
    UnhandledError("boom"),
]
VERDICTS = [Proceed(), Rewrite("[]"), Block("no"), HookFailed("raised")]


class AnyInterleaving(RuleBasedStateMachine):
    """One session, driven at random."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner(loop_factory=ManualClockLoop)
        self.dispatched: set[CallReference] = set()
        self.attached = True
        self.run(self._begin())

    async def _begin(self) -> None:
        self.sessions = new_sessions(
            resume_grace_seconds=1e6,
            heartbeat_timeout_seconds=1e6,
            heartbeat_interval_seconds=1e6,
            session_idle_timeout_seconds=0,
            max_replay_bytes=2_000,
            max_chunk_bytes=400,
            max_watcher_events=100_000,
        )
        self.peer = await Peer(self.sessions).attach(TOOLS, HOOKS)
        self.session = self.peer.session
        self.watcher = self.session.watch()

    def run(self, coroutine: Any) -> Any:
        return self.runner.run(coroutine)

    def teardown(self) -> None:
        self.run(self._end())
        self.runner.close()

    # --- what happens -----------------------------------------------------------------

    @precondition(lambda self: self.attached)
    @rule(
        name=st.sampled_from(["read", "write", "shell", "later", "nope"]),
        number=st.integers(0, 30),
        turn=st.sampled_from(["one", "two", "three"]),
        cell=st.sampled_from([None, None, "cell"]),
    )
    def dispatch(self, name: str, number: int, turn: str, cell: str | None) -> None:
        one = call(f"{name} {number}", name, turn=turn, cell=cell)
        self.dispatched.add(CallReference(turn, one.call_id))
        self.run(self.peer.dispatch(one))

    @precondition(lambda self: self.attached)
    @rule(pick=st.integers(min_value=0), result=st.sampled_from(RESULTS))
    def answer(self, pick: int, result: Any) -> None:
        invocations = self.peer.of(InvokeHandler)
        if invocations:
            token = invocations[pick % len(invocations)].invocation_token
            self.run(self.peer.send(HandlerResult(token, result, 10)))

    @precondition(lambda self: self.attached)
    @rule(pick=st.integers(min_value=0), verdict=st.sampled_from(VERDICTS))
    def judge(self, pick: int, verdict: Any) -> None:
        asked = self.peer.of(InvokeHook)
        if asked:
            token = asked[pick % len(asked)].hook_token
            self.run(self.peer.send(HookVerdict(token, verdict, ("context",))))

    @precondition(lambda self: self.attached)
    @rule(pick=st.integers(min_value=0))
    def torn_down(self, pick: int) -> None:
        aborts = self.peer.of(AbortHandler)
        if aborts:
            self.run(self.peer.send(TeardownComplete(aborts[pick % len(aborts)].token)))

    @precondition(lambda self: self.attached)
    @rule(ready=st.booleans())
    def change_tools(self, ready: bool) -> None:
        later = tool("later", ready=ready)
        self.run(self.peer.send(UpdateTools((later,), (), None)))

    @precondition(lambda self: self.attached)
    @rule(turn=st.sampled_from(["one", "two", None]))
    def cancel_through_the_stream(self, turn: str | None) -> None:
        self.run(self.peer.send(CancelCalls(1, CancelTarget(turn_id=turn))))

    @precondition(lambda self: self.dispatched)
    @rule(pick=st.integers(min_value=0))
    def an_operator_cancels(self, pick: int) -> None:
        references = sorted(self.dispatched)
        target = CancelTarget(calls=(references[pick % len(references)],))
        self.run(self._operate(target))

    async def _operate(self, target: CancelTarget) -> None:
        self.session.cancel(target)
        await settle()

    @precondition(lambda self: self.attached)
    @rule()
    def stop_reading(self) -> None:
        self.run(self.peer.stop_reading())

    @precondition(lambda self: self.attached)
    @rule()
    def lose_connection(self) -> None:
        self.run(self.peer.lose())
        self.attached = False

    @precondition(lambda self: not self.attached)
    @rule()
    def come_back(self) -> None:
        self.run(self.peer.again(TOOLS, HOOKS))
        self.attached = True

    @rule(seconds=st.sampled_from([0.5, 6.0, 25.0]))
    def time_passes(self, seconds: float) -> None:
        self.run(advance(seconds))

    # --- what holds -------------------------------------------------------------------

    @invariant()
    def counts_agree(self) -> None:
        assert self.sessions.calls_in_flight == len(self.session.open_calls)
        counted = self.sessions.bytes_in_flight
        self.session.count_bytes()
        assert self.sessions.bytes_in_flight == counted, "what is held is counted"
        known = set(self.session.open_calls) | {call.reference for call in self.session.ended_calls}
        assert known <= self.dispatched

    async def _end(self) -> None:
        """Come back, cancel everything, let all time-outs pass."""
        if self.attached:
            await self.peer.lose()
        await self.peer.again(TOOLS, HOOKS)
        await self.peer.send(CancelCalls(99, CancelTarget()))
        await advance(100.0)
        for _ in range(50):
            await settle()
        taken = {call.reference for call in self.session.ended_calls}
        assert not self.session.open_calls
        assert self.session.gates.empty, "every gate is left"
        assert not self.session.invocations.handlers
        assert not self.session.invocations.hooks
        assert self.session.bytes_in_flight == 0
        assert not any(self.session.declared._waiting.values())
        completed = {(frame.call, frame.outcome) for frame in self.peer.of(CallCompleted)}
        assert Counter(reference for reference, _ in completed) == Counter(taken)
        refused = {frame.call for frame in self.peer.of(FrameError) if frame.call}
        assert self.dispatched - taken <= refused
        self._check_aborts(dict(completed))
        await self._check_events(taken)
        await self.peer.lose()
        self.sessions.close()

    def _check_aborts(self, outcomes: dict[CallReference, Any]) -> None:
        invoked = {
            CallReference(frame.call.turn_id, frame.call.call_id)
            for frame in self.peer.of(InvokeHandler)
        }
        for reference, outcome in outcomes.items():
            result = outcome.result
            if isinstance(result, Aborted) and result.progress is AbortProgress.NOT_STARTED:
                assert reference not in invoked, "cancelled before it started: never starts"

    async def _check_events(self, taken: set[CallReference]) -> None:
        self.watcher.close()
        started: set[CallReference] = set()
        finished: set[CallReference] = set()
        async for event in self.watcher:
            if isinstance(event.event, CallStarted):
                assert event.event.call not in started | finished
                started.add(event.event.call)
            elif isinstance(event.event, CallFinished):
                assert event.event.call not in finished
                finished.add(event.event.call)
        assert started <= finished <= taken


AnyInterleaving.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestAnyInterleaving = AnyInterleaving.TestCase
