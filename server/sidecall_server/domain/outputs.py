"""What a handler returns: the eight kinds of tool output (SPEC B, C, D).

Texts are decoded before they come here. A field named ``…_json`` takes JSON text and keeps it
compact, so that nothing is read twice; text that is not JSON is refused with the field's name.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import AfterValidator, Field, GetPydanticSchema
from pydantic.dataclasses import dataclass
from pydantic_core.core_schema import no_info_plain_validator_function

from sidecall_server.domain.content import ContentItem
from sidecall_server.domain.json_text import compact
from sidecall_server.domain.limits import MAX_UINT64
from sidecall_server.domain.mcp_result import McpResult
from sidecall_server.domain.truncation import TruncationPolicy
from sidecall_server.domain.values import Id

_MAX_INT32 = (1 << 31) - 1
_MAX_INT64 = (1 << 63) - 1

JsonText: TypeAlias = Annotated[str, AfterValidator(compact)]
"""JSON text, kept compact."""

Count: TypeAlias = Annotated[int, Field(ge=0, le=MAX_UINT64)]
ExitCode: TypeAlias = Annotated[int, Field(ge=-_MAX_INT32 - 1, le=_MAX_INT32)]
ProcessId: TypeAlias = Annotated[int, Field(ge=-_MAX_INT64 - 1, le=_MAX_INT64)]


def _mcp_result(value: object) -> McpResult:
    if isinstance(value, McpResult):
        return value
    if isinstance(value, str):
        return McpResult.parse(value)
    raise ValueError("must be JSON text")


McpResultJson: TypeAlias = Annotated[
    # the tree of a JSON value is recursive: pydantic is not to look into it
    McpResult,
    GetPydanticSchema(lambda _source, _handler: no_info_plain_validator_function(_mcp_result)),
]
"""The JSON text of a CallToolResult, or one that was read already."""


def _compact_or_empty(text: str) -> str:
    return compact(text) if text else "{}"


@dataclass(frozen=True, slots=True)
class FunctionOutput:
    """The output of an ordinary tool. `success` None: not said (B2)."""

    content: tuple[ContentItem, ...] = ()
    success: bool | None = None
    post_tool_use_response_json: JsonText | None = None
    """What a post hook gets in place of the model's text."""


@dataclass(frozen=True, slots=True)
class JsonOutput:
    """The output of a tool that answers with a value (B3)."""

    value_json: JsonText
    success: bool | None = True


@dataclass(frozen=True, slots=True)
class McpOutput:
    """An MCP result, shown with its wall time and truncated at a widened budget (D7)."""

    result_json: McpResultJson
    truncation_policy: TruncationPolicy
    tool_input_json: Annotated[str, AfterValidator(_compact_or_empty)] = "{}"
    """What the server was called with. Empty text: no arguments."""
    wall_time_nanoseconds: Count = 0
    original_image_detail_supported: bool = False


@dataclass(frozen=True, slots=True)
class McpRawOutput:
    """An MCP result as it is (B8)."""

    result_json: McpResultJson


@dataclass(frozen=True, slots=True)
class ToolSearchOutput:
    """The tools that a search found (B5)."""

    tools_json: tuple[JsonText, ...] = ()


@dataclass(frozen=True, slots=True)
class ApplyPatchOutput:
    """What the patch tool did; always a success (B4)."""

    text: str


@dataclass(frozen=True, slots=True)
class AbortedOutput:
    """The output of a cancelled call, from agents that arbitrate by themselves (B6)."""

    message: str


@dataclass(frozen=True, slots=True)
class ExecCommandOutput:
    """What a command wrote, as collected (C). None: not known, or not said."""

    output: bytes
    truncation_policy: TruncationPolicy
    event_call_id: Id = ""
    """The call that hooks hear of. Empty: the call's own id."""
    chunk_id: Id = ""
    wall_time_nanoseconds: Count = 0
    max_output_tokens: Count | None = None
    process_id: ProcessId | None = None
    """The session id of a command that still runs."""
    exit_code: ExitCode | None = None
    original_token_count: Count | None = None
    output_omitted_bytes: Count | None = None
    """Bytes that the collection dropped from the middle; 0 as None."""
    hook_command: str | None = None
    """The command as hooks see it. None: no hook hears of this output."""


AnyOutput: TypeAlias = (
    FunctionOutput
    | JsonOutput
    | McpOutput
    | McpRawOutput
    | ToolSearchOutput
    | ApplyPatchOutput
    | AbortedOutput
    | ExecCommandOutput
)


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """An output, and whether it holds content from outside (H)."""

    output: AnyOutput
    contains_external_context: bool = False
