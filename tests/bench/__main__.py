"""``python -m tests.bench``: a table, then one JSON line with the figures that have a name."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from sidecall_server.app.version import compiled

from tests.bench.plan import ROWS, cell_of
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
        "--publish",
        action="store_true",
        help="measure everything and write it into BENCHMARKS.md, with plots: ten minutes",
    )
    options = parser.parse_args(arguments)
    if not compiled():
        _tell("the server is not compiled; `make bench` measures one that is")
    if options.profile:
        print("\n".join(profile(cell_of(options.profile))))
        return 0
    if options.publish:
        from tests.bench.document import publish  # who only measures does without matplotlib

        publish(_tell)
        return 0
    names = options.only or (KEYS if options.quick else NAMES)
    report = measure(names, quick=options.quick, tell=_tell)
    print("\n".join(report.lines()))
    return 0


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
