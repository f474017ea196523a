"""What a recorder answers: what became of a record, what a prompt carries, what it lost."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from sidecall_server.domain.budget import Calls
from sidecall_server.domain.executed_call import executed_calls_json

MAX_WRITTEN_FACTOR = 2
"""An item that is kept as it was written, in two forms at once, takes at most so many times its
metadata."""


class RecordDisposition(StrEnum):
    """What became of a record; one to one with `sidecall.v1.RecordDisposition`."""

    RECORDED = "recorded"
    """Kept with its arguments."""
    MARKED = "marked"
    """Kept as a marker, or to be attached as one: too large, or no room."""
    DROPPED = "dropped"
    """Not kept: no room."""
    SKIPPED = "skipped"
    """Code mode's own exec and wait, which are not recorded (J2)."""
    DISABLED = "disabled"
    """The recorder is off (J1); said by the session, never by the recorder."""
    DUPLICATE = "duplicate"
    """Recorded before; the first record stays (J8)."""


@dataclass(slots=True)
class AttachedItem:
    """An output that carries records: its position in the prompt, and its bytes by M0.

    One that the next prompt attaches again is the same object.
    """

    output_index: int
    calls: Calls
    metadata_bytes: int
    written: tuple[object, bytes] | None = field(default=None, compare=False, repr=False)
    """Room for whoever writes answers: the form it was last written in, and its bytes; at most
    `MAX_WRITTEN_FACTOR` times `metadata_bytes`."""

    @property
    def executed_tool_calls_json(self) -> bytes:
        """The records as one JSON array."""
        return executed_calls_json(self.calls)


class Attachment(NamedTuple):
    """Whether a prompt got records, its number, and which outputs carry them, in order."""

    attached: bool
    prompt: int
    items: tuple[AttachedItem, ...] = ()


class RecorderSizes(NamedTuple):
    """How many entries each table holds."""

    direct_calls: int
    cells: int
    output_cells: int
    retained_outputs: int
    pending_nested_calls: int


class RecorderLosses(Struct):
    """What was lost since the recorder began, per cause, in records or mappings (S4)."""

    direct_marked: int = 0
    direct_dropped: int = 0
    nested_marked: int = 0
    nested_dropped: int = 0
    cell_refused: int = 0
    mapping_refused: int = 0
    mapping_overwritten: int = 0
    arguments_truncated: int = 0
    budget_truncated: int = 0
    budget_omitted: int = 0
    retained_pruned: int = 0
    ended_turn_dropped: int = 0
    memory_marked: int = 0
