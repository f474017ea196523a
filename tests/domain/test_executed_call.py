"""A record keeps its bytes, its sizes and its secret: only the recorder writes markers (J, M0)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sidecall_server.domain.executed_call import (
    ExecutedCall,
    Truncation,
    executed_calls_json,
    metadata_bytes,
    record_arguments,
)
from sidecall_server.domain.limits import MARKER_RESERVE_BYTES, MAX_UINT64
from sidecall_server.domain.values import (
    CustomPayload,
    FunctionPayload,
    ToolPayload,
    ToolSearchPayload,
)

_MARKER = "_codex_executed_tool_call_truncated"
_RAW = "_codex_executed_tool_call_raw"
_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
_sizes = st.integers(0, MAX_UINT64)
_calls = st.builds(
    lambda name, value: ExecutedCall.raw(name, json.dumps(value, separators=(",", ":"))),
    _texts,
    st.dictionaries(_texts | st.just(_MARKER), st.integers(), max_size=3) | _texts,
) | st.builds(
    ExecutedCall.marker,
    _texts,
    st.builds(Truncation, _sizes, _sizes, st.none() | _sizes, st.none() | _sizes),
)


@pytest.mark.parametrize(
    ("payload", "original_bytes", "text"),
    [
        (FunctionPayload(' { "a" : 1.10 } '), 16, '{"a":1.10}'),
        (FunctionPayload('{"é":1,"é":2}'), 15, '{"é":2}'),
        (FunctionPayload(""), 0, '""'),
        (FunctionPayload("  "), 2, '"  "'),
        (FunctionPayload("NaN"), 3, '"NaN"'),
        (FunctionPayload(r'"\ud800"'), 8, r'"\"\\ud800\""'),
        (FunctionPayload("[" * 128 + "]" * 128), 256, '"' + "[" * 128 + "]" * 128 + '"'),
        (FunctionPayload("[" * 127 + "]" * 127), 254, "[" * 127 + "]" * 127),
        (CustomPayload("ls\n"), 6, r'"ls\n"'),
        (CustomPayload('{"a":1}'), 11, r'"{\"a\":1}"'),
        (CustomPayload("\\" * 4096), 8194, '"' + "\\" * 8192 + '"'),
        (ToolSearchPayload("é", 3), 24, '{"query":"é","limit":3}'),
        (ToolSearchPayload("x"), 13, '{"query":"x"}'),
        (ToolSearchPayload("x", 0), 23, '{"query":"x","limit":0}'),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_payload_is_measured_and_written_by_its_kind(
    payload: ToolPayload, original_bytes: int, text: str
) -> None:
    arguments = record_arguments(payload)
    assert (arguments.original_bytes, arguments.json) == (original_bytes, text)


def test_a_record_is_written_name_first() -> None:
    call = ExecutedCall.raw('a"b\n', '{"z":1,"a":2}')
    assert call.encoded == b'{"name":"a\\"b\\n","arguments":{"z":1,"a":2}}'
    assert (call.raw_json, call.argument_bytes) == (b'{"z":1,"a":2}', 13)


@pytest.mark.parametrize(
    ("truncation", "fields"),
    [
        (Truncation(9000, 8192), '"original_bytes":9000,"max_bytes":8192'),
        (Truncation(1, 0, 0), '"original_bytes":1,"max_bytes":0,"omitted_calls":0'),
        (
            Truncation(1, 0, None, 7),
            '"original_bytes":1,"max_bytes":0,"original_name_bytes":7',
        ),
        (
            Truncation(1, 2, 3, 4),
            '"original_bytes":1,"max_bytes":2,"omitted_calls":3,"original_name_bytes":4',
        ),
    ],
)
def test_a_marker_writes_what_it_has_and_a_zero_too(truncation: Truncation, fields: str) -> None:
    call = ExecutedCall.marker("t", truncation)
    assert call.encoded.decode() == f'{{"name":"t","arguments":{{"{_MARKER}":{{{fields}}}}}}}'
    assert call.raw_json is None


def test_the_largest_marker_fits_what_is_set_aside_for_it() -> None:
    largest = ExecutedCall.marker("", Truncation(MAX_UINT64, MAX_UINT64, MAX_UINT64, MAX_UINT64))
    assert largest.argument_bytes == MARKER_RESERVE_BYTES


@pytest.mark.parametrize(
    "arguments",
    [
        f'{{"{_MARKER}":{{"original_bytes":1,"max_bytes":0}}}}',
        f'{{"a":1,"{_MARKER}":null}}',
    ],
)
def test_arguments_that_look_like_a_marker_are_wrapped_in_json_only(arguments: str) -> None:
    call = ExecutedCall.raw("t", arguments)
    assert call.encoded.decode() == f'{{"name":"t","arguments":{{"{_RAW}":{arguments}}}}}'
    assert call.raw_json == arguments.encode()
    assert call.argument_bytes == len(arguments) + len(_RAW) + 5
    assert call.truncation is None


@pytest.mark.parametrize(
    "arguments",
    [
        f'[{{"{_MARKER}":1}}]',
        f'{{"a":{{"{_MARKER}":1}}}}',
        f'{{"{_RAW}":{{"{_MARKER}":1}}}}',
        f'"{_MARKER}"',
        f'{{"a":"{_MARKER}"}}',
        f'{{"x{_MARKER}":1}}',
    ],
)
def test_only_a_top_level_key_is_wrapped(arguments: str) -> None:
    call = ExecutedCall.raw("t", arguments)
    assert call.encoded.decode() == f'{{"name":"t","arguments":{arguments}}}'
    assert call.raw_json == arguments.encode()


def test_a_marker_key_spelt_with_escapes_is_seen() -> None:
    arguments = record_arguments(FunctionPayload(f'{{"\\u005f{_MARKER[1:]}":1}}'))
    assert ExecutedCall.raw("t", arguments.json).wrapped


def test_a_cut_record_keeps_its_original_sizes() -> None:
    raw = ExecutedCall.raw("t", '"1234567"')
    assert raw.cut(5).truncation == Truncation(9, 5)
    marked = ExecutedCall.marker("t", Truncation(9000, 8192, 3, 5000))
    assert marked.cut(5, 4).truncation == Truncation(9000, 5, 4, 5000)


@pytest.mark.parametrize(
    ("name", "cut_name", "original_name_bytes"),
    [("abcd", "abcd", None), ("abcde", "abcd", 5), ("abcé", "abc", 5), ("😀😀", "😀", 8)],
)
def test_a_name_is_cut_at_a_character_s_edge(
    name: str, cut_name: str, original_name_bytes: int | None
) -> None:
    call = ExecutedCall.raw(name, "1").cut_with_name(0, 0, max_name_bytes=4)
    assert (call.name, call.truncation) == (cut_name, Truncation(1, 0, 0, original_name_bytes))


def test_a_cut_name_keeps_its_original_size() -> None:
    once = ExecutedCall.raw("abcdefgh", "1").cut_with_name(0, 0, max_name_bytes=6)
    again = once.cut_with_name(0, 1, max_name_bytes=3)
    assert (again.name, again.truncation) == ("abc", Truncation(1, 0, 1, 8))
    assert again.cut(7).truncation == Truncation(1, 7, None, 8)


@pytest.mark.parametrize(("size", "oversize"), [(8192, False), (8193, True)])
def test_a_record_is_oversize_above_8192_bytes_of_arguments(size: int, oversize: bool) -> None:
    assert ExecutedCall.raw("t", '"' + "x" * (size - 2) + '"').oversize is oversize


@given(st.lists(_calls, max_size=5), st.none() | _texts)
def test_metadata_is_counted_as_it_is_written(
    calls: list[ExecutedCall], turn_id: str | None
) -> None:
    text = executed_calls_json(calls)
    assert [json.loads(call.encoded) for call in calls] == json.loads(text)
    item = '{"type":"x"'
    name = "m" * 42
    turn = "" if turn_id is None else f'"turn_id":{json.dumps(turn_id, ensure_ascii=False)}'
    without = item if turn_id is None else f'{item},"{name}":{{{turn}}}'
    comma = "," if turn else ""
    with_calls = f'{item},"{name}":{{{turn}{comma}"executed_tool_calls":{text.decode()}}}'
    grown = len(with_calls.encode()) - len(without.encode()) if calls else 0
    assert metadata_bytes(calls, turn_id is not None) == grown
