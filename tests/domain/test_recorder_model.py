"""The recorder against a naive model: lists, scans and SPEC J-L, S1-S4 read line by line."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from sidecall_server.domain.budget import BoundedItem, bound
from sidecall_server.domain.executed_call import ExecutedCall, Truncation, metadata_bytes
from sidecall_server.domain.fields import fields_of
from sidecall_server.domain.limits import MAX_EXECUTED_CALL_BYTES
from sidecall_server.domain.prompt_description import Prompt, PromptBase, PromptOutput
from sidecall_server.domain.recorder import Recorder
from sidecall_server.domain.recorder_answers import (
    RecordDisposition,
)
from sidecall_server.domain.values import (
    CodeMode,
    CustomPayload,
    Direct,
    FunctionPayload,
    PayloadKind,
    ToolCall,
    ToolMode,
    ToolName,
)

Key = tuple[PayloadKind, str, str | None]
Calls = tuple[ExecutedCall, ...]


@dataclass
class _Pending:
    turn: str
    call_id: str
    call: ExecutedCall
    ended: bool = False


@dataclass
class _Mapping:
    output: str
    cell: str
    turn: str
    ended: bool = False


@dataclass
class _Cell:
    id: str
    turn: str
    ended: bool = False
    calls: list[ExecutedCall] = field(default_factory=list)
    kept_bytes: int = 0


@dataclass
class _Cache:
    request: str
    turn: str
    entries: list[tuple[Key, Calls]] = field(default_factory=list)


def _find(entries: list[tuple[Key, Calls]], key: Key) -> Calls | None:
    return next((calls for known, calls in entries if known == key), None)


class _Model:
    """What the rules say, without a thought for speed."""

    def __init__(self) -> None:
        self.direct: list[_Pending] = []
        self.mappings: list[_Mapping] = []
        self.cells: list[_Cell] = []
        self.retained: list[tuple[Key, Calls]] = []
        self.caches: list[_Cache] = []
        self.emptied: tuple[str, list[Key]] = ("", [])
        self.losses: Counter[str] = Counter()

    def pending(self) -> int:
        return sum(len(cell.calls) for cell in self.cells)

    def cell(self, cell_id: str) -> _Cell | None:
        return next((cell for cell in self.cells if cell.id == cell_id), None)

    def record_direct(self, turn: str, call_id: str, name: str, text: str) -> str:
        self.emptied = ("", [])
        if any((one.turn, one.call_id) == (turn, call_id) for one in self.direct):
            return "duplicate"
        while len(self.direct) >= 256 and any(one.ended for one in self.direct):
            self.direct.remove(next(one for one in self.direct if one.ended))
            self.losses["ended_turn_dropped"] += 1
        if len(self.direct) > 256:
            self.losses["direct_dropped"] += 1
            return "dropped"
        if len(self.direct) == 256:
            self.losses["direct_marked"] += 1
            call = ExecutedCall.marker(name, Truncation(len(text), 0))
        elif len(text) > 8192:
            self.losses["arguments_truncated"] += 1
            call = ExecutedCall.marker(name, Truncation(len(text), 8192))
        else:
            call = self.raw(name, text)
        self.direct.append(_Pending(turn, call_id, call))
        return "recorded" if call.truncation is None and not call.oversize else "marked"

    def record_nested(self, turn: str, cell_id: str, name: str, text: str) -> str:
        self.emptied = ("", [])
        while self.pending() >= 256:
            if not self.evict_cell([one for one in self.cells if one.calls and one.id != cell_id]):
                break
        cell = self.cell(cell_id)
        if self.pending() > 256:
            self.losses["nested_dropped"] += 1
            return "dropped"
        if cell is None:
            if not self.cell_slot():
                self.losses["nested_dropped"] += 1
                return "dropped"
            cell = _Cell(cell_id, turn)
            self.cells.append(cell)
        room = min(8192, 32768 - cell.kept_bytes)
        if self.pending() == 256:
            self.losses["nested_marked"] += 1
            call = ExecutedCall.marker(name, Truncation(len(text), 0))
        elif len(text) > room:
            self.losses["arguments_truncated" if len(text) > 8192 else "nested_marked"] += 1
            call = ExecutedCall.marker(name, Truncation(len(text), room))
        else:
            call = self.raw(name, text)
            cell.kept_bytes += len(text)
        cell.calls.append(call)
        self.touch(cell, turn)
        return "recorded" if call.truncation is None and not call.oversize else "marked"

    def raw(self, name: str, text: str) -> ExecutedCall:
        try:
            stored = json.dumps(json.loads(text), separators=(",", ":"))
        except ValueError:
            stored = json.dumps(text)
        self.losses["arguments_truncated"] += len(stored) > 8192
        return ExecutedCall.raw(name, stored)

    def touch(self, cell: _Cell, turn: str) -> None:
        if turn not in ("", cell.turn):
            cell.turn, cell.ended = turn, False

    def evict_cell(self, candidates: list[_Cell]) -> bool:
        for cell in candidates:
            pointing = [one for one in self.mappings if one.cell == cell.id]
            if cell.ended and all(one.ended for one in pointing):
                self.losses["ended_turn_dropped"] += len(cell.calls) + len(pointing)
                self.remove_cell(cell)
                return True
        return False

    def remove_cell(self, cell: _Cell) -> None:
        self.cells.remove(cell)
        self.mappings = [one for one in self.mappings if one.cell != cell.id]

    def cell_slot(self) -> bool:
        return len(self.cells) < 256 or self.evict_cell(self.cells)

    def register(self, cell_id: str, output: str, turn: str) -> bool:
        self.emptied = ("", [])
        cell = self.cell(cell_id)
        if cell is None and not self.cell_slot():
            self.losses["cell_refused"] += 1
            return False
        old = next((one for one in self.mappings if one.output == output), None)
        if old is None and len(self.mappings) == 256:
            ended = next((one for one in self.mappings if one.ended), None)
            if ended is None:
                self.losses["mapping_refused"] += 1
                return False
            self.mappings.remove(ended)
            self.losses["ended_turn_dropped"] += 1
        if old is not None:
            self.mappings.remove(old)
            self.losses["mapping_overwritten"] += old.cell != cell_id
        if cell is None:
            cell = _Cell(cell_id, turn)
            self.cells.append(cell)
        self.touch(cell, turn)
        self.mappings.append(_Mapping(output, cell_id, turn))
        return True

    def end_turn(self, turn: str) -> None:
        if turn == "":
            return
        marked: list[_Pending | _Mapping | _Cell] = [*self.direct, *self.mappings, *self.cells]
        for one in marked:
            one.ended = one.ended or one.turn == turn
        self.caches = [cache for cache in self.caches if cache.turn != turn]

    def attach(
        self, outputs: list[PromptOutput], request: str, turn: str
    ) -> list[tuple[int, Calls, int]]:
        if self.emptied[0] != request:
            self.emptied = (request, [])
        cache = next((one for one in self.caches if one.request == request), None)
        if cache is None:
            cache = _Cache(request, turn)
        else:
            cache.turn = turn or cache.turn
            self.caches.remove(cache)
            self.caches.append(cache)
        if not (self.direct or self.mappings or self.retained or cache.entries):
            return []
        found = self.select(outputs, cache)
        total = sum(metadata_bytes(calls, _has_turn(output)) for _, output, _, calls in found)
        if total > 32768:
            items = [BoundedItem(calls, _has_turn(output)) for _, output, _, calls in found]
            bounded = bound(items, prioritize_recent=True)
            self.losses["budget_truncated"] += bounded.truncated_calls
            self.losses["budget_omitted"] += bounded.omitted_calls
            keys = [key for _, _, key, _ in found]
            found = [
                (*one[:3], calls) for one, calls in zip(found, bounded.items, strict=True) if calls
            ]
            carried = [(key, calls) for _, _, key, calls in found]
            self.retained = carried
            self.emptied[1].extend(key for key in keys if _find(carried, key) is None)
            others = [entry for entry in cache.entries if entry[0] not in keys]
            cache.entries = others + carried
        if cache.entries and cache not in self.caches:
            self.caches = [*self.caches, cache][-8:]
        for table in (self.direct, self.mappings):
            self.losses["ended_turn_dropped"] += sum(one.ended for one in table)
        self.direct = [one for one in self.direct if not one.ended]
        self.mappings = [one for one in self.mappings if not one.ended]
        fair = bound(
            [BoundedItem(calls, _has_turn(output)) for _, output, _, calls in found],
            prioritize_recent=False,
        ).items
        return [
            (index, calls, metadata_bytes(calls, _has_turn(output)))
            for (index, output, _, _), calls in zip(found, fair, strict=True)
        ]

    def select(
        self, outputs: list[PromptOutput], cache: _Cache
    ) -> list[tuple[int, PromptOutput, Key, Calls]]:
        cached_left = [key for key, _ in cache.entries]
        retained_left = [key for key, _ in self.retained]
        found = []
        for index, output in reversed(list(enumerate(outputs))):
            if output.call_id is None:
                continue
            key = (output.kind, output.call_id, output.item_id)
            calls = _find(cache.entries, key)
            if calls is not None:
                if key not in cached_left:
                    continue
                cached_left.remove(key)
                retained_left = [one for one in retained_left if one != key]
            elif (calls := _find(self.retained, key)) is not None:
                if key not in retained_left:
                    continue
                retained_left.remove(key)
            elif key in self.emptied[1]:
                continue
            else:
                calls = self.fresh(output.call_id, output.turn_id)
                if not calls:
                    continue
                cache.entries.append((key, calls))
                self.retained.append((key, calls))
            found.append((index, output, key, calls))
        for key, calls in self.retained:
            self.losses["retained_pruned"] += len(calls) if key in retained_left else 0
        self.retained = [entry for entry in self.retained if entry[0] not in retained_left]
        return found[::-1]

    def fresh(self, call_id: str, turn: str | None) -> Calls:
        calls: list[ExecutedCall] = []
        pending = [one for one in self.direct if one.call_id == call_id]
        if pending:
            own = [one for one in pending if one.turn == turn]
            taken = (own or pending)[-1]
            self.direct.remove(taken)
            calls.append(taken.call)
        mapping = next((one for one in self.mappings if one.output == call_id), None)
        if mapping is not None:
            cell = self.cell(mapping.cell)
            assert cell is not None
            calls += cell.calls
            self.remove_cell(cell)
        return tuple(calls)


def _has_turn(output: PromptOutput) -> bool:
    return output.turn_id is not None


_TURNS = st.sampled_from(["", "t1", "t2", "t3"])
_CALL_IDS = st.sampled_from(["a", "b", "c", "d", "o1", "o2"])
_CELLS = st.sampled_from(["x", "y", "z"])
_NAMES = st.sampled_from(["tool", "n" * 300, "\x01" * 5000])
_ARGUMENTS = st.sampled_from(
    ["{}", ' {"a":1} ', "", '"' * 5000]
    + ['"' + "x" * (size - 2) + '"' for size in (1000, 7001, 8192, 8193)]
)
_OUTPUTS = st.lists(
    st.builds(
        PromptOutput,
        st.sampled_from(PayloadKind),
        st.none() | _CALL_IDS | st.integers(0, 400).map("many{}".format),
        st.none() | _TURNS,
        st.none() | st.sampled_from(["i1", "i2"]),
    ),
    max_size=12,
)
_REQUESTS = st.integers(0, 10).map(str)
_MANY = st.sampled_from([3, 60, 200])


class RecorderMachine(RuleBasedStateMachine):
    """Any order of operations; after each, both sides hold and answer the same."""

    def __init__(self) -> None:
        super().__init__()
        self.recorder = Recorder()
        self.prompt: list[PromptOutput] = []
        self.prompt_number = 0
        self.model = _Model()
        self.made = 0

    @rule(turn=_TURNS, call_id=_CALL_IDS, name=_NAMES, arguments=_ARGUMENTS)
    def record_direct(self, turn: str, call_id: str, name: str, arguments: str) -> None:
        call = ToolCall(call_id, ToolName(name), FunctionPayload(arguments), Direct(), turn)
        expected = self.model.record_direct(turn, call_id, name, arguments)
        assert self.recorder.record(call, ToolMode.CODE_MODE) == expected

    @rule(turn=_TURNS, cell=_CELLS, name=_NAMES, arguments=_ARGUMENTS)
    def record_nested(self, turn: str, cell: str, name: str, arguments: str) -> None:
        call = ToolCall("n", ToolName(name), FunctionPayload(arguments), CodeMode(cell), turn)
        expected = self.model.record_nested(turn, cell, name, arguments)
        assert self.recorder.record(call, ToolMode.CODE_MODE) == expected

    @rule(turn=_TURNS, call_id=_CALL_IDS)
    def skip_a_wrapper(self, turn: str, call_id: str) -> None:
        call = ToolCall(call_id, ToolName("exec"), CustomPayload("1"), Direct(), turn)
        assert self.recorder.record(call, ToolMode.CODE_MODE) is RecordDisposition.SKIPPED

    @rule(turn=_TURNS, count=_MANY)
    def record_many_direct(self, turn: str, count: int) -> None:
        for _ in range(count):
            self.made += 1
            self.record_direct(turn, f"many{self.made}", "tool", "[]")

    @rule(turn=_TURNS, count=_MANY, own_cells=st.booleans())
    def record_many_nested(self, turn: str, count: int, own_cells: bool) -> None:
        for _ in range(count):
            self.made += 1
            self.record_nested(turn, f"cell{self.made}" if own_cells else "x", "tool", "[]")

    @rule(cell=_CELLS, output=_CALL_IDS, turn=_TURNS)
    def register_cell(self, cell: str, output: str, turn: str) -> None:
        expected = self.model.register(cell, output, turn)
        assert self.recorder.register_cell(cell, output, turn) is expected

    @rule(turn=_TURNS, count=_MANY, own_cells=st.booleans())
    def register_many(self, turn: str, count: int, own_cells: bool) -> None:
        for _ in range(count):
            self.made += 1
            cell = f"cell{self.made}" if own_cells else "x"
            self.register_cell(cell, f"many{self.made}", turn)

    @rule(turn=_TURNS)
    def end_turn(self, turn: str) -> None:
        self.model.end_turn(turn)
        self.recorder.end_turn(turn)

    @rule(
        outputs=_OUTPUTS,
        request=_REQUESTS,
        turn=_TURNS,
        tries=st.integers(1, 3),
        kept=st.integers(0, 8),
    )
    def attach(
        self, outputs: list[PromptOutput], request: str, turn: str, tries: int, kept: int
    ) -> None:
        """With a base, where the last prompt and this one begin alike; else as a whole."""
        expected = self.model.attach(outputs, request, turn)
        losses = fields_of(self.recorder.losses) | dict(self.model.losses)
        for _ in range(tries):
            if 0 < kept <= len(self.prompt) and self.prompt[:kept] == outputs[:kept]:
                base = PromptBase(self.prompt_number, kept)
                attachment = self.recorder.attach(Prompt(outputs[kept:], base), request, turn)
            else:
                attachment = self.recorder.attach(Prompt(outputs), request, turn)
            self.prompt, self.prompt_number = outputs, attachment.prompt
            items = [
                (item.output_index, item.calls, item.metadata_bytes) for item in attachment.items
            ]
            assert items == expected
            assert attachment.attached is bool(expected)
            assert fields_of(self.recorder.losses) == losses
        assert sum(size for _, _, size in expected) <= MAX_EXECUTED_CALL_BYTES

    @invariant()
    def hold_as_much(self) -> None:
        model = self.model
        assert self.recorder.sizes() == (
            len(model.direct),
            len(model.cells),
            len(model.mappings),
            len(model.retained),
            model.pending(),
        )

    @invariant()
    def lose_as_much(self) -> None:
        lost = {cause: count for cause, count in fields_of(self.recorder.losses).items() if count}
        assert lost == dict(+self.model.losses)

    @invariant()
    def count_the_bytes_held(self) -> None:
        model = self.model
        pending = [one.call for one in model.direct]
        pending += [call for cell in model.cells for call in cell.calls]
        pending_bytes = sum(len(call.encoded) for call in pending)
        tables = [model.retained, *(cache.entries for cache in model.caches)]
        table_bytes = [sum(_list_bytes(calls) for _, calls in table) for table in tables]
        distinct = {calls for table in tables for _, calls in table}
        held_bytes = self.recorder.held_bytes - pending_bytes
        assert sum(map(_list_bytes, distinct)) <= held_bytes <= sum(table_bytes)


def _list_bytes(calls: Calls) -> int:
    return len(b"[" + b",".join(call.encoded for call in calls) + b"]")


RecorderMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
test_the_recorder_does_what_the_rules_say = RecorderMachine.TestCase
