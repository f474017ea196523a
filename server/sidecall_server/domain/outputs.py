"""What a handler returns: the eight kinds of tool output (SPEC B, C, D).

Texts are decoded before they come here. A field named ``…_json`` takes JSON text and keeps it
compact, so that nothing is read twice; text that is not JSON is refused with the field's name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct

from sidecall_server.domain.content import ContentItem
from sidecall_server.domain.errors import Fault, Reason
from sidecall_server.domain.fields import set_field
from sidecall_server.domain.json_text import JsonError, compact
from sidecall_server.domain.mcp_result import McpResult
from sidecall_server.domain.truncation import TruncationPolicy
from sidecall_server.domain.values import (
    NO_FAULTS,
    Faults,
    count_faults,
    id_faults,
    range_faults,
    refuse,
)

_MAX_INT32 = (1 << 31) - 1
_MAX_INT64 = (1 << 63) - 1


class FunctionOutput(Struct, frozen=True):
    """The output of an ordinary tool. `success` None: not said (B2)."""

    content: tuple[ContentItem, ...] = ()
    success: bool | None = None
    post_tool_use_response_json: str | None = None
    """What a post hook gets in place of the model's text."""

    def __post_init__(self) -> None:
        if self.post_tool_use_response_json is not None:
            refuse(_kept(self, "post_tool_use_response_json", compact))


class JsonOutput(Struct, frozen=True):
    """The output of a tool that answers with a value (B3)."""

    value_json: str
    success: bool | None = True

    def __post_init__(self) -> None:
        refuse(_kept(self, "value_json", compact))


class McpOutput(Struct, frozen=True):
    """An MCP result, shown with its wall time and truncated at a widened budget (D7)."""

    result_json: McpResult | str
    """Its JSON text is read at once."""
    truncation_policy: TruncationPolicy
    tool_input_json: str = "{}"
    """What the server was called with. Empty text: no arguments."""
    wall_time_nanoseconds: int = 0
    original_image_detail_supported: bool = False

    def __post_init__(self) -> None:
        refuse(
            _kept(self, "result_json", _mcp_result)
            + _kept(self, "tool_input_json", _compact_or_empty)
            + count_faults("wall_time_nanoseconds", self.wall_time_nanoseconds)
        )

    @property
    def result(self) -> McpResult:
        """The result, read."""
        return _mcp_result(self.result_json)


class McpRawOutput(Struct, frozen=True):
    """An MCP result as it is (B8)."""

    result_json: McpResult | str
    """Its JSON text is read at once."""

    def __post_init__(self) -> None:
        refuse(_kept(self, "result_json", _mcp_result))

    @property
    def result(self) -> McpResult:
        """The result, read."""
        return _mcp_result(self.result_json)


class ToolSearchOutput(Struct, frozen=True):
    """The tools that a search found (B5)."""

    tools_json: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        tools: list[str] = []
        faults: list[Fault] = []
        for index, tool in enumerate(self.tools_json):
            try:
                tools.append(compact(tool))
            except JsonError as error:
                faults.append(_json_fault(f"tools_json[{index}]", error))
        refuse(faults)
        set_field(self, "tools_json", tuple(tools))


class ApplyPatchOutput(Struct, frozen=True):
    """What the patch tool did; always a success (B4)."""

    text: str


class AbortedOutput(Struct, frozen=True):
    """The output of a cancelled call, from agents that arbitrate by themselves (B6)."""

    message: str


class ExecCommandOutput(Struct, frozen=True):
    """What a command wrote, as collected (C). None: not known, or not said."""

    output: bytes
    truncation_policy: TruncationPolicy
    event_call_id: str = ""
    """The call that hooks hear of. Empty: the call's own id."""
    chunk_id: str = ""
    wall_time_nanoseconds: int = 0
    max_output_tokens: int | None = None
    process_id: int | None = None
    """The session id of a command that still runs."""
    exit_code: int | None = None
    original_token_count: int | None = None
    output_omitted_bytes: int | None = None
    """Bytes that the collection dropped from the middle; 0 as None."""
    hook_command: str | None = None
    """The command as hooks see it. None: no hook hears of this output."""

    def __post_init__(self) -> None:
        refuse(
            id_faults("event_call_id", self.event_call_id)
            + id_faults("chunk_id", self.chunk_id)
            + count_faults("wall_time_nanoseconds", self.wall_time_nanoseconds)
            + count_faults("max_output_tokens", self.max_output_tokens)
            + range_faults("process_id", self.process_id, -_MAX_INT64 - 1, _MAX_INT64)
            + range_faults("exit_code", self.exit_code, -_MAX_INT32 - 1, _MAX_INT32)
            + count_faults("original_token_count", self.original_token_count)
            + count_faults("output_omitted_bytes", self.output_omitted_bytes)
        )


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


class ToolOutput(Struct, frozen=True):
    """An output, and whether it holds content from outside (H)."""

    output: AnyOutput
    contains_external_context: bool = False


def _kept(value: object, field: str, read: Callable[[str], object]) -> Faults:
    """Put what is read from the text of a field in its place."""
    try:
        set_field(value, field, read(getattr(value, field)))
    except JsonError as error:
        return (_json_fault(field, error),)
    except ValueError as unusable:
        return (Fault(field, str(unusable)),)
    return NO_FAULTS


def _json_fault(field: str, error: JsonError) -> Fault:
    return Fault(field, f"must be JSON: {error}", Reason.INVALID_JSON)


def _mcp_result(result: McpResult | str) -> McpResult:
    return McpResult.parse(result) if isinstance(result, str) else result


def _compact_or_empty(text: str) -> str:
    return compact(text) if text else "{}"
