"""What the model reads: the items that answer a call (SPEC A5, B1).

`success` travels beside an item and is never part of its JSON (A3).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct

from sidecall_server.domain.content import ContentItem, InputText, items_json, script_text_of
from sidecall_server.domain.json_text import quote
from sidecall_server.domain.mcp_result import McpResult
from sidecall_server.domain.values import PayloadKind

OutputBody: TypeAlias = str | tuple[ContentItem, ...]
"""A plain text, or items."""

TOOL_SEARCH_STATUS = "completed"
TOOL_SEARCH_EXECUTION = "client"


def body_json(body: OutputBody) -> str:
    """A body as a JSON string or array."""
    return quote(body) if isinstance(body, str) else items_json(body)


def body_of(items: Sequence[ContentItem]) -> OutputBody:
    """Exactly one text item is a plain text, anything else stays a list (B1)."""
    if len(items) == 1 and isinstance(items[0], InputText):
        return items[0].text
    return tuple(items)


class FunctionCallOutput(Struct, frozen=True):
    """Answers a function call. `success` None: not said."""

    call_id: str
    body: OutputBody
    success: bool | None = None

    def to_json(self) -> str:
        return (
            f'{{"type":"function_call_output","call_id":{quote(self.call_id)},'
            f'"output":{body_json(self.body)}}}'
        )

    def to_script_json(self) -> str:
        return _script_json(self.body)


class CustomToolCallOutput(Struct, frozen=True):
    """Answers a free-form call. `success` None: not said."""

    call_id: str
    body: OutputBody
    success: bool | None = None

    def to_json(self) -> str:
        return (
            f'{{"type":"custom_tool_call_output","call_id":{quote(self.call_id)},'
            f'"output":{body_json(self.body)}}}'
        )

    def to_script_json(self) -> str:
        return _script_json(self.body)


class ToolSearchCallOutput(Struct, frozen=True):
    """Answers a tool search: always completed, always by the client (B5)."""

    call_id: str
    tools_json: tuple[str, ...] = ()

    @property
    def success(self) -> None:
        """This item says nothing about success."""
        return

    @property
    def status(self) -> str:
        return TOOL_SEARCH_STATUS

    @property
    def execution(self) -> str:
        return TOOL_SEARCH_EXECUTION

    def to_json(self) -> str:
        return (
            f'{{"type":"tool_search_output","call_id":{quote(self.call_id)},'
            f'"status":"{self.status}","execution":"{self.execution}",'
            f'"tools":{self.to_script_json()}}}'
        )

    def to_script_json(self) -> str:
        return f"[{','.join(self.tools_json)}]"


class McpToolCallOutput(Struct, frozen=True):
    """Answers an MCP call with the server's own result."""

    call_id: str
    result: McpResult

    @property
    def success(self) -> None:
        """This item says nothing about success."""
        return

    @property
    def result_json(self) -> str:
        return self.result.to_json()

    def to_json(self) -> str:
        return (
            f'{{"type":"mcp_tool_call_output","call_id":{quote(self.call_id)},'
            f'"output":{self.result_json}}}'
        )

    def to_script_json(self) -> str:
        return self.result.to_json(with_meta=False)

    def to_history(self) -> FunctionCallOutput:
        """The form that is kept in the conversation (A6)."""
        return FunctionCallOutput(self.call_id, self.result.to_body(), self.result.success)


ResponseItem: TypeAlias = (
    FunctionCallOutput | CustomToolCallOutput | ToolSearchCallOutput | McpToolCallOutput
)
"""Each writes itself as JSON for a request, and as the JSON that a script gets (B7)."""


def respond(
    kind: PayloadKind, call_id: str, body: OutputBody, success: bool | None
) -> FunctionCallOutput | CustomToolCallOutput:
    """Answer a call of that kind with a body; only free-form calls have their own item (B1)."""
    if kind is PayloadKind.CUSTOM:
        return CustomToolCallOutput(call_id, body, success)
    return FunctionCallOutput(call_id, body, success)


def respond_or_close_search(
    kind: PayloadKind, call_id: str, text: str, success: bool | None
) -> ResponseItem:
    """Answer with a text, or an empty tool search, which has no place for it (B6, G8, G11)."""
    if kind is PayloadKind.TOOL_SEARCH:
        return ToolSearchCallOutput(call_id)
    return respond(kind, call_id, text, success)


def _script_json(body: OutputBody) -> str:
    return quote(body if isinstance(body, str) else script_text_of(body))
