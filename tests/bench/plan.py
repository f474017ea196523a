"""What is measured beside what, and what each ratio has to be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tests.bench.cycle import Cycle
from tests.bench.figures import Figure, Sample, rate_ratio


@dataclass(frozen=True)
class Cell:
    """One thing the load side does for the length of a window."""

    target: str
    """What the load process calls it."""
    shape: Cycle


@dataclass(frozen=True)
class Row:
    """Two cells of one round, and what their ratio has to be."""

    name: str
    what: str
    cell: Cell
    floor: Cell
    ratio: Callable[[Sequence[Sample], Sequence[Sample]], Figure]
    goal: str
    key: bool = False
    """Whether the JSON line has it."""


SMALL: Final = Cycle(arguments_bytes=200, output_bytes=1 << 10)
MEDIUM: Final = Cycle(arguments_bytes=2 << 10, output_bytes=10 << 10)
LARGE: Final = Cycle(arguments_bytes=8 << 10, output_bytes=100 << 10)


def _cycle(name: str, shape: Cycle, goal: str, *, key: bool = False) -> Row:
    return Row(
        name, "rate ÷ floor", Cell("sidecall", shape), Cell("echo", shape), rate_ratio, goal, key
    )


ROWS: Final = (
    _cycle("cycle_small", SMALL, "≥ 0.75", key=True),
    _cycle("cycle_medium", MEDIUM, "≥ 0.65", key=True),
    _cycle("cycle_large", LARGE, "≥ 0.5", key=True),
    _cycle("cycle_all_views", replace(MEDIUM, all_views=True), "≥ 0.35"),
    Row(
        "batched_gain",
        "rate ÷ unbatched floor",
        Cell("sidecall", replace(SMALL, in_flight=64, batched=True)),
        Cell("echo", replace(SMALL, in_flight=64)),
        rate_ratio,
        "≥ 2",
        key=True,
    ),
)
