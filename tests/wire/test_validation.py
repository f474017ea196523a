"""Refusals name the field as the caller wrote it, and as many fields as can be named."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.duration_pb2 import Duration
from hypothesis import given
from hypothesis import strategies as st
from sidecall.v1 import projection_service_pb2
from sidecall_server.domain.errors import InvalidArgument, Reason
from sidecall_server.domain.outputs import FunctionOutput, JsonOutput, ToolSearchOutput
from sidecall_server.domain.values import ToolName
from sidecall_server.wire.validation import (
    MAX_PROBLEMS,
    Problems,
    checked,
    missing,
    read_enum,
    read_id,
    read_nanoseconds,
    read_required_id,
    read_text,
)


def _fields(error: InvalidArgument) -> list[str]:
    return [violation.field for violation in error.violations]


def test_what_is_refused_in_parts_is_said_in_one_error() -> None:
    problems = Problems()
    with problems:
        read_required_id("", "a")
    with problems:
        good = read_required_id("x", "b")
    with problems:
        read_text(b"\xff", "c")
    with pytest.raises(InvalidArgument) as caught:
        problems.check()
    assert good == "x"
    assert _fields(caught.value) == ["a", "c"]
    assert caught.value.reason is Reason.MISSING_FIELD
    assert str(caught.value).startswith("a: is required; c: must be UTF-8")


def test_nothing_refused_raises_nothing() -> None:
    problems = Problems()
    with problems:
        read_id("", "a")
    problems.check()


def test_after_very_many_refusals_the_request_is_not_read_on() -> None:
    problems, read = Problems(), []

    def read_on() -> None:
        for number in range(1000):
            read.append(number)
            with problems:
                raise missing("a")

    with pytest.raises(InvalidArgument) as caught:
        read_on()
    assert len(read) == len(caught.value.violations) == MAX_PROBLEMS


def test_only_refusals_are_collected() -> None:
    problems = Problems()
    with pytest.raises(KeyError), problems:
        raise KeyError("a defect")


def test_a_message_spells_out_three_fields_and_counts_the_rest() -> None:
    problems = Problems()
    for name in "abcde":
        with problems:
            raise missing(name)
    with pytest.raises(InvalidArgument) as caught:
        problems.check()
    message = "a: is required; b: is required; c: is required; and 2 more"
    assert str(caught.value) == message
    assert len(caught.value.violations) == 5


@pytest.mark.parametrize(
    ("build", "fields", "violations", "reason"),
    [
        (ToolName, {"name": "x" * 8193}, ["p.name"], Reason.INVALID_FIELD),
        (JsonOutput, {"value_json": "nope"}, ["p.value_json"], Reason.INVALID_JSON),
        (
            ToolSearchOutput,
            {"tools_json": ("1", "x", "y")},
            ["p.tools_json[1]", "p.tools_json[2]"],
            Reason.INVALID_JSON,
        ),
        (
            FunctionOutput,
            {"post_tool_use_response_json": ""},
            ["p.post_tool_use_response_json"],
            Reason.INVALID_JSON,
        ),
    ],
)
def test_a_value_s_own_checks_become_violations_under_the_path(
    build: Any, fields: dict[str, Any], violations: list[str], reason: Reason
) -> None:
    with pytest.raises(InvalidArgument) as caught:
        checked("p", build, **fields)
    assert _fields(caught.value) == violations
    assert caught.value.reason is reason


def test_an_empty_path_leaves_the_field_s_own_name() -> None:
    with pytest.raises(InvalidArgument) as caught:
        checked("", JsonOutput, value_json="nope")
    assert _fields(caught.value) == ["value_json"]


def test_a_oneof_that_is_not_set_names_its_alternatives() -> None:
    assert str(missing("f", ("a", "b"))) == "f: is required; set exactly one of a, b"


@pytest.mark.parametrize(
    ("number", "reason"), [(0, Reason.MISSING_FIELD), (9, Reason.UNKNOWN_ENUM_VALUE)]
)
def test_an_enum_value_that_is_none_lists_those_that_are(number: int, reason: Reason) -> None:
    with pytest.raises(InvalidArgument) as caught:
        read_enum({1: "red", 2: "blue"}, number, "f")
    assert caught.value.reason is reason
    assert "1 (red), 2 (blue)" in str(caught.value)


def test_zero_is_a_value_where_the_enum_says_what_it_means() -> None:
    assert read_enum({0: "none"}, 0, "f") == "none"


@pytest.mark.parametrize("text", ["x" * 512, "é" * 256, ""])
def test_an_id_of_512_bytes_is_taken(text: str) -> None:
    assert read_id(text, "f") == text


@pytest.mark.parametrize("text", ["x" * 513, "é" * 256 + "x", "😀" * 129])
def test_a_longer_id_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument, match="512 bytes"):
        read_id(text, "f")


@given(st.text(st.characters(codec="utf-8"), max_size=20))
def test_bytes_that_are_utf8_are_their_text(text: str) -> None:
    assert read_text(text.encode(), "f") == text


@given(st.text(st.characters(codec="utf-8"), max_size=20), st.binary(max_size=5))
def test_bytes_that_are_not_utf8_are_refused_at_the_first_bad_one(text: str, rest: bytes) -> None:
    with pytest.raises(InvalidArgument, match=f"offset {len(text.encode())} ") as caught:
        read_text(text.encode() + b"\xff" + rest, "f")
    assert caught.value.reason is Reason.INVALID_UTF8


@given(st.integers(0, (1 << 64) - 1))
def test_every_time_that_fits_is_read_to_the_nanosecond(nanoseconds: int) -> None:
    seconds, nanos = divmod(nanoseconds, 1_000_000_000)
    message = projection_service_pb2.AbortedCall(elapsed=Duration(seconds=seconds, nanos=nanos))
    assert read_nanoseconds(message, "elapsed", "p") == nanoseconds


def test_an_absent_time_is_zero() -> None:
    assert read_nanoseconds(projection_service_pb2.AbortedCall(), "elapsed", "p") == 0


@pytest.mark.parametrize(
    "duration",
    [
        Duration(seconds=-1),
        Duration(nanos=-1),
        Duration(seconds=1, nanos=-1),
        Duration(nanos=1_000_000_000),
        Duration(seconds=1 << 62),
    ],
)
def test_a_time_that_is_none_is_refused_by_its_path(duration: Duration) -> None:
    message = projection_service_pb2.AbortedCall(elapsed=duration)
    with pytest.raises(InvalidArgument) as caught:
        read_nanoseconds(message, "elapsed", "p")
    assert _fields(caught.value) == ["p.elapsed"]
