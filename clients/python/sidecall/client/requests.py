"""The requests of the unary rpcs, built once for the blocking and the asyncio client."""

from __future__ import annotations

from collections.abc import Sequence

from sidecall.client import messages, values
from sidecall.v1 import (
    projection_service_pb2 as projection_pb,
)
from sidecall.v1 import (
    recorder_service_pb2 as recorder_pb,
)
from sidecall.v1 import (
    runtime_service_pb2 as runtime_pb,
)
from sidecall.v1 import (
    runtime_stream_pb2 as stream_pb,
)
from sidecall.v1 import (
    session_service_pb2 as session_pb,
)


def create_session(
    session_id: str, options: values.SessionOptions | None
) -> session_pb.CreateSessionRequest:
    return session_pb.CreateSessionRequest(
        session_id=session_id,
        options=None if options is None else messages.session_options_message(options),
    )


def record_tool_call(
    session_id: str, call: values.ToolCall, turn_options: values.TurnOptions | None
) -> recorder_pb.RecordToolCallRequest:
    return recorder_pb.RecordToolCallRequest(
        session_id=session_id,
        call=messages.call_message(call),
        turn_options=messages.turn_options_message(turn_options),
    )


def attach(
    session_id: str,
    sampling_request_id: str,
    outputs: Sequence[values.PromptOutput],
    turn_id: str,
    base: values.PromptBase | None = None,
) -> recorder_pb.AttachExecutedToolCallsRequest:
    return recorder_pb.AttachExecutedToolCallsRequest(
        session_id=session_id,
        sampling_request_id=sampling_request_id,
        outputs=[messages.prompt_output_message(output) for output in outputs],
        turn_id=turn_id,
        formats=[recorder_pb.EXECUTED_TOOL_CALL_FORMAT_JSON],
        base=None
        if base is None
        else recorder_pb.PromptBase(prompt_token=base.prompt_token, kept_outputs=base.kept_outputs),
    )


def project_tool_output(
    call: values.ToolCall,
    output: values.ToolOutput,
    feedback: str | None,
    views: Sequence[values.View] | None,
) -> projection_pb.ProjectToolOutputRequest:
    return projection_pb.ProjectToolOutputRequest(
        call=messages.call_message(call),
        output=messages.output_message(output),
        feedback=None if feedback is None else messages.lossy(feedback),
        views=messages.views_message(views),
    )


def truncate_text(
    text: str | bytes, policy: values.TruncationPolicy, formatted: bool
) -> projection_pb.TruncateTextRequest:
    return projection_pb.TruncateTextRequest(
        text=text if isinstance(text, bytes) else messages.lossy(text),
        policy=messages.policy_message(policy),
        formatted=formatted,
    )


def cancel_target(
    calls: Sequence[values.CallReference] | None, turn_id: str | None
) -> stream_pb.CancelTarget:
    if calls is not None:
        return stream_pb.CancelTarget(
            calls=stream_pb.CallReferences(
                calls=[messages.reference_message(call) for call in calls]
            )
        )
    if turn_id is not None:
        return stream_pb.CancelTarget(turn_id=turn_id)
    return stream_pb.CancelTarget(all=stream_pb.AllCalls())


def cancel(
    session_id: str, calls: Sequence[values.CallReference] | None, turn_id: str | None
) -> runtime_pb.CancelToolCallRequest:
    return runtime_pb.CancelToolCallRequest(
        session_id=session_id, target=cancel_target(calls, turn_id)
    )


def disposition_of(
    response: runtime_pb.CancelToolCallResponse | stream_pb.CancelResult,
) -> dict[values.CallReference, values.CancelDisposition]:
    """What a cancel did, by call."""
    return {
        messages.reference_value(entry.call): messages.enum_name(
            stream_pb.CancelDisposition, "CANCEL_DISPOSITION", entry.disposition
        )
        for entry in response.calls
    }


def get_tool_call(session_id: str, call: values.CallReference) -> runtime_pb.GetToolCallRequest:
    return runtime_pb.GetToolCallRequest(
        session_id=session_id, call=messages.reference_message(call)
    )
