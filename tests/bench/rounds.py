"""Rounds: every cell once in each, so that what the machine does meanwhile meets all alike."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from tests.bench.figures import Sample
from tests.bench.plan import Cell
from tests.bench.processes import LoadSide, loading, serving

Samples: TypeAlias = Mapping[Cell, Sequence[Sample]]


def run_rounds(
    cells: Iterable[Cell], rounds: int, seconds: float, tell: Callable[[str], None]
) -> Samples:
    """Measure each cell once a round, however often it is named; every other round backwards."""
    cells = list(dict.fromkeys(cells))
    samples: dict[Cell, list[Sample]] = {cell: [] for cell in cells}
    with (
        tempfile.TemporaryDirectory(prefix="sidecall-bench-") as folder,
        serving(Path(folder)) as server,
        loading(server) as load,
        loading(server) as other,
    ):
        for number in range(rounds):
            tell(f"round {number + 1} of {rounds}")
            for cell in cells if number % 2 == 0 else reversed(cells):
                samples[cell].append(measure_cell(cell, seconds, load, other))
    return samples


def measure_cell(cell: Cell, seconds: float, load: LoadSide, other: LoadSide) -> Sample:
    """One window; `other` does what is beside it."""
    if cell.beside is not None:
        other.begin(cell.beside, None)
    load.begin(cell, seconds)
    sample = load.measured()
    if cell.beside is not None:
        other.stop()
        other.measured()
    return sample
