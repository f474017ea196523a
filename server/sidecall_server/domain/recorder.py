"""The recorder of a session: what was attempted, until a prompt says it (SPEC J, K, L, S1-S6).

A record proves that a call was asked for, nothing more. Everything here is bounded, and
whatever is refused, cut or dropped is counted by its cause (S4). Not thread-safe.
"""

from __future__ import annotations

from bisect import bisect_left
from operator import attrgetter
from typing import NamedTuple

from sidecall_server.domain.budget import BoundedItem, bound
from sidecall_server.domain.executed_call import (
    ExecutedCall,
    RecordedArguments,
    Truncation,
    metadata_bytes,
    metadata_overhead_bytes,
    record_arguments,
)
from sidecall_server.domain.limits import (
    MAX_CALL_ARGUMENT_BYTES,
    MAX_CELL_OUTPUTS,
    MAX_CELLS,
    MAX_DIRECT_CALLS,
    MAX_EXECUTED_CALL_BYTES,
    MAX_NESTED_CALLS,
)
from sidecall_server.domain.outline import Outline
from sidecall_server.domain.prompt_description import Prompt, PromptOutput
from sidecall_server.domain.recorder_answers import (
    MAX_WRITTEN_FACTOR,
    AttachedItem,
    Attachment,
    RecordDisposition,
    RecorderLosses,
    RecorderSizes,
)
from sidecall_server.domain.recorder_tables import (
    AttachedCalls,
    Cells,
    DirectCalls,
    KeptCalls,
    KeptTable,
    OutputKey,
)
from sidecall_server.domain.tool_mode import EXEC_TOOL
from sidecall_server.domain.values import CodeMode, Direct, PayloadKind, ToolCall, ToolMode

WAIT_TOOL = "wait"

_WRAPPERS = {(EXEC_TOOL, PayloadKind.CUSTOM), (WAIT_TOOL, PayloadKind.FUNCTION)}


class _Selected(NamedTuple):
    output_index: int
    key: OutputKey
    has_turn_id: bool
    kept: KeptCalls
    size_bytes: int
    item: AttachedItem


_index_of = attrgetter("output_index")


class _Selection:
    """What a prompt selects, in its order."""

    __slots__ = ("entries", "items", "size_bytes")

    def __init__(self, entries: list[_Selected]) -> None:
        self.entries = entries
        self.items = tuple([entry.item for entry in entries])
        self.size_bytes = sum([entry.size_bytes for entry in entries])


class Recorder:
    """Records calls, and attaches the records to the outputs of the next prompts."""

    def __init__(self) -> None:
        self.losses = RecorderLosses()
        self._direct = DirectCalls()
        self._cells = Cells()
        self._attached = AttachedCalls()
        self.outline = Outline()
        """The last prompt."""
        self._selection = _Selection([])
        self._emptied: set[OutputKey] = set()
        self._emptied_by = ""

    @property
    def held_bytes(self) -> int:
        """JSON bytes of all records held: an upper bound, as tables may share a record."""
        return self._direct.held_bytes + self._cells.held_bytes + self._attached.held_bytes

    @property
    def prompt_bytes(self) -> int:
        """What the last prompt takes: its description, and what was written of its records."""
        return self.outline.held_bytes + MAX_WRITTEN_FACTOR * self._selection.size_bytes

    def sizes(self) -> RecorderSizes:
        """How full the tables are."""
        return RecorderSizes(
            direct_calls=len(self._direct),
            cells=len(self._cells),
            output_cells=len(self._cells.output_ids),
            retained_outputs=len(self._attached.retained),
            pending_nested_calls=self._cells.pending_calls,
        )

    def record(
        self, call: ToolCall, tool_mode: ToolMode, *, allowance_bytes: int | None = None
    ) -> RecordDisposition:
        """Record that a call is attempted (J).

        `allowance_bytes`: bytes the record may take; above that it keeps only its name and
        its size. None: no such limit.
        """
        self._emptied.clear()
        if isinstance(call.source, CodeMode):
            return self._record_nested(call, call.source.cell_id, allowance_bytes)
        if _is_wrapper(call, tool_mode):
            return RecordDisposition.SKIPPED
        return self._record_direct(call, allowance_bytes)

    def register_cell(self, cell_id: str, output_call_id: str, turn_id: str = "") -> bool:
        """Say which output carries a cell's records; False: no room, counted (K1).

        An empty `turn_id`: not known; the end of a turn leaves the mapping alone (S3).
        """
        cells = self._cells
        self._emptied.clear()
        if cell_id not in cells and not self._has_cell_slot(cell_id):
            self.losses.cell_refused += 1
            return False
        if output_call_id not in cells.output_ids and not self._has_mapping_slot():
            self.losses.mapping_refused += 1
            return False
        self.losses.mapping_overwritten += cells.map_output(output_call_id, cell_id, turn_id)
        return True

    def end_turn(self, turn_id: str) -> None:
        """End a turn (S3): what it leaves pending binds in the next attach or is dropped.

        Its retry caches go at once (L9). An empty id names no turn: nothing happens.
        """
        if turn_id:
            self._direct.end_turn(turn_id)
            self._cells.end_turn(turn_id)
            self._attached.end_turn(turn_id)

    def attach(self, prompt: Prompt, sampling_request_id: str, turn_id: str = "") -> Attachment:
        """Attach records to the outputs of a prompt (L).

        Call it for each try of each sampling request; a retry gets the same records (S1).
        `turn_id` is the turn the sampling request belongs to; empty: not known.

        Raises:
            DomainError: the base cannot be used; nothing has changed.
        """
        kept_outputs = self.outline.take(prompt)
        if sampling_request_id != self._emptied_by:
            self._emptied.clear()
            self._emptied_by = sampling_request_id
        cache = self._attached.cache(sampling_request_id, turn_id)
        selection = self._select(cache, kept_outputs)
        if selection.size_bytes > MAX_EXECUTED_CALL_BYTES:
            selection = self._bound(selection, cache)
        self._selection = self._retained_of(selection) if cache else selection
        self._attached.remember_cache(sampling_request_id, cache)
        self.losses.ended_turn_dropped += self._direct.drop_ended()
        self.losses.ended_turn_dropped += self._cells.drop_ended_mappings()
        return Attachment(bool(selection.items), self.outline.prompt, selection.items)

    # --- recording --------------------------------------------------------------------

    def _record_direct(self, call: ToolCall, allowance_bytes: int | None) -> RecordDisposition:
        direct = self._direct
        if (call.turn_id, call.call_id) in direct:
            return RecordDisposition.DUPLICATE
        while len(direct) >= MAX_DIRECT_CALLS and direct.drop_oldest_ended():
            self.losses.ended_turn_dropped += 1
        if len(direct) > MAX_DIRECT_CALLS:
            self.losses.direct_dropped += 1
            return RecordDisposition.DROPPED
        name, arguments = call.tool_name.recorder_name, record_arguments(call.payload)
        if len(direct) == MAX_DIRECT_CALLS:
            self.losses.direct_marked += 1
            record = _marker(name, arguments, 0)
        elif arguments.original_bytes > MAX_CALL_ARGUMENT_BYTES:
            self.losses.arguments_truncated += 1
            record = _marker(name, arguments, MAX_CALL_ARGUMENT_BYTES)
        else:
            record = self._raw(name, arguments, allowance_bytes)
        direct.add(call.turn_id, call.call_id, record)
        return _disposition(record)

    def _record_nested(
        self, call: ToolCall, cell_id: str, allowance_bytes: int | None
    ) -> RecordDisposition:
        has_room = self._has_nested_slot(cell_id)
        if not has_room or (cell_id not in self._cells and not self._has_cell_slot(cell_id)):
            self.losses.nested_dropped += 1
            return RecordDisposition.DROPPED
        name, arguments = call.tool_name.recorder_name, record_arguments(call.payload)
        left_bytes = MAX_EXECUTED_CALL_BYTES - self._cells.full_bytes(cell_id)
        max_bytes = min(MAX_CALL_ARGUMENT_BYTES, left_bytes)
        kept_bytes = 0
        if self._cells.pending_calls == MAX_NESTED_CALLS:
            self.losses.nested_marked += 1
            record = _marker(name, arguments, 0)
        elif arguments.original_bytes > max_bytes:
            if arguments.original_bytes > MAX_CALL_ARGUMENT_BYTES:
                self.losses.arguments_truncated += 1
            else:
                self.losses.nested_marked += 1
            record = _marker(name, arguments, max_bytes)
        else:
            record = self._raw(name, arguments, allowance_bytes)
            if record.truncation is None:
                kept_bytes = arguments.original_bytes
        self._cells.add(cell_id, call.turn_id, record, kept_bytes)
        return _disposition(record)

    def _raw(
        self, name: str, arguments: RecordedArguments, allowance_bytes: int | None
    ) -> ExecutedCall:
        record = ExecutedCall.raw(name, arguments.json)
        if allowance_bytes is not None and len(record.encoded) > allowance_bytes:
            self.losses.memory_marked += 1
            return _marker(name, arguments, 0)
        self.losses.arguments_truncated += record.oversize
        return record

    def _has_nested_slot(self, cell_id: str) -> bool:
        cells = self._cells
        while cells.pending_calls >= MAX_NESTED_CALLS:
            dropped = cells.drop_oldest_ended_cell(spared=cell_id, with_calls=True)
            if not dropped:
                break
            self.losses.ended_turn_dropped += dropped
        return cells.pending_calls <= MAX_NESTED_CALLS

    def _has_cell_slot(self, cell_id: str) -> bool:
        if len(self._cells) >= MAX_CELLS:
            dropped = self._cells.drop_oldest_ended_cell(spared=cell_id, with_calls=False)
            self.losses.ended_turn_dropped += dropped
        return len(self._cells) < MAX_CELLS

    def _has_mapping_slot(self) -> bool:
        if len(self._cells.output_ids) < MAX_CELL_OUTPUTS:
            return True
        dropped = self._cells.drop_oldest_ended_mapping()
        self.losses.ended_turn_dropped += dropped
        return dropped

    # --- attaching --------------------------------------------------------------------

    def _settled(self, cache: KeptTable, kept_outputs: int) -> _Selection:
        """What the last prompt selected and this one selects again, without looking for it.

        That is each output that stayed where it was, if none of the same key came behind, and
        the request has no records for it in its cache.
        """
        entries, retained = self._selection.entries, self._attached.retained
        settled = bisect_left(entries, kept_outputs, key=_index_of)
        elsewhere = set[object](cache)
        if settled:
            new = self.outline.after(kept_outputs)
            elsewhere.update([key for key in map(_key, new) if key in retained])
        if settled == len(entries) and not elsewhere:
            return self._selection
        return _Selection([entry for entry in entries[:settled] if entry.key not in elsewhere])

    def _select(self, cache: KeptTable, kept_outputs: int) -> _Selection:
        """Find each output's records, the last output first; the result is in order (L2-L6).

        `kept_outputs`: how many outputs the last prompt began with too.
        """
        direct, cells, attached = self._direct, self._cells, self._attached
        retained = attached.retained
        settled = self._settled(cache, kept_outputs)
        cached_left, retained_left = set(cache), set[OutputKey]()
        if len(settled.entries) < len(retained):
            retained_left = set(retained).difference([entry.key for entry in settled.entries])
        wanted = {call_id for _, call_id, _ in cached_left}
        wanted.update(call_id for _, call_id, _ in retained_left)
        wanted.update(direct.call_ids, cells.output_ids)
        found: list[_Selected] = []
        for index in self.outline.positions_of(wanted) if wanted else ():
            output = self.outline[index]
            key = _key(output)
            kept: KeptCalls | None = None
            if key in cache:
                if key in cached_left:
                    kept = cache[key]
                    cached_left.remove(key)
                    retained_left.discard(key)
            elif key in retained:
                if key in retained_left:
                    kept = retained[key]
                    retained_left.remove(key)
            elif key not in self._emptied:
                kept = self._take_fresh(key[1], output.turn_id)
                if kept is not None:
                    attached.put(cache, key, kept)
                    attached.put(retained, key, kept)
            if kept is not None:
                found.append(_carrying(index, key, output.turn_id is not None, kept))
            if not (cached_left or retained_left or len(direct) or cells.output_ids):
                break
        for key in retained_left:
            self.losses.retained_pruned += len(retained[key].calls)
            attached.remove(retained, key)
        if not found:
            return settled
        return _Selection(sorted([*settled.entries, *found], key=_index_of))

    def _retained_of(self, selection: _Selection) -> _Selection:
        """What a new request would be given too; the rest comes from a cache alone."""
        retained, entries = self._attached.retained, selection.entries
        held = [entry for entry in entries if retained.get(entry.key) is entry.kept]
        return selection if len(held) == len(entries) else _Selection(held)

    def _take_fresh(self, call_id: str, turn_id: str | None) -> KeptCalls | None:
        direct = self._direct.take(call_id, turn_id)
        nested = self._cells.take(call_id)
        if direct is None and not nested:
            return None
        return KeptCalls((*(() if direct is None else (direct,)), *nested))

    def _bound(self, selection: _Selection, cache: KeptTable) -> _Selection:
        """Bring the prompt within its budget, and remember what the outputs now carry (L7, S1).

        An output left without records must not take another record that waits for its call id
        on the retry, so its key is remembered until something else happens.
        """
        attached, retained = self._attached, self._attached.retained
        bounded = bound(
            [BoundedItem(entry.kept.calls, entry.has_turn_id) for entry in selection.entries],
            prioritize_recent=True,
        )
        self.losses.budget_truncated += bounded.truncated_calls
        self.losses.budget_omitted += bounded.omitted_calls
        remaining: list[_Selected] = []
        for entry, calls in zip(selection.entries, bounded.items, strict=True):
            if calls:
                if calls != entry.kept.calls:
                    kept = KeptCalls(calls)
                    entry = _carrying(entry.output_index, entry.key, entry.has_turn_id, kept)
                attached.put(cache, entry.key, entry.kept)
                attached.put(retained, entry.key, entry.kept)
                remaining.append(entry)
            else:
                attached.remove(cache, entry.key)
                attached.remove(retained, entry.key)
                self._emptied.add(entry.key)
        return _Selection(remaining)


def _is_wrapper(call: ToolCall, tool_mode: ToolMode) -> bool:
    """Code mode's own exec and wait, called directly (J2)."""
    return (
        tool_mode is not ToolMode.DIRECT
        and isinstance(call.source, Direct)
        and call.tool_name.in_default_namespace
        and (call.tool_name.name, call.payload.kind) in _WRAPPERS
    )


def _marker(name: str, arguments: RecordedArguments, max_bytes: int) -> ExecutedCall:
    return ExecutedCall.marker(name, Truncation(arguments.original_bytes, max_bytes))


def _disposition(record: ExecutedCall) -> RecordDisposition:
    if record.truncation is None and not record.oversize:
        return RecordDisposition.RECORDED
    return RecordDisposition.MARKED


def _key(output: PromptOutput) -> OutputKey:
    """What an output is known by. No record is of an empty call id, nor of none (S6, L2)."""
    return output.kind, output.call_id or "", output.item_id


def _carrying(output_index: int, key: OutputKey, has_turn_id: bool, kept: KeptCalls) -> _Selected:
    size_bytes = kept.list_bytes + metadata_overhead_bytes(has_turn_id)
    item = AttachedItem(output_index, kept.calls, size_bytes)
    if kept.oversize:  # a call above its own limit goes as a marker (L8, M1)
        bounded = bound([BoundedItem(kept.calls, has_turn_id)], prioritize_recent=False)
        item.calls = bounded.items[0]
        item.metadata_bytes = metadata_bytes(item.calls, has_turn_id)
    return _Selected(output_index, key, has_turn_id, kept, size_bytes, item)
