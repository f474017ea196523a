"""The life of one dispatched call: every transition stands in this file.

Pure and sans-io: ``step(state, event)`` gives the next state and what is to be done. Time,
tokens, frames and sockets belong to ``runtime/``, which feeds the machine and carries out
its effects. Rules kept here:

* a call passes readiness, the gate, look-up, the start event, the pre hook, the handler and
  the post hook, in this order (F1, G2, G13); look-up sends it back where its tool is no longer
  ready;
* unknown tools and payloads of the wrong kind end without a start or finish event (F2, F3);
* whoever claims the outcome first has it; there is one terminal outcome and at most one
  finish event (G1, R3), and what comes later changes nothing but a counter;
* a cancel before the handler started means that it never starts, also between the decision
  to invoke it and the writing of that frame (S7);
* a cancel of a running handler ends the call at once, or claims it and waits for the
  teardown, whose result is thrown away (G3, G6);
* an aborted outcome says how far the call got (S8).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from sidecall_server.domain.call_state import (
    CallState,
    CancelRequested,
    Effect,
    Effects,
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
from sidecall_server.domain.failure import (
    AbortReason,
    abort_text,
    payload_mismatch_text,
    script_error_text,
    unhandled_error_text,
    unknown_tool_text,
)
from sidecall_server.domain.fields import replace
from sidecall_server.domain.outcome import (
    Aborted,
    AbortProgress,
    CallOutcome,
    CallResult,
    Completed,
    Fatal,
    LifecycleFinish,
    ModelFailure,
    TeardownState,
)
from sidecall_server.domain.values import ToolCall


def begin(call: ToolCall, tool: ToolDeclaration | None) -> tuple[CallState, Effects]:
    """Take a call. A tool that is not ready is waited for; nothing waits for an unknown one."""
    if tool is not None and not tool.ready:
        return CallState(Phase.READINESS, call, tool), (Effect.AWAIT_READINESS,)
    return CallState(Phase.QUEUED, call, tool), (Effect.ENTER_GATE,)


def step(state: CallState, event: Event) -> tuple[CallState, Effects]:
    """Feed one event. An event that has no meaning in the state leaves it as it is."""
    transition = _TRANSITIONS.get((state.phase, type(event)))
    if transition is None:
        return state, _LATE if isinstance(event, _RESULTS) else ()
    return transition(state, event)


# --- transitions ----------------------------------------------------------------------


def _ready(state: CallState, event: ToolReady) -> tuple[CallState, Effects]:
    return replace(state, phase=Phase.QUEUED), (Effect.ENTER_GATE,)


def _look_up(state: CallState, event: GateEntered) -> tuple[CallState, Effects]:
    call, tool = state.call, event.tool
    if tool is None:
        text = unknown_tool_text(call.tool_name, call.payload.kind)
        return _terminal(state, ModelFailure(text), LifecycleFinish.NONE, executed=False)
    if not tool.ready:  # it was, when the call came
        state = replace(state, phase=Phase.READINESS, tool=tool)
        return state, (Effect.LEAVE_GATE, Effect.AWAIT_READINESS)
    if call.payload.kind not in tool.payload_kinds:
        text = payload_mismatch_text(call.tool_name)
        return _fatal(state, text, LifecycleFinish.NONE, executed=False)
    if event.pre_hook:
        state = replace(state, phase=Phase.PRE_HOOK, tool=tool)
        return state, (Effect.EMIT_STARTED, Effect.ASK_PRE_HOOK)
    return _moved(state, Phase.INVOKING, tool), (Effect.EMIT_STARTED, Effect.INVOKE)


def _pre_hook(state: CallState, event: PreHookAnswered) -> tuple[CallState, Effects]:
    if event.contexts:
        state = replace(state, contexts=event.contexts)
    if event.blocked is not None:
        return _terminal(
            state, ModelFailure(event.blocked), LifecycleFinish.BLOCKED, executed=False
        )
    if event.failure is not None:
        return _terminal(state, ModelFailure(event.failure), LifecycleFinish.FAILED, executed=False)
    if event.payload is not None:
        call = state.call
        call = ToolCall(call.call_id, call.tool_name, event.payload, call.source, call.turn_id)
        state = replace(state, call=call)
    return replace(state, phase=Phase.INVOKING), (Effect.INVOKE,)


def _written(state: CallState, event: InvocationWritten) -> tuple[CallState, Effects]:
    return _moved(state, Phase.HANDLER, state.tool), ()


def _returned(state: CallState, event: HandlerReturned) -> tuple[CallState, Effects]:
    if event.success and event.post_hook:
        state = replace(state, phase=Phase.POST_HOOK, success=True)
        return state, (Effect.ASK_POST_HOOK,)
    return _terminal(state, Completed(event.success), LifecycleFinish.COMPLETED)


def _failed(state: CallState, event: HandlerFailed) -> tuple[CallState, Effects]:
    return _terminal(state, ModelFailure(event.message), LifecycleFinish.FAILED)


def _handler_fatal(state: CallState, event: HandlerFatal) -> tuple[CallState, Effects]:
    return _fatal(state, event.message, LifecycleFinish.FAILED)


def _broke(state: CallState, event: HandlerBroke) -> tuple[CallState, Effects]:
    return _fatal(state, unhandled_error_text(event.message), LifecycleFinish.FAILED)


def _post_hook(state: CallState, event: PostHookAnswered) -> tuple[CallState, Effects]:
    state = replace(state, contexts=state.contexts + event.contexts)
    if event.rejected is not None:
        return _terminal(state, ModelFailure(event.rejected), LifecycleFinish.COMPLETED)
    return _terminal(state, Completed(state.success), LifecycleFinish.COMPLETED)


def _cancel_unstarted(state: CallState, event: CancelRequested) -> tuple[CallState, Effects]:
    """Never starts, in both cancel modes (S7)."""
    before = {
        Phase.PRE_HOOK: (Effect.ABORT_WORK,),
        Phase.INVOKING: (Effect.WITHDRAW,),
    }.get(state.phase, ())
    claim = _claim(state, event, AbortProgress.NOT_STARTED, TeardownState.NONE)
    return _aborted(state, claim, before, executed=False)


def _cancel_started(state: CallState, event: CancelRequested) -> tuple[CallState, Effects]:
    """Handler or post hook: end at once, or claim and wait (G3, G6)."""
    if state.phase is Phase.POST_HOOK:
        progress = AbortProgress.HANDLER_FINISHED
    elif event.reason is AbortReason.SESSION_LOST:
        progress = AbortProgress.UNKNOWN
    else:
        progress = AbortProgress.HANDLER_INTERRUPTED
    waits = state.tool is not None and state.tool.cancel_mode is CancelMode.WAIT_FOR_TEARDOWN
    if waits and event.wait:
        claim = _claim(state, event, progress, TeardownState.DONE)
        state = replace(state, phase=Phase.TEARDOWN, claim=claim)
        return state, (Effect.ABORT_WORK, Effect.START_TEARDOWN_TIMER)
    teardown = _unwaited(event.reason) if waits else TeardownState.NONE
    return _aborted(state, _claim(state, event, progress, teardown), (Effect.ABORT_WORK,))


def _torn_down(state: CallState, event: TeardownEnded) -> tuple[CallState, Effects]:
    return _end_teardown(state, TeardownState.TIMED_OUT if event.timed_out else TeardownState.DONE)


def _result_in_teardown(state: CallState, event: Event) -> tuple[CallState, Effects]:
    """The work ended by itself; its result is thrown away, even an error (G3)."""
    state, effects = _end_teardown(state, TeardownState.DONE)
    return state, (*effects, Effect.COUNT_LATE)


def _broke_in_teardown(state: CallState, event: HandlerBroke) -> tuple[CallState, Effects]:
    """A broken handler is fatal even now (G3)."""
    return _fatal(state, unhandled_error_text(event.message), LifecycleFinish.FAILED)


def _post_hook_in_teardown(state: CallState, event: PostHookAnswered) -> tuple[CallState, Effects]:
    """The verdict comes too late, its contexts do not (G6)."""
    state = replace(state, contexts=state.contexts + event.contexts)
    return _end_teardown(state, TeardownState.DONE)


def _cancel_in_teardown(state: CallState, event: CancelRequested) -> tuple[CallState, Effects]:
    """The first cancel keeps its claim; one that cannot wait ends the waiting."""
    if event.wait:
        return state, ()
    return _end_teardown(state, _unwaited(event.reason))


# --- ends -----------------------------------------------------------------------------


def _terminal(
    state: CallState, result: CallResult, lifecycle: LifecycleFinish, *, executed: bool = True
) -> tuple[CallState, Effects]:
    outcome = CallOutcome(result, lifecycle, executed)
    return _moved(state, Phase.TERMINAL, state.tool, outcome), _ENDED


def _fatal(
    state: CallState, message: str, lifecycle: LifecycleFinish, *, executed: bool = True
) -> tuple[CallState, Effects]:
    """Ends the turn of a direct call; a script only gets an exception (G9, R5)."""
    if state.call.nested:
        text = script_error_text(message, fatal=True)
        return _terminal(state, ModelFailure(text), lifecycle, executed=executed)
    state, _ = _terminal(state, Fatal(message), lifecycle, executed=executed)
    return state, _ENDED_WITH_TURN


def _claim(
    state: CallState, event: CancelRequested, progress: AbortProgress, teardown: TeardownState
) -> Aborted:
    message = abort_text(event.reason, state.call.tool_name, event.elapsed_seconds)
    return Aborted(event.reason, progress, teardown, message)


def _moved(
    state: CallState,
    phase: Phase,
    tool: ToolDeclaration | None,
    outcome: CallOutcome | None = None,
) -> CallState:
    """What `replace` gives, sooner: every call comes by three times."""
    return CallState(phase, state.call, tool, state.success, state.contexts, state.claim, outcome)


def _aborted(
    state: CallState, claim: Aborted, before: Effects = (), *, executed: bool = True
) -> tuple[CallState, Effects]:
    state, effects = _terminal(state, claim, LifecycleFinish.ABORTED, executed=executed)
    return state, before + effects


def _end_teardown(state: CallState, teardown: TeardownState) -> tuple[CallState, Effects]:
    assert state.claim is not None, "a teardown follows a claim"
    return _aborted(state, replace(state.claim, teardown=teardown))


def _unwaited(reason: AbortReason) -> TeardownState:
    if reason is AbortReason.SESSION_LOST:
        return TeardownState.UNKNOWN
    return TeardownState.TIMED_OUT


_ENDED: Effects = (Effect.COMPLETE, Effect.LEAVE_GATE)
_ENDED_WITH_TURN: Effects = (Effect.COMPLETE, Effect.END_TURN, Effect.LEAVE_GATE)
_LATE: Effects = (Effect.COUNT_LATE,)
_RESULTS = (HandlerReturned, HandlerFailed, HandlerFatal, HandlerBroke)

_Transition: TypeAlias = Callable[[CallState, Any], tuple[CallState, Effects]]

_TRANSITIONS: dict[tuple[Phase, type], _Transition] = {
    (Phase.READINESS, ToolReady): _ready,
    (Phase.READINESS, CancelRequested): _cancel_unstarted,
    (Phase.QUEUED, GateEntered): _look_up,
    (Phase.QUEUED, CancelRequested): _cancel_unstarted,
    (Phase.PRE_HOOK, PreHookAnswered): _pre_hook,
    (Phase.PRE_HOOK, CancelRequested): _cancel_unstarted,
    (Phase.INVOKING, InvocationWritten): _written,
    (Phase.INVOKING, CancelRequested): _cancel_unstarted,
    (Phase.HANDLER, HandlerReturned): _returned,
    (Phase.HANDLER, HandlerFailed): _failed,
    (Phase.HANDLER, HandlerFatal): _handler_fatal,
    (Phase.HANDLER, HandlerBroke): _broke,
    (Phase.HANDLER, CancelRequested): _cancel_started,
    (Phase.POST_HOOK, PostHookAnswered): _post_hook,
    (Phase.POST_HOOK, CancelRequested): _cancel_started,
    (Phase.TEARDOWN, TeardownEnded): _torn_down,
    (Phase.TEARDOWN, HandlerReturned): _result_in_teardown,
    (Phase.TEARDOWN, HandlerFailed): _result_in_teardown,
    (Phase.TEARDOWN, HandlerFatal): _result_in_teardown,
    (Phase.TEARDOWN, HandlerBroke): _broke_in_teardown,
    (Phase.TEARDOWN, PostHookAnswered): _post_hook_in_teardown,
    (Phase.TEARDOWN, CancelRequested): _cancel_in_teardown,
}
