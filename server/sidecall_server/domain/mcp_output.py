"""The views of MCP results (SPEC B8, D7-D9)."""

from __future__ import annotations

from sidecall_server.domain.content import (
    ContentItem,
    ImageDetail,
    InputImage,
    InputText,
    items_json,
    text_of,
    truncate_items,
)
from sidecall_server.domain.durations import wall_time_line
from sidecall_server.domain.fields import replace
from sidecall_server.domain.once import once
from sidecall_server.domain.output_views import OutputViews
from sidecall_server.domain.outputs import McpOutput, McpRawOutput
from sidecall_server.domain.response_item import (
    FunctionCallOutput,
    McpToolCallOutput,
    OutputBody,
    ResponseItem,
)
from sidecall_server.domain.truncation import truncate


class McpViews(OutputViews[McpOutput]):
    """A result with its wall time, truncated; a function output for every payload (D8)."""

    @property
    def log_text(self) -> str:
        return _text_of_body(self._body)

    @property
    def success_for_logging(self) -> bool:
        return self.output.result.success

    @once
    def response_item(self) -> ResponseItem:
        return FunctionCallOutput(self.call.call_id, self._body, self.output.result.success)

    @property
    def hook_input_json(self) -> str:
        return self.output.tool_input_json

    @property
    def hook_response_json(self) -> str:
        return self.output.result.to_json()

    @property
    def code_mode_json(self) -> str:
        return self.output.result.to_json(with_meta=False)

    @once
    def _body(self) -> OutputBody:
        """The header is part of what the budget bounds (D7, D8)."""
        header = f"{wall_time_line(self.output.wall_time_nanoseconds)}\nOutput:"
        policy = self.output.truncation_policy.widened
        body = self.output.result.to_body()
        if isinstance(body, str):
            return truncate(f"{header}\n{body}", policy)
        if not self.output.original_image_detail_supported:
            body = tuple([_without_original_detail(item) for item in body])
        return truncate_items((InputText(header), *body), policy)


class McpRawViews(OutputViews[McpRawOutput]):
    """A result as the server gave it (B8)."""

    @property
    def log_text(self) -> str:
        return _text_of_body(self.output.result.to_body())

    @property
    def success_for_logging(self) -> bool:
        return self.output.result.success

    @once
    def response_item(self) -> ResponseItem:
        return McpToolCallOutput(self.call.call_id, self.output.result)


def _text_of_body(body: OutputBody) -> str:
    if isinstance(body, str):
        return body
    text = text_of(body)
    return items_json(body) if text is None else text


def _without_original_detail(item: ContentItem) -> ContentItem:
    if isinstance(item, InputImage) and item.detail is ImageDetail.ORIGINAL:
        return replace(item, detail=ImageDetail.HIGH)
    return item
