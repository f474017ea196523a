"""How cost grows: throughput against calls in flight, attach against the size of the prompt."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, StrMethodFormatter

from tests.bench.attach import RECORDS, Attach
from tests.bench.figures import Sample, median_of
from tests.bench.plan import SMALL, Cell
from tests.bench.rounds import run_rounds

ROUNDS: Final = 5
WINDOW_SECONDS: Final = 0.5
IN_FLIGHT: Final = (1, 2, 4, 8, 16, 32, 64, 128)
OUTPUTS: Final = (RECORDS, 500, 1_000, 2_000, 4_000, 8_000, 16_000)

_COLOURS: Final = {"sidecall, batched": "#1f77b4", "sidecall": "#ff7f0e", "echo": "#7f7f7f"}

Lines = Mapping[str, Mapping[int, Cell]]
"""Cells by what they are and by their place on the axis."""

STREAMS: Final[Lines] = {
    "sidecall, batched": {
        count: Cell("cycle", replace(SMALL, in_flight=count, batched=True)) for count in IN_FLIGHT
    },
    "sidecall": {count: Cell("cycle", replace(SMALL, in_flight=count)) for count in IN_FLIGHT},
    "echo": {count: Cell("cycle_echo", replace(SMALL, in_flight=count)) for count in IN_FLIGHT},
}
PROMPTS: Final[Lines] = {
    "sidecall": {count: Cell("attach", Attach(count)) for count in OUTPUTS},
    "echo": {count: Cell("attach_echo", Attach(count)) for count in OUTPUTS},
}


def draw(folder: Path, tell: Callable[[str], None]) -> None:
    """Measure, and write `throughput.svg` and `attach.svg`."""
    cells = [cell for line in (*STREAMS.values(), *PROMPTS.values()) for cell in line.values()]
    samples = run_rounds(cells, ROUNDS, WINDOW_SECONDS, tell)
    throughput = plot(
        STREAMS,
        samples,
        lambda sample: 1 / sample.server_cpu_per_call,
        ("calls in flight", "calls per second of server CPU"),
    )
    cost = plot(
        PROMPTS,
        samples,
        lambda sample: 1e3 * sample.server_cpu_per_call,
        ("outputs of the prompt", "server CPU per attach, ms"),
        "log",
    )
    folder.mkdir(parents=True, exist_ok=True)
    save(folder / "throughput.svg", throughput)
    save(folder / "attach.svg", cost)


def plot(
    lines: Lines,
    samples: Mapping[Cell, Sequence[Sample]],
    read: Callable[[Sample], float],
    labels: tuple[str, str],
    scale: str = "linear",
) -> Figure:
    """Medians as lines, all rounds as a band; `scale` is that of what was read."""
    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes: Any = figure.add_subplot()
    for name, cells in lines.items():
        colour = _COLOURS[name]
        found = [samples[cell] for cell in cells.values()]
        values = [[read(sample) for sample in rounds] for rounds in found]
        lowest, highest = list(map(min, values)), list(map(max, values))
        axes.fill_between(list(cells), lowest, highest, color=colour, alpha=0.2)
        medians = [median_of(rounds, read) for rounds in found]
        axes.plot(list(cells), medians, color=colour, marker="o", markersize=3, label=name)
    places = list(dict.fromkeys(place for cells in lines.values() for place in cells))
    axes.set(xscale="log", yscale=scale, xlabel=labels[0], ylabel=labels[1])
    axes.set_xticks(places, [f"{place:,}" for place in places])
    axes.minorticks_off()
    if scale == "linear":
        axes.set_ylim(bottom=0)
    else:
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.6g}"))
    axes.grid(alpha=0.3)
    axes.legend()
    return figure


def save(file: Path, figure: Figure) -> None:
    """Write it as SVG, without the date."""
    with rc_context({"svg.fonttype": "none"}):
        figure.savefig(file, metadata={"Date": None})
