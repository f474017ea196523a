"""SPEC C1, C6, G4, I2: durations in texts."""

from __future__ import annotations

import pytest
from sidecall_server.domain.durations import (
    abort_seconds,
    cell_seconds,
    seconds_of,
    wall_time_line,
)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0.1"),
        (0.04, "0.1"),
        (0.1, "0.1"),
        (0.25, "0.2"),
        (0.35, "0.3"),
        (0.75, "0.8"),
        (1.05, "1.0"),
        (1.25, "1.2"),
        (2.5, "2.5"),
        (3600.0, "3600.0"),
        (16_777_217.0, "16777216.0"),
    ],
)
def test_an_abort_shows_one_decimal_of_a_32_bit_float_half_to_even(
    seconds: float, text: str
) -> None:
    assert abort_seconds(seconds) == text


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "0.0"),
        (49_990_000, "0.0"),
        (49_999_999, "0.1"),  # 0.05 in 32 bits
        (50_000_000, "0.1"),
        (250_000_000, "0.3"),
        (350_000_000, "0.4"),
        (1_050_000_000, "1.1"),  # 10.5 in 32 bits
        (1_049_000_000, "1.0"),
        (1_250_000_000, "1.3"),
        (1_949_999_999, "2.0"),
        (59_960_000_000, "60.0"),
        (3_600_000_000_000, "3600.0"),
    ],
)
def test_a_cell_shows_one_decimal_half_away_from_zero(nanoseconds: int, text: str) -> None:
    assert cell_seconds(nanoseconds) == text


@pytest.mark.parametrize(
    ("nanoseconds", "line"),
    [
        (0, "Wall time: 0.0000 seconds"),
        (50_000, "Wall time: 0.0001 seconds"),
        (1_234_550_000, "Wall time: 1.2346 seconds"),
        (1_234_450_000, "Wall time: 1.2345 seconds"),
        (123_456_789_012_345, "Wall time: 123456.7890 seconds"),
    ],
)
def test_a_wall_time_has_four_decimals(nanoseconds: int, line: str) -> None:
    assert wall_time_line(nanoseconds) == line


def test_seconds_keep_their_nanoseconds() -> None:
    assert seconds_of(123_456_789_012_345) == 123_456.789_012_345
