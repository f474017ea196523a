"""``python -m tests.soak --minutes 10``: exit status 1 where the server grew or a call was lost."""

from __future__ import annotations

import argparse
import asyncio
import sys

from tests.soak.run import soak


def main() -> int:
    """Soak; the last line has the measures."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long (default: 10)")
    parser.add_argument("--seed", type=int, default=1, help="what the load does (default: 1)")
    options = parser.parse_args()
    report = asyncio.run(
        soak(options.minutes * 60, options.seed, lambda line: print(line, flush=True))
    )
    faults = report.judge()
    for fault in faults:
        print(f"broke: {fault}")
    print(report.load.line)
    print(report.line, flush=True)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
