"""``python -m tests.bench``: a table, then one JSON line with the figures that have a name."""

from __future__ import annotations

import argparse
import json
import sys

from tests.bench.plan import ROWS
from tests.bench.rounds import run_rounds
from tests.bench.table import line_of, table


def main() -> int:
    """Measure and print; progress goes to stderr."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="in under 50 s, with more noise")
    parser.add_argument("--only", action="append", metavar="NAME", help="only this row; repeatable")
    options = parser.parse_args()
    names = options.only or [row.name for row in ROWS if row.key or not options.quick]
    rows = [row for row in ROWS if row.name in names]
    if unknown := set(names) - {row.name for row in rows}:
        parser.error(f"no such row: {', '.join(sorted(unknown))}")
    seconds = 0.5 if options.quick else 1.0
    samples = run_rounds(rows, 5, seconds, lambda line: print(line, file=sys.stderr, flush=True))
    lines, figures = [], {}
    for row in rows:
        cell, floor = samples[row.cell], samples[row.floor]
        figure = row.ratio(cell, floor)
        lines.append(line_of(row, figure, cell, floor))
        if row.key:
            figures[row.name] = round(figure.median, 3)
    print(table(lines))
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
