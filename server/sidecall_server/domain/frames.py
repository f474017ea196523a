"""The frames of a stream as plain values; ``wire/codec.py`` maps them to protobuf.

Client frames hold values that the domain has validated. Server frames hold what is to be
said; texts are Unicode, times are seconds. See ``runtime_stream.proto`` for what each
frame means.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from msgspec import Struct

from sidecall_server.domain.call_state import Phase
from sidecall_server.domain.declarations import HookDeclaration, HookPoint, ToolDeclaration
from sidecall_server.domain.errors import FieldViolation, Reason
from sidecall_server.domain.failure import AbortReason
from sidecall_server.domain.hooks import HookKind
from sidecall_server.domain.outcome import CallOutcome
from sidecall_server.domain.outputs import ToolOutput
from sidecall_server.domain.projection import FailureProjection, Projection
from sidecall_server.domain.session_options import SessionOptions, TurnOptions, View
from sidecall_server.domain.values import ToolCall, ToolMode, ToolName

# --- shared ---------------------------------------------------------------------------


class CallReference(NamedTuple):
    """Names one call of a session (S2)."""

    turn_id: str
    call_id: str


class CallDurations(Struct, frozen=True):
    """Where a call's time went, seconds; None: it did not get there."""

    dispatch: float | None
    handler: float | None
    total: float | None


class CancelDisposition(StrEnum):
    """What a cancel did to a call. Never an error."""

    ACCEPTED = "accepted"
    ALREADY_TERMINAL = "already_terminal"
    UNKNOWN = "unknown"


class CancelledCall(NamedTuple):
    """A call and what the cancel did to it."""

    call: CallReference
    disposition: CancelDisposition


class CancelTarget(Struct, frozen=True):
    """Which calls: those named, a turn's, or (both None) all open ones."""

    calls: tuple[CallReference, ...] | None = None
    turn_id: str | None = None


class Heartbeat(Struct, frozen=True):
    """I am here."""


class Envelope(Struct, frozen=True):
    """A message whose frames are still bytes."""

    sequence: int
    acknowledged: int
    frames: Sequence[bytes]


class Chunk(NamedTuple):
    """A piece of a serialised frame of `size_bytes` in all."""

    transfer_id: int
    size_bytes: int
    data: bytes


# --- from the client ------------------------------------------------------------------


class Hello(Struct, frozen=True):
    """Opens or resumes."""

    protocol_versions: tuple[int, ...]
    session_id: str
    resume_token: str
    last_sequence_received: int
    options: SessionOptions
    tools: tuple[ToolDeclaration, ...]
    hooks: tuple[HookDeclaration, ...]
    client_name: str


class UpdateTools(Struct, frozen=True):
    """Changes what is declared. `hooks` None: no change."""

    upsert: tuple[ToolDeclaration, ...]
    remove: tuple[ToolName, ...]
    hooks: tuple[HookDeclaration, ...] | None


class DispatchCall(Struct, frozen=True):
    """Submits a call. `views` None: those of the session. `size_bytes` of the frame."""

    call: ToolCall
    turn_options: TurnOptions | None
    views: tuple[View, ...] | None
    timeout_seconds: float | None
    traceparent: str
    size_bytes: int


class RespondToModel(Struct, frozen=True):
    """The handler's error that the model may read."""

    message: str


class FatalError(Struct, frozen=True):
    """The handler's error that ends the turn."""

    message: str


class UnhandledError(Struct, frozen=True):
    """The handler broke (G7)."""

    message: str


class HandlerResult(Struct, frozen=True):
    """Answers an invocation. `size_bytes` of the frame."""

    invocation_token: bytes
    result: ToolOutput | RespondToModel | FatalError | UnhandledError
    size_bytes: int


class Proceed(Struct, frozen=True):
    """Go on unchanged."""


class Rewrite(Struct, frozen=True):
    """Go on with other arguments, JSON text."""

    input_json: str


class Block(Struct, frozen=True):
    """Stop."""

    reason: str


class Feedback(Struct, frozen=True):
    """Show the model this in place of the output."""

    message: str


class HookFailed(Struct, frozen=True):
    """The hooks failed, or answered with something unusable."""

    message: str


Verdict: TypeAlias = Proceed | Rewrite | Block | Feedback | HookFailed


class HookVerdict(Struct, frozen=True):
    """Answers a hook invocation. `size_bytes` of the frame."""

    hook_token: bytes
    verdict: Verdict
    additional_contexts: tuple[str, ...]
    size_bytes: int = 0


class CancelCalls(Struct, frozen=True):
    """Cancels calls."""

    cancel_id: int
    target: CancelTarget


class TeardownComplete(Struct, frozen=True):
    """A cancelled handler has torn down."""

    invocation_token: bytes


class RegisterCell(Struct, frozen=True):
    """Which output carries the records of a cell (K)."""

    cell_id: str
    output_call: CallReference


class EndTurn(Struct, frozen=True):
    """Ends a turn (S3)."""

    turn_id: str


class Detach(Struct, frozen=True):
    """I leave."""

    close_session: bool


ClientFrame: TypeAlias = (
    Hello
    | UpdateTools
    | DispatchCall
    | HandlerResult
    | HookVerdict
    | CancelCalls
    | TeardownComplete
    | RegisterCell
    | EndTurn
    | Heartbeat
    | Detach
)

# --- from the server ------------------------------------------------------------------


class ResumeOutcome(StrEnum):
    """How an attachment began."""

    NEW = "new"
    RESUMED = "resumed"
    GAP = "gap"


class Welcome(Struct, frozen=True):
    """Answers Hello. Limits that do not change with the session are added by the wire."""

    protocol_version: int
    session_id: str
    resume_token: str
    resume_outcome: ResumeOutcome
    last_sequence_received: int
    next_sequence: int
    effective_tool_mode: ToolMode


class CallAccepted(Struct, frozen=True):
    """The call is taken, and waits or was known."""

    call: CallReference
    dispatch_order: int
    phase: Phase
    duplicate: bool


class HookView(Struct, frozen=True):
    """What a hook gets to see (F4, F5)."""

    tool_name: str
    matcher_aliases: tuple[str, ...]
    tool_use_id: str
    tool_input_json: str
    tool_response_json: str | None


class InvokeHook(Struct, frozen=True):
    """Run your hooks."""

    hook_token: bytes
    call: CallReference
    point: HookPoint
    payload: HookView
    timeout_seconds: float


class InvokeHandler(Struct, frozen=True):
    """Run the handler."""

    invocation_token: bytes
    call: ToolCall
    rewritten: bool
    dispatch_order: int


class AbortHandler(Struct, frozen=True):
    """Stop a handler or hook."""

    token: bytes
    call: CallReference
    reason: AbortReason
    wait_for_teardown: bool
    teardown_timeout_seconds: float


class CallCompleted(Struct, frozen=True):
    """The call has ended. `projection` None: no views."""

    call: CallReference
    dispatch_order: int
    outcome: CallOutcome
    projection: Projection | FailureProjection | None
    views: tuple[View, ...]
    hook_kind: HookKind
    additional_contexts: tuple[str, ...]
    durations: CallDurations


class CancelResult(Struct, frozen=True):
    """Answers CancelCalls."""

    cancel_id: int
    calls: tuple[CancelledCall, ...]


class Drain(Struct, frozen=True):
    """The server shuts down."""

    seconds_left: float


class FrameError(Struct, frozen=True):
    """A frame (or, with `frame_index` None, a message) was refused."""

    sequence: int
    frame_index: int | None
    reason: Reason
    message: str
    field_violations: tuple[FieldViolation, ...]
    call: CallReference | None


ServerFrame: TypeAlias = (
    Welcome
    | CallAccepted
    | InvokeHook
    | InvokeHandler
    | AbortHandler
    | CallCompleted
    | CancelResult
    | Drain
    | Heartbeat
    | FrameError
)
