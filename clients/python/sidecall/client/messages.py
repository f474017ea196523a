"""Plain values to and from the contract's messages; nothing else knows both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar, cast

from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from sidecall.client import values
from sidecall.v1 import (
    call_outcome_pb2 as outcome_pb,
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
from sidecall.v1 import (
    tool_call_pb2 as call_pb,
)
from sidecall.v1 import (
    tool_output_pb2 as output_pb,
)

_Name = TypeVar("_Name", bound=str)


def enum_number(enum: Any, prefix: str, name: str | None) -> Any:
    """The number of a plain name; None is unspecified.

    Raises:
        ValueError: there is no such name; the message has those there are.
    """
    if name is None:
        return 0
    try:
        return enum.Value(f"{prefix}_{name.upper()}")
    except ValueError:
        known = [enum_name(enum, prefix, number) for number in enum.values() if number]
        raise ValueError(f"{name!r} is not one of {', '.join(known)}") from None


def enum_name(enum: Any, prefix: str, number: int, zero: str = "") -> Any:
    """The plain name of a number."""
    return enum.Name(number).removeprefix(f"{prefix}_").lower() if number else zero


def duration(seconds: float | None) -> Duration | None:
    """Seconds as a message."""
    if seconds is None:
        return None
    message = Duration()
    message.FromNanoseconds(round(seconds * 1e9))
    return message


def seconds(message: Message, name: str) -> float | None:
    """A duration field in seconds; None where it is absent."""
    if not message.HasField(name):
        return None
    value: Duration = getattr(message, name)
    return value.seconds + value.nanos / 1e9


def lossy(text: str) -> bytes:
    """Text of a handler or hook, of whom nothing must keep the answer: a lone surrogate (of
    `os.fsdecode`, say) becomes a question mark."""
    return text.encode(errors="replace")


# --- calls ----------------------------------------------------------------------------


def tool_name(name: str, namespace: str | None) -> call_pb.ToolName:
    return call_pb.ToolName(name=name, namespace=namespace)


def payload_message(payload: values.Payload) -> call_pb.ToolPayload:
    """What a call is made with: never changed on its way.

    Raises:
        ValueError: the text holds a lone surrogate, which UTF-8 cannot carry.
    """
    if isinstance(payload, values.Function):
        return call_pb.ToolPayload(
            function=call_pb.FunctionPayload(arguments=_exact(payload.arguments))
        )
    if isinstance(payload, values.Custom):
        return call_pb.ToolPayload(custom=call_pb.CustomPayload(input=_exact(payload.input)))
    return call_pb.ToolPayload(
        tool_search=call_pb.ToolSearchPayload(
            query=_exact(payload.query).decode(), limit=payload.limit
        )
    )


def payload_value(message: call_pb.ToolPayload) -> values.Payload:
    kind = message.WhichOneof("payload")
    if kind == "function":
        return values.Function(message.function.arguments.decode())
    if kind == "custom":
        return values.Custom(message.custom.input.decode())
    search = message.tool_search
    return values.ToolSearch(search.query, search.limit if search.HasField("limit") else None)


def call_message(call: values.ToolCall) -> call_pb.ToolCall:
    source: call_pb.ToolCallSource | None = None
    if call.cell_id is not None:
        source = call_pb.ToolCallSource(
            code_mode=call_pb.CodeModeSource(
                cell_id=call.cell_id, runtime_tool_call_id=call.runtime_tool_call_id
            )
        )
    elif call.plaintext_message:
        source = call_pb.ToolCallSource(
            direct_plaintext_message=call_pb.DirectPlaintextMessageSource()
        )
    return call_pb.ToolCall(
        call_id=call.call_id,
        turn_id=call.turn_id,
        tool_name=tool_name(call.name, call.namespace),
        payload=payload_message(call.payload),
        source=source,
    )


def call_value(message: call_pb.ToolCall) -> values.ToolCall:
    source = message.source.WhichOneof("source")
    code_mode = message.source.code_mode if source == "code_mode" else None
    name = message.tool_name
    return values.ToolCall(
        call_id=message.call_id,
        name=name.name,
        payload=payload_value(message.payload),
        turn_id=message.turn_id,
        namespace=name.namespace if name.HasField("namespace") else None,
        cell_id=code_mode.cell_id if code_mode is not None else None,
        runtime_tool_call_id=code_mode.runtime_tool_call_id if code_mode is not None else "",
        plaintext_message=source == "direct_plaintext_message",
    )


def reference_message(call: values.CallReference) -> outcome_pb.CallReference:
    return outcome_pb.CallReference(turn_id=call.turn_id, call_id=call.call_id)


def reference_value(message: outcome_pb.CallReference) -> values.CallReference:
    return values.CallReference(message.turn_id, message.call_id)


# --- outputs --------------------------------------------------------------------------


def content_message(item: values.ContentItem) -> output_pb.ContentItem:
    if isinstance(item, values.Text):
        return output_pb.ContentItem(input_text=output_pb.InputText(text=_bytes(item.text)))
    if isinstance(item, values.Image):
        detail = enum_number(output_pb.ImageDetail, "IMAGE_DETAIL", item.detail)
        return output_pb.ContentItem(
            input_image=output_pb.InputImage(image_url=lossy(item.image_url), detail=detail)
        )
    if isinstance(item, values.Audio):
        return output_pb.ContentItem(
            input_audio=output_pb.InputAudio(audio_url=lossy(item.audio_url))
        )
    return output_pb.ContentItem(
        encrypted_content=output_pb.EncryptedContent(
            encrypted_content=lossy(item.encrypted_content)
        )
    )


def content_messages(
    content: str | bytes | Sequence[values.ContentItem],
) -> list[output_pb.ContentItem]:
    if isinstance(content, str | bytes):
        return [content_message(values.Text(content))]
    return [content_message(item) for item in content]


def policy_message(policy: values.TruncationPolicy) -> output_pb.TruncationPolicy:
    if isinstance(policy, values.Bytes):
        return output_pb.TruncationPolicy(bytes=policy.limit)
    return output_pb.TruncationPolicy(tokens=policy.limit)


def output_message(output: values.ToolOutput) -> output_pb.ToolOutput:
    """What a handler returned, as a message."""
    message = output_pb.ToolOutput(contains_external_context=output.contains_external_context)
    if isinstance(output, values.FunctionOutput):
        message.function.CopyFrom(
            output_pb.FunctionOutput(
                content=content_messages(output.content),
                success=output.success,
                post_tool_use_response_json=_optional_bytes(output.post_tool_use_response_json),
            )
        )
    elif isinstance(output, values.JsonOutput):
        message.json.CopyFrom(
            output_pb.JsonOutput(value_json=lossy(output.value_json), success=output.success)
        )
    elif isinstance(output, values.McpOutput):
        message.mcp.CopyFrom(
            output_pb.McpOutput(
                result_json=lossy(output.result_json),
                tool_input_json=lossy(output.tool_input_json),
                wall_time=duration(output.wall_time_seconds),
                original_image_detail_supported=output.original_image_detail_supported,
                truncation_policy=policy_message(output.truncation_policy),
            )
        )
    elif isinstance(output, values.McpRawOutput):
        message.mcp_raw.result_json = lossy(output.result_json)
    elif isinstance(output, values.ToolSearchOutput):
        message.tool_search.CopyFrom(
            output_pb.ToolSearchOutput(tools_json=[lossy(tool) for tool in output.tools_json])
        )
    elif isinstance(output, values.ApplyPatchOutput):
        message.apply_patch.text = lossy(output.text)
    elif isinstance(output, values.AbortedOutput):
        message.aborted.message = lossy(output.message)
    else:
        message.exec_command.CopyFrom(
            output_pb.ExecCommandOutput(
                output=output.output,
                event_call_id=output.event_call_id,
                chunk_id=output.chunk_id,
                wall_time=duration(output.wall_time_seconds),
                truncation_policy=policy_message(output.truncation_policy),
                max_output_tokens=output.max_output_tokens,
                process_id=output.process_id,
                exit_code=output.exit_code,
                original_token_count=output.original_token_count,
                output_omitted_bytes=output.output_omitted_bytes,
                hook_command=_optional_bytes(output.hook_command),
            )
        )
    return message


def hook_value(message: output_pb.HookPayload) -> values.HookPayload:
    response = message.tool_response_json.decode()
    return values.HookPayload(
        message.tool_name,
        tuple(message.matcher_aliases),
        message.tool_use_id,
        message.tool_input_json.decode(),
        response if message.HasField("tool_response_json") else None,
    )


def projections_value(message: output_pb.ToolOutputProjections) -> values.Projections:
    return values.Projections(
        success_for_logging=message.success_for_logging,
        response_success=message.response_success if message.HasField("response_success") else None,
        log_preview=message.log.preview if message.HasField("log") else None,
        response_item_json=_optional_text(message, "response_item_json"),
        hook=hook_value(message.hook) if message.HasField("hook") else None,
        code_mode_json=_optional_text(message, "code_mode_json"),
        contains_external_context=message.contains_external_context,
    )


def views_message(views: Sequence[values.View] | None) -> output_pb.ViewSelection | None:
    if views is None:
        return None
    return output_pb.ViewSelection(
        views=[enum_number(output_pb.View, "VIEW", view) for view in views]
    )


# --- sessions and the recorder --------------------------------------------------------


def session_options_message(options: values.SessionOptions) -> session_pb.SessionOptions:
    return session_pb.SessionOptions(
        recorder_enabled=options.recorder_enabled,
        tool_mode=session_pb.ToolModeOptions(
            model_tool_mode=enum_number(call_pb.ToolMode, "TOOL_MODE", options.model_tool_mode),
            code_mode_feature=options.code_mode_feature,
            code_mode_only_feature=options.code_mode_only_feature,
            code_mode_available=options.code_mode_available,
            code_mode_fallback_disabled=options.code_mode_fallback_disabled,
        ),
        post_hook_block=enum_number(
            session_pb.PostHookBlock, "POST_HOOK_BLOCK", options.post_hook_block
        ),
        mark_external_context=options.mark_external_context,
        direct_views=views_message(options.direct_views),
        nested_views=views_message(options.nested_views),
        display_name=options.display_name,
    )


def turn_options_message(options: values.TurnOptions | None) -> session_pb.TurnOptions | None:
    if options is None:
        return None
    mode = options.model_tool_mode
    return session_pb.TurnOptions(
        recorder_enabled=options.recorder_enabled,
        tool_mode=None
        if mode is None
        else session_pb.ToolModeOptions(
            model_tool_mode=enum_number(call_pb.ToolMode, "TOOL_MODE", mode)
        ),
    )


def session_value(message: session_pb.Session, resume_token: str = "") -> values.Session:
    return values.Session(
        session_id=message.session_id,
        state=enum_name(session_pb.SessionState, "SESSION_STATE", message.state),
        effective_tool_mode=tool_mode_value(message.effective_tool_mode),
        open_calls=message.open_calls,
        terminal_calls=message.terminal_calls,
        external_context_marked=message.external_context_marked,
        hooks_failed_open=message.hooks_failed_open,
        late_results=message.late_results,
        recorder_sizes=numbers(message.recorder_sizes),
        recorder_losses=numbers(message.recorder_losses),
        resume_token=resume_token,
    )


def tool_mode_value(number: int) -> values.ToolMode:
    return cast(values.ToolMode, enum_name(call_pb.ToolMode, "TOOL_MODE", number, "direct"))


def numbers(message: Message) -> dict[str, int]:
    """The fields of a message of counters, by name."""
    return {field.name: getattr(message, field.name) for field in message.DESCRIPTOR.fields}


def prompt_output_message(output: values.PromptOutput) -> recorder_pb.PromptOutput:
    return recorder_pb.PromptOutput(
        kind=enum_number(call_pb.PayloadKind, "PAYLOAD_KIND", output.kind),
        call_id=output.call_id,
        turn_id=output.turn_id,
        item_id=output.item_id,
    )


def attachment_value(message: recorder_pb.AttachExecutedToolCallsResponse) -> values.Attachment:
    return values.Attachment(
        message.attached,
        tuple(
            values.AttachedToolCalls(
                output.output_index,
                output.executed_tool_calls_json.decode(),
                output.metadata_bytes,
            )
            for output in message.outputs
        ),
        numbers(message.recorder_sizes),
        message.prompt_token,
    )


# --- outcomes -------------------------------------------------------------------------


def outcome_value(message: outcome_pb.CallOutcome) -> values.Outcome:
    kind = message.WhichOneof("outcome")
    if kind == "completed":
        return values.Completed(message.completed.success)
    if kind == "model_failure":
        return values.ModelFailure(message.model_failure.message)
    if kind == "fatal":
        return values.FatalFailure(message.fatal.message)
    aborted = message.aborted
    return values.Aborted(
        enum_name(outcome_pb.AbortReason, "ABORT_REASON", aborted.reason),
        enum_name(outcome_pb.AbortProgress, "ABORT_PROGRESS", aborted.progress, "unknown"),
        enum_name(outcome_pb.TeardownState, "TEARDOWN_STATE", aborted.teardown, "none"),
        aborted.message,
    )


def result_value(message: stream_pb.CallCompleted) -> values.CallResult:
    durations = message.durations
    return values.CallResult(
        call=reference_value(message.call),
        dispatch_order=message.dispatch_order,
        outcome=outcome_value(message.outcome),
        lifecycle=enum_name(
            outcome_pb.LifecycleFinish, "LIFECYCLE_FINISH", message.outcome.lifecycle, "none"
        ),
        handler_executed=message.outcome.handler_executed,
        projections=projections_value(message.projections)
        if message.HasField("projections")
        else None,
        additional_contexts=tuple(message.additional_contexts),
        dispatch_seconds=seconds(durations, "dispatch"),
        handler_seconds=seconds(durations, "handler"),
        total_seconds=seconds(durations, "total"),
    )


def status_value(message: runtime_pb.GetToolCallResponse) -> values.ToolCallStatus:
    status = message.call
    return values.ToolCallStatus(
        call=reference_value(status.call),
        dispatch_order=status.dispatch_order,
        phase=enum_name(outcome_pb.CallPhase, "CALL_PHASE", status.phase),
        outcome=outcome_value(status.outcome) if status.HasField("outcome") else None,
        projections=projections_value(message.projections)
        if message.HasField("projections")
        else None,
    )


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else lossy(text)


def _optional_bytes(text: str | None) -> bytes | None:
    return None if text is None else lossy(text)


def _optional_text(message: Message, name: str) -> str | None:
    if not message.HasField(name):
        return None
    data: bytes = getattr(message, name)
    return data.decode()


def _exact(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"what a call is made with must be UTF-8, and character {error.start} of it is a"
            f" lone surrogate, {text[error.start]!r}"
        ) from None
