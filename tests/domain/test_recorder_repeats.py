"""What prompts repeat is selected as if each were the first, but is not looked for again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sidecall_server.domain.fields import fields_of
from sidecall_server.domain.outline import Outline
from sidecall_server.domain.prompt_description import Prompt, PromptBase, PromptOutput
from sidecall_server.domain.recorder import Recorder, _carrying, _key, _Selected, _Selection
from sidecall_server.domain.recorder_answers import (
    MAX_WRITTEN_FACTOR,
)
from sidecall_server.domain.recorder_tables import KeptCalls, KeptTable
from sidecall_server.domain.values import (
    CodeMode,
    Direct,
    FunctionPayload,
    PayloadKind,
    ToolCall,
    ToolMode,
    ToolName,
)

pytestmark = pytest.mark.interpreted


class _PlainRecorder(Recorder):
    """Looks for the records of every output in every prompt (L2-L6)."""

    def _select(self, cache: KeptTable, kept_outputs: int) -> _Selection:
        retained = self._attached.retained
        cached_left, retained_left = set(cache), set(retained)
        selected: list[_Selected] = []
        for index in reversed(range(len(self.outline))):
            output = self.outline[index]
            if output.call_id is None:
                continue
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
                kept = self._take_fresh(output.call_id, output.turn_id)
                if kept is not None:
                    self._attached.put(cache, key, kept)
                    self._attached.put(retained, key, kept)
            if kept is not None:
                selected.append(_carrying(index, key, output.turn_id is not None, kept))
        for key in retained_left:
            self.losses.retained_pruned += len(retained[key].calls)
            self._attached.remove(retained, key)
        return _Selection(selected[::-1])


class _Pair:
    """The recorder and the plain one, told the same; their prompt mostly goes on."""

    def __init__(self) -> None:
        self.recorder = Recorder()
        self.plain = _PlainRecorder()
        self.prompt: list[PromptOutput] = []
        self.number = 0

    def both(self, operation: Callable[[Recorder], object]) -> None:
        assert operation(self.recorder) == operation(self.plain)

    def record(self, call_id: str, turn: str, cell: str | None = None, size: int = 10) -> None:
        source = Direct() if cell is None else CodeMode(cell)
        arguments = FunctionPayload('"' + "x" * (size - 2) + '"')
        call = ToolCall(call_id, ToolName("tool"), arguments, source, turn)
        self.both(lambda recorder: recorder.record(call, ToolMode.DIRECT))

    def record_cell(self, cell: str, turn: str, count: int, output_id: str) -> None:
        """Several large calls, which an output carries together."""
        for _ in range(count):
            self.record("nested", turn, cell, 8_000)
        self.both(lambda recorder: recorder.register_cell(cell, output_id, turn))

    def end_turn(self, turn: str) -> None:
        self.both(lambda recorder: recorder.end_turn(turn))

    def attach(self, kept: int, more: list[PromptOutput], request: str, on_base: bool) -> None:
        kept = min(kept, len(self.prompt))
        self.prompt = self.prompt[:kept] + more
        if on_base and self.number:
            base = PromptBase(self.number, kept)
            answer = self.recorder.attach(Prompt(more, base), request)
            expected = self.plain.attach(Prompt(more, base), request)
        else:
            answer = self.recorder.attach(Prompt(self.prompt), request)
            expected = self.plain.attach(Prompt(self.prompt), request)
        assert answer == expected
        self.number = answer.prompt

    def check(self) -> None:
        self.both(lambda recorder: recorder.sizes())
        self.both(lambda recorder: recorder.held_bytes)
        self.both(lambda recorder: fields_of(recorder.losses))
        self.both(lambda recorder: recorder._emptied)
        self.both(lambda recorder: _records(recorder._attached.retained))
        caches = self.recorder._attached._caches, self.plain._attached._caches
        assert list(caches[0]) == list(caches[1])
        assert [_records(cache) for cache in caches[0].values()] == [
            _records(cache) for cache in caches[1].values()
        ]


def _records(table: KeptTable) -> dict[object, object]:
    return {key: kept.calls for key, kept in table.items()}


_CALL_IDS = st.sampled_from("abcd")
_TURNS = st.sampled_from(["", "t1", "t2"])
_CELLS = st.sampled_from("xy")
_OUTPUTS = st.builds(
    PromptOutput,
    st.sampled_from([PayloadKind.FUNCTION, PayloadKind.FUNCTION, PayloadKind.CUSTOM]),
    _CALL_IDS | st.none(),
    _TURNS | st.none(),
    st.sampled_from([None, None, None, "i"]),
)

_Operation: TypeAlias = tuple[Callable[..., None], tuple[object, ...]]
_OPERATIONS: st.SearchStrategy[_Operation] = st.one_of(
    *(
        st.tuples(st.just(operation), st.tuples(*told))
        for operation, told in (
            (_Pair.record, (_CALL_IDS, _TURNS, st.none(), st.sampled_from([10, 8_192, 8_193]))),
            (_Pair.record, (_CALL_IDS, _TURNS, _CELLS)),
            (_Pair.record_cell, (_CELLS, _TURNS, st.integers(0, 4), _CALL_IDS)),
            (_Pair.end_turn, (_TURNS,)),
            *(
                (
                    _Pair.attach,
                    (kept, st.lists(_OUTPUTS, max_size=3), st.sampled_from("12"), st.booleans()),
                )
                for kept in (st.just(100), st.just(100), st.integers(0, 8))
            ),
        )
    )
)


@settings(max_examples=200, deadline=None)
@given(st.lists(_OPERATIONS, min_size=15, max_size=40))
def test_what_repeats_is_selected_as_it_was(operations: list[_Operation]) -> None:
    pair = _Pair()
    for operation, told in operations:
        operation(pair, *told)
        pair.check()


def test_only_what_is_new_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = list[int]()
    plain = Outline.positions_of

    def positions_of(outline: Outline, call_ids: set[str]) -> list[int]:
        found = plain(outline, call_ids)
        looked_at.extend(found)
        return found

    monkeypatch.setattr(Outline, "positions_of", positions_of)
    pair = _Pair()
    prompt = [PromptOutput(PayloadKind.FUNCTION, f"call_{number}") for number in range(100)]
    for number in range(0, 100, 10):
        pair.record(f"call_{number}", "")
    first = pair.recorder.attach(Prompt(prompt), "1").items
    looked_at.clear()

    second = pair.recorder.attach(Prompt(prompt), "2").items
    assert (second is first, looked_at) == (True, [])

    pair.record("call_55", "")
    pair.record("late", "")
    late = PromptOutput(PayloadKind.FUNCTION, "late")
    third = pair.recorder.attach(Prompt([*prompt, late]), "3").items
    assert looked_at == [100, 55]
    assert [item.output_index for item in third] == [0, 10, 20, 30, 40, 50, 55, 60, 70, 80, 90, 100]
    assert [item for item in third if any(item is one for one in first)] == list(first)


def test_what_is_kept_for_the_next_prompt_is_counted() -> None:
    pair, prompt = _Pair(), [PromptOutput(PayloadKind.FUNCTION, "a")]
    pair.record("a", "")
    recorder = pair.recorder
    [item] = recorder.attach(Prompt(prompt), "1").items
    written_bytes = MAX_WRITTEN_FACTOR * item.metadata_bytes
    assert recorder.prompt_bytes == recorder.outline.held_bytes + written_bytes
    recorder.attach(Prompt([]), "2")
    assert recorder.prompt_bytes == 0
