"""The tables, as Markdown: the figures, and the windows they rest on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.bench.attach import Attach
from tests.bench.figures import Figure, Sample, median_of
from tests.bench.fill import Fill
from tests.bench.plan import Cell

FIGURES: Final = ("figure", "what", "median", "spread", "goal", "from")
WINDOWS: Final = (
    "window",
    "calls/s",
    "server CPU µs/call",
    "server cores",
    "load cores",
    "messages/call",
    "p50 µs",
    "p99 µs",
)


CLIENTS: Final = (
    "client",
    "calls/s",
    "server CPU µs/call",
    "client CPU µs/call",
    "server cores",
    "client cores",
)


def figure_line(name: str, what: str, figure: Figure, goal: str) -> tuple[str, ...]:
    """One line of `FIGURES`."""
    return (
        name,
        what,
        f"{figure.median:.2f}",
        f"{figure.lowest:.2f}–{figure.highest:.2f}",
        goal,
        figure.basis,
    )


def window_line(cell: Cell, samples: Sequence[Sample]) -> tuple[str, ...]:
    """One line of `WINDOWS`: medians of all rounds."""
    latencies = ("", "")
    if all(sample.latencies for sample in samples):
        latencies = (_microseconds(samples, 50), _microseconds(samples, 99))
    return (
        cell_name(cell),
        f"{median_of(samples, lambda sample: sample.rate):,.0f}",
        f"{1e6 * median_of(samples, lambda sample: sample.server_cpu_per_call):,.0f}",
        f"{median_of(samples, lambda sample: sample.server_cores):.2f}",
        f"{median_of(samples, lambda sample: sample.load_cores):.2f}",
        f"{median_of(samples, lambda sample: sample.messages_per_call):.2f}",
        *latencies,
    )


def client_line(language: str, samples: Sequence[Sample]) -> tuple[str, ...]:
    """One line of `CLIENTS`: medians of all rounds."""
    if not samples:
        return (language, "skipped", "", "", "", "")
    return (
        language,
        f"{median_of(samples, lambda sample: sample.rate):,.0f}",
        f"{1e6 * median_of(samples, lambda sample: sample.server_cpu_per_call):,.0f}",
        f"{1e6 * median_of(samples, lambda sample: sample.load_cpu_per_call):,.0f}",
        f"{median_of(samples, lambda sample: sample.server_cores):.2f}",
        f"{median_of(samples, lambda sample: sample.load_cores):.2f}",
    )


def cell_name(cell: Cell) -> str:
    """A cell in words."""
    side = "echo" if cell.target.endswith("_echo") else "sidecall"
    shape = cell.shape
    if isinstance(shape, Attach):
        before = f" after {shape.base:,}" if shape.base else ""
        return f"{side}, attach, {shape.outputs:,} outputs{before}"
    if isinstance(shape, Fill):
        return f"{side}, {shape.sessions:,} sessions with {shape.records} records"
    words = [
        side,
        f"{_size(shape.arguments_bytes)} → {_size(shape.output_bytes)}",
        f"{shape.in_flight} in flight",
    ]
    if shape.batched:
        words.append("batched")
    if shape.all_views:
        words.append("all views")
    if shape.period_seconds:
        words.append(f"every {shape.period_seconds * 1e3:g} ms")
    if cell.beside is not None:
        words.append(f"beside: {cell_name(cell.beside)}")
    return ", ".join(words)


def markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Markdown, in columns; all but the first are figures."""
    widths = [max(len(row[column]) for row in (head, *lines)) for column in range(len(head))]
    rule = ["-" * width for width in widths]
    return "\n".join(
        "| " + " | ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) + " |"
        for row in (head, rule, *lines)
    )


def _microseconds(samples: Sequence[Sample], percent: float) -> str:
    return f"{1e6 * median_of(samples, lambda sample: sample.latency(percent)):,.0f}"


def _size(size_bytes: int) -> str:
    return f"{size_bytes} B" if size_bytes < 1 << 10 else f"{size_bytes >> 10} KiB"
