"""``python -m tests.fuzz --seconds 60``: exit status 1 where anything but a DomainError came."""

from __future__ import annotations

import argparse
import itertools
import logging
import sys
import time
import traceback

from tests.fuzz.targets import Target, check, targets

EXAMPLES_PER_TURN = 100


def main() -> int:
    """Fuzz all targets in turn until the time is over."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long (default: 60)")
    parser.add_argument("--seed", type=int, default=1, help="where to begin (default: 1)")
    parser.add_argument("--target", help="only this one")
    options = parser.parse_args()
    logging.disable(logging.WARNING)  # what fails open is no news here
    chosen = [one for one in targets() if options.target in (None, one.name)]
    deadline = time.monotonic() + options.seconds
    examples = 0
    failed: set[str] = set()
    for seed in itertools.count(options.seed):
        for target in chosen:
            if time.monotonic() > deadline or len(failed) == len(chosen):
                print(f"targets={len(chosen)} examples={examples} failures={len(failed)}")
                return 1 if failed else 0
            if target.name not in failed:
                examples += EXAMPLES_PER_TURN
                if not _holds(target, seed):
                    failed.add(target.name)
        print(f"seed {seed}: {examples} examples, failed: {sorted(failed) or 'none'}", flush=True)
    raise AssertionError("seeds do not end")


def _holds(target: Target, seed: int) -> bool:
    try:
        check(target, EXAMPLES_PER_TURN, seed)
    except Exception:  # noqa: BLE001 - finding any is what this is for
        print(f"{target.name} failed with seed {seed}:\n{traceback.format_exc()}", flush=True)
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
