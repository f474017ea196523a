"""``python -m tests.bench``: a table, then one JSON line with the figures that have a name."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.bench.plan import ROWS
from tests.bench.profile import profile
from tests.bench.report import KEYS, NAMES, measure


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; progress goes to stderr."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="only what the JSON line holds, in under 50 s"
    )
    parser.add_argument(
        "--only", action="append", choices=NAMES, metavar="NAME", help="only this; repeatable"
    )
    parser.add_argument(
        "--profile",
        choices=[row.name for row in ROWS],
        metavar="NAME",
        help="say instead what the server's time goes to in the cell of this row",
    )
    parser.add_argument(
        "--plots",
        type=Path,
        metavar="FOLDER",
        help="draw instead how cost grows, as SVG: a few minutes",
    )
    options = parser.parse_args(arguments)
    if options.profile:
        (cell,) = (row.cell for row in ROWS if row.name == options.profile)
        print("\n".join(profile(cell)))
        return 0
    if options.plots:
        from tests.bench.plots import draw  # who only measures does without matplotlib

        draw(options.plots, _tell)
        return 0
    names = options.only or (KEYS if options.quick else NAMES)
    report = measure(names, quick=options.quick, tell=_tell)
    print("\n".join(report.lines()))
    return 0


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
