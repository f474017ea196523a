"""One call, one output, every view of it (SPEC B-D, F5, R6).

A view is computed when it is first asked for, and once.
"""

from __future__ import annotations

from typing import Any

from sidecall_server.domain.exec_output import ExecCommandViews
from sidecall_server.domain.hooks import HookKind, PostToolUsePayload, hook_input_json, hook_name
from sidecall_server.domain.mcp_output import McpRawViews, McpViews
from sidecall_server.domain.once import once
from sidecall_server.domain.output_views import (
    AbortedViews,
    ApplyPatchViews,
    FailureViews,
    FunctionViews,
    JsonViews,
    OutputViews,
    ToolSearchViews,
)
from sidecall_server.domain.outputs import (
    AbortedOutput,
    ApplyPatchOutput,
    ExecCommandOutput,
    FunctionOutput,
    JsonOutput,
    McpOutput,
    McpRawOutput,
    ToolOutput,
    ToolSearchOutput,
)
from sidecall_server.domain.response_item import (
    FunctionCallOutput,
    ResponseItem,
    body_json,
    respond,
)
from sidecall_server.domain.truncation import telemetry_preview
from sidecall_server.domain.values import ToolCall

_VIEWS: dict[type, type[OutputViews[Any]]] = {
    FunctionOutput: FunctionViews,
    JsonOutput: JsonViews,
    McpOutput: McpViews,
    McpRawOutput: McpRawViews,
    ToolSearchOutput: ToolSearchViews,
    ApplyPatchOutput: ApplyPatchViews,
    AbortedOutput: AbortedViews,
    ExecCommandOutput: ExecCommandViews,
}


class Projection:
    """The views of an output that answers a call.

    A post hook's `feedback` takes the output's place for the model only: the log, scripts and
    what hooks heard stay those of the output itself (B9).
    """

    def __init__(self, call: ToolCall, output: ToolOutput, feedback: str | None = None) -> None:
        self.call = call
        self.contains_external_context = output.contains_external_context
        self.feedback = feedback
        self._views: OutputViews[Any] = _VIEWS[type(output.output)](call, output.output)

    def with_feedback(self, feedback: str) -> Projection:
        """The same output behind a post hook's feedback; what was computed is kept."""
        return _ProjectionWithFeedback(self, feedback)

    @once
    def log_preview(self) -> str:
        """What the log may show (E11)."""
        return telemetry_preview(self._views.log_text)

    @once
    def success_for_logging(self) -> bool:
        """Whether the call counts as a success (G1)."""
        return self._views.success_for_logging

    @once
    def response_item(self) -> ResponseItem:
        """What the model reads."""
        if self.feedback is None:
            return self._views.response_item
        return respond(self.call.payload.kind, self.call.call_id, self.feedback, None)

    @once
    def response_item_json(self) -> str:
        """What the model reads, as JSON text (A5)."""
        return self.response_item.to_json()

    @property
    def response_success(self) -> bool | None:
        """The success that the response item carries; None: not said."""
        return self.response_item.success

    @once
    def code_mode_json(self) -> str:
        """What a script gets, as JSON text (B7, C6, D9)."""
        return self._views.code_mode_json

    def hook_payload(self, hook_kind: HookKind = HookKind.DEFAULT) -> PostToolUsePayload | None:
        """What a post hook would hear of the output; None: nothing (F5)."""
        named = hook_name(self.call, hook_kind)
        if named is None:
            return None
        response_json = self._views.hook_response_json
        if response_json is None:
            item = self._views.response_item
            if not isinstance(item, FunctionCallOutput):
                return None
            response_json = body_json(item.body)
        input_json = self._views.hook_input_json
        if input_json is None:
            input_json = hook_input_json(self.call.payload, hook_kind)
        if input_json is None:
            return None
        tool_name, aliases = named
        return PostToolUsePayload(
            tool_name, aliases, self._views.hook_id, input_json, response_json
        )

    def post_tool_use(self, hook_kind: HookKind) -> PostToolUsePayload | None:
        """What a runtime tells a post hook; None: it asks none (F5).

        Unlike `hook_payload` it keeps silent about a command that still runs, or that no hook
        is to hear of (C5).
        """
        return None if self._views.hidden_from_hooks else self.hook_payload(hook_kind)


class _ProjectionWithFeedback(Projection):
    def __init__(self, projection: Projection, feedback: str) -> None:
        self.call = projection.call
        self.contains_external_context = projection.contains_external_context
        self.feedback = feedback
        self._views = projection._views


class FailureProjection(Projection):
    """The views of a direct call that failed with an error that the model may read (G8).

    No hook hears of it (F11), and it brings nothing from outside (H1).
    """

    def __init__(self, call: ToolCall, message: str) -> None:
        self.call = call
        self.contains_external_context = False
        self.feedback = None
        self._views = FailureViews(call, message)

    def hook_payload(self, hook_kind: HookKind = HookKind.DEFAULT) -> PostToolUsePayload | None:
        return None
