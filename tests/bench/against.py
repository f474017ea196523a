"""`python -m tests.bench.against CHECKOUT NAME`: this server beside another commit's.

Both serve the cell of the row NAME in turn, and are started anew again and again: where a
process lies in memory is worth several percent, as much as most changes are. The other
checkout (`git worktree add`) needs no environment of its own. A server is compiled where
`make compiled` was run in its checkout.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple

from tests.bench.figures import Sample
from tests.bench.plan import ROWS, Cell, cell_of
from tests.bench.processes import ROOT, WITH_ECHO, LoadSide, loading, serving
from tests.bench.rounds import measure_cell

STARTS: Final = 30
ROUNDS: Final = 5
"""Of one start."""
WINDOW_SECONDS: Final = 0.25


class Ratio(NamedTuple):
    """Ours ÷ theirs, over all starts: the geometric mean, and its standard error."""

    mean: float
    error: float

    @classmethod
    def of(cls, ratios: Sequence[float]) -> Ratio:
        """From the ratios of two or more starts."""
        logs = [math.log(ratio) for ratio in ratios]
        mean = math.exp(statistics.mean(logs))
        return cls(mean, mean * statistics.stdev(logs) / math.sqrt(len(logs)))

    def __str__(self) -> str:
        return f"{self.mean:.3f} ± {self.error:.3f}"


def against(
    other: Path,
    cell: Cell,
    *,
    starts: int = STARTS,
    rounds: int = ROUNDS,
    seconds: float = WINDOW_SECONDS,
    tell: Callable[[str], None] = lambda line: None,
) -> dict[str, Ratio]:
    """Compare what a call costs, and where calls come one at a time how long they take."""
    costs, latencies = list[float](), list[float]()
    for start in range(starts):
        ours, theirs = _one_start(other, cell, rounds, seconds)
        costs.append(_middle(ours, _cost) / _middle(theirs, _cost))
        if ours[0].latencies:
            latencies.append(_middle(ours, _p50) / _middle(theirs, _p50))
        tell(f"start {start + 1} of {starts}")
    found = {"server CPU a call": Ratio.of(costs)}
    if latencies:
        found["p50"] = Ratio.of(latencies)
    return found


def _one_start(
    other: Path, cell: Cell, rounds: int, seconds: float
) -> tuple[list[Sample], list[Sample]]:
    with ExitStack() as stack:
        ours, theirs = (_started(stack, checkout) for checkout in (ROOT, other))
        samples: tuple[list[Sample], list[Sample]] = [], []
        sides = list(zip((ours, theirs), samples, strict=True))
        for round_ in range(rounds + 1):
            for loads, into in sides if round_ % 2 else reversed(sides):
                sample = measure_cell(cell, seconds, *loads)
                if round_:  # the first one warms up
                    into.append(sample)
        return samples


def _started(stack: ExitStack, checkout: Path) -> tuple[LoadSide, LoadSide]:
    """A server of the checkout, and what loads it."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    path = os.pathsep.join(
        str(checkout / part) for part in (".compiled", "server", "clients/python")
    )
    environment = {**os.environ, "PYTHONPATH": path}
    server = stack.enter_context(serving(folder, WITH_ECHO, environment))
    return stack.enter_context(loading(server)), stack.enter_context(loading(server))


def _middle(samples: Sequence[Sample], read: Callable[[Sample], float]) -> float:
    return statistics.median(map(read, samples))


def _cost(sample: Sample) -> float:
    return sample.server_cpu_per_call


def _p50(sample: Sample) -> float:
    return sample.latency(50)


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare and print; progress goes to stderr."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.against",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("checkout", type=Path, help="another commit's files")
    parser.add_argument("name", choices=[row.name for row in ROWS], metavar="NAME", help="a row")
    parser.add_argument(
        "--starts", type=int, default=STARTS, metavar="N", help="of both servers, 2 or more"
    )
    options = parser.parse_args(arguments)
    if not (options.checkout / "server" / "sidecall_server").is_dir():
        parser.error(f"{options.checkout} holds no server/sidecall_server")
    if options.starts < 2:
        parser.error("one start says nothing about the error: --starts 2 or more")
    found = against(
        options.checkout.resolve(),
        cell_of(options.name),
        starts=options.starts,
        tell=lambda line: print(line, file=sys.stderr, flush=True),
    )
    for what, ratio in found.items():
        print(f"{what}, this ÷ {options.checkout}: {ratio}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
