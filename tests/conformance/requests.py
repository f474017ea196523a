"""Vectors as requests of the public API, and its answers as vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from google.protobuf.duration_pb2 import Duration
from sidecall.v1 import projection_service_pb2 as projection_pb
from sidecall.v1 import recorder_service_pb2 as recorder_pb
from sidecall.v1 import session_service_pb2 as session_pb
from sidecall.v1 import tool_call_pb2 as call_pb
from sidecall.v1 import tool_output_pb2 as output_pb
from sidecall_server.domain.json_text import write

from tests.conformance.lines import Json

_KINDS = {
    "function": call_pb.PAYLOAD_KIND_FUNCTION,
    "custom": call_pb.PAYLOAD_KIND_CUSTOM,
    "tool_search": call_pb.PAYLOAD_KIND_TOOL_SEARCH,
}
_MODES = {
    "direct": call_pb.TOOL_MODE_DIRECT,
    "code_mode": call_pb.TOOL_MODE_CODE_MODE,
    "code_mode_only": call_pb.TOOL_MODE_CODE_MODE_ONLY,
}
_DETAILS = {
    None: output_pb.IMAGE_DETAIL_UNSPECIFIED,
    "auto": output_pb.IMAGE_DETAIL_AUTO,
    "low": output_pb.IMAGE_DETAIL_LOW,
    "high": output_pb.IMAGE_DETAIL_HIGH,
    "original": output_pb.IMAGE_DETAIL_ORIGINAL,
}

# --- calls ----------------------------------------------------------------------------


def tool_call(source: Json) -> call_pb.ToolCall:
    """A call of the model, or of a script where the source says so."""
    name = source["tool_name"]
    return call_pb.ToolCall(
        call_id=source["call_id"],
        tool_name=call_pb.ToolName(name=name["name"], namespace=name.get("namespace")),
        payload=_payload(source["payload"]),
        source=_source(source),
    )


def _payload(source: Json) -> call_pb.ToolPayload:
    match source["kind"]:
        case "function":
            arguments = source["arguments"].encode()
            return call_pb.ToolPayload(function=call_pb.FunctionPayload(arguments=arguments))
        case "custom":
            return call_pb.ToolPayload(custom=call_pb.CustomPayload(input=source["input"].encode()))
        case "tool_search":
            search = call_pb.ToolSearchPayload(
                query=source["query"], limit=_number(source.get("limit"))
            )
            return call_pb.ToolPayload(tool_search=search)
        case kind:
            raise ValueError(f"unknown payload kind {kind!r}")


def _source(source: Json) -> call_pb.ToolCallSource:
    match source.get("source", "direct"):
        case "direct":
            return call_pb.ToolCallSource(direct=call_pb.DirectSource())
        case "direct_plaintext_message":
            return call_pb.ToolCallSource(
                direct_plaintext_message=call_pb.DirectPlaintextMessageSource()
            )
        case "code_mode":
            return call_pb.ToolCallSource(
                code_mode=call_pb.CodeModeSource(cell_id=source["cell_id"])
            )
        case unknown:
            raise ValueError(f"unknown source {unknown!r}")


# --- project --------------------------------------------------------------------------


def project(request: Json) -> projection_pb.ProjectToolOutputRequest:
    """One call and one output, all views."""
    output = request["output"]
    feedback = request.get("feedback")
    return projection_pb.ProjectToolOutputRequest(
        call=tool_call(request),
        output=output_pb.ToolOutput(
            contains_external_context=bool(output.get("external_context")),
            **_OUTPUTS[output["kind"]](output),
        ),
        feedback=None if feedback is None else feedback.encode(),
    )


def projected(response: projection_pb.ProjectToolOutputResponse) -> Json:
    """The views, named as in the vectors."""
    views = response.projections
    hook = views.hook
    return {
        "log_preview": views.log.preview,
        "success_for_logging": views.success_for_logging,
        "contains_external_context": views.contains_external_context,
        "response_item_json": views.response_item_json.decode(),
        "response_success": views.response_success if views.HasField("response_success") else None,
        "post_tool_use": {
            "tool_name": hook.tool_name,
            "tool_use_id": hook.tool_use_id,
            "tool_input_json": hook.tool_input_json.decode(),
            "tool_response_json": hook.tool_response_json.decode(),
        }
        if views.HasField("hook")
        else None,
        "code_mode_result_json": views.code_mode_json.decode(),
    }


def _function(source: Json) -> Json:
    response = source.get("post_tool_use_response")
    function = output_pb.FunctionOutput(
        content=[_content_item(item) for item in source["content"]],
        success=source["success"],
        post_tool_use_response_json=None if response is None else write(response).encode(),
    )
    return {"function": function}


def _content_item(source: Json) -> output_pb.ContentItem:
    match source["type"]:
        case "input_text":
            text = output_pb.InputText(text=source["text"].encode())
            return output_pb.ContentItem(input_text=text)
        case "input_image":
            image = output_pb.InputImage(
                image_url=source["image_url"].encode(), detail=_DETAILS[source.get("detail")]
            )
            return output_pb.ContentItem(input_image=image)
        case "input_audio":
            audio = output_pb.InputAudio(audio_url=source["audio_url"].encode())
            return output_pb.ContentItem(input_audio=audio)
        case "encrypted_content":
            encrypted = output_pb.EncryptedContent(
                encrypted_content=source["encrypted_content"].encode()
            )
            return output_pb.ContentItem(encrypted_content=encrypted)
        case kind:
            raise ValueError(f"unknown content {kind!r}")


def _json(source: Json) -> Json:
    value = output_pb.JsonOutput(
        value_json=source["value_text"].encode(), success=source["success"]
    )
    return {"json": value}


def _mcp(source: Json) -> Json:
    mcp = output_pb.McpOutput(
        result_json=source["result_text"].encode(),
        tool_input_json=write(source["tool_input"]).encode(),
        wall_time=_duration(source["wall_time_ns"]),
        original_image_detail_supported=source["original_image_detail_supported"],
        truncation_policy=policy(source["truncation_policy"]),
    )
    return {"mcp": mcp}


def _mcp_raw(source: Json) -> Json:
    return {"mcp_raw": output_pb.McpRawOutput(result_json=source["result_text"].encode())}


def _tool_search(source: Json) -> Json:
    tools = [write(tool).encode() for tool in source["tools"]]
    return {"tool_search": output_pb.ToolSearchOutput(tools_json=tools)}


def _apply_patch(source: Json) -> Json:
    return {"apply_patch": output_pb.ApplyPatchOutput(text=source["text"].encode())}


def _aborted(source: Json) -> Json:
    return {"aborted": output_pb.AbortedOutput(message=source["message"].encode())}


def _exec(source: Json) -> Json:
    command = source.get("hook_command")
    written = (
        bytes.fromhex(source["output_hex"]) if "output_hex" in source else source["output"].encode()
    )
    exec_command = output_pb.ExecCommandOutput(
        output=written,
        event_call_id=source.get("event_call_id", ""),
        chunk_id=source.get("chunk_id", ""),
        wall_time=_duration(source["wall_time_ns"]),
        truncation_policy=policy(source["truncation_policy"]),
        max_output_tokens=_number(source.get("max_output_tokens")),
        process_id=_number(source.get("process_id")),
        exit_code=_number(source.get("exit_code")),
        original_token_count=_number(source.get("original_token_count")),
        output_omitted_bytes=_number(source.get("output_omitted_bytes")),
        hook_command=None if command is None else command.encode(),
    )
    return {"exec_command": exec_command}


_OUTPUTS: Mapping[str, Callable[[Json], Json]] = {
    "function": _function,
    "json": _json,
    "mcp": _mcp,
    "mcp_raw": _mcp_raw,
    "tool_search": _tool_search,
    "apply_patch": _apply_patch,
    "aborted": _aborted,
    "exec": _exec,
}

# --- truncate -------------------------------------------------------------------------


def truncate(request: Json) -> projection_pb.TruncateTextRequest:
    """A text and its budget."""
    return projection_pb.TruncateTextRequest(
        text=request["text"].encode(),
        policy=policy(request["policy"]),
        formatted=request["formatted"],
    )


def policy(source: Json) -> output_pb.TruncationPolicy:
    """A budget and its unit."""
    ((unit, amount),) = source.items()
    return output_pb.TruncationPolicy(**{unit: int(amount)})


# --- recorder -------------------------------------------------------------------------


def record(session_id: str, operation: Json) -> recorder_pb.RecordToolCallRequest:
    """A record, with the operation's tool mode as its turn's."""
    mode = session_pb.ToolModeOptions(model_tool_mode=_MODES[operation.get("tool_mode", "direct")])
    return recorder_pb.RecordToolCallRequest(
        session_id=session_id,
        call=tool_call(operation),
        turn_options=session_pb.TurnOptions(tool_mode=mode),
    )


def register_cell(session_id: str, operation: Json) -> recorder_pb.RegisterCellRequest:
    """A mapping from output to cell."""
    return recorder_pb.RegisterCellRequest(
        session_id=session_id,
        cell_id=operation["cell_id"],
        output_call_id=operation["output_call_id"],
    )


def attach(
    session_id: str, operation: Json
) -> tuple[recorder_pb.AttachExecutedToolCallsRequest, list[int]]:
    """The outputs of a prompt, and where each stands among the prompt's items."""
    outputs = [
        (index, item) for index, item in enumerate(operation["items"]) if item["kind"] != "message"
    ]
    request = recorder_pb.AttachExecutedToolCallsRequest(
        session_id=session_id,
        sampling_request_id=f"request {operation['cache']}",
        outputs=[
            recorder_pb.PromptOutput(
                kind=_KINDS[item["kind"]], call_id=item["call_id"], turn_id=item.get("turn_id")
            )
            for _, item in outputs
        ],
    )
    return request, [index for index, _ in outputs]


def attached(response: recorder_pb.AttachExecutedToolCallsResponse, indexes: list[int]) -> Json:
    """The answer, named as in the vectors."""
    sizes = response.recorder_sizes
    return {
        "attached": response.attached,
        "items": [
            {
                "index": indexes[output.output_index],
                "metadata_bytes": output.metadata_bytes,
                "executed_tool_calls_json": output.executed_tool_calls_json.decode(),
            }
            for output in response.outputs
        ],
        "state": {
            "direct_calls": sizes.direct_calls,
            "cells": sizes.cells,
            "output_cells": sizes.output_cells,
            "retained_outputs": sizes.retained_outputs,
            "pending_nested_calls": sizes.pending_nested_calls,
        },
    }


def repetitions(operation: Json) -> Iterator[Json]:
    """The operation, as often as it says, with `{i}` in its ids and tool name filled in."""
    if operation.get("repeat") is None:
        yield operation
        return
    for turn in range(int(operation["repeat"])):
        yield {key: _filled(key, value, str(turn)) for key, value in operation.items()}


def _filled(key: str, value: Any, number: str) -> Any:
    if key == "tool_name":
        return {part: _filled("name", text, number) for part, text in value.items()}
    if key in ("call_id", "output_call_id", "cell_id", "name") and isinstance(value, str):
        return value.replace("{i}", number)
    return value


# --- numbers --------------------------------------------------------------------------


def _number(value: str | None) -> int | None:
    return None if value is None else int(value)


def _duration(nanoseconds: str) -> Duration:
    seconds, nanos = divmod(int(nanoseconds), 1_000_000_000)
    return Duration(seconds=seconds, nanos=nanos)
