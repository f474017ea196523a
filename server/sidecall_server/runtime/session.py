"""One session: its options, recorder and calls, across its connections."""

from __future__ import annotations

import asyncio
import hmac
import logging
import secrets
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from sidecall_server.domain.declarations import HookDeclaration, ToolDeclaration
from sidecall_server.domain.errors import (
    AlreadyExists,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
    Reason,
    ResourceExhausted,
)
from sidecall_server.domain.failure import AbortReason
from sidecall_server.domain.fields import replace
from sidecall_server.domain.frames import (
    CallAccepted,
    CallCompleted,
    CallReference,
    CancelDisposition,
    CancelledCall,
    CancelTarget,
    DispatchCall,
    HandlerResult,
    HookVerdict,
    InvokeHandler,
    InvokeHook,
    ServerFrame,
    UpdateTools,
)
from sidecall_server.domain.outcome import LifecycleFinish
from sidecall_server.domain.prompt_description import Prompt
from sidecall_server.domain.recorder import Recorder
from sidecall_server.domain.recorder_answers import (
    Attachment,
    RecordDisposition,
)
from sidecall_server.domain.runtime_limits import RuntimeLimits
from sidecall_server.domain.session_events import (
    CallFinished,
    CallStarted,
    ExternalContextMarked,
    SessionState,
    StateChanged,
)
from sidecall_server.domain.session_options import SessionOptions, TurnOptions
from sidecall_server.domain.values import ToolCall
from sidecall_server.runtime.call import Call
from sidecall_server.runtime.clock import clock_of
from sidecall_server.runtime.completion import completed_frame
from sidecall_server.runtime.declared import Declared
from sidecall_server.runtime.ended_call import EndedCall
from sidecall_server.runtime.ended_calls import EndedCalls
from sidecall_server.runtime.events import EventFanOut, Watcher
from sidecall_server.runtime.gate import Gates
from sidecall_server.runtime.invocations import Invocations
from sidecall_server.runtime.outbox import FrameCodec, Outbox, nobody
from sidecall_server.runtime.records import Records
from sidecall_server.runtime.transfers import Transfers

if TYPE_CHECKING:
    from sidecall_server.runtime.protocol import StreamProtocol
    from sidecall_server.runtime.sessions import Sessions

log = logging.getLogger(__name__)

MAX_ENDED_TURNS = 1024
"""Ended turns that a session remembers, so that they take no new calls."""


class Session:
    """Used from one event loop only. `Sessions` makes it, counts it and closes it."""

    def __init__(
        self,
        registry: Sessions,
        session_id: str,
        number: int,
        options: SessionOptions,
        owner: str,
        codec: FrameCodec,
    ) -> None:
        self.registry = registry
        self.number = number
        """Its position among all sessions the server ever had, from 1."""
        self.limits: RuntimeLimits = registry.limits
        self.id = session_id
        self.owner = owner
        self.options = options
        self.resume_token = secrets.token_urlsafe(24)
        self.wall_clock = registry.wall_clock
        self.observer = registry.observer
        self._loop = asyncio.get_running_loop()
        self.clock = clock_of(self._loop)
        """Monotonic seconds."""
        self.created_at = self.wall_clock()
        self.last_used_at = self.clock()
        self.state = SessionState.OPEN
        self.was_attached = False
        """Whether a stream ever was."""
        self.external_context_marked = False
        self.hooks_failed_open = 0
        self.late_results = 0
        self.terminal_calls = 0
        self.events = EventFanOut(
            max_watchers=self.limits.max_watchers,
            capacity=self.limits.max_watcher_events,
            wall_clock=self.wall_clock,
        )
        self.records = Records(options, self.events, registry)
        self.codec = codec
        self.outbox = Outbox(
            codec,
            max_replay_bytes=self.limits.max_replay_bytes,
            max_chunk_bytes=self.limits.max_chunk_bytes,
            max_waiting_bytes=self.limits.max_bytes_in_flight,
            memory_is_scarce=registry.memory_is_scarce,
            on_written=self._written,
            on_change=self.count_soon,
        )
        self.transfers = Transfers(
            max_frame_bytes=self.limits.max_frame_bytes,
            max_chunk_bytes=self.limits.max_chunk_bytes,
            max_bytes=self.limits.max_bytes_in_flight,
            make_room=registry.make_room,
        )
        self.last_sequence_received = 0
        self.stream: StreamProtocol | None = None
        self.open_calls: dict[CallReference, Call] = {}
        self.ended_calls = EndedCalls(
            self.limits.max_retained_calls, self.limits.max_retained_bytes
        )
        self.declared = Declared(
            self.limits.max_declarations,
            self.limits.default_hook_timeout_seconds,
            registry.make_room,
        )
        self.gates = Gates()
        """R4: one for direct calls, and one for those of each cell."""
        self.invocations = Invocations()
        self.bytes_in_flight = 0
        """Bytes of the payloads and answers of open calls."""
        self.prompt_key = secrets.token_bytes(8)
        """Tells its prompts from those of other sessions."""
        self._dispatched = 0
        self._count_is_due = False
        self._counted_bytes = 0
        self._ended_turns: OrderedDict[str, None] = OrderedDict()
        self._ended_turn_bytes = 0
        self._grace_timer: asyncio.TimerHandle | None = None

    # --- recorder ---------------------------------------------------------------------

    @property
    def recorder(self) -> Recorder:
        """What it has recorded (S4)."""
        return self.records.recorder

    def record_tool_call(
        self, call: ToolCall, turn_options: TurnOptions | None = None
    ) -> RecordDisposition:
        """Record that a call is attempted (J, R2).

        Raises:
            FailedPrecondition: the session is closed.
        """
        self.require_open()
        return self.records.record(call, turn_options)

    def register_cell(self, cell_id: str, output_call_id: str, turn_id: str = "") -> bool:
        """Point an output to a cell (K1). False: no room, counted.

        Raises:
            FailedPrecondition: the session is closed.
        """
        self.require_open()
        return self.recorder.register_cell(cell_id, output_call_id, turn_id)

    def attach(self, prompt: Prompt, sampling_request_id: str, turn_id: str = "") -> Attachment:
        """Attach records to a prompt's outputs (L).

        Raises:
            DomainError: the session is closed, or the base cannot be used.
        """
        self.require_open()
        attachment = self.records.attach(prompt, sampling_request_id, turn_id)
        self.count_bytes()
        return attachment

    def end_turn(self, turn_id: str) -> int:
        """End a turn (S3); its open calls go on. Returns how many those are.

        Raises:
            FailedPrecondition: the session is closed.
        """
        self.require_open()
        self.records.end_turn(turn_id)
        self._remember_ended(turn_id)
        return sum(call.reference.turn_id == turn_id for call in self.open_calls.values())

    # --- calls ------------------------------------------------------------------------

    def dispatch(self, frame: DispatchCall) -> None:
        """Take a call, or answer a known one with its state.

        Raises:
            DomainError: the call is not taken; nothing was recorded.
        """
        call = frame.call
        if not call.turn_id:
            raise InvalidArgument.of(
                "dispatch_call.call.turn_id", "is required", reason=Reason.MISSING_FIELD
            )
        reference = CallReference(call.turn_id, call.call_id)
        known = self.open_calls.get(reference) or self.ended_calls.get(reference)
        if known is not None:
            self._dispatched_again(known, frame)
            return
        self._check_dispatch(frame)
        self.records.record(call, frame.turn_options)
        self._dispatched += 1
        taken = Call(self, frame, reference, self._dispatched)
        self.open_calls[reference] = taken
        self.hold(frame.size_bytes)
        self.registry.calls_in_flight += 1
        self.observer.call_dispatched(self, taken)
        taken.begin()

    def handler_answered(self, frame: HandlerResult) -> None:
        """Take a handler's result; a late one is counted and dropped.

        Raises:
            NotFound: this session never issued the token (UNKNOWN_INVOCATION).
            ResourceExhausted: it would have to wait, and there is no room (BUFFER_LIMIT).
        """
        call = self.invocations.handlers.get(frame.invocation_token)
        if call is not None:
            call.handler_answered(frame)
        else:
            self._late_or_unknown(frame.invocation_token)

    def hook_answered(self, frame: HookVerdict) -> None:
        """Take the hooks' verdict; a late one is counted and dropped.

        Raises:
            NotFound: this session never issued the token (UNKNOWN_INVOCATION).
        """
        call = self.invocations.hooks.get(frame.hook_token)
        if call is not None:
            call.hook_answered(self._with_room(frame))
        else:
            self._late_or_unknown(frame.hook_token)

    def _with_room(self, frame: HookVerdict) -> HookVerdict:
        """A verdict counts whatever there is room for; its texts go where there is none."""
        if frame.additional_contexts:
            try:
                self.require_room(frame.size_bytes)
            except ResourceExhausted as error:
                self.observer.limit_refused(error.subject)
                log.warning("no room for a hook's texts", extra={"session_id": self.id})
                return replace(frame, additional_contexts=(), size_bytes=0)
        return frame

    def torn_down(self, invocation_token: bytes) -> None:
        """Take the end of a teardown; one that nobody waits for changes nothing.

        Raises:
            NotFound: this session never issued the token (UNKNOWN_INVOCATION).
        """
        call = self.invocations.call_of(invocation_token)
        if call is not None:
            call.torn_down()
        elif not self.invocations.was_issued(invocation_token):
            raise _unknown_invocation(invocation_token)

    def cancel(
        self,
        target: CancelTarget,
        reason: AbortReason = AbortReason.CANCELLED,
        *,
        wait: bool = True,
    ) -> list[CancelledCall]:
        """Cancel calls; never an error (G3)."""
        if target.calls is not None:
            return [
                CancelledCall(call, self._cancel_one(call, reason, wait)) for call in target.calls
            ]
        references = [
            reference
            for reference in self.open_calls
            if target.turn_id is None or reference.turn_id == target.turn_id
        ]
        # Last first: who waits at the gate leaves it before it could be admitted.
        results = [
            CancelledCall(reference, self._cancel_one(reference, reason, wait))
            for reference in reversed(references)
        ]
        results.reverse()
        return results

    def find_call(self, reference: CallReference) -> Call | EndedCall:
        """A call that is open or kept.

        Raises:
            NotFound: there is none.
        """
        call = self.open_calls.get(reference) or self.ended_calls.get(reference)
        if call is None:
            raise NotFound(
                f"no call {reference.call_id!r} in turn {reference.turn_id!r} of the session;"
                " it never was, or is no longer kept",
                reason=Reason.CALL_NOT_FOUND,
                resource_type="sidecall.v1.ToolCall",
                resource_name=f"{self.id}/{reference.turn_id}/{reference.call_id}",
            )
        return call

    def calls(self, turn_id: str = "") -> list[Call | EndedCall]:
        """All calls that are open or kept, in the order of their dispatch (G10)."""
        calls = [*self.ended_calls, *self.open_calls.values()]
        if turn_id:
            calls = [call for call in calls if call.reference.turn_id == turn_id]
        return sorted(calls, key=lambda call: call.dispatch_order)

    # --- what calls ask of it ---------------------------------------------------------

    def send(self, frame: ServerFrame, *, control: bool = False) -> None:
        """Queue a frame for the agent; it waits while no agent is attached."""
        self.outbox.send(frame, control=control)

    def call_later(self, seconds: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        """Arm a timer."""
        return self._loop.call_later(seconds, callback)

    def hold(self, size_bytes: int) -> None:
        """An open call keeps so much more."""
        self.bytes_in_flight += size_bytes
        self.count_soon()

    def count_later(self) -> None:
        """What changes from now on is counted by `count_bytes`, which follows in this turn."""
        self._count_is_due = True

    def count_soon(self) -> None:
        """What the session holds changes; it is counted once in a turn of the event loop."""
        if not self._count_is_due:
            self._count_is_due = True
            self._loop.call_soon(self.count_bytes)

    def count_bytes(self) -> None:
        """Keep the registry's account of all that the session holds, records aside."""
        self._count_is_due = False
        held = (
            self.bytes_in_flight
            + self.ended_calls.held_bytes
            + self.declared.held_bytes
            + self._ended_turn_bytes
            + self.recorder.prompt_bytes
            + self.outbox.held_bytes
            + self.transfers.held_bytes
        )
        self.registry.bytes_in_flight += held - self._counted_bytes
        self._counted_bytes = held

    def forget_ended_calls(self) -> None:
        """Make room: ended calls are kept for reading only."""
        self.ended_calls.clear()
        self.count_bytes()

    def hook_failed_open(self, call: Call, verdict: object) -> None:
        """Count and log a verdict that could not be used (F10)."""
        self.hooks_failed_open += 1
        self.observer.hook_failed_open(self, call)
        log.warning(
            "hook failed open: %s",
            type(verdict).__name__,
            extra={"session_id": self.id, "call_id": call.reference.call_id},
        )

    def result_was_late(self) -> None:
        """Count an answer that nobody waits for any more."""
        self.late_results += 1
        self.observer.late_result(self)

    def mark_external_context(self, call: Call) -> None:
        """Mark the session, once, if it wants to be marked (H1, R9)."""
        if self.options.mark_external_context and not self.external_context_marked:
            self.external_context_marked = True
            self.events.emit(ExternalContextMarked, call.reference)

    def call_started(self, call: Call) -> None:
        """Tell the watchers (G13)."""
        self.events.emit(CallStarted, call.reference, call.tool_name, call.cell_id)
        self.observer.call_started(self, call)

    def call_ended(self, call: Call) -> None:
        """Send the terminal frame, tell the watchers, and keep the call to be read (R3)."""
        if call.invocation is not None:
            self.invocations.handlers.pop(call.invocation.invocation_token, None)
        if call.hook is not None:
            self.invocations.hooks.pop(call.hook.hook_token, None)
        completed = call.completed = completed_frame(call, self.options)
        data = self._encode_completed(completed)
        self.outbox.send(data)
        if completed.outcome.lifecycle is not LifecycleFinish.NONE:
            self.events.emit(
                CallFinished.of, call.reference, completed.outcome, completed.durations
            )
        del self.open_calls[call.reference]
        self.declared.await_no_more(call)
        self.bytes_in_flight -= call.held_bytes
        self.registry.call_ended()
        self.terminal_calls += 1
        self.observer.call_finished(self, call)
        self.ended_calls.keep(call.without_work(data))
        self.count_soon()
        self.last_used_at = call.ended_at or self.clock()

    def end_turn_fatally(self, call: Call) -> None:
        """A direct Fatal ends its turn: abort the others, take no new ones (R5)."""
        turn_id = call.reference.turn_id
        self._remember_ended(turn_id)
        self.cancel(CancelTarget(turn_id=turn_id), AbortReason.TURN_FATAL)

    # --- declarations -----------------------------------------------------------------

    def declare(self, tools: Iterable[ToolDeclaration], hooks: Iterable[HookDeclaration]) -> None:
        """Take the agent's tools and hooks in place of those declared before.

        Raises:
            ResourceExhausted: too many (TOOL_LIMIT), or no room for them (BUFFER_LIMIT).
        """
        self.declared.replace(tools, hooks)
        self._declared_changed()

    def update_tools(self, update: UpdateTools) -> None:
        """Change what is declared.

        Raises:
            ResourceExhausted: too many (TOOL_LIMIT), or no room for them (BUFFER_LIMIT).
        """
        self.declared.update(update)
        self._declared_changed()

    # --- life -------------------------------------------------------------------------

    def watch(self) -> Watcher:
        """Watch the session from now on.

        Raises:
            ResourceExhausted: too many watchers.
        """
        watcher = self.events.watch()
        if self.state is SessionState.CLOSED:
            watcher.close()
        return watcher

    def authorise(self, resume_token: str) -> bool:
        """Whether the token is this session's; compared in constant time."""
        return hmac.compare_digest(resume_token.encode(), self.resume_token.encode())

    def attached(self, stream: StreamProtocol) -> None:
        """A stream took the session."""
        if self._grace_timer is not None:
            self._grace_timer.cancel()
            self._grace_timer = None
        self.stream = stream
        self.outbox.wake = stream.wake
        self.was_attached = True
        self._move_to(SessionState.ATTACHED)
        self.registry.tell_drain(self)

    def connection_lost(self, stream: StreamProtocol) -> None:
        """The connection ended without Detach: wait for the agent to come back."""
        if self.stream is not stream:
            return
        self.stream = None
        self.outbox.wake = nobody
        if self.state is SessionState.CLOSED:
            self._forget_frames()
        if self.state is SessionState.ATTACHED:
            self._move_to(SessionState.DETACHED)
            self._grace_timer = self.call_later(self.limits.resume_grace_seconds, self._grace_ended)

    def detach(self, *, close_session: bool) -> None:
        """The agent leaves: its calls are aborted."""
        if close_session:
            self.close(AbortReason.CANCELLED)
        else:
            self.cancel(CancelTarget(), wait=False)
            self._move_to(SessionState.OPEN)

    def close(self, reason: AbortReason) -> int:
        """End the session; returns how many calls were aborted. Idempotent."""
        if self.state is SessionState.CLOSED:
            return 0
        aborted = len(self.cancel(CancelTarget(), reason, wait=False))
        if self._grace_timer is not None:
            self._grace_timer.cancel()
            self._grace_timer = None
        self._move_to(SessionState.CLOSED)
        self.events.end()
        self.observer.session_closed(self)
        self.records.clear()
        self.transfers.clear()
        self.declared.clear()
        self._ended_turns.clear()
        self._ended_turn_bytes = 0
        self.registry.session_closed(self)
        if self.stream is not None:
            self.stream.end(closed_error(self.id))
        else:
            self._forget_frames()
        self.count_bytes()
        return aborted

    def require_open(self) -> None:
        """Raises FailedPrecondition when the session is closed; else it counts as used."""
        if self.state is SessionState.CLOSED:
            raise closed_error(self.id)
        self.touch()

    def touch(self) -> None:
        """The session is in use."""
        self.last_used_at = self.clock()

    # --- details ----------------------------------------------------------------------

    def _declared_changed(self) -> None:
        self.count_bytes()  # first: calls that are told may be refused for want of room
        self.declared.tell_ready()

    def _forget_frames(self) -> None:
        """Nobody comes back to read them."""
        self.outbox.clear()
        self.count_bytes()

    def _dispatched_again(self, known: Call | EndedCall, frame: DispatchCall) -> None:
        if not known.is_of(frame.call):
            raise AlreadyExists(
                f"call {frame.call.call_id!r} of turn {frame.call.turn_id!r} was dispatched with"
                " another payload; give each call of a turn its own id",
                reason=Reason.CALL_ID_CONFLICT,
                resource_type="sidecall.v1.ToolCall",
                resource_name=f"{self.id}/{frame.call.turn_id}/{frame.call.call_id}",
            )
        self.require_reader()
        self.send(CallAccepted(known.reference, known.dispatch_order, known.phase, duplicate=True))
        if isinstance(known, EndedCall) and not self.outbox.waits(known.completed_data):
            self.outbox.send(known.completed_data)

    def _encode_completed(self, completed: CallCompleted) -> bytes:
        """Even a defect in the making of views leaves the call its one outcome (R3)."""
        try:
            return self.codec.encode(completed)
        except Exception:
            log.exception(
                "views failed", extra={"session_id": self.id, "call_id": completed.call.call_id}
            )
            return self.codec.encode(replace(completed, projection=None))

    def _check_dispatch(self, frame: DispatchCall) -> None:
        self.require_open()
        self.registry.require_accepting()
        turn_id = frame.call.turn_id
        if turn_id in self._ended_turns:
            raise FailedPrecondition(
                f"the turn {turn_id!r} has ended; dispatch in a new turn", reason=Reason.TURN_ENDED
            )
        limits, registry = self.limits, self.registry
        if len(self.open_calls) >= limits.max_calls_in_flight:
            raise _too_many_calls("max_calls_in_flight", limits.max_calls_in_flight)
        if registry.calls_in_flight >= limits.max_calls_in_flight_total:
            raise _too_many_calls("max_calls_in_flight_total", limits.max_calls_in_flight_total)
        self.require_room(frame.size_bytes)

    def require_reader(self) -> None:
        """Raises ResourceExhausted where the agent leaves too much unread (BUFFER_LIMIT)."""
        if self.outbox.full:
            raise ResourceExhausted(
                "too much waits to be read; read it, then ask again",
                reason=Reason.BUFFER_LIMIT,
                subject="max_bytes_in_flight",
            )

    def require_room(self, size_bytes: int) -> None:
        """Raises ResourceExhausted where open calls may not hold so much more (BUFFER_LIMIT)."""
        limit = self.limits.max_bytes_in_flight
        if self.bytes_in_flight + size_bytes > limit:
            raise ResourceExhausted(
                f"open calls hold {self.bytes_in_flight} bytes, max_bytes_in_flight is {limit};"
                " wait for one to end",
                reason=Reason.BUFFER_LIMIT,
                subject="max_bytes_in_flight",
                retry_after_seconds=1.0,
            )
        self.registry.make_room(size_bytes)

    def _cancel_one(
        self, reference: CallReference, reason: AbortReason, wait: bool
    ) -> CancelDisposition:
        call = self.open_calls.get(reference)
        if call is not None:
            call.cancel(reason, wait=wait)
            return CancelDisposition.ACCEPTED
        if reference in self.ended_calls:
            return CancelDisposition.ALREADY_TERMINAL
        return CancelDisposition.UNKNOWN

    def _late_or_unknown(self, token: bytes) -> None:
        if not self.invocations.was_issued(token):
            raise _unknown_invocation(token)
        self.result_was_late()

    def _written(self, frame: InvokeHandler | InvokeHook) -> None:
        if isinstance(frame, InvokeHandler):
            if (call := self.invocations.handlers.get(frame.invocation_token)) is not None:
                call.invocation_written()
        elif (call := self.invocations.hooks.get(frame.hook_token)) is not None:
            call.hook_written()

    def _remember_ended(self, turn_id: str) -> None:
        if turn_id not in self._ended_turns:
            self._ended_turn_bytes += len(turn_id)
        self._ended_turns[turn_id] = None
        self._ended_turns.move_to_end(turn_id)
        if len(self._ended_turns) > MAX_ENDED_TURNS:
            self._ended_turn_bytes -= len(self._ended_turns.popitem(last=False)[0])
        self.count_bytes()

    def _move_to(self, state: SessionState) -> None:
        if self.state is not state:
            self.state = state
            self.touch()
            self.events.emit(StateChanged, state)

    def _grace_ended(self) -> None:
        self._grace_timer = None
        log.info("session lost", extra={"session_id": self.id})
        self.close(AbortReason.SESSION_LOST)


def closed_error(session_id: str) -> FailedPrecondition:
    """What a closed session answers."""
    return FailedPrecondition(
        f"the session {session_id!r} is closed; create a new one", reason=Reason.SESSION_CLOSED
    )


def _too_many_calls(subject: str, limit: int) -> ResourceExhausted:
    return ResourceExhausted(
        f"{limit} calls are open, as many as {subject} allows; wait for one to end",
        reason=Reason.CALL_LIMIT,
        subject=subject,
        retry_after_seconds=1.0,
    )


def _unknown_invocation(token: bytes) -> NotFound:
    return NotFound(
        "the token names no invocation of this session; answer with the token you were given",
        reason=Reason.UNKNOWN_INVOCATION,
        resource_type="sidecall.v1.Invocation",
        resource_name=token[:32].hex(),
    )
