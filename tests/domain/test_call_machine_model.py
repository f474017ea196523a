"""The call machine under any interleaving: one outcome, one finish, start before finish."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from sidecall_server.domain.call_machine import begin, step
from sidecall_server.domain.call_state import (
    CancelRequested,
    Effect,
    Event,
    GateEntered,
    HandlerBroke,
    HandlerFailed,
    HandlerFatal,
    HandlerReturned,
    InvocationWritten,
    Phase,
    PostHookAnswered,
    PreHookAnswered,
    TeardownEnded,
    ToolReady,
)
from sidecall_server.domain.declarations import CancelMode, ToolDeclaration
from sidecall_server.domain.failure import AbortReason
from sidecall_server.domain.fields import replace
from sidecall_server.domain.outcome import Aborted, AbortProgress, CallOutcome, LifecycleFinish
from sidecall_server.domain.values import (
    CodeMode,
    CustomPayload,
    Direct,
    FunctionPayload,
    ToolCall,
    ToolName,
)

ORDER = [
    Phase.READINESS,
    Phase.QUEUED,
    Phase.PRE_HOOK,
    Phase.INVOKING,
    Phase.HANDLER,
    Phase.POST_HOOK,
    Phase.TEARDOWN,
    Phase.TERMINAL,
]
TOOLS = [
    ToolDeclaration(ToolName("tool"), ready=ready, cancel_mode=mode)
    for ready in (True, False)
    for mode in CancelMode
]


class CallUnderAnyInterleaving(RuleBasedStateMachine):
    """Feeds every event at every time, as a hostile agent and operator would."""

    @initialize(
        tool=st.sampled_from([*TOOLS, None]),
        source=st.sampled_from([Direct(), CodeMode("cell", "")]),
        payload=st.sampled_from([FunctionPayload("{}"), CustomPayload("")]),
    )
    def dispatch(
        self, tool: ToolDeclaration | None, source: Direct | CodeMode, payload: FunctionPayload
    ) -> None:
        self.tool = tool
        self.call = ToolCall("call", ToolName("tool"), payload, source, "turn")
        self.state, effects = begin(self.call, tool)
        self.done = list(effects)
        self.outcome: CallOutcome | None = None
        self.written = False
        self.sent_back = 0

    def feed(self, event: Event) -> None:
        before = self.state
        self.state, effects = step(self.state, event)
        self.done += effects
        sent_back = before.phase is Phase.QUEUED and self.state.phase is Phase.READINESS
        self.sent_back += sent_back
        forwards = ORDER.index(self.state.phase) >= ORDER.index(before.phase)
        assert forwards or sent_back, "only a tool that is no longer ready sends a call back"
        if before.phase is Phase.TERMINAL:
            assert self.state == before, "the outcome stands"
            assert set(effects) <= {Effect.COUNT_LATE}
        self.written |= before.phase is Phase.INVOKING and isinstance(event, InvocationWritten)

    @rule()
    def tool_ready(self) -> None:
        self.feed(ToolReady())

    @rule(gone=st.booleans(), ready=st.booleans(), hook=st.booleans())
    def gate_entered(self, gone: bool, ready: bool, hook: bool) -> None:
        tool = None if gone or self.tool is None else replace(self.tool, ready=ready)
        self.feed(GateEntered(tool, hook))

    @rule(
        answer=st.sampled_from(
            [
                PreHookAnswered(),
                PreHookAnswered(("context",), FunctionPayload("[]")),
                PreHookAnswered(failure="cannot"),
                PreHookAnswered(blocked="no"),
            ]
        )
    )
    def pre_hook(self, answer: PreHookAnswered) -> None:
        self.feed(answer)

    @rule()
    def written_out(self) -> None:
        self.feed(InvocationWritten())

    @rule(success=st.booleans(), hook=st.booleans())
    def returned(self, success: bool, hook: bool) -> None:
        self.feed(HandlerReturned(success, hook))

    @rule(kind=st.sampled_from([HandlerFailed, HandlerFatal, HandlerBroke]))
    def failed(self, kind: type[HandlerFailed | HandlerFatal | HandlerBroke]) -> None:
        self.feed(kind("message"))

    @rule(rejected=st.sampled_from([None, "no"]))
    def post_hook(self, rejected: str | None) -> None:
        self.feed(PostHookAnswered(("context",), rejected))

    @rule(reason=st.sampled_from(AbortReason), wait=st.booleans(), seconds=st.floats(0, 1e6))
    def cancel(self, reason: AbortReason, wait: bool, seconds: float) -> None:
        self.feed(CancelRequested(reason, seconds, wait))

    @rule(timed_out=st.booleans())
    def torn_down(self, timed_out: bool) -> None:
        self.feed(TeardownEnded(timed_out))

    @invariant()
    def one_outcome_and_it_stays(self) -> None:
        assert self.done.count(Effect.COMPLETE) == (self.state.phase is Phase.TERMINAL)
        if self.outcome is None:
            self.outcome = self.state.outcome
        assert self.state.outcome == self.outcome
        assert (self.outcome is not None) == (self.state.phase is Phase.TERMINAL)

    @invariant()
    def start_comes_before_finish(self) -> None:
        started = self.done.count(Effect.EMIT_STARTED)
        assert started <= 1
        if started and Effect.COMPLETE in self.done:
            assert self.done.index(Effect.EMIT_STARTED) < self.done.index(Effect.COMPLETE)
        if self.outcome is not None and self.outcome.lifecycle not in (
            LifecycleFinish.NONE,
            LifecycleFinish.ABORTED,
        ):
            assert started, "only an aborted call may finish without a start (G6)"

    @invariant()
    def the_gate_is_left_at_the_end_and_to_wait_for_the_tool(self) -> None:
        assert self.done.count(Effect.ENTER_GATE) <= 1 + self.sent_back
        left = self.done.count(Effect.LEAVE_GATE)
        assert left == (self.state.phase is Phase.TERMINAL) + self.sent_back

    @invariant()
    def what_was_cancelled_before_it_started_never_starts(self) -> None:
        result = self.outcome.result if self.outcome is not None else None
        if isinstance(result, Aborted) and result.progress is AbortProgress.NOT_STARTED:
            assert not self.written
            invoked = self.done.count(Effect.INVOKE)
            assert invoked == self.done.count(Effect.WITHDRAW)
        if self.outcome is not None:
            assert self.outcome.handler_executed == self.written

    @invariant()
    def only_a_direct_fatal_ends_the_turn(self) -> None:
        if Effect.END_TURN in self.done:
            assert not self.call.nested


CallUnderAnyInterleaving.TestCase.settings = settings(
    max_examples=300, stateful_step_count=30, deadline=None
)
TestCallUnderAnyInterleaving = CallUnderAnyInterleaving.TestCase
