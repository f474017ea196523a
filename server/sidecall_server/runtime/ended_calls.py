"""Calls that have ended, kept for a while: to be read, and recognised when they come again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

from msgspec import Struct

from sidecall_server.domain.call_machine import Phase
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


class EndedCalls:
    """The ended calls of a session, bounded by their number and their bytes."""

    def __init__(self, max_calls: int, max_bytes: int) -> None:
        self._max_calls = max_calls
        self._max_bytes = max_bytes
        self._calls: OrderedDict[CallReference, EndedCall] = OrderedDict()
        self.held_bytes = 0

    def __iter__(self) -> Iterator[EndedCall]:
        """In the order in which they ended."""
        return iter(self._calls.values())

    def __contains__(self, reference: CallReference) -> bool:
        return reference in self._calls

    def get(self, reference: CallReference) -> EndedCall | None:
        """The call, if it is kept."""
        return self._calls.get(reference)

    def keep(self, call: EndedCall) -> None:
        """Keep a call; where there is no room, the oldest ones go."""
        self._calls[call.reference] = call
        self.held_bytes += call.held_bytes
        while len(self._calls) > self._max_calls or self.held_bytes > self._max_bytes:
            _, oldest = self._calls.popitem(last=False)
            self.held_bytes -= oldest.held_bytes

    def clear(self) -> None:
        """Forget them all."""
        self._calls.clear()
        self.held_bytes = 0
