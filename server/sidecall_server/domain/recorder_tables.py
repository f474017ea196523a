"""What a recorder holds, table by table: pending calls, cells, and what was attached.

Each table keeps its own order, its size in bytes and the marks that the end of a turn sets
(SPEC S3). Limits and losses are the recorder's business, not theirs. Bytes are those of the
records as JSON; Python's own overhead comes on top.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from sidecall_server.domain.executed_call import ExecutedCall, list_bytes
from sidecall_server.domain.limits import MAX_RETRY_CACHES
from sidecall_server.domain.values import PayloadKind

OutputKey: TypeAlias = tuple[PayloadKind, str, str | None]
"""An output's kind, call id and, where the agent gives it, item id (L2, S2)."""


class _DirectCall:
    __slots__ = ("ended", "record")

    def __init__(self, record: ExecutedCall) -> None:
        self.record = record
        self.ended = False


class DirectCalls:
    """Pending records of direct calls, by turn and call id; those of one call id stack (S2)."""

    def __init__(self) -> None:
        self.held_bytes = 0
        self._calls: dict[tuple[str, str], _DirectCall] = {}
        self._turns: dict[str, list[str]] = {}
        self._ended = 0

    def __len__(self) -> int:
        return len(self._calls)

    def __contains__(self, reference: tuple[str, str]) -> bool:
        return reference in self._calls

    @property
    def call_ids(self) -> Iterable[str]:
        """The call ids with a pending record."""
        return self._turns.keys()

    def add(self, turn_id: str, call_id: str, record: ExecutedCall) -> None:
        """Keep a record that is new."""
        self._calls[turn_id, call_id] = _DirectCall(record)
        self._turns.setdefault(call_id, []).append(turn_id)
        self.held_bytes += len(record.encoded)

    def take(self, call_id: str, turn_id: str | None) -> ExecutedCall | None:
        """Remove and return the record of that turn, else the newest of the call id (S2)."""
        turns = self._turns.get(call_id)
        if turns is None:
            return None
        taken_turn = turn_id if turn_id is not None and turn_id in turns else turns[-1]
        return self._remove(taken_turn, call_id)

    def end_turn(self, turn_id: str) -> None:
        """Mark the turn's records."""
        for (of_turn, _), call in self._calls.items():
            if of_turn == turn_id and not call.ended:
                call.ended = True
                self._ended += 1

    def drop_oldest_ended(self) -> bool:
        """Drop the oldest marked record; False when none is marked."""
        if not self._ended:
            return False
        oldest = next(reference for reference, call in self._calls.items() if call.ended)
        self._remove(*oldest)
        return True

    def drop_ended(self) -> int:
        """Drop every marked record; returns how many."""
        if not self._ended:
            return 0
        ended = [reference for reference, call in self._calls.items() if call.ended]
        for reference in ended:
            self._remove(*reference)
        return len(ended)

    def _remove(self, turn_id: str, call_id: str) -> ExecutedCall:
        call = self._calls.pop((turn_id, call_id))
        self._ended -= call.ended
        turns = self._turns[call_id]
        turns.remove(turn_id)
        if not turns:
            del self._turns[call_id]
        self.held_bytes -= len(call.record.encoded)
        return call.record


class Cell:
    """A code-mode cell's pending records, oldest first.

    `argument_bytes` counts the arguments kept, as J9 measures them. `turn_id` is the turn that
    last touched the cell, `ended` whether that turn is over.
    """

    __slots__ = ("argument_bytes", "calls", "ended", "output_ids", "turn_id")

    def __init__(self, turn_id: str) -> None:
        self.calls: list[ExecutedCall] = []
        self.argument_bytes = 0
        self.turn_id = turn_id
        self.ended = False
        self.output_ids: set[str] = set()

    def touch(self, turn_id: str) -> None:
        """The turn uses the cell. A turn that is unknown, or was over, changes nothing."""
        if turn_id and turn_id != self.turn_id:
            self.turn_id = turn_id
            self.ended = False


class _Mapping:
    __slots__ = ("cell_id", "ended", "turn_id")

    def __init__(self, cell_id: str, turn_id: str) -> None:
        self.cell_id = cell_id
        self.turn_id = turn_id
        self.ended = False


class Cells:
    """Cells with their pending records, and the outputs that point to them (K)."""

    def __init__(self) -> None:
        self.held_bytes = 0
        self.pending_calls = 0
        self._cells: dict[str, Cell] = {}
        self._mappings: dict[str, _Mapping] = {}

    def __len__(self) -> int:
        return len(self._cells)

    def __contains__(self, cell_id: str) -> bool:
        return cell_id in self._cells

    @property
    def output_ids(self) -> Mapping[str, object]:
        """The call ids of the outputs that point to a cell."""
        return self._mappings

    def open(self, cell_id: str, turn_id: str) -> Cell:
        """The cell, made if it is missing."""
        cell = self._cells.get(cell_id)
        if cell is None:
            cell = self._cells[cell_id] = Cell(turn_id)
        cell.touch(turn_id)
        return cell

    def full_bytes(self, cell_id: str) -> int:
        """Argument bytes the cell keeps; 0 for a cell that is not there."""
        cell = self._cells.get(cell_id)
        return 0 if cell is None else cell.argument_bytes

    def add(self, cell_id: str, turn_id: str, record: ExecutedCall, argument_bytes: int) -> None:
        """Append a record to the cell, made if it is missing."""
        cell = self.open(cell_id, turn_id)
        cell.calls.append(record)
        cell.argument_bytes += argument_bytes
        self.pending_calls += 1
        self.held_bytes += len(record.encoded)

    def map_output(self, output_id: str, cell_id: str, turn_id: str) -> bool:
        """Point an output to the cell; True when it pointed to another one (K1)."""
        old = self._mappings.pop(output_id, None)
        if old is not None:
            self._cells[old.cell_id].output_ids.discard(output_id)
        self.open(cell_id, turn_id).output_ids.add(output_id)
        self._mappings[output_id] = _Mapping(cell_id, turn_id)
        return old is not None and old.cell_id != cell_id

    def take(self, output_id: str) -> list[ExecutedCall]:
        """Remove the output's cell with every mapping to it; its records (K3)."""
        mapping = self._mappings.get(output_id)
        return [] if mapping is None else self._remove(mapping.cell_id).calls

    def end_turn(self, turn_id: str) -> None:
        """Mark the turn's mappings, and the cells that it was the last to touch."""
        for mapping in self._mappings.values():
            if mapping.turn_id == turn_id:
                mapping.ended = True
        for cell in self._cells.values():
            if cell.turn_id == turn_id:
                cell.ended = True

    def drop_oldest_ended_mapping(self) -> bool:
        """Drop the oldest marked mapping; False when none is marked."""
        oldest = next((output for output, mapping in self._mappings.items() if mapping.ended), None)
        if oldest is None:
            return False
        self._unmap(oldest)
        return True

    def drop_ended_mappings(self) -> int:
        """Drop every marked mapping; returns how many. Their cells stay: they may live on."""
        ended = [output for output, mapping in self._mappings.items() if mapping.ended]
        for output_id in ended:
            self._unmap(output_id)
        return len(ended)

    def drop_oldest_ended_cell(self, *, spared: str, with_calls: bool) -> int:
        """Drop the oldest marked cell to which no live mapping points, but not `spared`.

        `with_calls`: only a cell that holds records. Returns how many records and mappings
        went, which may be none where the cell was empty.
        """
        for cell_id, cell in self._cells.items():
            if cell_id == spared or (with_calls and not cell.calls) or not self._over(cell):
                continue
            self._remove(cell_id)
            return len(cell.calls) + len(cell.output_ids)
        return 0

    def _over(self, cell: Cell) -> bool:
        return cell.ended and all(self._mappings[output].ended for output in cell.output_ids)

    def _unmap(self, output_id: str) -> None:
        mapping = self._mappings.pop(output_id)
        self._cells[mapping.cell_id].output_ids.discard(output_id)

    def _remove(self, cell_id: str) -> Cell:
        cell = self._cells.pop(cell_id)
        for output_id in cell.output_ids:
            del self._mappings[output_id]
        self.pending_calls -= len(cell.calls)
        self.held_bytes -= sum(len(call.encoded) for call in cell.calls)
        return cell


class KeptCalls:
    """The records an output carries, shared by the tables that remember it."""

    __slots__ = ("calls", "holders", "list_bytes", "oversize")

    def __init__(self, calls: tuple[ExecutedCall, ...]) -> None:
        self.calls = calls
        self.list_bytes = list_bytes(calls)
        self.oversize = any(call.oversize for call in calls)
        self.holders = 0


class KeptTable(dict[OutputKey, KeptCalls]):
    """Output -> records. Change it through `AttachedCalls` only, which counts the bytes."""

    __slots__ = ("turn_id",)

    def __init__(self, turn_id: str = "") -> None:
        super().__init__()
        self.turn_id = turn_id


class AttachedCalls:
    """What was attached: to the outputs of the last prompt, and for retries (L3, L6, L9)."""

    def __init__(self) -> None:
        self.held_bytes = 0
        self.retained = KeptTable()
        self._caches: OrderedDict[str, KeptTable] = OrderedDict()

    def cache(self, sampling_request_id: str, turn_id: str) -> KeptTable:
        """The retry cache of a sampling request, now the most recently used (L9)."""
        cache = self._caches.get(sampling_request_id)
        if cache is None:
            return KeptTable(turn_id)
        self._caches.move_to_end(sampling_request_id)
        cache.turn_id = turn_id or cache.turn_id
        return cache

    def remember_cache(self, sampling_request_id: str, cache: KeptTable) -> None:
        """Keep a cache that holds something; the least recently used one leaves (L9)."""
        if not cache or sampling_request_id in self._caches:
            return
        self._caches[sampling_request_id] = cache
        if len(self._caches) > MAX_RETRY_CACHES:
            self._clear(self._caches.popitem(last=False)[1])

    def end_turn(self, turn_id: str) -> None:
        """Forget the retry caches of the turn's sampling requests (L9)."""
        over = [request for request, cache in self._caches.items() if cache.turn_id == turn_id]
        for request in over:
            self._clear(self._caches.pop(request))

    def put(self, table: KeptTable, key: OutputKey, kept: KeptCalls) -> None:
        """Remember an output's records in a table, in place of what stood there."""
        if table.get(key) is kept:
            return
        kept.holders += 1
        if kept.holders == 1:
            self.held_bytes += kept.list_bytes
        self.remove(table, key)
        table[key] = kept

    def remove(self, table: KeptTable, key: OutputKey) -> None:
        """Forget an output in a table, if it is there."""
        kept = table.pop(key, None)
        if kept is not None:
            kept.holders -= 1
            if kept.holders == 0:
                self.held_bytes -= kept.list_bytes

    def _clear(self, table: KeptTable) -> None:
        for key in list(table):
            self.remove(table, key)
