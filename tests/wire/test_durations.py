"""Seconds become protobuf times to the nanosecond."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sidecall_server.wire.durations import write_duration, write_timestamp


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0.0, (0, 0)), (1.5, (1, 500_000_000)), (0.9999999999, (1, 0)), (1e-9, (0, 1))],
)
def test_a_span_is_rounded_to_nanoseconds(seconds: float, expected: tuple[int, int]) -> None:
    duration = write_duration(seconds)
    assert duration is not None
    assert (duration.seconds, duration.nanos) == expected


def test_an_absent_span_stays_absent() -> None:
    assert write_duration(None) is None


@given(st.floats(0, 4e9))
def test_a_point_in_time_is_a_valid_timestamp(unix_seconds: float) -> None:
    timestamp = write_timestamp(unix_seconds)
    assert 0 <= timestamp.nanos < 1_000_000_000
    assert abs(timestamp.ToNanoseconds() / 1e9 - unix_seconds) < 1e-6
