"""Everything that was asked for, measured and put into words."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from tests.bench.figures import Figure
from tests.bench.footprint import footprint
from tests.bench.plan import ROWS
from tests.bench.rounds import run_rounds
from tests.bench.table import FIGURES, WINDOWS, figure_line, table, window_line
from tests.bench.truncation import TEXTS, truncation_copies

ROUNDS: Final = 5
STARTS: Final = 5

KEYS: Final = (
    "cycle_small",
    "cycle_medium",
    "cycle_large",
    "batched_gain",
    "attach_2000",
    "attach_growth",
    "truncate_10mib_ms_per_copy",
    "idle_rss_mib",
    "startup_cpu_ratio",
)
"""What the JSON line holds."""

FOOTPRINT: Final = ("idle_rss_mib", "startup_cpu_ratio")
TRUNCATION: Final = "truncate_10mib_ms_per_copy"
NAMES: Final = (*(row.name for row in ROWS), TRUNCATION, *FOOTPRINT)
"""All figures, in their order."""


@dataclass
class Report:
    """What was found so far."""

    figures: list[tuple[str, ...]] = field(default_factory=list)
    windows: list[tuple[str, ...]] = field(default_factory=list)
    values: dict[str, float] = field(default_factory=dict)

    def add(self, name: str, what: str, figure: Figure, goal: str) -> None:
        """Take in a figure."""
        self.figures.append(figure_line(name, what, figure, goal))
        if name in KEYS:
            self.values[name] = round(figure.median, 3)

    def lines(self) -> Iterator[str]:
        """The tables, and last the JSON line."""
        yield table(FIGURES, self.figures)
        if self.windows:
            yield ""
            yield table(WINDOWS, self.windows)
        yield ""
        yield json.dumps(self.values)


def measure(names: Sequence[str], *, quick: bool, tell: Callable[[str], None]) -> Report:
    """Measure what is named; `quick`: in half the time, with more noise."""
    report = Report()
    rows = [row for row in ROWS if row.name in names]
    if rows:
        samples = run_rounds(rows, ROUNDS, 0.4 if quick else 1.0, tell)
        for row in rows:
            figure = row.ratio(samples[row.cell], samples[row.floor])
            report.add(row.name, row.what, figure, row.goal)
        report.windows = [window_line(cell, found) for cell, found in samples.items()]
    if TRUNCATION in names:
        tell("truncation")
        for script, text in TEXTS.items():
            name = TRUNCATION if script == "ASCII" else f"… {script}"
            report.add(name, "time ÷ one copy", truncation_copies(text), "≤ 6")
    if set(FOOTPRINT) & set(names):
        tell("footprint")
        memory, start = footprint(3 if quick else STARTS)
        report.add(FOOTPRINT[0], "MiB once ready", memory, "≤ 64")
        report.add(FOOTPRINT[1], "CPU ÷ an empty grpc.aio server's", start, "≤ 3")
    return report
