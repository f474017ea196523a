"""What happens in a session, as its watchers are told (R1).

A lifecycle event proves what happened to a call; a recorder event proves that a call was
attempted; neither is what the model reads.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple, TypeAlias

from sidecall_server.domain.frames import CallDurations, CallReference
from sidecall_server.domain.outcome import CallOutcome
from sidecall_server.domain.recorder_answers import (
    RecordDisposition,
)
from sidecall_server.domain.values import ToolCall, ToolName


class SessionState(StrEnum):
    """The life of a session."""

    OPEN = "open"
    ATTACHED = "attached"
    DETACHED = "detached"
    CLOSED = "closed"


class CallStarted(NamedTuple):
    """The tool exists and takes the payload; the pre hook is next (G13)."""

    call: CallReference
    tool_name: ToolName
    cell_id: str


class CallFinished(NamedTuple):
    """At most one per call (G1)."""

    call: CallReference
    outcome: CallOutcome
    durations: CallDurations

    @classmethod
    def of(
        cls, call: CallReference, outcome: CallOutcome, durations: CallDurations
    ) -> CallFinished:
        """The event, with the beginning of the outcome's text."""
        return cls(call, outcome.brief, durations)


class CallRecorded(NamedTuple):
    """The call was attempted."""

    call: CallReference
    disposition: RecordDisposition

    @classmethod
    def of(cls, call: ToolCall, disposition: RecordDisposition) -> CallRecorded:
        """The event of a call's record."""
        return cls(CallReference(call.turn_id, call.call_id), disposition)


class CallsAttached(NamedTuple):
    """Records were attached to a prompt."""

    sampling_request_id: str
    outputs: int


class ExternalContextMarked(NamedTuple):
    """External context marked the session; at most once (H)."""

    call: CallReference


class StateChanged(NamedTuple):
    """The session moved on."""

    state: SessionState


class EventsLost(NamedTuple):
    """Events that are missing right before the next one."""

    lost: int


SessionEvent: TypeAlias = (
    CallStarted
    | CallFinished
    | CallRecorded
    | CallsAttached
    | ExternalContextMarked
    | StateChanged
    | EventsLost
)


class NumberedEvent(NamedTuple):
    """An event, its number in the session, and when it happened (Unix seconds)."""

    number: int
    time: float
    event: SessionEvent
