"""The golden vectors as domain values (see tests/conformance/vectors)."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from sidecall_server.domain.content import (
    ContentItem,
    EncryptedContent,
    ImageDetail,
    InputAudio,
    InputImage,
    InputText,
)
from sidecall_server.domain.mcp_result import McpResult
from sidecall_server.domain.outputs import (
    AbortedOutput,
    AnyOutput,
    ApplyPatchOutput,
    ExecCommandOutput,
    FunctionOutput,
    JsonOutput,
    McpOutput,
    McpRawOutput,
    ToolOutput,
    ToolSearchOutput,
)
from sidecall_server.domain.truncation import BytesPolicy, TokensPolicy, TruncationPolicy
from sidecall_server.domain.values import (
    CustomPayload,
    FunctionPayload,
    ToolCall,
    ToolName,
    ToolPayload,
    ToolSearchPayload,
)

Json = dict[str, Any]

_FOLDER = Path(__file__).parents[1] / "conformance" / "vectors"


def read(family: str) -> list[Json]:
    """All lines of one family."""
    with gzip.open(_FOLDER / f"{family}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def policy(source: Json) -> TruncationPolicy:
    return BytesPolicy(source["bytes"]) if "bytes" in source else TokensPolicy(source["tokens"])


def tool_call(request: Json) -> ToolCall:
    name = request["tool_name"]
    return ToolCall(
        request["call_id"],
        ToolName(name["name"], name.get("namespace")),
        _payload(request["payload"]),
    )


def tool_output(source: Json) -> ToolOutput:
    return ToolOutput(_OUTPUTS[source["kind"]](source), source.get("external_context", False))


def _payload(source: Json) -> ToolPayload:
    match source["kind"]:
        case "function":
            return FunctionPayload(source["arguments"])
        case "custom":
            return CustomPayload(source["input"])
        case _:
            return ToolSearchPayload(source["query"], source.get("limit"))


def _item(source: Json) -> ContentItem:
    match source["type"]:
        case "input_text":
            return InputText(source["text"])
        case "input_image":
            detail = source.get("detail")
            return InputImage(source["image_url"], detail and ImageDetail(detail))
        case "input_audio":
            return InputAudio(source["audio_url"])
        case _:
            return EncryptedContent(source["encrypted_content"])


def _function(source: Json) -> AnyOutput:
    response = source.get("post_tool_use_response")
    return FunctionOutput(
        tuple(map(_item, source["content"])),
        source["success"],
        None if response is None else json.dumps(response),
    )


def _mcp(source: Json) -> AnyOutput:
    return McpOutput(
        McpResult.parse(source["result_text"]),
        policy(source["truncation_policy"]),
        json.dumps(source["tool_input"]),
        source["wall_time_ns"],
        source["original_image_detail_supported"],
    )


def _exec(source: Json) -> AnyOutput:
    return ExecCommandOutput(
        bytes.fromhex(source["output_hex"])
        if "output_hex" in source
        else source["output"].encode(),
        policy(source["truncation_policy"]),
        event_call_id=source["event_call_id"],
        chunk_id=source["chunk_id"],
        wall_time_nanoseconds=source["wall_time_ns"],
        max_output_tokens=source.get("max_output_tokens"),
        process_id=source.get("process_id"),
        exit_code=source.get("exit_code"),
        original_token_count=source.get("original_token_count"),
        output_omitted_bytes=source.get("output_omitted_bytes"),
        hook_command=source.get("hook_command"),
    )


_OUTPUTS = {
    "function": _function,
    "json": lambda source: JsonOutput(source["value_text"], source["success"]),
    "mcp": _mcp,
    "mcp_raw": lambda source: McpRawOutput(McpResult.parse(source["result_text"])),
    "tool_search": lambda source: ToolSearchOutput(tuple(map(json.dumps, source["tools"]))),
    "apply_patch": lambda source: ApplyPatchOutput(source["text"]),
    "aborted": lambda source: AbortedOutput(source["message"]),
    "exec": _exec,
}
