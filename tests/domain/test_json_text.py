"""JSON is read strictly and written compactly, and numbers are never touched (SPEC N1-N4)."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sidecall_server.domain.json_text import (
    JsonError,
    compact,
    parse,
    quote,
    write,
    write_float,
)
from sidecall_server.domain.json_value import JsonNumber

from tests.domain import recorder_vectors as vectors

_VECTORS = vectors.read("json")

_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_numbers = st.from_regex(
    r"-?(0|[1-9][0-9]{0,40})(\.[0-9]{1,9})?([eE][+-]?[0-9]{1,4})?", fullmatch=True
)
_values = st.recursive(
    st.none() | st.booleans() | _texts | _numbers.map(JsonNumber),
    lambda values: st.lists(values, max_size=4) | st.dictionaries(_texts, values, max_size=4),
    max_leaves=20,
)
_arguments = st.recursive(
    st.none()
    | st.booleans()
    | _texts
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda values: st.lists(values, max_size=4) | st.dictionaries(_texts, values, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize("line", _VECTORS, ids=lambda line: line["name"])
def test_a_text_is_read_and_written_as_the_reference_does(line: vectors.Json) -> None:
    text, expected = line["request"]["text"], line["expect"]
    if expected["ok"]:
        assert compact(text) == expected["text"]
        assert write(parse(text)) == expected["text"]
    else:
        with pytest.raises(JsonError):
            compact(text)
        with pytest.raises(JsonError):
            parse(text)


def test_no_vector_is_left_out() -> None:
    assert len(_VECTORS) == 25


@pytest.mark.parametrize(
    "number",
    [
        "1.10",
        "1e5",
        "1E5",
        "1e+5",
        "1e400",
        "-0",
        "-0.0",
        "0.0",
        "9" * 5000,
        "123456789012345678901234567890",
    ],
    ids=lambda number: number[:12],
)
def test_a_number_keeps_its_source_text(number: str) -> None:
    assert compact(f" [ {number} ] ") == f"[{number}]"
    assert write(parse(number)) == number


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a":1,"b":2,"a":3}', '{"a":3,"b":2}'),
        ('{"a":1,"b":2,"\\u0061":3}', '{"a":3,"b":2}'),
        ('[{"a":{"x":1,"x":2}},{"a":1}]', '[{"a":{"x":2}},{"a":1}]'),
        ('{"a":1.50,"a":2.50}', '{"a":2.50}'),
    ],
)
def test_a_duplicate_key_keeps_the_first_position_and_the_last_value(
    text: str, expected: str
) -> None:
    assert compact(text) == expected
    assert write(parse(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r'"\u0022\u005c\u0008\u000c\u000a\u000d\u0009"', r'"\"\\\b\f\n\r\t"'),
        (r'"\u0000\u001F\u000b"', r'"\u0000\u001f\u000b"'),
        (r'"\/\u002f\u007f\u00e9\u2028\u2029"', '"//\x7fé\u2028\u2029"'),
        (r'"\ud83d\ude00\uD83D\uDE00"', '"😀😀"'),
        (r'"\\ud800"', r'"\\ud800"'),
        ('" a , b : c "', '" a , b : c "'),
        ('\n\t\r {"a" :\t[ ] , "b" : { } }', '{"a":[],"b":{}}'),
    ],
)
def test_escapes_and_white_space_are_written_in_one_way(text: str, expected: str) -> None:
    assert compact(text) == expected
    assert write(parse(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "1 2",
        "{} x",
        "[1,]",
        '{"a":1,}',
        "[,1]",
        "NaN",
        "[NaN]",
        "Infinity",
        "-Infinity",
        "\ufeff{}",
        "\xa01",
        "\x0b1",
        '"a\nb"',
        '"\x00"',
        '"\x1f"',
        r'"\ud800"',
        r'"\udc00"',
        r'"\udc00\ud800"',
        r'"\ud83dx"',
        r'"\ud83d\u0041"',
        r'{"\ud800":1}',
        r'"\x41"',
        r'"\u12"',
        r'"\u+123"',
        "01",
        "-01",
        "00",
        "1.",
        ".5",
        "+1",
        "-",
        "1e",
        "1_000",
        "0x1",
        "٣",
        "True",
        "nul",
        "'a'",
        '"abc',
        "[]]",
        "[" * 128 + "]" * 128,
        '{"a":' * 128 + "1" + "}" * 128,
        "[" * 100_000,
    ],
    ids=lambda text: ascii(text)[:24],
)
def test_what_the_reference_rejects_is_rejected(text: str) -> None:
    with pytest.raises(JsonError):
        compact(text)
    with pytest.raises(JsonError):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 127 + "]" * 127,
        '{"a":' * 127 + "1" + "}" * 127,
        "[" + ",".join(["[]"] * 500) + "]",
        '"' + "[" * 500 + '"',
        '["\\"[' + "{" * 500 + '"]',
    ],
    ids=["127 arrays", "127 objects", "500 siblings", "in a string", "after an escaped quote"],
)
def test_only_nesting_of_128_levels_is_too_deep(text: str) -> None:
    assert compact(text) == text


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (2.0, "2.0"),
        (0.1, "0.1"),
        (-0.0, "-0.0"),
        (5e-05, "0.00005"),
        (1e-05, "0.00001"),
        (1.5e-05, "0.000015"),
        (9.99e-06, "9.99e-6"),
        (1e-07, "1e-7"),
        (1e15, "1000000000000000.0"),
        (9999999999999998.0, "9999999999999998.0"),
        (1e16, "1e16"),
        (-1e16, "-1e16"),
        (1.2345678901234568e17, "1.2345678901234568e17"),
        (1.5e300, "1.5e300"),
        (5e-324, "5e-324"),
    ],
)
def test_a_host_float_has_the_shortest_digits(number: float, expected: str) -> None:
    assert write_float(number) == expected
    assert write([number]) == f"[{expected}]"


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_written_float_reads_back_as_the_same_number(number: float) -> None:
    back = float(write_float(number))
    assert (back, math.copysign(1, back)) == (number, math.copysign(1, number))
    assert compact(write_float(number)) == write_float(number)


@given(_values)
def test_a_value_survives_writing_and_reading(value: object) -> None:
    text = write(value)  # type: ignore[arg-type]
    assert parse(text) == value
    assert compact(text) == text


@given(_arguments, st.booleans())
def test_any_spelling_of_a_document_is_compacted_to_the_same_values(
    value: object, ascii_only: bool
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=1)
    assert json.loads(compact(text)) == value
    assert compact(text) == write(parse(text))


_PIECES = (
    *'{}[]:,"\\ \n\t\r0-1.',
    '"a"',
    '"a b"',
    '"a":',
    '"\\n"',
    '"\\/"',
    '"\\u0041"',
    '"\\u00e9"',
    '"\\ud83d"',
    '"\u2028\xa0"',
    '"\x7f"',
    "1.0",
    "1.10",
    "1e5",
    "-0",
    "01",
    "18446744073709551616",
    "1e400",
    "true",
    "null",
    "NaN",
    "\ufeff",
    "\xa0",
    "\x0b",
)


_texts_of_pieces = st.lists(st.sampled_from(_PIECES), max_size=14).map("".join)
_members_of_pieces = st.builds(
    lambda pieces, space: f'{{"a":{space}{space.join(pieces)},{space}"b": 1}}',
    st.lists(st.sampled_from(_PIECES), max_size=6),
    st.sampled_from(["", " ", "\n"]),
)


@given(_texts_of_pieces | _members_of_pieces)
def test_any_text_is_compacted_as_it_is_read_and_written_again(text: str) -> None:
    try:
        expected = write(parse(text))
    except JsonError:
        with pytest.raises(JsonError):
            compact(text)
    else:
        assert compact(text) == expected


@given(_texts)
def test_a_quoted_text_reads_back(text: str) -> None:
    assert parse(quote(text)) == text
    assert compact(quote(text)) == quote(text)
