"""Everything that was asked for, measured and put into words."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from tests.bench import table
from tests.bench.copies import copies_per_output
from tests.bench.figures import Figure
from tests.bench.footprint import footprint
from tests.bench.languages import LANGUAGES, run_languages
from tests.bench.memory import record_memory
from tests.bench.own_work import own_work
from tests.bench.plan import ROWS, SMALL
from tests.bench.processes import ToolMissing
from tests.bench.rounds import run_rounds
from tests.bench.truncation import TEXTS, truncation_copies

ROUNDS: Final = 5
WINDOW_SECONDS: Final = 1.0
QUICK_WINDOW_SECONDS: Final = 0.4
STARTS: Final = 5
QUICK_STARTS: Final = 3

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

OWN: Final = "own_work"
TRUNCATION: Final = "truncate_10mib_ms_per_copy"
MEMORY: Final = "idle_rss_mib"
START: Final = "startup_cpu_ratio"
RECORDS: Final = "record_memory_mib"
COPIES: Final = "copies_100kib"
CLIENTS: Final = "clients"
NAMES: Final = (
    *(row.name for row in ROWS),
    OWN,
    TRUNCATION,
    COPIES,
    MEMORY,
    START,
    RECORDS,
    CLIENTS,
)
"""All that can be measured, in its order."""


@dataclass
class Report:
    """What was found so far."""

    figures: list[tuple[str, ...]] = field(default_factory=list)
    windows: list[tuple[str, ...]] = field(default_factory=list)
    clients: list[tuple[str, ...]] = field(default_factory=list)
    values: dict[str, float] = field(default_factory=dict)

    def add(self, name: str, what: str, figure: Figure, goal: str) -> None:
        """Take in a figure."""
        self.figures.append(table.figure_line(name, what, figure, goal))
        if name in KEYS:
            self.values[name] = round(figure.median, 3)

    def lines(self) -> Iterator[str]:
        """The tables, and last the JSON line."""
        for head, lines in (
            (table.FIGURES, self.figures),
            (table.WINDOWS, self.windows),
            (table.CLIENTS, self.clients),
        ):
            if lines:
                yield table.markdown(head, lines)
                yield ""
        yield json.dumps(self.values)


def measure(names: Sequence[str], *, quick: bool, tell: Callable[[str], None]) -> Report:
    """Measure what is named; `quick`: in half the time, with more noise."""
    report = Report()
    seconds = QUICK_WINDOW_SECONDS if quick else WINDOW_SECONDS
    if rows := [row for row in ROWS if row.name in names]:
        cells = [cell for row in rows for cell in (row.cell, row.floor)]
        samples = run_rounds(cells, ROUNDS, seconds, tell)
        for row in rows:
            figure = row.ratio(samples[row.cell], samples[row.floor])
            report.add(row.name, row.what, figure, row.goal)
        report.windows = [table.window_line(cell, found) for cell, found in samples.items()]
    if OWN in names:
        tell("own work")
        busy, awoken = own_work(SMALL, ROUNDS)
        report.add(OWN, "µs a call, without gRPC", busy, "")
        report.add("… after sleep", "µs a call, without gRPC", awoken, "")
    if TRUNCATION in names:
        tell("truncation")
        for script, text in TEXTS.items():
            name = TRUNCATION if script == "ASCII" else f"… {script}"
            report.add(name, "time ÷ one copy", truncation_copies(text), "≤ 6")
    if COPIES in names:
        tell("copies")
        try:
            report.add(COPIES, "bytes copied ÷ output", copies_per_output("cycle"), "")
            report.add("… echo", "bytes copied ÷ output", copies_per_output("cycle_echo"), "")
        except ToolMissing as missing:
            tell(f"SKIPPED: {COPIES}: {missing}")
    if {MEMORY, START} & set(names):
        tell("start-up")
        memory, start = footprint(QUICK_STARTS if quick else STARTS)
        report.add(MEMORY, "MiB once ready", memory, "≤ 64")
        report.add(START, "CPU ÷ an empty grpc.aio server's", start, "≤ 3")
    if RECORDS in names:
        tell("full record tables (a minute)")
        report.add(RECORDS, "MiB more with 1,000 full sessions", record_memory(), "")
    if CLIENTS in names:
        clients = run_languages(LANGUAGES, ROUNDS, seconds, tell)
        report.clients = [table.client_line(name, found) for name, found in clients.items()]
    return report
