"""What stays of a call that has ended."""

from __future__ import annotations

from msgspec import Struct

from sidecall_server.domain.call_state import Phase
from sidecall_server.domain.frames import CallDurations, CallReference
from sidecall_server.domain.outcome import CallOutcome, Completed
from sidecall_server.domain.values import PayloadKind, ToolCall, ToolName

ENDED_CALL_BYTES = 2048
"""What an ended call takes in memory beside its texts, roughly."""


class EndedCall(Struct, frozen=True):
    """What stays of a call: what was said of it, not what it worked on."""

    reference: CallReference
    dispatch_order: int
    tool_name: ToolName
    payload_kind: PayloadKind
    cell_id: str
    outcome: CallOutcome
    started_unix: float
    lasted: CallDurations
    completed_data: bytes
    """The terminal frame as it went out."""
    fingerprint: int
    """Hash of the call as it was dispatched; another call under its ids has another."""

    @property
    def phase(self) -> Phase:
        return Phase.TERMINAL

    @property
    def held_bytes(self) -> int:
        """What it keeps in memory, roughly."""
        result = self.outcome.result
        return (
            ENDED_CALL_BYTES
            + len(self.tool_name.flat)
            + len(self.completed_data)
            + (0 if isinstance(result, Completed) else len(result.message))
        )

    def durations(self) -> CallDurations:
        """Where the time went."""
        return self.lasted

    def is_of(self, call: ToolCall) -> bool:
        """Whether this is the call, and not another under its ids."""
        return self.fingerprint == hash(call)
