"""Where a dispatched call stands, what happens to it, and what is then to be done.

The values of `call_machine`, which says how they follow from each other.
"""

from __future__ import annotations

from enum import StrEnum, auto
from typing import TypeAlias

from msgspec import Struct

from sidecall_server.domain.declarations import ToolDeclaration
from sidecall_server.domain.failure import AbortReason
from sidecall_server.domain.outcome import Aborted, CallOutcome
from sidecall_server.domain.values import ToolCall, ToolPayload


class Phase(StrEnum):
    """Where a call stands."""

    READINESS = auto()
    QUEUED = auto()
    PRE_HOOK = auto()
    INVOKING = auto()
    """The handler is to be invoked; its frame is not written yet."""
    HANDLER = auto()
    POST_HOOK = auto()
    TEARDOWN = auto()
    """Cancelled; the handler, or the post hook, is being waited for."""
    TERMINAL = auto()


class Effect(StrEnum):
    """What the runtime has to do, in order."""

    AWAIT_READINESS = auto()
    ENTER_GATE = auto()
    EMIT_STARTED = auto()
    ASK_PRE_HOOK = auto()
    INVOKE = auto()
    """Queue the frame that invokes the handler; `InvocationWritten` follows."""
    WITHDRAW = auto()
    """Take that frame back, it is not written yet."""
    ASK_POST_HOOK = auto()
    ABORT_WORK = auto()
    """Tell the agent that the running handler or hook is no longer wanted."""
    START_TEARDOWN_TIMER = auto()
    LEAVE_GATE = auto()
    """Leave the queue or release the gate."""
    COMPLETE = auto()
    """Send the terminal frame and, unless the lifecycle is NONE, the finish event."""
    END_TURN = auto()
    """Abort the other calls of the turn; it takes no new ones (R5)."""
    COUNT_LATE = auto()
    """Count a result that came after the claim."""


# --- events ---------------------------------------------------------------------------


class ToolReady(Struct, frozen=True):
    """The tool can run now, or was taken away."""


class GateEntered(Struct, frozen=True):
    """The call holds the gate. `tool` is the declaration at this moment; None: no such tool."""

    tool: ToolDeclaration | None
    pre_hook: bool = False
    """Hooks are to hear of the call (F4)."""


class PreHookAnswered(Struct, frozen=True):
    """The pre hook's verdict in terms of the call. All empty: go on."""

    contexts: tuple[str, ...] = ()
    payload: ToolPayload | None = None
    """The rewritten payload (F7)."""
    failure: str | None = None
    """The rewrite cannot be applied (F7)."""
    blocked: str | None = None
    """The text of the block (F6)."""


class InvocationWritten(Struct, frozen=True):
    """The frame that invokes the handler went out."""


class HandlerReturned(Struct, frozen=True):
    """The handler gave an output. `post_hook`: F8 wants a post hook for it."""

    success: bool
    post_hook: bool


class HandlerFailed(Struct, frozen=True):
    """The handler gave an error that the model may read."""

    message: str


class HandlerFatal(Struct, frozen=True):
    """The handler gave an error that ends the turn."""

    message: str


class HandlerBroke(Struct, frozen=True):
    """The handler ended without an answer of its own (G7)."""

    message: str


class PostHookAnswered(Struct, frozen=True):
    """The post hook's verdict. `rejected`: the call fails with that text (F9)."""

    contexts: tuple[str, ...] = ()
    rejected: str | None = None


class CancelRequested(Struct, frozen=True):
    """Someone wants the call to end. `wait`: a teardown may be waited for."""

    reason: AbortReason
    elapsed_seconds: float
    wait: bool = True


class TeardownEnded(Struct, frozen=True):
    """The agent said so, or the time for it is over."""

    timed_out: bool


Event: TypeAlias = (
    ToolReady
    | GateEntered
    | PreHookAnswered
    | InvocationWritten
    | HandlerReturned
    | HandlerFailed
    | HandlerFatal
    | HandlerBroke
    | PostHookAnswered
    | CancelRequested
    | TeardownEnded
)

Effects: TypeAlias = tuple[Effect, ...]


class CallState(Struct, frozen=True):
    """All that the next step depends on."""

    phase: Phase
    call: ToolCall
    """As dispatched, but for a payload that a hook rewrote."""
    tool: ToolDeclaration | None = None
    success: bool = False
    """What the output says, once there is one (G1)."""
    contexts: tuple[str, ...] = ()
    """The texts of the hooks, in order (F8)."""
    claim: Aborted | None = None
    """The outcome that a cancel claimed, while the teardown is waited for."""
    outcome: CallOutcome | None = None
