"""How a call ended: the outcome its caller gets, and what the lifecycle says (R1, R3, S8)."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct

from sidecall_server.domain.failure import AbortReason
from sidecall_server.domain.fields import replace
from sidecall_server.domain.limits import MAX_EVENT_TEXT_CHARACTERS


class AbortProgress(StrEnum):
    """How far an aborted call got (S8)."""

    NOT_STARTED = "not_started"
    HANDLER_INTERRUPTED = "handler_interrupted"
    HANDLER_FINISHED = "handler_finished"
    UNKNOWN = "unknown"


class TeardownState(StrEnum):
    """What became of the teardown of an aborted call (S8)."""

    NONE = "none"
    DONE = "done"
    TIMED_OUT = "timed_out"
    UNKNOWN = "unknown"


class LifecycleFinish(StrEnum):
    """The finish event of a call; NONE: it never started, and has none (G1, F2, F3)."""

    NONE = "none"
    COMPLETED = "completed"
    BLOCKED = "blocked"
    FAILED = "failed"
    ABORTED = "aborted"


class Completed(Struct, frozen=True):
    """The handler returned. `success` is the metric's (G1)."""

    success: bool


class ModelFailure(Struct, frozen=True):
    """The call failed with a text that the model, or the script, may read (G8, G9)."""

    message: str


class Fatal(Struct, frozen=True):
    """A direct call failed in a way that ends its turn (G8, R5)."""

    message: str


class Aborted(Struct, frozen=True):
    """The call was aborted; the model or the script reads `message` (G5, R3)."""

    reason: AbortReason
    progress: AbortProgress
    teardown: TeardownState
    message: str


CallResult: TypeAlias = Completed | ModelFailure | Fatal | Aborted


class CallOutcome(Struct, frozen=True):
    """The one terminal outcome of a call (R3)."""

    result: CallResult
    lifecycle: LifecycleFinish
    handler_executed: bool

    @property
    def brief(self) -> CallOutcome:
        """The same with the beginning of its text, for those who only watch."""
        result = self.result
        if isinstance(result, Completed) or len(result.message) <= MAX_EVENT_TEXT_CHARACTERS:
            return self
        message = result.message[:MAX_EVENT_TEXT_CHARACTERS]
        return replace(self, result=replace(result, message=message))
