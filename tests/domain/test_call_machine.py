"""Every cell of the call machine: (phase, event) -> (phase, effects), and what each end says."""

from __future__ import annotations

import itertools
from typing import get_args

import pytest
from sidecall_server.domain.call_machine import begin, step
from sidecall_server.domain.call_state import (
    CallState,
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
from sidecall_server.domain.outcome import (
    Aborted,
    AbortProgress,
    CallOutcome,
    Completed,
    Fatal,
    LifecycleFinish,
    ModelFailure,
    TeardownState,
)
from sidecall_server.domain.values import (
    CodeMode,
    CustomPayload,
    FunctionPayload,
    ToolCall,
    ToolName,
)

E = Effect
CALL = ToolCall("call", ToolName("tool"), FunctionPayload("{}"), turn_id="turn")
NESTED = ToolCall("call", ToolName("tool"), FunctionPayload("{}"), CodeMode("cell", ""), "turn")
TOOL = ToolDeclaration(ToolName("tool"))
SHELL = ToolDeclaration(ToolName("tool"), cancel_mode=CancelMode.WAIT_FOR_TEARDOWN)
CANCEL = CancelRequested(AbortReason.CANCELLED, 1.0)
LOST = CancelRequested(AbortReason.SESSION_LOST, 2.0, wait=False)
DRAINED = CancelRequested(AbortReason.DRAINED, 2.0, wait=False)

EVENTS: dict[type, Event] = {
    ToolReady: ToolReady(),
    GateEntered: GateEntered(TOOL, pre_hook=True),
    PreHookAnswered: PreHookAnswered(),
    InvocationWritten: InvocationWritten(),
    HandlerReturned: HandlerReturned(success=True, post_hook=False),
    HandlerFailed: HandlerFailed("sorry"),
    HandlerFatal: HandlerFatal("over"),
    HandlerBroke: HandlerBroke("boom"),
    PostHookAnswered: PostHookAnswered(),
    CancelRequested: CANCEL,
    TeardownEnded: TeardownEnded(timed_out=False),
}
"""One event of each kind; the variants have tables of their own below."""


def state_in(
    phase: Phase, tool: ToolDeclaration = TOOL, call: ToolCall = CALL, *, ran: bool = True
) -> CallState:
    """A state as the machine reaches it. `ran`: a teardown began in the handler."""
    if phase is Phase.READINESS:
        return begin(call, ToolDeclaration(tool.tool_name, ready=False))[0]
    state, _ = begin(call, tool)
    path = {
        Phase.QUEUED: (),
        Phase.PRE_HOOK: (GateEntered(tool, pre_hook=True),),
        Phase.INVOKING: (GateEntered(tool),),
        Phase.HANDLER: (GateEntered(tool), InvocationWritten()),
        Phase.POST_HOOK: (
            GateEntered(tool, pre_hook=True),
            PreHookAnswered(),
            InvocationWritten(),
            HandlerReturned(success=True, post_hook=True),
        ),
        Phase.TERMINAL: (
            GateEntered(tool),
            InvocationWritten(),
            HandlerReturned(success=True, post_hook=False),
        ),
    }
    if phase is Phase.TEARDOWN:
        state = state_in(Phase.HANDLER if ran else Phase.POST_HOOK, SHELL, call)
        state, _ = step(state, CANCEL)
    else:
        for event in path[phase]:
            state, _ = step(state, event)
    assert state.phase is phase
    return state


ENDED = (E.COMPLETE, E.LEAVE_GATE)
FATAL = (E.COMPLETE, E.END_TURN, E.LEAVE_GATE)
LATE = (E.COUNT_LATE,)
NOTHING: tuple[Effect, ...] = ()
SAME = None
"""The event has no meaning here: the state stays as it is."""

Cell = tuple[Phase | None, tuple[Effect, ...]]

RESULTS = (HandlerReturned, HandlerFailed, HandlerFatal, HandlerBroke)
MEANINGFUL: dict[tuple[Phase, type], Cell] = {
    (Phase.READINESS, ToolReady): (Phase.QUEUED, (E.ENTER_GATE,)),
    (Phase.READINESS, CancelRequested): (Phase.TERMINAL, ENDED),
    (Phase.QUEUED, GateEntered): (Phase.PRE_HOOK, (E.EMIT_STARTED, E.ASK_PRE_HOOK)),
    (Phase.QUEUED, CancelRequested): (Phase.TERMINAL, ENDED),
    (Phase.PRE_HOOK, PreHookAnswered): (Phase.INVOKING, (E.INVOKE,)),
    (Phase.PRE_HOOK, CancelRequested): (Phase.TERMINAL, (E.ABORT_WORK, *ENDED)),
    (Phase.INVOKING, InvocationWritten): (Phase.HANDLER, NOTHING),
    (Phase.INVOKING, CancelRequested): (Phase.TERMINAL, (E.WITHDRAW, *ENDED)),
    (Phase.HANDLER, HandlerReturned): (Phase.TERMINAL, ENDED),
    (Phase.HANDLER, HandlerFailed): (Phase.TERMINAL, ENDED),
    (Phase.HANDLER, HandlerFatal): (Phase.TERMINAL, FATAL),
    (Phase.HANDLER, HandlerBroke): (Phase.TERMINAL, FATAL),
    (Phase.HANDLER, CancelRequested): (Phase.TERMINAL, (E.ABORT_WORK, *ENDED)),
    (Phase.POST_HOOK, PostHookAnswered): (Phase.TERMINAL, ENDED),
    (Phase.POST_HOOK, CancelRequested): (Phase.TERMINAL, (E.ABORT_WORK, *ENDED)),
    (Phase.TEARDOWN, TeardownEnded): (Phase.TERMINAL, ENDED),
    (Phase.TEARDOWN, HandlerReturned): (Phase.TERMINAL, (*ENDED, E.COUNT_LATE)),
    (Phase.TEARDOWN, HandlerFailed): (Phase.TERMINAL, (*ENDED, E.COUNT_LATE)),
    (Phase.TEARDOWN, HandlerFatal): (Phase.TERMINAL, (*ENDED, E.COUNT_LATE)),
    (Phase.TEARDOWN, HandlerBroke): (Phase.TERMINAL, FATAL),
    (Phase.TEARDOWN, PostHookAnswered): (Phase.TERMINAL, ENDED),
    (Phase.TEARDOWN, CancelRequested): (SAME, NOTHING),
}
MEANINGLESS: dict[tuple[Phase, type], Cell] = {
    # Nobody was asked, or the answer was taken.
    **{(phase, ToolReady): (SAME, NOTHING) for phase in Phase if phase is not Phase.READINESS},
    **{(phase, GateEntered): (SAME, NOTHING) for phase in Phase if phase is not Phase.QUEUED},
    **{(phase, PreHookAnswered): (SAME, NOTHING) for phase in Phase if phase is not Phase.PRE_HOOK},
    **{
        (phase, InvocationWritten): (SAME, NOTHING)
        for phase in Phase
        if phase is not Phase.INVOKING
    },
    **{
        (phase, PostHookAnswered): (SAME, NOTHING)
        for phase in Phase
        if phase not in (Phase.POST_HOOK, Phase.TEARDOWN)
    },
    **{(phase, TeardownEnded): (SAME, NOTHING) for phase in Phase if phase is not Phase.TEARDOWN},
    # A result that nobody waits for is late, and counted.
    **{
        (phase, result): (SAME, LATE)
        for phase in Phase
        if phase not in (Phase.HANDLER, Phase.TEARDOWN)
        for result in RESULTS
    },
    # Too late: the outcome stands.
    (Phase.TERMINAL, CancelRequested): (SAME, NOTHING),
}
TABLE = MEANINGFUL | MEANINGLESS


def test_the_table_names_every_cell_once() -> None:
    assert set(EVENTS) == set(get_args(Event))
    assert set(TABLE) == set(itertools.product(Phase, EVENTS))
    assert not set(MEANINGFUL) & set(MEANINGLESS)


@pytest.mark.parametrize(
    ("phase", "event"),
    list(TABLE),
    ids=lambda value: getattr(value, "name", None) or value.__name__,
)
def test_every_cell_does_what_the_table_says(phase: Phase, event: type) -> None:
    before = state_in(phase)
    after, effects = step(before, EVENTS[event])
    expected_phase, expected_effects = TABLE[phase, event]
    assert effects == expected_effects
    if expected_phase is SAME:
        assert after == before
    else:
        assert after.phase is expected_phase
        assert (after.outcome is not None) == (expected_phase is Phase.TERMINAL)


def aborted(
    progress: AbortProgress,
    teardown: TeardownState = TeardownState.NONE,
    reason: AbortReason = AbortReason.CANCELLED,
    text: str = "aborted by user after 1.0s",
) -> Aborted:
    return Aborted(reason, progress, teardown, text)


NOT_STARTED = aborted(AbortProgress.NOT_STARTED)
INTERRUPTED = AbortProgress.HANDLER_INTERRUPTED
FINISHED = AbortProgress.HANDLER_FINISHED
LOST_TEXT = "aborted after 2.0s: the agent's connection was lost"
DRAINED_TEXT = "aborted after 2.0s: the sidecar is shutting down"

ENDS: list[tuple[str, CallState, Event, CallOutcome]] = [
    *(
        (f"a cancel in {phase.name} means that it never starts (S7)", state, event, outcome)
        for phase in (Phase.READINESS, Phase.QUEUED, Phase.PRE_HOOK, Phase.INVOKING)
        for tool in (TOOL, SHELL)
        for state, event, outcome in [
            (
                state_in(phase, tool),
                CANCEL,
                CallOutcome(NOT_STARTED, LifecycleFinish.ABORTED, False),
            )
        ]
    ),
    (
        "an unknown tool is a model error without events (F2)",
        state_in(Phase.QUEUED),
        GateEntered(None),
        CallOutcome(ModelFailure("unsupported call: tool"), LifecycleFinish.NONE, False),
    ),
    (
        "a payload of the wrong kind is fatal without events (F3)",
        state_in(
            Phase.QUEUED, call=ToolCall("c", ToolName("tool"), CustomPayload(""), turn_id="t")
        ),
        GateEntered(TOOL),
        CallOutcome(
            Fatal("tool tool invoked with incompatible payload"), LifecycleFinish.NONE, False
        ),
    ),
    (
        "a blocked call has not run (F6, R3)",
        state_in(Phase.PRE_HOOK),
        PreHookAnswered(blocked="no"),
        CallOutcome(ModelFailure("no"), LifecycleFinish.BLOCKED, False),
    ),
    (
        "a rewrite that cannot be applied fails the call (F7)",
        state_in(Phase.PRE_HOOK),
        PreHookAnswered(failure="cannot"),
        CallOutcome(ModelFailure("cannot"), LifecycleFinish.FAILED, False),
    ),
    (
        "a returned output completes, with the success of the output (G1)",
        state_in(Phase.HANDLER),
        HandlerReturned(success=False, post_hook=True),
        CallOutcome(Completed(False), LifecycleFinish.COMPLETED, True),
    ),
    (
        "a model error fails the call after it ran (F11)",
        state_in(Phase.HANDLER),
        HandlerFailed("sorry"),
        CallOutcome(ModelFailure("sorry"), LifecycleFinish.FAILED, True),
    ),
    (
        "a direct Fatal is fatal (G8)",
        state_in(Phase.HANDLER),
        HandlerFatal("over"),
        CallOutcome(Fatal("over"), LifecycleFinish.FAILED, True),
    ),
    (
        "a nested Fatal is an error text (G9)",
        state_in(Phase.HANDLER, call=NESTED),
        HandlerFatal("over"),
        CallOutcome(ModelFailure("Fatal error: over"), LifecycleFinish.FAILED, True),
    ),
    (
        "a handler that broke is fatal (G7)",
        state_in(Phase.HANDLER),
        HandlerBroke("boom"),
        CallOutcome(Fatal("tool task failed to receive: boom"), LifecycleFinish.FAILED, True),
    ),
    (
        "a rejected result fails, but the finish event says completed (F9)",
        state_in(Phase.POST_HOOK),
        PostHookAnswered(rejected="no"),
        CallOutcome(ModelFailure("no"), LifecycleFinish.COMPLETED, True),
    ),
    (
        "a running handler is interrupted at once (G3)",
        state_in(Phase.HANDLER),
        CANCEL,
        CallOutcome(aborted(INTERRUPTED), LifecycleFinish.ABORTED, True),
    ),
    (
        "a cancel in the post hook hides a side effect that happened (G6, S8)",
        state_in(Phase.POST_HOOK),
        CANCEL,
        CallOutcome(aborted(FINISHED), LifecycleFinish.ABORTED, True),
    ),
    (
        "a lost client leaves it unknown how far the handler got (S8)",
        state_in(Phase.HANDLER),
        LOST,
        CallOutcome(
            aborted(AbortProgress.UNKNOWN, reason=AbortReason.SESSION_LOST, text=LOST_TEXT),
            LifecycleFinish.ABORTED,
            True,
        ),
    ),
    (
        "a lost client's teardown is unknown too",
        state_in(Phase.HANDLER, SHELL),
        LOST,
        CallOutcome(
            aborted(
                AbortProgress.UNKNOWN, TeardownState.UNKNOWN, AbortReason.SESSION_LOST, LOST_TEXT
            ),
            LifecycleFinish.ABORTED,
            True,
        ),
    ),
    (
        "a drain does not wait for a teardown",
        state_in(Phase.HANDLER, SHELL),
        DRAINED,
        CallOutcome(
            aborted(INTERRUPTED, TeardownState.TIMED_OUT, AbortReason.DRAINED, DRAINED_TEXT),
            LifecycleFinish.ABORTED,
            True,
        ),
    ),
    *(
        (
            f"{type(event).__name__} ends a teardown and is thrown away (G3)",
            state_in(Phase.TEARDOWN),
            event,
            CallOutcome(aborted(INTERRUPTED, TeardownState.DONE), LifecycleFinish.ABORTED, True),
        )
        for event in (
            TeardownEnded(timed_out=False),
            HandlerReturned(success=True, post_hook=True),
            HandlerFailed("sorry"),
            HandlerFatal("over"),
        )
    ),
    (
        "a teardown that takes too long says so, under its own text (R3)",
        state_in(Phase.TEARDOWN),
        TeardownEnded(timed_out=True),
        CallOutcome(aborted(INTERRUPTED, TeardownState.TIMED_OUT), LifecycleFinish.ABORTED, True),
    ),
    (
        "a handler that breaks in its teardown is fatal (G3)",
        state_in(Phase.TEARDOWN),
        HandlerBroke("boom"),
        CallOutcome(Fatal("tool task failed to receive: boom"), LifecycleFinish.FAILED, True),
    ),
    (
        "a teardown of the post hook ends with its verdict (G6)",
        state_in(Phase.TEARDOWN, ran=False),
        PostHookAnswered(rejected="no"),
        CallOutcome(aborted(FINISHED, TeardownState.DONE), LifecycleFinish.ABORTED, True),
    ),
    (
        "a cancel that cannot wait ends a teardown under the first one's text",
        state_in(Phase.TEARDOWN),
        DRAINED,
        CallOutcome(aborted(INTERRUPTED, TeardownState.TIMED_OUT), LifecycleFinish.ABORTED, True),
    ),
    (
        "the client's loss ends a teardown, unknown how",
        state_in(Phase.TEARDOWN),
        LOST,
        CallOutcome(aborted(INTERRUPTED, TeardownState.UNKNOWN), LifecycleFinish.ABORTED, True),
    ),
]


@pytest.mark.parametrize(
    ("state", "event", "outcome"), [end[1:] for end in ENDS], ids=[end[0] for end in ENDS]
)
def test_an_end_says_how(state: CallState, event: Event, outcome: CallOutcome) -> None:
    assert step(state, event)[0].outcome == outcome


def test_a_tool_that_waits_for_its_teardown_is_claimed_and_waited_for() -> None:
    state, effects = step(state_in(Phase.HANDLER, SHELL), CANCEL)
    assert state.phase is Phase.TEARDOWN
    assert effects == (E.ABORT_WORK, E.START_TEARDOWN_TIMER)
    assert state.outcome is None


def test_a_tool_that_is_not_ready_is_waited_for_before_the_gate() -> None:
    state, effects = begin(CALL, ToolDeclaration(ToolName("tool"), ready=False))
    assert (state.phase, effects) == (Phase.READINESS, (E.AWAIT_READINESS,))


def test_a_tool_that_is_no_longer_ready_at_the_gate_is_waited_for_again() -> None:
    later = ToolDeclaration(TOOL.tool_name, ready=False)
    state, effects = step(state_in(Phase.QUEUED), GateEntered(later))
    assert (state.phase, effects) == (Phase.READINESS, (E.LEAVE_GATE, E.AWAIT_READINESS))
    state, effects = step(state, ToolReady())
    assert (state.phase, effects) == (Phase.QUEUED, (E.ENTER_GATE,))


@pytest.mark.parametrize("tool", [TOOL, None], ids=["known", "unknown"])
def test_any_other_call_goes_to_the_gate(tool: ToolDeclaration | None) -> None:
    state, effects = begin(CALL, tool)
    assert (state.phase, effects) == (Phase.QUEUED, (E.ENTER_GATE,))


def test_the_tool_is_looked_up_when_the_call_holds_the_gate() -> None:
    state, _ = step(state_in(Phase.QUEUED, TOOL), GateEntered(SHELL))
    assert state.tool is SHELL


def test_a_call_of_which_no_hook_is_to_hear_goes_to_its_handler_at_once() -> None:
    state, effects = step(state_in(Phase.QUEUED), GateEntered(TOOL, pre_hook=False))
    assert (state.phase, effects) == (Phase.INVOKING, (E.EMIT_STARTED, E.INVOKE))


def test_a_rewrite_changes_the_payload_and_nothing_else() -> None:
    state, _ = step(state_in(Phase.PRE_HOOK), PreHookAnswered(("why",), FunctionPayload('{"a":1}')))
    assert state.call == ToolCall(
        "call", ToolName("tool"), FunctionPayload('{"a":1}'), turn_id="turn"
    )
    assert state.contexts == ("why",)


def test_contexts_of_both_hooks_stay_in_order_and_also_when_cancelled() -> None:
    state, _ = step(state_in(Phase.PRE_HOOK, SHELL), PreHookAnswered(("before",)))
    for event in (
        InvocationWritten(),
        HandlerReturned(success=True, post_hook=True),
        CANCEL,
        PostHookAnswered(("after",)),
    ):
        state, _ = step(state, event)
    assert state.contexts == ("before", "after")
    assert state.outcome is not None


def test_a_successful_output_that_no_hook_wants_is_not_asked_about() -> None:
    state, effects = step(state_in(Phase.HANDLER), HandlerReturned(success=True, post_hook=True))
    assert (state.phase, effects) == (Phase.POST_HOOK, (E.ASK_POST_HOOK,))
    state, effects = step(state_in(Phase.HANDLER), HandlerReturned(success=True, post_hook=False))
    assert (state.phase, effects) == (Phase.TERMINAL, ENDED)
