"""Durations as texts show them (SPEC C1, C6, D7, G4, I2).

Two of them are computed as 32-bit floats by the reference runtime; the digits depend on it.
"""

from __future__ import annotations

import math
import struct
from typing import Final

from sidecall_server.domain.limits import MIN_ABORT_SECONDS, NANOSECONDS_PER_SECOND


def seconds_of(nanoseconds: int) -> float:
    """Seconds as a 64-bit float: whole seconds plus the fraction (C6)."""
    whole, fraction = divmod(nanoseconds, NANOSECONDS_PER_SECOND)
    return whole + fraction / NANOSECONDS_PER_SECOND


def wall_time_line(nanoseconds: int) -> str:
    """The line that says how long a tool ran, without a line end (C1, D7)."""
    return f"Wall time: {seconds_of(nanoseconds):.4f} seconds"


def cell_seconds(nanoseconds: int) -> str:
    """Seconds of a cell: one decimal, half away from zero, as a 32-bit float (I2)."""
    whole, fraction = divmod(nanoseconds, NANOSECONDS_PER_SECOND)
    seconds = _float32(_float32(whole) + _float32(_float32(fraction) / NANOSECONDS_PER_SECOND))
    tenths = math.floor(_float32(seconds * 10) + 0.5)
    return f"{_float32(tenths / 10):.1f}"


def abort_seconds(seconds: float) -> str:
    """Seconds until a cancel: one decimal of the 32-bit float, half to even, at least 0.1 (G4)."""
    return f"{_float32(max(seconds, MIN_ABORT_SECONDS)):.1f}"


def _float32(number: float) -> float:
    rounded: float = _FLOAT32.unpack(_FLOAT32.pack(number))[0]
    return rounded


_FLOAT32: Final = struct.Struct("f")
