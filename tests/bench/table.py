"""The table, as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from tests.bench.figures import Figure, Sample, median_of
from tests.bench.plan import Row

HEAD: Final = (
    "row",
    "what",
    "median",
    "spread",
    "goal",
    "from",
    "calls/s",
    "floor",
    "CPU µs/call",
    "floor",
    "server cores",
    "load cores",
)


def line_of(
    row: Row, figure: Figure, cell: Sequence[Sample], floor: Sequence[Sample]
) -> tuple[str, ...]:
    """A row of the table, in the order of `HEAD`. Cores are the cell's and the floor's."""

    def rate(samples: Sequence[Sample]) -> str:
        return f"{median_of(samples, lambda sample: sample.rate):,.0f}"

    def cost(samples: Sequence[Sample]) -> str:
        return f"{median_of(samples, lambda sample: sample.server_cpu_per_call) * 1e6:,.0f}"

    return (
        row.name,
        row.what,
        f"{figure.median:.2f}",
        f"{figure.lowest:.2f}-{figure.highest:.2f}",
        row.goal,
        figure.basis,
        rate(cell),
        rate(floor),
        cost(cell),
        cost(floor),
        _both(cell, floor, lambda sample: sample.server_cores),
        _both(cell, floor, lambda sample: sample.load_cores),
    )


def _both(cell: Sequence[Sample], floor: Sequence[Sample], read: Callable[[Sample], float]) -> str:
    return f"{median_of(cell, read):.2f} {median_of(floor, read):.2f}"


def table(lines: Sequence[Sequence[str]]) -> str:
    """Markdown, in columns."""
    rows = [HEAD, *lines]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    rule = ["-" * width for width in widths]
    return "\n".join(
        "| " + " | ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) + " |"
        for row in (HEAD, rule, *lines)
    )
