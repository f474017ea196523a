"""The views of one output, each computed when it is asked for (SPEC B, R6).

A class for each kind of output; what the rules call the default is in `OutputViews`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from sidecall_server.domain.content import text_of
from sidecall_server.domain.failure import failure_response
from sidecall_server.domain.json_text import quote
from sidecall_server.domain.once import once
from sidecall_server.domain.outputs import (
    AbortedOutput,
    ApplyPatchOutput,
    FunctionOutput,
    JsonOutput,
    ToolSearchOutput,
)
from sidecall_server.domain.response_item import (
    ResponseItem,
    ToolSearchCallOutput,
    body_of,
    respond,
    respond_or_close_search,
)
from sidecall_server.domain.values import ToolCall

OutputT = TypeVar("OutputT")


class OutputViews(ABC, Generic[OutputT]):
    """What the readers of one output see: the log, the model, hooks, scripts."""

    def __init__(self, call: ToolCall, output: OutputT) -> None:
        self.call = call
        self.output = output

    @property
    @abstractmethod
    def log_text(self) -> str:
        """The text whose preview the log gets."""

    @property
    @abstractmethod
    def success_for_logging(self) -> bool:
        """Whether the call counts as a success."""

    @once
    @abstractmethod
    def response_item(self) -> ResponseItem:
        """What the model reads."""

    @property
    def hook_id(self) -> str:
        """The id that hooks hear."""
        return self.call.call_id

    @property
    def hook_input_json(self) -> str | None:
        """The input that hooks hear; None: the call's own."""
        return None

    @property
    def hook_response_json(self) -> str | None:
        """The response that hooks hear; None: what the model reads."""
        return None

    @property
    def hidden_from_hooks(self) -> bool:
        """Whether a runtime keeps the output from post hooks (C5)."""
        return False

    @property
    def code_mode_json(self) -> str:
        """What a script gets (B7)."""
        return self.response_item.to_script_json()


class FunctionViews(OutputViews[FunctionOutput]):
    """B2."""

    @property
    def log_text(self) -> str:
        return text_of(self.output.content) or ""

    @property
    def success_for_logging(self) -> bool:
        return self.output.success is not False

    @once
    def response_item(self) -> ResponseItem:
        return respond(
            self.call.payload.kind,
            self.call.call_id,
            body_of(self.output.content),
            self.output.success,
        )

    @property
    def hook_response_json(self) -> str | None:
        return self.output.post_tool_use_response_json


class JsonViews(OutputViews[JsonOutput]):
    """B3."""

    @property
    def log_text(self) -> str:
        return self.output.value_json

    @property
    def success_for_logging(self) -> bool:
        return self.output.success is not False

    @once
    def response_item(self) -> ResponseItem:
        return respond(
            self.call.payload.kind, self.call.call_id, self.output.value_json, self.output.success
        )

    @property
    def hook_response_json(self) -> str:
        return self.output.value_json

    @property
    def code_mode_json(self) -> str:
        return self.output.value_json


class ApplyPatchViews(OutputViews[ApplyPatchOutput]):
    """B4."""

    @property
    def log_text(self) -> str:
        return self.output.text

    @property
    def success_for_logging(self) -> bool:
        return True

    @once
    def response_item(self) -> ResponseItem:
        return respond(self.call.payload.kind, self.call.call_id, self.output.text, True)

    @property
    def hook_response_json(self) -> str:
        return quote(self.output.text)

    @property
    def code_mode_json(self) -> str:
        return "{}"


class ToolSearchViews(OutputViews[ToolSearchOutput]):
    """B5."""

    @property
    def log_text(self) -> str:
        return self.response_item.to_script_json()

    @property
    def success_for_logging(self) -> bool:
        return True

    @once
    def response_item(self) -> ResponseItem:
        return ToolSearchCallOutput(self.call.call_id, self.output.tools_json)


class AbortedViews(OutputViews[AbortedOutput]):
    """B6."""

    @property
    def log_text(self) -> str:
        return self.output.message

    @property
    def success_for_logging(self) -> bool:
        return False

    @once
    def response_item(self) -> ResponseItem:
        return respond_or_close_search(
            self.call.payload.kind, self.call.call_id, self.output.message, None
        )


class FailureViews(OutputViews[str]):
    """An error message in an output's place (G8)."""

    @property
    def log_text(self) -> str:
        return self.output

    @property
    def success_for_logging(self) -> bool:
        return False

    @once
    def response_item(self) -> ResponseItem:
        return failure_response(self.call, self.output)
