"""Making a prompt whole: every call has an output, every output a call (SPEC G11, G12)."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from sidecall_server.domain.response_item import ResponseItem, respond_or_close_search
from sidecall_server.domain.values import PayloadKind

MISSING_OUTPUT_TEXT = "aborted"


class OutlineKind(StrEnum):
    """What an item of a prompt is to the other items."""

    CALL = "call"
    OUTPUT = "output"


class OutlineEntry(NamedTuple):
    """One call or output of a prompt. An empty call id: it has none."""

    kind: OutlineKind
    payload_kind: PayloadKind
    call_id: str
    server_executed: bool = False
    """A tool search that the provider runs by itself."""


class MissingOutput(NamedTuple):
    """An output to insert right after a call."""

    call_index: int
    call_id: str
    response_item: ResponseItem


class NormalisedPrompt(Struct, frozen=True):
    """What to insert and what to drop; indexes are those of the outline as it was given."""

    missing: tuple[MissingOutput, ...]
    orphan_indexes: tuple[int, ...]


def normalise_prompt(outline: Sequence[OutlineEntry]) -> NormalisedPrompt:
    """Find the calls without an output and the outputs without a call, by kind and id (G11).

    Searches that the provider executes, and those without an id, are nobody's business here
    (G12).
    """
    calls = {entry[1:3] for entry in outline if entry.kind is OutlineKind.CALL and _local(entry)}
    outputs = {entry[1:3] for entry in outline if entry.kind is OutlineKind.OUTPUT}
    missing = [
        MissingOutput(
            index,
            entry.call_id,
            respond_or_close_search(entry.payload_kind, entry.call_id, MISSING_OUTPUT_TEXT, None),
        )
        for index, entry in enumerate(outline)
        if entry.kind is OutlineKind.CALL and _local(entry) and entry[1:3] not in outputs
    ]
    orphans = [
        index
        for index, entry in enumerate(outline)
        if entry.kind is OutlineKind.OUTPUT
        and not entry.server_executed
        and entry[1:3] not in calls
    ]
    return NormalisedPrompt(tuple(missing), tuple(orphans))


def _local(entry: OutlineEntry) -> bool:
    """Whether the agent answers the call."""
    if entry.payload_kind is PayloadKind.TOOL_SEARCH:
        return not entry.server_executed and entry.call_id != ""
    return True
