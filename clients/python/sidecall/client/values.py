"""Calls, outputs and outcomes as plain values. Times are seconds, sizes bytes of UTF-8."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

PayloadKind: TypeAlias = Literal["function", "custom", "tool_search"]
ToolMode: TypeAlias = Literal["direct", "code_mode", "code_mode_only"]
View: TypeAlias = Literal["log", "response_item", "response_item_json", "hook", "code_mode"]
HookKind: TypeAlias = Literal["default", "shell", "apply_patch", "mcp", "none"]
CancelMode: TypeAlias = Literal["abort", "wait_for_teardown"]
AbortReason: TypeAlias = Literal["cancelled", "timed_out", "session_lost", "drained", "turn_fatal"]
AbortProgress: TypeAlias = Literal[
    "not_started", "handler_interrupted", "handler_finished", "unknown"
]
TeardownState: TypeAlias = Literal["none", "done", "timed_out", "unknown"]
LifecycleFinish: TypeAlias = Literal["none", "completed", "blocked", "failed", "aborted"]
CallPhase: TypeAlias = Literal[
    "waiting_for_readiness",
    "queued",
    "pre_hook",
    "handler",
    "post_hook",
    "teardown",
    "terminal",
]
CancelDisposition: TypeAlias = Literal["accepted", "already_terminal", "unknown"]
ImageDetail: TypeAlias = Literal["auto", "low", "high", "original"]

# --- calls ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Function:
    """A function call: its arguments as the model wrote them, unparsed."""

    arguments: str
    kind: PayloadKind = field(default="function", init=False)


@dataclass(frozen=True, slots=True)
class Custom:
    """A free-form call."""

    input: str
    kind: PayloadKind = field(default="custom", init=False)


@dataclass(frozen=True, slots=True)
class ToolSearch:
    """A search among tools."""

    query: str
    limit: int | None = None
    kind: PayloadKind = field(default="tool_search", init=False)


Payload: TypeAlias = Function | Custom | ToolSearch


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool.

    Args:
        call_id: the provider's id; not empty.
        name: the tool's name.
        payload: what it is called with.
        turn_id: the turn; a call that is dispatched must have one.
        namespace: None: the tool has no namespace.
        cell_id: the code-mode cell of a script's call; None: the model made it.
        runtime_tool_call_id: the script runtime's own id; carried along.
        plaintext_message: the call was found in a plain-text message.
    """

    call_id: str
    name: str
    payload: Payload
    turn_id: str = ""
    namespace: str | None = None
    cell_id: str | None = None
    runtime_tool_call_id: str = ""
    plaintext_message: bool = False


@dataclass(frozen=True, slots=True)
class CallReference:
    """Names one call of a session."""

    turn_id: str
    call_id: str


# --- outputs --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Text:
    """Text for the model."""

    text: str | bytes


@dataclass(frozen=True, slots=True)
class Image:
    """An image for the model: a URL or a data URL."""

    image_url: str
    detail: ImageDetail | None = None


@dataclass(frozen=True, slots=True)
class Audio:
    """Sound for the model: a URL or a data URL."""

    audio_url: str


@dataclass(frozen=True, slots=True)
class Encrypted:
    """Content that only the provider can read."""

    encrypted_content: str


ContentItem: TypeAlias = Text | Image | Audio | Encrypted


@dataclass(frozen=True, slots=True)
class Bytes:
    """A truncation policy: bytes."""

    limit: int


@dataclass(frozen=True, slots=True)
class Tokens:
    """A truncation policy: tokens, four bytes each."""

    limit: int


TruncationPolicy: TypeAlias = Bytes | Tokens

DEFAULT_POLICY: TruncationPolicy = Tokens(10_000)


@dataclass(frozen=True, slots=True)
class FunctionOutput:
    """The output of an ordinary tool. `success` None: not said."""

    content: str | bytes | Sequence[ContentItem]
    success: bool | None = True
    post_tool_use_response_json: str | None = None
    contains_external_context: bool = False


@dataclass(frozen=True, slots=True)
class JsonOutput:
    """A value, as JSON text. `JsonOutput.of(value)` writes it."""

    value_json: str
    success: bool | None = True
    contains_external_context: bool = False

    @classmethod
    def of(cls, value: Any, *, success: bool | None = True) -> JsonOutput:
        """The output for any value that `json` can write."""
        return cls(json.dumps(value, ensure_ascii=False), success)


@dataclass(frozen=True, slots=True)
class McpOutput:
    """The result of an MCP call, shown with its wall time and truncated."""

    result_json: str
    tool_input_json: str = "{}"
    wall_time_seconds: float = 0.0
    original_image_detail_supported: bool = False
    truncation_policy: TruncationPolicy = DEFAULT_POLICY
    contains_external_context: bool = False


@dataclass(frozen=True, slots=True)
class McpRawOutput:
    """The result of an MCP call, as it is."""

    result_json: str
    contains_external_context: bool = False


@dataclass(frozen=True, slots=True)
class ToolSearchOutput:
    """The tools found, each as JSON text."""

    tools_json: Sequence[str]
    contains_external_context: bool = False


@dataclass(frozen=True, slots=True)
class ApplyPatchOutput:
    """The output of the patch tool."""

    text: str
    contains_external_context: bool = False


@dataclass(frozen=True, slots=True)
class AbortedOutput:
    """A cancelled call, for agents that arbitrate by themselves."""

    message: str
    contains_external_context: bool = False


@dataclass(frozen=True, slots=True)
class ExecCommandOutput:
    """The output of a command, as collected; see `sidecall.client.HeadTailBuffer`."""

    output: bytes
    exit_code: int | None = None
    wall_time_seconds: float = 0.0
    truncation_policy: TruncationPolicy = DEFAULT_POLICY
    max_output_tokens: int | None = None
    event_call_id: str = ""
    chunk_id: str = ""
    process_id: int | None = None
    original_token_count: int | None = None
    output_omitted_bytes: int | None = None
    hook_command: str | None = None
    contains_external_context: bool = False


ToolOutput: TypeAlias = (
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
class HookPayload:
    """What a hook gets to see. `tool_response_json` None: the handler has not run."""

    tool_name: str
    matcher_aliases: tuple[str, ...]
    tool_use_id: str
    tool_input_json: str
    tool_response_json: str | None = None


@dataclass(frozen=True, slots=True)
class Projections:
    """The views of one output; one that was not asked for is None."""

    success_for_logging: bool
    response_success: bool | None = None
    log_preview: str | None = None
    response_item_json: str | None = None
    hook: HookPayload | None = None
    code_mode_json: str | None = None
    contains_external_context: bool = False

    @property
    def response_item(self) -> Any:
        """The response item, parsed: for the next model request."""
        return None if self.response_item_json is None else json.loads(self.response_item_json)


# --- sessions and the recorder --------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """What a session says about itself; None: the server's default."""

    recorder_enabled: bool | None = None
    model_tool_mode: ToolMode | None = None
    code_mode_feature: bool = False
    code_mode_only_feature: bool = False
    code_mode_available: bool | None = None
    code_mode_fallback_disabled: bool = False
    post_hook_block: Literal["replace_output", "reject_result"] | None = None
    mark_external_context: bool | None = None
    direct_views: Sequence[View] | None = None
    nested_views: Sequence[View] | None = None
    display_name: str = ""


@dataclass(frozen=True, slots=True)
class TurnOptions:
    """What one turn says differently from its session."""

    recorder_enabled: bool | None = None
    model_tool_mode: ToolMode | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """A session. The sizes and losses are those of its recorder, by name."""

    session_id: str
    state: str
    effective_tool_mode: ToolMode
    open_calls: int
    terminal_calls: int
    external_context_marked: bool
    hooks_failed_open: int
    late_results: int
    recorder_sizes: Mapping[str, int]
    recorder_losses: Mapping[str, int]
    resume_token: str = ""


@dataclass(frozen=True, slots=True)
class PromptOutput:
    """One output of a prompt, without its content."""

    kind: PayloadKind
    call_id: str | None = None
    turn_id: str | None = None
    item_id: str | None = None


@dataclass(frozen=True, slots=True)
class AttachedToolCalls:
    """The records of one output: the value of its metadata key `executed_tool_calls`."""

    output_index: int
    executed_tool_calls_json: str
    metadata_bytes: int

    @property
    def executed_tool_calls(self) -> Any:
        """The records, parsed."""
        return json.loads(self.executed_tool_calls_json)


@dataclass(frozen=True, slots=True)
class Attachment:
    """The records of a prompt. `prompt_token` names it, as the base of the next one."""

    attached: bool
    outputs: tuple[AttachedToolCalls, ...]
    recorder_sizes: Mapping[str, int]
    prompt_token: bytes = field(default=b"", compare=False)


@dataclass(frozen=True, slots=True)
class PromptBase:
    """The session's last prompt, of which the first outputs stay."""

    prompt_token: bytes
    kept_outputs: int


# --- outcomes -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Completed:
    """The handler returned."""

    success: bool


@dataclass(frozen=True, slots=True)
class ModelFailure:
    """The call failed with a text that the model, or the script, may read."""

    message: str


@dataclass(frozen=True, slots=True)
class FatalFailure:
    """The call failed and its turn is over."""

    message: str


@dataclass(frozen=True, slots=True)
class Aborted:
    """The call was aborted."""

    reason: AbortReason
    progress: AbortProgress
    teardown: TeardownState
    message: str


Outcome: TypeAlias = Completed | ModelFailure | FatalFailure | Aborted


@dataclass(frozen=True, slots=True)
class CallResult:
    """How a call ended, and who reads what of it. Durations None: it did not get there."""

    call: CallReference
    dispatch_order: int
    outcome: Outcome
    lifecycle: LifecycleFinish
    handler_executed: bool
    projections: Projections | None
    additional_contexts: tuple[str, ...]
    dispatch_seconds: float | None
    handler_seconds: float | None
    total_seconds: float | None

    @property
    def response_item(self) -> Any:
        """The response item of a direct call, parsed; None after a fatal failure."""
        return None if self.projections is None else self.projections.response_item


@dataclass(frozen=True, slots=True)
class ToolCallStatus:
    """One call as an operator sees it: how it stands, or ended. `outcome` None: it is open."""

    call: CallReference
    dispatch_order: int
    phase: CallPhase
    outcome: Outcome | None
    projections: Projections | None
