"""runtime_stream.proto, the server's side: frames go out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from sidecall.v1 import runtime_stream_pb2 as pb
from sidecall.v1 import tool_output_pb2

from sidecall_server.domain.declarations import HookPoint
from sidecall_server.domain.frames import (
    AbortHandler,
    CallAccepted,
    CallCompleted,
    CancelResult,
    Chunk,
    Drain,
    FrameError,
    Heartbeat,
    HookView,
    InvokeHandler,
    InvokeHook,
    ResumeOutcome,
    ServerFrame,
    Welcome,
)
from sidecall_server.domain.runtime_limits import RuntimeLimits
from sidecall_server.wire.call_outcome import (
    ABORT_REASON_NUMBERS,
    CALL_PHASE_NUMBERS,
    put_call_durations,
    put_call_outcome,
    put_call_reference,
    write_call_reference,
)
from sidecall_server.wire.durations import write_duration
from sidecall_server.wire.errors import (
    MAX_DETAIL_BYTES,
    fitting_violations,
    write_message,
    write_reason,
)
from sidecall_server.wire.runtime import write_cancelled
from sidecall_server.wire.tool_call import TOOL_MODE_NUMBERS, put_tool_call
from sidecall_server.wire.tool_output import put_projections
from sidecall_server.wire.wire_form import Parts, begin, end, put, put_data, put_number, tag

_RESUME_OUTCOMES: Final = {
    ResumeOutcome.NEW: pb.RESUME_OUTCOME_NEW,
    ResumeOutcome.RESUMED: pb.RESUME_OUTCOME_RESUMED,
    ResumeOutcome.GAP: pb.RESUME_OUTCOME_GAP,
}
_HOOK_POINTS: Final = {
    HookPoint.PRE_TOOL_USE: pb.HOOK_POINT_PRE_TOOL_USE,
    HookPoint.POST_TOOL_USE: pb.HOOK_POINT_POST_TOOL_USE,
}


class ServerFrames:
    """Writes frames; knows the limits and the instance that Welcome tells."""

    def __init__(self, limits: RuntimeLimits, instance_id: str) -> None:
        self._limits = limits
        self._instance_id = instance_id

    def write(self, frame: ServerFrame | Chunk) -> bytes:
        """One frame, serialised."""
        if isinstance(frame, InvokeHandler):
            return _invoke_handler(frame)
        if isinstance(frame, CallCompleted):
            return _call_completed(frame)
        message = pb.ServerFrame()
        if isinstance(frame, Welcome):
            self._welcome(frame, message.welcome)
        else:
            _WRITERS[type(frame)](frame, message)
        return message.SerializeToString()

    def _welcome(self, frame: Welcome, into: pb.Welcome) -> None:
        limits = self._limits
        into.protocol_version = frame.protocol_version
        into.session_id = frame.session_id
        into.resume_token = frame.resume_token
        into.resume_outcome = _RESUME_OUTCOMES[frame.resume_outcome]
        into.last_sequence_received = frame.last_sequence_received
        into.next_sequence = frame.next_sequence
        into.server_instance_id = self._instance_id
        into.max_calls_in_flight = limits.max_calls_in_flight
        into.max_bytes_in_flight = limits.max_bytes_in_flight
        into.max_message_bytes = limits.max_message_bytes
        into.max_chunk_bytes = limits.max_chunk_bytes
        into.max_frame_bytes = limits.max_frame_bytes
        write_duration(limits.heartbeat_interval_seconds, into.heartbeat_interval)
        write_duration(limits.heartbeat_timeout_seconds, into.heartbeat_timeout)
        write_duration(limits.resume_grace_seconds, into.resume_grace)
        into.effective_tool_mode = TOOL_MODE_NUMBERS[frame.effective_tool_mode]


# --- by hand: the frames of every call ------------------------------------------------


def _invoke_handler(frame: InvokeHandler) -> bytes:
    parts: Parts = []
    whole = begin(parts)
    put_data(parts, _INVOCATION_TOKEN, frame.invocation_token)
    begun = begin(parts)
    put_tool_call(parts, frame.call)
    end(parts, begun, _INVOKED_CALL)
    put_number(parts, _REWRITTEN, frame.rewritten)
    put_number(parts, _INVOKED_DISPATCH_ORDER, frame.dispatch_order)
    end(parts, whole, _INVOKE_HANDLER)
    return b"".join(parts)


def _call_completed(frame: CallCompleted) -> bytes:
    parts: Parts = []
    whole = begin(parts)
    begun = begin(parts)
    put_call_reference(parts, frame.call)
    end(parts, begun, _COMPLETED_CALL)
    put_number(parts, _COMPLETED_DISPATCH_ORDER, frame.dispatch_order)
    begun = begin(parts)
    put_call_outcome(parts, frame.outcome)
    end(parts, begun, _OUTCOME)
    if frame.projection is not None:
        begun = begin(parts)
        put_projections(parts, frame.projection, frame.views, frame.hook_kind)
        end(parts, begun, _PROJECTIONS)
    for context in frame.additional_contexts:
        put(parts, _ADDITIONAL_CONTEXTS, context.encode())
    begun = begin(parts)
    put_call_durations(parts, frame.durations)
    end(parts, begun, _DURATIONS)
    end(parts, whole, _CALL_COMPLETED)
    return b"".join(parts)


_INVOKE_HANDLER: Final = tag(pb.ServerFrame, "invoke_handler")
_INVOCATION_TOKEN: Final = tag(pb.InvokeHandler, "invocation_token")
_INVOKED_CALL: Final = tag(pb.InvokeHandler, "call")
_REWRITTEN: Final = tag(pb.InvokeHandler, "rewritten")
_INVOKED_DISPATCH_ORDER: Final = tag(pb.InvokeHandler, "dispatch_order")
_CALL_COMPLETED: Final = tag(pb.ServerFrame, "call_completed")
_COMPLETED_CALL: Final = tag(pb.CallCompleted, "call")
_COMPLETED_DISPATCH_ORDER: Final = tag(pb.CallCompleted, "dispatch_order")
_OUTCOME: Final = tag(pb.CallCompleted, "outcome")
_PROJECTIONS: Final = tag(pb.CallCompleted, "projections")
_ADDITIONAL_CONTEXTS: Final = tag(pb.CallCompleted, "additional_contexts")
_DURATIONS: Final = tag(pb.CallCompleted, "durations")


# --- all others -----------------------------------------------------------------------


def _chunk(frame: Chunk, into: pb.ServerFrame) -> None:
    chunk = into.output_chunk
    chunk.transfer_id, chunk.size_bytes, chunk.data = frame


def _call_accepted(frame: CallAccepted, into: pb.ServerFrame) -> None:
    accepted = into.call_accepted
    accepted.call.CopyFrom(write_call_reference(frame.call))
    accepted.dispatch_order = frame.dispatch_order
    accepted.phase = CALL_PHASE_NUMBERS[frame.phase]
    accepted.duplicate = frame.duplicate


def _invoke_hook(frame: InvokeHook, into: pb.ServerFrame) -> None:
    invoke = into.invoke_hook
    invoke.hook_token = frame.hook_token
    invoke.call.CopyFrom(write_call_reference(frame.call))
    invoke.point = _HOOK_POINTS[frame.point]
    _hook_view(frame.payload, invoke.payload)
    write_duration(frame.timeout_seconds, invoke.timeout)


def _hook_view(view: HookView, into: tool_output_pb2.HookPayload) -> None:
    into.tool_name = view.tool_name
    into.matcher_aliases.extend(view.matcher_aliases)
    into.tool_use_id = view.tool_use_id
    into.tool_input_json = view.tool_input_json.encode()
    if view.tool_response_json is not None:
        into.tool_response_json = view.tool_response_json.encode()


def _abort_handler(frame: AbortHandler, into: pb.ServerFrame) -> None:
    abort = into.abort_handler
    abort.token = frame.token
    abort.call.CopyFrom(write_call_reference(frame.call))
    abort.reason = ABORT_REASON_NUMBERS[frame.reason]
    abort.wait_for_teardown = frame.wait_for_teardown
    write_duration(frame.teardown_timeout_seconds, abort.teardown_timeout)


def _cancel_result(frame: CancelResult, into: pb.ServerFrame) -> None:
    into.cancel_result.cancel_id = frame.cancel_id
    into.cancel_result.calls.extend(write_cancelled(frame.calls))


def _drain(frame: Drain, into: pb.ServerFrame) -> None:
    write_duration(frame.seconds_left, into.drain.time_left)


def _heartbeat(frame: Heartbeat, into: pb.ServerFrame) -> None:
    into.heartbeat.SetInParent()


def _frame_error(frame: FrameError, into: pb.ServerFrame) -> None:
    error = into.frame_error
    error.sequence = frame.sequence
    if frame.frame_index is not None:
        error.frame_index = frame.frame_index
    error.reason = write_reason(frame.reason)
    error.message = write_message(frame.reason, frame.message)
    for violation in fitting_violations(frame.field_violations, MAX_DETAIL_BYTES):
        error.field_violations.add(field=violation.field, description=violation.description)
    if frame.call is not None:
        error.call.CopyFrom(write_call_reference(frame.call))


_WRITERS: Final[Mapping[type, Callable[[Any, pb.ServerFrame], None]]] = {
    CallAccepted: _call_accepted,
    InvokeHook: _invoke_hook,
    AbortHandler: _abort_handler,
    CancelResult: _cancel_result,
    Drain: _drain,
    Heartbeat: _heartbeat,
    FrameError: _frame_error,
    Chunk: _chunk,
}
