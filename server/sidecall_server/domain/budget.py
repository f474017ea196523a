"""Keeping the records of a prompt within 32 KiB without losing count of them (SPEC M).

`bound` turns records into markers and drops some, so that the metadata of all items fits.
The sum of 1 + omitted calls stays what it was, and a second run changes nothing (M9).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from sidecall_server.domain.executed_call import (
    ExecutedCall,
    list_bytes,
    metadata_bytes,
    metadata_overhead_bytes,
)
from sidecall_server.domain.limits import (
    MARKER_RESERVE_BYTES,
    MAX_CALL_ARGUMENT_BYTES,
    MAX_EXECUTED_CALL_BYTES,
    MAX_FALLBACK_NAME_BYTES,
)

Calls: TypeAlias = tuple[ExecutedCall, ...]


class BoundedItem(NamedTuple):
    """An item's records; `has_turn_id` says whether its metadata carries a turn id (M0)."""

    calls: Calls
    has_turn_id: bool


class Bound(NamedTuple):
    """Each item's records after the budget, one tuple per item given, empty where none is left.

    The counts are of the budget's own doing: raw records that became markers and records
    that went; not those above the limit of one call (M1).
    """

    items: list[Calls]
    truncated_calls: int = 0
    omitted_calls: int = 0


def bound(items: Sequence[BoundedItem], *, prioritize_recent: bool) -> Bound:
    """Bound the records of a prompt.

    `prioritize_recent`: later items take what they need first; else every item gets a fair
    share (M4). Inside an item the earliest records win.
    """
    bounded = [_within_call_limit(item.calls) for item in items]
    sizes = list(map(metadata_bytes, bounded, [item.has_turn_id for item in items]))
    if sum(sizes) <= MAX_EXECUTED_CALL_BYTES:
        return Bound(bounded)

    order = [index for index, calls in enumerate(bounded) if calls]
    if prioritize_recent:
        order.reverse()
    fallback_index = order[0]
    fallback = bounded[fallback_index][0]

    remaining_bytes = MAX_EXECUTED_CALL_BYTES - MARKER_RESERVE_BYTES
    truncated = omitted = missing = 0
    for done, index in enumerate(order):
        share = remaining_bytes if prioritize_recent else remaining_bytes // (len(order) - done)
        if sizes[index] > share:
            calls, has_turn_id = bounded[index], items[index].has_turn_id
            fitting, newly_truncated = _fit(calls, share - metadata_overhead_bytes(has_turn_id))
            bounded[index] = fitting
            sizes[index] = metadata_bytes(fitting, has_turn_id)
            truncated += newly_truncated
            omitted += len(calls) - len(fitting)
            missing += _represented(calls) - _represented(fitting)
        remaining_bytes -= sizes[index]

    carrier_index = next((index for index, calls in enumerate(bounded) if calls), None)
    if carrier_index is None:
        truncated += fallback.truncation is None
        omitted -= 1
        last = fallback.cut_with_name(0, missing - 1, MAX_FALLBACK_NAME_BYTES)
        bounded[fallback_index] = (last,)
    elif missing:
        carrier, *others = bounded[carrier_index]
        truncated += carrier.truncation is None
        bounded[carrier_index] = (_carry(carrier, missing), *others)
    return Bound(bounded, truncated, omitted)


def _within_call_limit(calls: Calls) -> Calls:
    """Replace raw arguments above the limit of one call by a marker (M1)."""
    if not any(call.oversize for call in calls):
        return calls
    return tuple(call.cut(MAX_CALL_ARGUMENT_BYTES) if call.oversize else call for call in calls)


def _fit(calls: Calls, room_bytes: int) -> tuple[Calls, int]:
    """The records that fit into a list of `room_bytes`, and how many became markers (M5)."""
    kept: list[ExecutedCall] = []
    truncated = 0
    used_bytes = list_bytes(())
    for call in calls:
        comma_bytes = 1 if kept else 0
        left_bytes = room_bytes - used_bytes - comma_bytes
        fitting = call
        if len(call.encoded) > left_bytes:
            allowed_bytes = max(0, min(left_bytes, MAX_CALL_ARGUMENT_BYTES))
            fitting = call.cut(allowed_bytes, call.omitted_calls)
            if len(fitting.encoded) > left_bytes:
                continue
            truncated += call.truncation is None
        kept.append(fitting)
        used_bytes += comma_bytes + len(fitting.encoded)
    return tuple(kept), truncated


def _carry(call: ExecutedCall, missing: int) -> ExecutedCall:
    """The marker that stands for the missing calls too (M8)."""
    max_bytes = 0 if call.truncation is None else call.truncation.max_bytes
    return call.cut(max_bytes, (call.omitted_calls or 0) + missing)


def _represented(calls: Calls) -> int:
    return sum([call.represented_calls for call in calls])
