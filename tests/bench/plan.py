"""What is measured beside what, and what each ratio has to be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tests.bench.attach import RECORDS, Attach
from tests.bench.cycle import Cycle
from tests.bench.figures import Figure, Sample, cost_ratio, latency_ratio, rate_ratio
from tests.bench.fill import Fill


@dataclass(frozen=True)
class Cell:
    """One thing the load side does for the length of a window."""

    target: str
    """What the load process calls it."""
    shape: Cycle | Attach | Fill
    beside: Cell | None = None
    """What a second load process does meanwhile."""


@dataclass(frozen=True)
class Row:
    """Two cells of one round, and what their ratio has to be."""

    name: str
    what: str
    cell: Cell
    floor: Cell
    ratio: Callable[[Sequence[Sample], Sequence[Sample]], Figure]
    goal: str


SMALL: Final = Cycle(arguments_bytes=200, output_bytes=1 << 10)
MEDIUM: Final = Cycle(arguments_bytes=2 << 10, output_bytes=10 << 10)
LARGE: Final = Cycle(arguments_bytes=8 << 10, output_bytes=100 << 10)
ALONE: Final = replace(SMALL, in_flight=1)
PACED: Final = replace(ALONE, period_seconds=0.005)
LIGHT: Final = replace(ALONE, period_seconds=0.002)
HEAVY: Final = replace(LARGE, in_flight=1)
PROMPT: Final = Attach(outputs=2_000)
LONG_PROMPT: Final = Attach(outputs=16_000)
NEW_TURN: Final = Attach(outputs=20, records=0, changing=True, in_flight=1)


def _cycle(name: str, shape: Cycle, goal: str) -> Row:
    return Row(
        name, "rate ÷ floor", Cell("cycle", shape), Cell("cycle_echo", shape), rate_ratio, goal
    )


def _latency(name: str, shape: Cycle, percent: float, goal: str) -> Row:
    return Row(
        name,
        f"p{percent:g} ÷ floor",
        Cell("cycle", shape),
        Cell("cycle_echo", shape),
        latency_ratio(percent),
        goal,
    )


ROWS: Final = (
    _cycle("cycle_small", SMALL, "≥ 0.75"),
    _cycle("cycle_medium", MEDIUM, "≥ 0.65"),
    _cycle("cycle_large", LARGE, "≥ 0.5"),
    _cycle("cycle_all_views", replace(MEDIUM, all_views=True), "≥ 0.35"),
    Row(
        "batched_gain",
        "rate ÷ unbatched floor",
        Cell("cycle", replace(SMALL, in_flight=64, batched=True)),
        Cell("cycle_echo", replace(SMALL, in_flight=64)),
        rate_ratio,
        "≥ 2",
    ),
    Row(
        "attach_2000",
        "cost ÷ empty rpc",
        Cell("attach", PROMPT),
        Cell("attach_echo", PROMPT),
        cost_ratio,
        "≤ 1.5",
    ),
    Row(
        "attach_growth",
        "cost of 16,000 ÷ of 2,000",
        Cell("attach", LONG_PROMPT),
        Cell("attach", PROMPT),
        cost_ratio,
        "≤ 10",
    ),
    Row(
        "attach_base",
        "cost of 20 more than 2,000 ÷ of 20",
        Cell("attach", replace(NEW_TURN, base=2_000, records=RECORDS)),
        Cell("attach", NEW_TURN),
        cost_ratio,
        "",
    ),
    _latency("one_at_a_time", ALONE, 50, "≤ 1.4"),
    _latency("paced_p50", PACED, 50, ""),
    _latency("paced_p99", PACED, 99, ""),
    Row(
        "head_of_line",
        "p99 ÷ beside a large echo",
        Cell("cycle", LIGHT, beside=Cell("cycle", HEAVY)),
        Cell("cycle", LIGHT, beside=Cell("cycle_echo", HEAVY)),
        latency_ratio(99),
        "≤ 3",
    ),
)


def cell_of(name: str) -> Cell:
    """The cell of the row with this name."""
    (cell,) = (row.cell for row in ROWS if row.name == name)
    return cell
