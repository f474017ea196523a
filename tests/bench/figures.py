"""What is made of the measures: ratios, their median and spread, and what they rest on.

Samples are what one cell did in the window of one round. Ratios are only ever taken inside a
round, between windows that lie next to each other.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

LOAD_CORES_MAX: Final = 0.85
"""Above it the load side may be what limits the rate."""

SERVER_CORES_MIN: Final = 0.9
"""Below it the server was not what limits the rate."""


class Basis(StrEnum):
    """What a ratio was taken from."""

    RATE = "rate"
    SERVER_CPU = "server CPU"
    LATENCY = "latency"
    TIME = "time"
    MEMORY = "memory"
    COUNT = "count"


@dataclass(frozen=True)
class Sample:
    """One window of one cell; times in seconds, latencies of single calls."""

    seconds: float
    calls: int
    load_cpu_seconds: float
    server_cpu_seconds: float
    messages_sent: int = 0
    messages_received: int = 0
    latencies: Sequence[float] = ()

    @property
    def rate(self) -> float:
        """Calls a second."""
        return self.calls / self.seconds

    @property
    def load_cores(self) -> float:
        """Cores that the load side kept busy."""
        return self.load_cpu_seconds / self.seconds

    @property
    def server_cores(self) -> float:
        """Cores that the server kept busy."""
        return self.server_cpu_seconds / self.seconds

    @property
    def server_cpu_per_call(self) -> float:
        """Seconds."""
        return self.server_cpu_seconds / self.calls

    @property
    def load_cpu_per_call(self) -> float:
        """Seconds."""
        return self.load_cpu_seconds / self.calls

    @property
    def messages_per_call(self) -> float:
        """Both ways."""
        return (self.messages_sent + self.messages_received) / self.calls

    def latency(self, percent: float) -> float:
        """The percentile of the calls' latencies, by nearest rank, in seconds."""
        return percentile(self.latencies, percent)


@dataclass(frozen=True)
class Figure:
    """One number, over all rounds."""

    median: float
    lowest: float
    highest: float
    basis: Basis

    @classmethod
    def of(cls, values: Sequence[float], basis: Basis) -> Figure:
        """From the values of the rounds."""
        return cls(statistics.median(values), min(values), max(values), basis)


def percentile(values: Sequence[float], percent: float) -> float:
    """By nearest rank."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def median_of(samples: Sequence[Sample], read: Callable[[Sample], float]) -> float:
    """The median of one property."""
    return statistics.median(map(read, samples))


def server_was_the_limit(samples: Sequence[Sample]) -> bool:
    """Whether rates say what the server can do: it was busy, and the load side was not."""
    return (
        median_of(samples, lambda sample: sample.load_cores) <= LOAD_CORES_MAX
        and median_of(samples, lambda sample: sample.server_cores) >= SERVER_CORES_MIN
    )


def rate_ratio(cell: Sequence[Sample], floor: Sequence[Sample]) -> Figure:
    """The cell's rate ÷ the floor's; of server CPU per call where the rates do not tell."""
    pairs = list(zip(cell, floor, strict=True))
    if server_was_the_limit(cell) and server_was_the_limit(floor):
        return Figure.of([one.rate / other.rate for one, other in pairs], Basis.RATE)
    return Figure.of(
        [other.server_cpu_per_call / one.server_cpu_per_call for one, other in pairs],
        Basis.SERVER_CPU,
    )


def cost_ratio(cell: Sequence[Sample], floor: Sequence[Sample]) -> Figure:
    """What a call costs ÷ what it costs on the floor: the other way round."""
    return rate_ratio(floor, cell)


def latency_ratio(percent: float) -> Callable[[Sequence[Sample], Sequence[Sample]], Figure]:
    """The cell's latency ÷ the floor's, at this percentile."""

    def ratio(cell: Sequence[Sample], floor: Sequence[Sample]) -> Figure:
        return Figure.of(
            [
                one.latency(percent) / other.latency(percent)
                for one, other in zip(cell, floor, strict=True)
            ],
            Basis.LATENCY,
        )

    return ratio
