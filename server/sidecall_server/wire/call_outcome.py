"""call_outcome.proto: how a call stands and how it ended goes out, references come in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from sidecall.v1 import call_outcome_pb2 as pb

from sidecall_server.domain.call_state import Phase
from sidecall_server.domain.failure import AbortReason
from sidecall_server.domain.frames import CallDurations, CallReference
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
from sidecall_server.domain.values import PayloadKind, ToolName
from sidecall_server.wire.durations import write_duration, write_timestamp
from sidecall_server.wire.tool_call import PAYLOAD_KIND_NUMBERS, write_tool_name
from sidecall_server.wire.validation import Problems, read_id, read_required_id

ABORT_REASONS: Final[Mapping[int, AbortReason]] = {
    pb.ABORT_REASON_CANCELLED: AbortReason.CANCELLED,
    pb.ABORT_REASON_TIMED_OUT: AbortReason.TIMED_OUT,
    pb.ABORT_REASON_SESSION_LOST: AbortReason.SESSION_LOST,
    pb.ABORT_REASON_DRAINED: AbortReason.DRAINED,
    pb.ABORT_REASON_TURN_FATAL: AbortReason.TURN_FATAL,
}
ABORT_REASON_NUMBERS: Final = {
    AbortReason.CANCELLED: pb.ABORT_REASON_CANCELLED,
    AbortReason.TIMED_OUT: pb.ABORT_REASON_TIMED_OUT,
    AbortReason.SESSION_LOST: pb.ABORT_REASON_SESSION_LOST,
    AbortReason.DRAINED: pb.ABORT_REASON_DRAINED,
    AbortReason.TURN_FATAL: pb.ABORT_REASON_TURN_FATAL,
}
_PROGRESS: Final = {
    AbortProgress.NOT_STARTED: pb.ABORT_PROGRESS_NOT_STARTED,
    AbortProgress.HANDLER_INTERRUPTED: pb.ABORT_PROGRESS_HANDLER_INTERRUPTED,
    AbortProgress.HANDLER_FINISHED: pb.ABORT_PROGRESS_HANDLER_FINISHED,
    AbortProgress.UNKNOWN: pb.ABORT_PROGRESS_UNKNOWN,
}
_TEARDOWN: Final = {
    TeardownState.NONE: pb.TEARDOWN_STATE_UNSPECIFIED,
    TeardownState.DONE: pb.TEARDOWN_STATE_DONE,
    TeardownState.TIMED_OUT: pb.TEARDOWN_STATE_TIMED_OUT,
    TeardownState.UNKNOWN: pb.TEARDOWN_STATE_UNKNOWN,
}
_LIFECYCLE: Final = {
    LifecycleFinish.NONE: pb.LIFECYCLE_FINISH_UNSPECIFIED,
    LifecycleFinish.COMPLETED: pb.LIFECYCLE_FINISH_COMPLETED,
    LifecycleFinish.BLOCKED: pb.LIFECYCLE_FINISH_BLOCKED,
    LifecycleFinish.FAILED: pb.LIFECYCLE_FINISH_FAILED,
    LifecycleFinish.ABORTED: pb.LIFECYCLE_FINISH_ABORTED,
}
CALL_PHASE_NUMBERS: Final = {
    Phase.READINESS: pb.CALL_PHASE_WAITING_FOR_READINESS,
    Phase.QUEUED: pb.CALL_PHASE_QUEUED,
    Phase.PRE_HOOK: pb.CALL_PHASE_PRE_HOOK,
    Phase.INVOKING: pb.CALL_PHASE_HANDLER,
    Phase.HANDLER: pb.CALL_PHASE_HANDLER,
    Phase.POST_HOOK: pb.CALL_PHASE_POST_HOOK,
    Phase.TEARDOWN: pb.CALL_PHASE_TEARDOWN,
    Phase.TERMINAL: pb.CALL_PHASE_TERMINAL,
}


class KnownCall(Protocol):
    """A call of the runtime, open or ended."""

    @property
    def reference(self) -> CallReference: ...
    @property
    def tool_name(self) -> ToolName: ...
    @property
    def payload_kind(self) -> PayloadKind: ...
    @property
    def dispatch_order(self) -> int: ...
    @property
    def cell_id(self) -> str: ...
    @property
    def phase(self) -> Phase: ...
    @property
    def outcome(self) -> CallOutcome | None: ...
    @property
    def started_unix(self) -> float: ...
    def durations(self) -> CallDurations: ...


def read_call_reference(message: pb.CallReference, path: str) -> CallReference:
    """Names a call; its turn may be empty only where no such call can be."""
    problems = Problems()
    with problems:
        turn_id = read_id(message.turn_id, f"{path}.turn_id")
    with problems:
        call_id = read_required_id(message.call_id, f"{path}.call_id")
    problems.check()
    return CallReference(turn_id, call_id)


def write_call_reference(
    reference: CallReference, into: pb.CallReference | None = None
) -> pb.CallReference:
    message = pb.CallReference() if into is None else into
    message.turn_id, message.call_id = reference
    return message


def write_call_outcome(outcome: CallOutcome, into: pb.CallOutcome | None = None) -> pb.CallOutcome:
    """The one terminal outcome."""
    message = pb.CallOutcome() if into is None else into
    message.lifecycle = _LIFECYCLE[outcome.lifecycle]
    message.handler_executed = outcome.handler_executed
    match outcome.result:
        case Completed(success):
            message.completed.success = success
        case ModelFailure(text):
            message.model_failure.message = text
        case Fatal(text):
            message.fatal.message = text
        case Aborted(reason, progress, teardown, text):
            aborted = message.aborted
            aborted.reason = ABORT_REASON_NUMBERS[reason]
            aborted.progress = _PROGRESS[progress]
            aborted.teardown = _TEARDOWN[teardown]
            aborted.message = text
    return message


def write_call_durations(
    durations: CallDurations, into: pb.CallDurations | None = None
) -> pb.CallDurations:
    message = pb.CallDurations() if into is None else into
    write_duration(durations.dispatch, message.dispatch)
    write_duration(durations.handler, message.handler)
    write_duration(durations.total, message.total)
    return message


def write_call_status(session_id: str, call: KnownCall) -> pb.ToolCallStatus:
    """A call as an operator sees it: no arguments, no outputs."""
    return pb.ToolCallStatus(
        session_id=session_id,
        call=write_call_reference(call.reference),
        tool_name=write_tool_name(call.tool_name),
        payload_kind=PAYLOAD_KIND_NUMBERS[call.payload_kind],
        cell_id=call.cell_id,
        dispatch_order=call.dispatch_order,
        phase=CALL_PHASE_NUMBERS[call.phase],
        outcome=None if call.outcome is None else write_call_outcome(call.outcome),
        submit_time=write_timestamp(call.started_unix),
        durations=write_call_durations(call.durations()),
    )
