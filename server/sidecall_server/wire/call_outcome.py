"""call_outcome.proto: how a call stands and how it ended goes out, references come in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol

from sidecall.v1 import call_outcome_pb2 as pb

from sidecall_server.domain.call_state import Phase
from sidecall_server.domain.failure import AbortReason
from sidecall_server.domain.frames import CallDurations, CallReference
from sidecall_server.domain.outcome import (
    AbortProgress,
    CallOutcome,
    Completed,
    Fatal,
    LifecycleFinish,
    ModelFailure,
    TeardownState,
)
from sidecall_server.domain.values import PayloadKind, ToolName
from sidecall_server.wire.durations import put_duration, write_timestamp
from sidecall_server.wire.tool_call import PAYLOAD_KIND_NUMBERS, write_tool_name
from sidecall_server.wire.validation import Problems, read_id, read_required_id
from sidecall_server.wire.wire_form import Parts, begin, end, message_of, put_number, put_text, tag

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


def write_call_reference(reference: CallReference) -> pb.CallReference:
    return message_of(pb.CallReference, put_call_reference, reference)


def put_call_reference(parts: Parts, reference: CallReference) -> None:
    put_text(parts, _TURN_ID, reference.turn_id)
    put_text(parts, _CALL_ID, reference.call_id)


def write_call_outcome(outcome: CallOutcome) -> pb.CallOutcome:
    return message_of(pb.CallOutcome, put_call_outcome, outcome)


def put_call_outcome(parts: Parts, outcome: CallOutcome) -> None:
    """The fields of the one terminal outcome."""
    result, begun = outcome.result, begin(parts)
    if isinstance(result, Completed):
        put_number(parts, _SUCCESS, result.success)
        end(parts, begun, _COMPLETED)
    elif isinstance(result, ModelFailure):
        put_text(parts, _MODEL_FAILURE_MESSAGE, result.message)
        end(parts, begun, _MODEL_FAILURE)
    elif isinstance(result, Fatal):
        put_text(parts, _FATAL_MESSAGE, result.message)
        end(parts, begun, _FATAL)
    else:
        put_number(parts, _ABORT_REASON, ABORT_REASON_NUMBERS[result.reason])
        put_number(parts, _ABORT_PROGRESS, _PROGRESS[result.progress])
        put_number(parts, _ABORT_TEARDOWN, _TEARDOWN[result.teardown])
        put_text(parts, _ABORT_MESSAGE, result.message)
        end(parts, begun, _ABORTED)
    put_number(parts, _OUTCOME_LIFECYCLE, _LIFECYCLE[outcome.lifecycle])
    put_number(parts, _HANDLER_EXECUTED, outcome.handler_executed)


def write_call_durations(durations: CallDurations) -> pb.CallDurations:
    return message_of(pb.CallDurations, put_call_durations, durations)


def put_call_durations(parts: Parts, durations: CallDurations) -> None:
    put_duration(parts, _DISPATCH, durations.dispatch)
    put_duration(parts, _HANDLER, durations.handler)
    put_duration(parts, _TOTAL, durations.total)


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


_TURN_ID: Final = tag(pb.CallReference, "turn_id")
_CALL_ID: Final = tag(pb.CallReference, "call_id")
_COMPLETED: Final = tag(pb.CallOutcome, "completed")
_SUCCESS: Final = tag(pb.CompletedOutcome, "success")
_MODEL_FAILURE: Final = tag(pb.CallOutcome, "model_failure")
_MODEL_FAILURE_MESSAGE: Final = tag(pb.ModelFailureOutcome, "message")
_FATAL: Final = tag(pb.CallOutcome, "fatal")
_FATAL_MESSAGE: Final = tag(pb.FatalOutcome, "message")
_ABORTED: Final = tag(pb.CallOutcome, "aborted")
_ABORT_REASON: Final = tag(pb.AbortedOutcome, "reason")
_ABORT_PROGRESS: Final = tag(pb.AbortedOutcome, "progress")
_ABORT_TEARDOWN: Final = tag(pb.AbortedOutcome, "teardown")
_ABORT_MESSAGE: Final = tag(pb.AbortedOutcome, "message")
_OUTCOME_LIFECYCLE: Final = tag(pb.CallOutcome, "lifecycle")
_HANDLER_EXECUTED: Final = tag(pb.CallOutcome, "handler_executed")
_DISPATCH: Final = tag(pb.CallDurations, "dispatch")
_HANDLER: Final = tag(pb.CallDurations, "handler")
_TOTAL: Final = tag(pb.CallDurations, "total")
