"""One dispatched call: feeds its machine and carries out what the machine wants."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

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
    TeardownEnded,
    ToolReady,
)
from sidecall_server.domain.declarations import HookPoint, ToolDeclaration
from sidecall_server.domain.failure import AbortReason
from sidecall_server.domain.frames import (
    AbortHandler,
    CallAccepted,
    CallCompleted,
    CallDurations,
    CallReference,
    DispatchCall,
    FatalError,
    HandlerResult,
    HookFailed,
    HookVerdict,
    HookView,
    InvokeHandler,
    InvokeHook,
    RespondToModel,
    UnhandledError,
)
from sidecall_server.domain.hooks import pre_tool_use
from sidecall_server.domain.outcome import CallOutcome
from sidecall_server.domain.outputs import ToolOutput
from sidecall_server.domain.projection import Projection
from sidecall_server.domain.session_options import TurnOptions
from sidecall_server.domain.values import CodeMode, PayloadKind, ToolCall
from sidecall_server.runtime import verdicts
from sidecall_server.runtime.ended_call import EndedCall

if TYPE_CHECKING:
    from sidecall_server.runtime.session import Session


class Call:
    """A call from its frame to its terminal outcome; then an `EndedCall` takes its place."""

    __slots__ = (
        "_call_timer",
        "_cancel_reason",
        "_hook_timer",
        "_question",
        "_session",
        "_teardown_timer",
        "cell_id",
        "completed",
        "dispatch",
        "dispatch_order",
        "ended_at",
        "feedback",
        "handler_ended_at",
        "handler_started_at",
        "held_bytes",
        "hook",
        "hook_asked_at",
        "invocation",
        "projection",
        "reference",
        "result_bytes",
        "started_unix",
        "state",
        "submitted_at",
        "tool_name",
    )

    state: CallState

    completed_data: Final = b""
    """Empty while it is open, as `wire.runtime.ReadableCall` wants it."""

    def __init__(
        self,
        session: Session,
        dispatch: DispatchCall,
        reference: CallReference,
        dispatch_order: int,
    ) -> None:
        call = dispatch.call
        self._session = session
        self.dispatch = dispatch
        self.dispatch_order = dispatch_order
        self.reference = reference
        self.tool_name = call.tool_name
        self.cell_id = call.source.cell_id if isinstance(call.source, CodeMode) else ""
        self.submitted_at = session.clock()
        self.started_unix = session.wall_clock()
        self.handler_started_at: float | None = None
        self.handler_ended_at: float | None = None
        self.ended_at: float | None = None
        self.invocation: InvokeHandler | None = None
        """The frame that invokes the handler, once decided."""
        self.hook: InvokeHook | None = None
        """The frame of the hook whose verdict is waited for."""
        self.hook_asked_at = 0.0
        self._question: tuple[HookView, float] | None = None
        """What the hooks are to be asked next, and their time in seconds."""
        self.projection: Projection | None = None
        self.feedback: str | None = None
        self.result_bytes = 0
        self.held_bytes = dispatch.size_bytes
        """What it keeps in memory: the payload, and what handler and hooks answered."""
        self.completed: CallCompleted | None = None
        """The terminal frame, once the call has ended."""
        self._hook_timer: asyncio.TimerHandle | None = None
        self._teardown_timer: asyncio.TimerHandle | None = None
        self._call_timer: asyncio.TimerHandle | None = None
        self._cancel_reason = AbortReason.CANCELLED

    @property
    def phase(self) -> Phase:
        return self.state.phase

    @property
    def outcome(self) -> CallOutcome | None:
        return self.state.outcome

    @property
    def turn_options(self) -> TurnOptions | None:
        return self.dispatch.turn_options

    @property
    def payload_kind(self) -> PayloadKind:
        return self.dispatch.call.payload.kind

    @property
    def teardown_seconds(self) -> float:
        """How long its teardown may take: as its tool says, within the server's limit."""
        tool = self.state.tool
        assert tool is not None, "only a known tool is torn down"
        limit = self._session.limits.max_teardown_timeout_seconds
        return min(tool.teardown_timeout_seconds, limit)

    def durations(self) -> CallDurations:
        """Where the time went so far."""
        return CallDurations(
            _between(self.submitted_at, self.handler_started_at),
            _between(self.handler_started_at, self.handler_ended_at),
            _between(self.submitted_at, self.ended_at),
        )

    def is_of(self, call: ToolCall) -> bool:
        """Whether this is the call, and not another under its ids."""
        return self.dispatch.call == call

    def without_work(self, completed_data: bytes) -> EndedCall:
        """What stays of it once it has ended, with its terminal frame as it goes out."""
        completed = self.completed
        assert completed is not None, "it has ended"
        return EndedCall(
            self.reference,
            self.dispatch_order,
            self.tool_name,
            self.payload_kind,
            self.cell_id,
            completed.outcome,
            self.started_unix,
            completed.durations,
            completed_data,
            hash(self.dispatch.call),
        )

    # --- what happens to it -----------------------------------------------------------

    def begin(self) -> None:
        """Enter the runtime."""
        tool = self._session.declared.tools.get(self.tool_name)
        timeout = self.dispatch.timeout_seconds
        limit = None if tool is None else tool.call_timeout_seconds
        if limit is not None:
            timeout = limit if timeout is None else min(timeout, limit)
        if timeout is not None:
            self._call_timer = self._session.call_later(timeout, self._timed_out)
        self.state, effects = begin(self.dispatch.call, tool)
        self._carry_out(effects)
        if self.phase in (Phase.READINESS, Phase.QUEUED):
            self._session.send(
                CallAccepted(self.reference, self.dispatch_order, self.phase, duplicate=False)
            )

    def tool_ready(self) -> None:
        """The tool can run, or is gone."""
        self._feed(ToolReady())

    def invocation_written(self) -> None:
        """The frame that invokes the handler goes out now; after a gap once more."""
        if self.phase is not Phase.INVOKING:
            return
        self.handler_started_at = self._session.clock()
        self._session.observer.handler_started(self._session, self)
        self._feed(InvocationWritten())

    def handler_answered(self, frame: HandlerResult) -> None:
        """The handler's answer; fenced by its token, so it is this invocation's.

        Raises:
            ResourceExhausted: it would wait for a verdict, and there is no room (BUFFER_LIMIT).
        """
        event = self._answer(frame)
        if self.phase is Phase.HANDLER:
            self.handler_ended_at = self._session.clock()
            self.result_bytes = frame.size_bytes
            self._hold(frame.size_bytes)
            self._session.observer.handler_answered(self._session, self)
        self._feed(event)

    def hook_answered(self, frame: HookVerdict) -> None:
        """The hooks' verdict; fenced by its token."""
        hook = self.hook
        assert hook is not None, "the session knows whose hook this is"
        self._hold(frame.size_bytes)
        self._hook_ended()
        self._session.observer.hook_ended(
            self._session,
            self,
            hook.point,
            type(frame.verdict).__name__,
            self._session.clock() - self.hook_asked_at,
        )
        if hook.point is HookPoint.PRE_TOOL_USE:
            self._feed(verdicts.pre_hook(self, hook.payload, frame, self._session))
        else:
            self._feed(verdicts.post_hook(self, frame, self._session))

    def cancel(self, reason: AbortReason, *, wait: bool = True) -> None:
        """End it, if it has not ended."""
        if self.phase not in (Phase.TEARDOWN, Phase.TERMINAL):
            self._cancel_reason = reason
        self._feed(CancelRequested(reason, self._session.clock() - self.submitted_at, wait))

    def torn_down(self) -> None:
        """The agent says that the handler has torn down."""
        self._feed(TeardownEnded(timed_out=False))

    # --- effects ----------------------------------------------------------------------

    def _feed(self, event: Event) -> None:
        self.state, effects = step(self.state, event)
        self._carry_out(effects)

    def _carry_out(self, effects: tuple[Effect, ...]) -> None:
        for effect in effects:
            _CARRY_OUT[effect](self)

    def _await_readiness(self) -> None:
        self._session.declared.await_tool(self)

    def _enter_gate(self) -> None:
        tool = self._session.declared.tools.get(self.tool_name)
        exclusive = tool is None or not tool.shares_gate
        self._session.gates.enter(self.cell_id, self, exclusive=exclusive, admit=self._admitted)

    def _admitted(self) -> None:
        tool = self._session.declared.tools.get(self.tool_name)
        wants_hook = (
            tool is not None
            and HookPoint.PRE_TOOL_USE in self._session.declared.hook_points
            and self._wants(HookPoint.PRE_TOOL_USE, self._pre_hook_view(tool))
        )
        self._feed(GateEntered(tool, wants_hook))

    def _emit_started(self) -> None:
        self._session.call_started(self)

    def _ask_pre_hook(self) -> None:
        self._ask(HookPoint.PRE_TOOL_USE)

    def _invoke(self) -> None:
        self.invocation = InvokeHandler(
            self._session.invocations.of_handler(self),
            self.state.call,
            self.state.call is not self.dispatch.call,
            self.dispatch_order,
        )
        self._session.send(self.invocation)

    def _withdraw(self) -> None:
        assert self.invocation is not None, "only what was queued is withdrawn"
        self._session.outbox.withdraw(self.invocation)

    def _ask_post_hook(self) -> None:
        self._ask(HookPoint.POST_TOOL_USE)

    def _abort_work(self) -> None:
        work = self.hook or self.invocation
        assert work is not None, "hook or handler runs"
        was_told = not self._session.outbox.withdraw(work) or self._hook_timer is not None
        if self.hook is not None and self.phase is Phase.TERMINAL and not was_told:
            return
        waiting = self.phase is Phase.TEARDOWN
        token = work.hook_token if isinstance(work, InvokeHook) else work.invocation_token
        self._session.send(
            AbortHandler(
                token,
                self.reference,
                self._cancel_reason,
                waiting,
                self.teardown_seconds if waiting else 0.0,
            ),
            control=True,
        )

    def _start_teardown_timer(self) -> None:
        self._teardown_timer = self._session.call_later(
            self.teardown_seconds, self._teardown_timed_out
        )

    def _leave_gate(self) -> None:
        self._session.gates.leave(self.cell_id, self)

    def _complete(self) -> None:
        self.ended_at = self._session.clock()
        for timer in (self._hook_timer, self._teardown_timer, self._call_timer):
            if timer is not None:
                timer.cancel()
        self._hook_timer = self._teardown_timer = self._call_timer = None
        self._session.call_ended(self)

    def _end_turn(self) -> None:
        self._session.end_turn_fatally(self)

    def _count_late(self) -> None:
        self._session.result_was_late()

    # --- details ----------------------------------------------------------------------

    def _hold(self, size_bytes: int) -> None:
        self.held_bytes += size_bytes
        self._session.hold(size_bytes)

    def _answer(self, frame: HandlerResult) -> Event:
        result = frame.result
        if isinstance(result, RespondToModel):
            return HandlerFailed(result.message)
        if isinstance(result, FatalError):
            return HandlerFatal(result.message)
        if isinstance(result, UnhandledError):
            return HandlerBroke(result.message)
        returned = self._returned(result)
        if returned.post_hook:
            self._session.require_room(frame.size_bytes)
        return returned

    def _returned(self, output: ToolOutput) -> HandlerReturned:
        projection = Projection(self.state.call, output)
        success, wants_hook = projection.success_for_logging, False
        if self.phase is Phase.HANDLER:
            self.projection = projection
            if projection.contains_external_context:
                self._session.mark_external_context(self)
            wants_hook = (
                success
                and HookPoint.POST_TOOL_USE in self._session.declared.hook_points
                and self._wants(HookPoint.POST_TOOL_USE, self._post_hook_view(projection))
            )
        return HandlerReturned(success, wants_hook)

    def _pre_hook_view(self, tool: ToolDeclaration) -> HookView | None:
        """What the pre hooks hear (F4); None: nothing."""
        seen = pre_tool_use(self.state.call, tool.hook_kind)
        if seen is None:
            return None
        call_id = self.dispatch.call.call_id
        return HookView(seen.tool_name, seen.matcher_aliases, call_id, seen.tool_input_json, None)

    def _post_hook_view(self, projection: Projection) -> HookView | None:
        """What the post hooks hear (C5, F5); None: nothing."""
        tool = self.state.tool
        return None if tool is None else verdicts.post_hook_view(projection, tool.hook_kind)

    def _wants(self, point: HookPoint, view: HookView | None) -> bool:
        """Whether hooks are to be asked this; then it is kept for `_ask`."""
        timeout = None if view is None else self._session.declared.hook_timeout(point, view)
        self._question = None if view is None or timeout is None else (view, timeout)
        return self._question is not None

    def _ask(self, point: HookPoint) -> None:
        assert self._question is not None, "the hook was found wanted"
        view, timeout = self._question
        self._question = None
        token = self._session.invocations.of_hook(self)
        self.hook = InvokeHook(token, self.reference, point, view, timeout)
        self.hook_asked_at = self._session.clock()
        self._session.observer.hook_asked(self._session, self, point)
        self._session.send(self.hook)

    def hook_written(self) -> None:
        """The hooks' time begins when their frame goes out; after a gap it goes on."""
        if self.hook is not None and self._hook_timer is None:
            timeout = self.hook.timeout_seconds
            self._hook_timer = self._session.call_later(timeout, self._hook_timed_out)

    def _hook_ended(self) -> None:
        if self._hook_timer is not None:
            self._hook_timer.cancel()
            self._hook_timer = None
        if self.hook is not None:
            self._session.invocations.hooks.pop(self.hook.hook_token, None)
            self.hook = None

    def _hook_timed_out(self) -> None:
        """Fails open (F10)."""
        hook = self.hook
        assert hook is not None, "the timer runs while a hook does"
        self._session.outbox.withdraw(hook)  # told anew after a gap
        self._session.send(
            AbortHandler(hook.hook_token, self.reference, AbortReason.TIMED_OUT, False, 0.0),
            control=True,
        )
        self.hook_answered(HookVerdict(hook.hook_token, HookFailed("timed out"), ()))

    def _teardown_timed_out(self) -> None:
        self._feed(TeardownEnded(timed_out=True))

    def _timed_out(self) -> None:
        self.cancel(AbortReason.TIMED_OUT)


_CARRY_OUT = {
    Effect.AWAIT_READINESS: Call._await_readiness,
    Effect.ENTER_GATE: Call._enter_gate,
    Effect.EMIT_STARTED: Call._emit_started,
    Effect.ASK_PRE_HOOK: Call._ask_pre_hook,
    Effect.INVOKE: Call._invoke,
    Effect.WITHDRAW: Call._withdraw,
    Effect.ASK_POST_HOOK: Call._ask_post_hook,
    Effect.ABORT_WORK: Call._abort_work,
    Effect.START_TEARDOWN_TIMER: Call._start_teardown_timer,
    Effect.LEAVE_GATE: Call._leave_gate,
    Effect.COMPLETE: Call._complete,
    Effect.END_TURN: Call._end_turn,
    Effect.COUNT_LATE: Call._count_late,
}


def _between(start: float | None, end: float | None) -> float | None:
    if start is None or end is None:
        return None
    return max(0.0, end - start)
