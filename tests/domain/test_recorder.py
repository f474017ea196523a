"""What the recorder keeps, attaches, drops and counts (SPEC J-L, S1-S6)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from sidecall_server.domain.errors import InvalidValue
from sidecall_server.domain.executed_call import Truncation
from sidecall_server.domain.fields import fields_of, replace
from sidecall_server.domain.limits import MAX_EXECUTED_CALL_BYTES, MAX_RETRY_CACHES
from sidecall_server.domain.prompt_description import Prompt, PromptOutput
from sidecall_server.domain.recorder import Recorder
from sidecall_server.domain.recorder_answers import (
    Attachment,
    RecordDisposition,
    RecorderLosses,
    RecorderSizes,
)
from sidecall_server.domain.values import (
    CodeMode,
    CustomPayload,
    Direct,
    DirectPlaintextMessage,
    FunctionPayload,
    PayloadKind,
    ToolCall,
    ToolCallSource,
    ToolMode,
    ToolName,
    ToolPayload,
)

from tests.domain import recorder_vectors as vectors

_VECTORS = vectors.read("recorder")
_NO_LOSSES = RecorderLosses()


def _sized(argument_bytes: int) -> str:
    """Function arguments of that size, as JSON."""
    return '"' + "x" * (argument_bytes - 2) + '"'


def _record(
    recorder: Recorder,
    call_id: str,
    arguments: str = "{}",
    *,
    turn: str = "",
    cell: str | None = None,
    name: str = "tool",
    allowance_bytes: int | None = None,
) -> RecordDisposition:
    source = Direct() if cell is None else CodeMode(cell)
    call = ToolCall(call_id, ToolName(name), FunctionPayload(arguments), source, turn)
    return recorder.record(call, ToolMode.DIRECT, allowance_bytes=allowance_bytes)


def _output(call_id: str, turn: str | None = None, item: str | None = None) -> PromptOutput:
    return PromptOutput(PayloadKind.FUNCTION, call_id, turn, item)


def _attach(
    recorder: Recorder, *outputs: PromptOutput | str, request: str = "r", turn: str = ""
) -> Attachment:
    prompt = [_output(output) if isinstance(output, str) else output for output in outputs]
    return recorder.attach(Prompt(prompt), request, turn)


def _texts(attachment: Attachment) -> dict[int, str]:
    return {item.output_index: item.executed_tool_calls_json.decode() for item in attachment.items}


def _names(attachment: Attachment) -> dict[int, list[str]]:
    return {item.output_index: [call.name for call in item.calls] for item in attachment.items}


def _truncations(attachment: Attachment) -> list[Truncation | None]:
    return [call.truncation for item in attachment.items for call in item.calls]


def _represented(attachment: Attachment) -> int:
    return sum(call.represented_calls for item in attachment.items for call in item.calls)


def _lost(recorder: Recorder) -> dict[str, int]:
    return {cause: count for cause, count in fields_of(recorder.losses).items() if count}


# --- the reference ----------------------------------------------------------------------


@pytest.mark.parametrize("line", _VECTORS, ids=lambda line: line["name"])
def test_every_operation_is_answered_as_the_reference_answers(line: vectors.Json) -> None:
    recorder = Recorder()
    answers = [_answer(recorder, operation) for operation in line["request"]["ops"]]
    assert answers == line["expect"]["results"]


def _answer(recorder: Recorder, operation: vectors.Json) -> vectors.Json | None:
    if operation["op"] == "record":
        for one in vectors.repetitions(operation):
            recorder.record(vectors.tool_call(one), ToolMode(one["tool_mode"]))
        return None
    if operation["op"] == "register_cell":
        for one in vectors.repetitions(operation):
            recorder.register_cell(one["cell_id"], one["output_call_id"])
        return None
    indexes, outputs = _split(vectors.prompt_outputs(operation["items"]))
    attachment = recorder.attach(Prompt(outputs), operation["cache"])
    return {
        "attached": attachment.attached,
        "items": [
            {
                "index": indexes[item.output_index],
                "metadata_bytes": item.metadata_bytes,
                "executed_tool_calls_json": item.executed_tool_calls_json.decode(),
            }
            for item in attachment.items
        ],
        "state": recorder.sizes()._asdict(),
    }


def _split(outputs: Sequence[tuple[int, PromptOutput]]) -> tuple[list[int], list[PromptOutput]]:
    return [index for index, _ in outputs], [output for _, output in outputs]


def test_no_vector_is_left_out() -> None:
    assert len(_VECTORS) == 155


# --- recording (J) ----------------------------------------------------------------------

_EXEC = (ToolName("exec"), CustomPayload("1"))
_WAIT = (ToolName("wait"), FunctionPayload("{}"))


@pytest.mark.parametrize("mode", ToolMode)
@pytest.mark.parametrize(
    ("tool", "source", "skipped"),
    [
        (_EXEC, Direct(), True),
        (_WAIT, Direct(), True),
        ((ToolName("exec", ""), CustomPayload("1")), Direct(), True),
        ((ToolName("wait", "functions"), FunctionPayload("{}")), Direct(), True),
        ((ToolName("exec", "ns"), CustomPayload("1")), Direct(), False),
        ((ToolName("exec"), FunctionPayload("{}")), Direct(), False),
        ((ToolName("wait"), CustomPayload("1")), Direct(), False),
        (_EXEC, DirectPlaintextMessage(), False),
        (_WAIT, DirectPlaintextMessage(), False),
        (_EXEC, CodeMode("cell"), False),
        (_WAIT, CodeMode("cell"), False),
    ],
)
def test_only_code_mode_s_own_wrappers_are_skipped(
    tool: tuple[ToolName, ToolPayload], source: ToolCallSource, skipped: bool, mode: ToolMode
) -> None:
    recorder = Recorder()
    disposition = recorder.record(ToolCall("a", *tool, source), mode)
    expected_skip = skipped and mode is not ToolMode.DIRECT
    assert (disposition is RecordDisposition.SKIPPED) is expected_skip
    sizes = recorder.sizes()
    assert sizes.direct_calls + sizes.pending_nested_calls == (not expected_skip)
    assert recorder.losses == _NO_LOSSES


def test_the_first_record_of_a_call_stays() -> None:
    recorder = Recorder()
    assert _record(recorder, "a", '{"first":1}') is RecordDisposition.RECORDED
    assert _record(recorder, "a", '{"second":1}') is RecordDisposition.DUPLICATE
    assert _texts(_attach(recorder, "a")) == {0: '[{"name":"tool","arguments":{"first":1}}]'}
    assert recorder.losses == _NO_LOSSES


def test_nested_calls_of_one_id_are_all_kept_in_order() -> None:
    recorder = Recorder()
    recorder.register_cell("cell", "o")
    for name in ("x", "y", "x"):
        _record(recorder, "same", cell="cell", name=name)
    assert _names(_attach(recorder, "o")) == {0: ["x", "y", "x"]}


@pytest.mark.parametrize(
    ("size", "truncation"), [(8192, None), (8193, Truncation(8193, 8192))], ids=str
)
@pytest.mark.parametrize("cell", [None, "cell"])
def test_arguments_above_8192_bytes_become_a_marker(
    cell: str | None, size: int, truncation: Truncation | None
) -> None:
    recorder = Recorder()
    recorder.register_cell("cell", "a")
    disposition = _record(recorder, "a", _sized(size), cell=cell)
    assert _truncations(_attach(recorder, "a")) == [truncation]
    marked = truncation is not None
    assert (disposition is RecordDisposition.MARKED) is marked
    assert _lost(recorder) == ({"arguments_truncated": 1} if marked else {})


def test_arguments_that_grow_when_written_are_cut_when_attached_and_counted_once() -> None:
    recorder = Recorder()
    assert _record(recorder, "a", '"' * 5000) is RecordDisposition.MARKED
    for request in ("r", "r", "s"):
        assert _truncations(_attach(recorder, "a", request=request)) == [Truncation(10_002, 8192)]
    assert _lost(recorder) == {"arguments_truncated": 1}


def test_the_257th_direct_call_is_a_marker_and_the_next_is_dropped() -> None:
    recorder = Recorder()
    for number in range(256):
        assert _record(recorder, f"c{number}") is RecordDisposition.RECORDED
    assert _record(recorder, "marked", '{"a":1}') is RecordDisposition.MARKED
    assert _record(recorder, "dropped") is RecordDisposition.DROPPED
    assert _record(recorder, "c7") is RecordDisposition.DUPLICATE
    assert _truncations(_attach(recorder, "marked", "dropped")) == [Truncation(7, 0)]
    assert _record(recorder, "next", '{"a":1}') is RecordDisposition.MARKED
    assert _lost(recorder) == {"direct_marked": 2, "direct_dropped": 1}


def test_the_257th_nested_call_is_a_marker_and_the_next_is_dropped() -> None:
    recorder = Recorder()
    recorder.register_cell("last", "o")
    for number in range(256):
        assert _record(recorder, "n", cell=f"c{number % 5}") is RecordDisposition.RECORDED
    assert _record(recorder, "n", '{"a":1}', cell="last") is RecordDisposition.MARKED
    assert _record(recorder, "n", cell="last") is RecordDisposition.DROPPED
    assert _truncations(_attach(recorder, "o")) == [Truncation(7, 0)]
    assert _lost(recorder) == {"nested_marked": 1, "nested_dropped": 1}


def test_a_cell_keeps_32_kib_of_arguments_and_marks_what_no_longer_fits() -> None:
    recorder = Recorder()
    recorder.register_cell("cell", "o")
    sizes = [8192, 8192, 8192, 8190, 3, 2, 9000]
    dispositions = [_record(recorder, "n", _sized(size), cell="cell") for size in sizes]
    assert [disposition.value for disposition in dispositions] == (
        ["recorded"] * 4 + ["marked", "recorded", "marked"]
    )
    assert _lost(recorder) == {"nested_marked": 1, "arguments_truncated": 1}
    assert _record(recorder, "n", "1", cell="other") is RecordDisposition.RECORDED
    markers = [mark for mark in _truncations(_attach(recorder, "o")) if mark is not None]
    assert Truncation(3, 2) in markers
    assert Truncation(9000, 0) in markers


def test_a_nested_call_needs_a_slot_for_its_cell() -> None:
    recorder = Recorder()
    for number in range(256):
        assert recorder.register_cell(f"c{number}", f"o{number}")
    assert _record(recorder, "n", cell="new") is RecordDisposition.DROPPED
    assert _record(recorder, "n", cell="c3") is RecordDisposition.RECORDED
    assert _lost(recorder) == {"nested_dropped": 1}


@pytest.mark.parametrize("cell", [None, "cell"])
@pytest.mark.parametrize(
    ("allowance_bytes", "marked"), [(None, False), (36, False), (35, True), (0, True)]
)
def test_a_record_beyond_the_allowance_keeps_its_name_and_size(
    cell: str | None, allowance_bytes: int | None, marked: bool
) -> None:
    recorder = Recorder()
    recorder.register_cell("cell", "a")
    disposition = _record(recorder, "a", ' {"xy":1 } ', cell=cell, allowance_bytes=allowance_bytes)
    assert disposition is (RecordDisposition.MARKED if marked else RecordDisposition.RECORDED)
    assert _lost(recorder) == ({"memory_marked": 1} if marked else {})
    assert _truncations(_attach(recorder, "a")) == [Truncation(11, 0) if marked else None]


def test_a_record_marked_for_memory_takes_nothing_of_its_cell_s_bytes() -> None:
    recorder = Recorder()
    for _ in range(8):
        _record(recorder, "n", _sized(8192), cell="cell", allowance_bytes=0)
    assert _record(recorder, "n", _sized(8192), cell="cell") is RecordDisposition.RECORDED


def test_an_empty_call_or_cell_id_cannot_be_recorded() -> None:
    with pytest.raises(InvalidValue):
        ToolCall("", ToolName("t"), FunctionPayload("{}"))
    with pytest.raises(InvalidValue):
        ToolCall("a", ToolName("t"), FunctionPayload("{}"), CodeMode(""))


# --- cells (K) --------------------------------------------------------------------------


def test_a_257th_cell_is_refused() -> None:
    recorder = Recorder()
    for number in range(256):
        _record(recorder, "n", cell=f"c{number}")
    assert not recorder.register_cell("new", "o")
    assert recorder.register_cell("c0", "o")
    assert recorder.sizes() == RecorderSizes(0, 256, 1, 0, 256)
    assert _lost(recorder) == {"cell_refused": 1}


def test_a_257th_output_is_refused() -> None:
    recorder = Recorder()
    for number in range(256):
        assert recorder.register_cell("cell", f"o{number}")
    assert not recorder.register_cell("cell", "new")
    assert not recorder.register_cell("other", "new")
    assert recorder.register_cell("other", "o0")
    assert recorder.sizes() == RecorderSizes(0, 2, 256, 0, 0)
    assert _lost(recorder) == {"mapping_refused": 2, "mapping_overwritten": 1}


def test_a_new_mapping_of_an_output_takes_the_place_of_the_old() -> None:
    recorder = Recorder()
    recorder.register_cell("old", "o")
    recorder.register_cell("new", "o")
    recorder.register_cell("new", "o")
    _record(recorder, "n", name="of-old", cell="old")
    _record(recorder, "n", name="of-new", cell="new")
    assert _names(_attach(recorder, "o")) == {0: ["of-new"]}
    assert recorder.sizes() == RecorderSizes(0, 1, 0, 1, 1)
    assert _lost(recorder) == {"mapping_overwritten": 1}


def test_attaching_a_cell_removes_every_mapping_to_it() -> None:
    recorder = Recorder()
    for output in ("exec", "wait1", "wait2"):
        recorder.register_cell("cell", output)
    _record(recorder, "n", cell="cell")
    assert _names(_attach(recorder, "exec", "wait1")) == {1: ["tool"]}
    assert recorder.sizes() == RecorderSizes(0, 0, 0, 1, 0)


def test_an_empty_running_cell_is_removed_too() -> None:
    recorder = Recorder()
    recorder.register_cell("cell", "o")
    assert not _attach(recorder, "o").attached
    assert recorder.sizes() == RecorderSizes(0, 0, 0, 0, 0)


def test_a_cell_that_runs_on_starts_anew_until_the_next_wait() -> None:
    recorder = Recorder()
    recorder.register_cell("cell", "exec")
    for _ in range(4):
        _record(recorder, "n", _sized(8192), cell="cell")
    _attach(recorder, "exec")
    assert _record(recorder, "n", _sized(8192), cell="cell", name="late") == "recorded"
    assert "late" not in str(_names(_attach(recorder, "exec", request="2")))
    recorder.register_cell("cell", "wait")
    assert _names(_attach(recorder, "exec", "wait", request="3"))[1] == ["late"]


# --- attaching (L) ----------------------------------------------------------------------


def test_nothing_recorded_attaches_nothing() -> None:
    recorder = Recorder()
    assert not _attach(recorder, "a", "b").attached
    assert recorder.held_bytes == 0


def test_an_output_without_an_id_carries_nothing() -> None:
    recorder = Recorder()
    _record(recorder, "a")
    outputs = [PromptOutput(PayloadKind.TOOL_SEARCH, None), PromptOutput(PayloadKind.FUNCTION, "")]
    assert not _attach(recorder, *outputs).attached
    assert recorder.sizes().direct_calls == 1


def test_an_output_of_another_kind_can_take_a_direct_record() -> None:
    recorder = Recorder()
    _record(recorder, "a")
    custom = PromptOutput(PayloadKind.CUSTOM, "a")
    assert _names(_attach(recorder, "a", custom)) == {1: ["tool"]}


def test_a_repeated_key_carries_the_records_once_on_its_last_output() -> None:
    recorder = Recorder()
    _record(recorder, "a")
    for request in ("1", "1", "2"):
        assert _names(_attach(recorder, "a", "b", "a", request=request)) == {2: ["tool"]}


def test_the_direct_record_comes_before_the_cell_s() -> None:
    recorder = Recorder()
    recorder.register_cell("cell", "o")
    _record(recorder, "n", cell="cell", name="nested")
    _record(recorder, "o", name="direct")
    assert _names(_attach(recorder, "o")) == {0: ["direct", "nested"]}


def test_records_stay_on_their_output_in_later_prompts() -> None:
    recorder = Recorder()
    _record(recorder, "a", name="first")
    _attach(recorder, "a", request="1")
    _record(recorder, "b", name="second")
    assert _names(_attach(recorder, "a", "b", request="2")) == {0: ["first"], 1: ["second"]}


def test_records_whose_output_left_the_prompt_are_dropped_and_counted() -> None:
    recorder = Recorder()
    recorder.register_cell("cell", "a")
    _record(recorder, "a")
    _record(recorder, "n", cell="cell")
    _attach(recorder, "a", request="1")
    assert not _attach(recorder, "b", request="2").attached
    assert not _attach(recorder, "a", request="3").attached
    assert _lost(recorder) == {"retained_pruned": 2}


def test_a_retry_finds_its_records_though_another_prompt_dropped_them() -> None:
    recorder = Recorder()
    _record(recorder, "a")
    first = _attach(recorder, "a", request="1")
    _attach(recorder, request="2")
    assert _attach(recorder, "a", request="1").items == first.items
    assert recorder.sizes().retained_outputs == 0


def test_the_least_recently_used_of_nine_retry_caches_leaves() -> None:
    recorder = Recorder()
    for number in range(MAX_RETRY_CACHES):
        _record(recorder, f"a{number}")
        _attach(recorder, f"a{number}", request=str(number))
    assert _attach(recorder, "a0", request="0").attached
    _record(recorder, "new")
    _attach(recorder, "new", request="new")
    assert _attach(recorder, "a0", request="0").attached
    assert not _attach(recorder, "a1", request="1").attached
    assert _attach(recorder, "a2", request="2").attached


def test_the_bytes_of_the_metadata_count_a_turn_id_even_an_empty_one() -> None:
    recorder = Recorder()
    for call_id in ("a", "b", "c"):
        _record(recorder, call_id)
    attachment = _attach(recorder, _output("a"), _output("b", turn=""), _output("c", turn="t"))
    assert [item.metadata_bytes for item in attachment.items] == [102, 55, 55]


# --- S1: conservation through retries ---------------------------------------------------


def _overflowing() -> tuple[Recorder, list[PromptOutput]]:
    recorder = Recorder()
    outputs = []
    for number in range(40):
        _record(recorder, f"c{number}", _sized(2000 + number), name="n" * (number * 150))
        outputs.append(_output(f"c{number}"))
    return recorder, outputs


def test_a_retry_above_the_budget_is_byte_identical_and_counts_every_call() -> None:
    recorder, outputs = _overflowing()
    first = _attach(recorder, *outputs)
    assert sum(item.metadata_bytes for item in first.items) <= MAX_EXECUTED_CALL_BYTES
    assert _represented(first) == 40
    losses = replace(recorder.losses)
    for _ in range(3):
        assert _attach(recorder, *outputs) == first
    assert recorder.losses == losses


def test_the_next_request_carries_what_the_budget_left() -> None:
    recorder, outputs = _overflowing()
    first = _attach(recorder, *outputs, request="1")
    assert _attach(recorder, *outputs, request="2") == first
    assert recorder.sizes().retained_outputs == len(first.items) < 40


def test_calls_stay_counted_from_prompt_to_prompt() -> None:
    recorder = Recorder()
    outputs: list[PromptOutput] = []
    for number in range(60):
        outputs.append(_output(f"c{number}"))
        _record(recorder, f"c{number}", _sized(3000))
        first = _attach(recorder, *outputs, request=str(number))
        assert _represented(first) == len(outputs)
        assert _attach(recorder, *outputs, request=str(number)) == first


def test_what_the_budget_does_is_counted_per_record() -> None:
    recorder, outputs = _overflowing()
    attachment = _attach(recorder, *outputs)
    markers = sum(truncation is not None for truncation in _truncations(attachment))
    kept = sum(len(item.calls) for item in attachment.items)
    assert _lost(recorder)["budget_omitted"] == 40 - kept > 0
    assert _lost(recorder)["budget_truncated"] >= markers > 0


def test_an_output_emptied_by_the_budget_takes_no_other_record_on_the_retry() -> None:
    recorder = Recorder()
    for turn in ("t1", "t2"):
        _record(recorder, "old", turn=turn, name="n" * 8192)
    outputs = [_output("old")]
    for number in range(5):
        _record(recorder, f"c{number}", _sized(8000))
        outputs.append(_output(f"c{number}"))
    first = _attach(recorder, *outputs)
    assert [item.output_index for item in first.items] == [2, 3, 4, 5]
    assert _attach(recorder, *outputs) == first
    assert recorder.sizes().direct_calls == 1
    assert list(_names(_attach(recorder, *outputs[:2], request="next"))) == [0]


# --- S2: reused call ids ----------------------------------------------------------------


def test_records_of_one_call_id_stack_and_the_newest_is_taken_first() -> None:
    recorder = Recorder()
    for turn in ("t1", "t2", "t3"):
        assert _record(recorder, "call_0", turn=turn, name=turn) is RecordDisposition.RECORDED
    assert recorder.sizes().direct_calls == 3
    outputs = [_output("call_0", item=item) for item in ("i1", "i2", "i3")]
    assert _names(_attach(recorder, *outputs)) == {0: ["t1"], 1: ["t2"], 2: ["t3"]}


def test_an_output_takes_the_record_of_its_own_turn() -> None:
    recorder = Recorder()
    for turn in ("t1", "t2", "t3"):
        _record(recorder, "call_0", turn=turn, name=turn)
    assert _names(_attach(recorder, _output("call_0", turn="t2"))) == {0: ["t2"]}


def test_an_output_of_a_turn_without_a_record_takes_the_newest() -> None:
    recorder = Recorder()
    for turn in ("t1", "t2"):
        _record(recorder, "call_0", turn=turn, name=turn)
    assert _names(_attach(recorder, _output("call_0", turn="t9"))) == {0: ["t2"]}


def test_with_item_ids_older_outputs_of_a_reused_id_keep_their_records() -> None:
    recorder = Recorder()
    outputs: list[PromptOutput] = []
    for number in range(10):
        turn = f"t{number}"
        _record(recorder, "call_0", turn=turn, name=turn)
        outputs.append(_output("call_0", turn=turn, item=f"i{number}"))
        names = _names(_attach(recorder, *outputs, request=turn, turn=turn))
        assert names == {index: [f"t{index}"] for index in range(number + 1)}
        assert recorder.sizes().direct_calls == 0


def test_the_same_call_of_the_same_turn_is_a_duplicate_whatever_stacks_on_it() -> None:
    recorder = Recorder()
    _record(recorder, "call_0", turn="t1")
    _record(recorder, "call_0", turn="t2")
    assert _record(recorder, "call_0", turn="t1") is RecordDisposition.DUPLICATE


# --- S3: the end of a turn --------------------------------------------------------------


def test_what_an_ended_turn_left_still_binds_in_the_next_prompt() -> None:
    recorder = Recorder()
    _record(recorder, "a", turn="t1", name="cancelled")
    recorder.register_cell("cell", "o", "t1")
    _record(recorder, "n", turn="t1", cell="cell", name="nested")
    recorder.end_turn("t1")
    assert _names(_attach(recorder, "a", "o")) == {0: ["cancelled"], 1: ["nested"]}
    assert recorder.losses == _NO_LOSSES


def test_what_stays_unbound_after_the_next_prompt_is_dropped_and_counted() -> None:
    recorder = Recorder()
    _record(recorder, "gone", turn="t1")
    _record(recorder, "stays", turn="t2")
    recorder.register_cell("cell", "gone-output", "t1")
    recorder.register_cell("cell", "stays-output", "t2")
    recorder.end_turn("t1")
    _attach(recorder)
    assert recorder.sizes() == RecorderSizes(1, 1, 1, 0, 0)
    assert _lost(recorder) == {"ended_turn_dropped": 2}
    assert _names(_attach(recorder, "stays", "gone", request="2")) == {0: ["tool"]}


def test_a_cell_that_lost_its_output_to_an_ended_turn_can_still_be_waited_for() -> None:
    recorder = Recorder()
    recorder.register_cell("cell", "exec", "t1")
    _record(recorder, "n", turn="t1", cell="cell", name="nested")
    recorder.end_turn("t1")
    _attach(recorder)
    recorder.register_cell("cell", "wait", "t2")
    assert _names(_attach(recorder, "wait", request="2")) == {0: ["nested"]}


def test_a_thousand_cancelled_turns_never_block_a_new_record() -> None:
    recorder = Recorder()
    for number in range(1000):
        turn = f"t{number}"
        for step in range(3):
            assert _record(recorder, f"call_{step}", turn=turn) is RecordDisposition.RECORDED
        assert recorder.register_cell(f"cell{number}", f"exec{number}", turn)
        assert _record(recorder, "n", turn=turn, cell=f"cell{number}") == "recorded"
        recorder.end_turn(turn)
    assert recorder.sizes() == RecorderSizes(256, 256, 256, 0, 256)
    kept = 256 * 3
    assert _lost(recorder) == {"ended_turn_dropped": 1000 * 5 - kept}


def test_a_thousand_ended_turns_with_one_output_never_block_a_mapping() -> None:
    recorder = Recorder()
    for number in range(1000):
        assert recorder.register_cell("cell", f"o{number}", f"t{number}")
        recorder.end_turn(f"t{number}")
    assert recorder.sizes() == RecorderSizes(0, 1, 256, 0, 0)
    assert _lost(recorder) == {"ended_turn_dropped": 744}


def test_a_turn_that_ended_with_a_full_table_leaves_room() -> None:
    recorder = Recorder()
    for number in range(258):
        _record(recorder, f"old{number}", turn="t1")
    recorder.end_turn("t1")
    assert _record(recorder, "new", '{"a":1}', turn="t2") is RecordDisposition.RECORDED
    assert _names(_attach(recorder, "old0", "old1", "old2", "new")) == {2: ["tool"], 3: ["tool"]}


def test_live_records_are_not_evicted_for_new_ones() -> None:
    recorder = Recorder()
    for number in range(257):
        _record(recorder, f"live{number}", turn="t1")
        _record(recorder, "n", turn="t1", cell=f"cell{number}")
    recorder.end_turn("other")
    assert _record(recorder, "new", turn="t2") is RecordDisposition.DROPPED
    assert _record(recorder, "n", turn="t2", cell="new") is RecordDisposition.DROPPED
    assert recorder.sizes().direct_calls == 257


def _fill_cells(recorder: Recorder, turn: str, count: int) -> None:
    for number in range(count):
        _record(recorder, "n", turn=turn, cell=f"{turn}-{number}")


def test_a_cell_used_by_a_later_turn_outlives_the_turn_that_began_it() -> None:
    recorder = Recorder()
    _record(recorder, "n", turn="t1", cell="running")
    _record(recorder, "n", turn="t1", cell="over")
    _fill_cells(recorder, "t2", 253)
    recorder.end_turn("t1")
    _record(recorder, "n", turn="t2", cell="running")
    assert _record(recorder, "n", turn="t2", cell="new") is RecordDisposition.RECORDED
    for cell in ("running", "over"):
        recorder.register_cell(cell, f"wait-{cell}", "t2")
    assert _names(_attach(recorder, "wait-running", "wait-over")) == {0: ["tool", "tool"]}
    assert _lost(recorder) == {"ended_turn_dropped": 1}


def test_a_cell_that_a_live_output_points_to_outlives_the_turn_that_used_it_last() -> None:
    recorder = Recorder()
    recorder.register_cell("awaited", "wait", "t2")
    _record(recorder, "n", turn="t1", cell="awaited")
    _fill_cells(recorder, "t1", 255)
    recorder.end_turn("t1")
    assert _record(recorder, "n", turn="t2", cell="new") is RecordDisposition.RECORDED
    assert _names(_attach(recorder, "wait")) == {0: ["tool"]}


def test_a_cell_used_without_a_known_turn_still_ends_with_its_own() -> None:
    recorder = Recorder()
    for number in range(256):
        recorder.register_cell(f"c{number}", f"o{number}", "t1")
        _record(recorder, "n", cell=f"c{number}")
    recorder.end_turn("t1")
    assert _record(recorder, "n", turn="t2", cell="new") is RecordDisposition.RECORDED


def test_a_late_record_of_an_ended_turn_does_not_evict_its_own_cell() -> None:
    recorder = Recorder()
    recorder.register_cell("cell", "o", "t1")
    for _ in range(256):
        _record(recorder, "n", turn="t1", cell="cell")
    recorder.end_turn("t1")
    assert _record(recorder, "late", turn="t1", cell="cell") is RecordDisposition.MARKED
    assert _represented(_attach(recorder, "o")) == 257
    assert _lost(recorder) == {"nested_marked": 1}


def test_an_ended_cell_without_records_gives_its_slot_to_a_new_cell_only() -> None:
    recorder = Recorder()
    recorder.register_cell("empty", "o", "t1")
    for _ in range(256):
        _record(recorder, "n", turn="t2", cell="full")
    recorder.end_turn("t1")
    assert _record(recorder, "n", turn="t2", cell="full") is RecordDisposition.MARKED
    assert recorder.sizes() == RecorderSizes(0, 2, 1, 0, 257)


def test_the_end_of_an_unknown_turn_leaves_everything_alone() -> None:
    recorder = Recorder()
    _record(recorder, "a")
    recorder.register_cell("cell", "o")
    recorder.end_turn("")
    _attach(recorder)
    assert recorder.sizes() == RecorderSizes(1, 1, 1, 0, 0)


def test_the_end_of_a_turn_forgets_its_retries_only() -> None:
    recorder = Recorder()
    for turn in ("t1", "t2"):
        _record(recorder, turn)
        _attach(recorder, turn, request=turn, turn=turn)
    _attach(recorder, request="other")
    recorder.end_turn("t1")
    assert not _attach(recorder, "t1", request="t1", turn="t1").attached
    assert _attach(recorder, "t2", request="t2", turn="t2").attached


def test_a_try_without_a_turn_leaves_the_sampling_request_to_its_turn() -> None:
    recorder = Recorder()
    _record(recorder, "a")
    _attach(recorder, "a", request="r", turn="t")
    _attach(recorder, "a", request="r")
    _attach(recorder, request="other")
    recorder.end_turn("t")
    assert not _attach(recorder, "a", request="r").attached


# --- what it holds ----------------------------------------------------------------------


def test_held_bytes_follow_the_records_through_the_tables() -> None:
    recorder = Recorder()
    record_bytes = len('{"name":"tool","arguments":{}}')
    _record(recorder, "a", turn="t")
    recorder.register_cell("cell", "o", "t")
    _record(recorder, "n", turn="t", cell="cell")
    assert recorder.held_bytes == 2 * record_bytes
    _attach(recorder, "a", "o", request="r", turn="t")
    assert recorder.held_bytes == 2 * (record_bytes + 2)
    _attach(recorder, request="s", turn="t")
    assert recorder.held_bytes == 2 * (record_bytes + 2)
    recorder.end_turn("t")
    assert recorder.held_bytes == 0


def test_held_bytes_forget_what_is_dropped() -> None:
    recorder = Recorder()
    for number in range(600):
        _record(recorder, f"c{number}", turn=str(number))
        _record(recorder, "n", turn=str(number), cell=f"cell{number}")
        recorder.end_turn(str(number))
    record_bytes = len('{"name":"tool","arguments":{}}')
    assert recorder.held_bytes == 2 * 256 * record_bytes
    _attach(recorder)
    assert recorder.held_bytes == 256 * record_bytes
