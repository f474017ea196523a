"""``python -m tests.chaos --seconds 60 --seed 1``: exit status 0 only where every rule held."""

from __future__ import annotations

import argparse
import asyncio
import sys

from tests.chaos.run import AGENTS, WORKERS, run


def main() -> int:
    """Run; the last line has the counts."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long (default: 60)")
    parser.add_argument("--seed", type=int, default=1, help="what is planned (default: 1)")
    parser.add_argument("--agents", type=int, default=AGENTS, help="raw agents in this process")
    parser.add_argument("--workers", type=int, default=WORKERS, help="client processes at a time")
    options = parser.parse_args()
    ledger = asyncio.run(
        run(
            options.seconds,
            options.seed,
            lambda line: print(line, flush=True),
            agents=options.agents,
            workers=options.workers,
        )
    )
    print("evil:", " ".join(f"{kind}={count}" for kind, count in sorted(ledger.evil.items())))
    if not ledger.clean:
        print(
            f"to repeat: python -m tests.chaos --seconds {options.seconds:g} --seed {options.seed}"
        )
    print(ledger.line, flush=True)
    return 0 if ledger.clean else 1


if __name__ == "__main__":
    sys.exit(main())
