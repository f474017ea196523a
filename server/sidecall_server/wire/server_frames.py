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
    write_call_durations,
    write_call_outcome,
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
from sidecall_server.wire.tool_call import TOOL_MODE_NUMBERS, write_tool_call
from sidecall_server.wire.tool_output import write_projections

_RESUME_OUTCOMES: Final = {
    ResumeOutcome.NEW: pb.RESUME_OUTCOME_NEW,
    ResumeOutcome.RESUMED: pb.RESUME_OUTCOME_RESUMED,
    ResumeOutcome.GAP: pb.RESUME_OUTCOME_GAP,
}
_HOOK_POINTS: Final = {
    HookPoint.PRE_TOOL_USE: pb.HOOK_POINT_PRE_TOOL_USE,
    HookPoint.POST_TOOL_USE: pb.HOOK_POINT_POST_TOOL_USE,
}


def write_chunk(chunk: Chunk) -> pb.ServerFrame:
    """A piece of a large frame."""
    return pb.ServerFrame(
        output_chunk=pb.OutputChunk(
            transfer_id=chunk.transfer_id, size_bytes=chunk.size_bytes, data=chunk.data
        )
    )


class ServerFrames:
    """Writes frames; knows the limits and the instance that Welcome tells."""

    def __init__(self, limits: RuntimeLimits, instance_id: str) -> None:
        self._limits = limits
        self._instance_id = instance_id

    def write(self, frame: ServerFrame) -> pb.ServerFrame:
        """One frame."""
        if isinstance(frame, Welcome):
            return self._welcome(frame)
        return _WRITERS[type(frame)](frame)

    def _welcome(self, frame: Welcome) -> pb.ServerFrame:
        limits = self._limits
        return pb.ServerFrame(
            welcome=pb.Welcome(
                protocol_version=frame.protocol_version,
                session_id=frame.session_id,
                resume_token=frame.resume_token,
                resume_outcome=_RESUME_OUTCOMES[frame.resume_outcome],
                last_sequence_received=frame.last_sequence_received,
                next_sequence=frame.next_sequence,
                server_instance_id=self._instance_id,
                max_calls_in_flight=limits.max_calls_in_flight,
                max_bytes_in_flight=limits.max_bytes_in_flight,
                max_message_bytes=limits.max_message_bytes,
                max_chunk_bytes=limits.max_chunk_bytes,
                max_frame_bytes=limits.max_frame_bytes,
                heartbeat_interval=write_duration(limits.heartbeat_interval_seconds),
                heartbeat_timeout=write_duration(limits.heartbeat_timeout_seconds),
                resume_grace=write_duration(limits.resume_grace_seconds),
                effective_tool_mode=TOOL_MODE_NUMBERS[frame.effective_tool_mode],
            )
        )


def _call_accepted(frame: CallAccepted) -> pb.ServerFrame:
    return pb.ServerFrame(
        call_accepted=pb.CallAccepted(
            call=write_call_reference(frame.call),
            dispatch_order=frame.dispatch_order,
            phase=CALL_PHASE_NUMBERS[frame.phase],
            duplicate=frame.duplicate,
        )
    )


def _invoke_hook(frame: InvokeHook) -> pb.ServerFrame:
    return pb.ServerFrame(
        invoke_hook=pb.InvokeHook(
            hook_token=frame.hook_token,
            call=write_call_reference(frame.call),
            point=_HOOK_POINTS[frame.point],
            payload=_hook_view(frame.payload),
            timeout=write_duration(frame.timeout_seconds),
        )
    )


def _hook_view(view: HookView) -> tool_output_pb2.HookPayload:
    response = view.tool_response_json
    return tool_output_pb2.HookPayload(
        tool_name=view.tool_name,
        matcher_aliases=view.matcher_aliases,
        tool_use_id=view.tool_use_id,
        tool_input_json=view.tool_input_json.encode(),
        tool_response_json=None if response is None else response.encode(),
    )


def _invoke_handler(frame: InvokeHandler) -> pb.ServerFrame:
    return pb.ServerFrame(
        invoke_handler=pb.InvokeHandler(
            invocation_token=frame.invocation_token,
            call=write_tool_call(frame.call),
            rewritten=frame.rewritten,
            dispatch_order=frame.dispatch_order,
        )
    )


def _abort_handler(frame: AbortHandler) -> pb.ServerFrame:
    return pb.ServerFrame(
        abort_handler=pb.AbortHandler(
            token=frame.token,
            call=write_call_reference(frame.call),
            reason=ABORT_REASON_NUMBERS[frame.reason],
            wait_for_teardown=frame.wait_for_teardown,
            teardown_timeout=write_duration(frame.teardown_timeout_seconds),
        )
    )


def _call_completed(frame: CallCompleted) -> pb.ServerFrame:
    projection = frame.projection
    return pb.ServerFrame(
        call_completed=pb.CallCompleted(
            call=write_call_reference(frame.call),
            dispatch_order=frame.dispatch_order,
            outcome=write_call_outcome(frame.outcome),
            projections=None
            if projection is None
            else write_projections(projection, frame.views, frame.hook_kind),
            additional_contexts=frame.additional_contexts,
            durations=write_call_durations(frame.durations),
        )
    )


def _cancel_result(frame: CancelResult) -> pb.ServerFrame:
    return pb.ServerFrame(
        cancel_result=pb.CancelResult(cancel_id=frame.cancel_id, calls=write_cancelled(frame.calls))
    )


def _drain(frame: Drain) -> pb.ServerFrame:
    return pb.ServerFrame(drain=pb.Drain(time_left=write_duration(frame.seconds_left)))


def _heartbeat(frame: Heartbeat) -> pb.ServerFrame:
    return pb.ServerFrame(heartbeat=pb.Heartbeat())


def _frame_error(frame: FrameError) -> pb.ServerFrame:
    return pb.ServerFrame(
        frame_error=pb.FrameError(
            sequence=frame.sequence,
            frame_index=frame.frame_index,
            reason=write_reason(frame.reason),
            message=write_message(frame.reason, frame.message),
            field_violations=[
                pb.FieldViolation(field=violation.field, description=violation.description)
                for violation in fitting_violations(frame.field_violations, MAX_DETAIL_BYTES)
            ],
            call=None if frame.call is None else write_call_reference(frame.call),
        )
    )


_WRITERS: Final[Mapping[type, Callable[[Any], pb.ServerFrame]]] = {
    CallAccepted: _call_accepted,
    InvokeHook: _invoke_hook,
    InvokeHandler: _invoke_handler,
    AbortHandler: _abort_handler,
    CallCompleted: _call_completed,
    CancelResult: _cancel_result,
    Drain: _drain,
    Heartbeat: _heartbeat,
    FrameError: _frame_error,
}
