"""``python -m tests.conformance [DIR]``: every vector of DIR against a live server."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.conformance.lines import VECTORS
from tests.conformance.live_server import ServerFailed
from tests.conformance.runner import run


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the vectors; returns the exit status: 1 when any line failed, 2 when none could run."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.conformance",
        description="Run golden vectors (.jsonl, .jsonl.gz) against a live server.",
        epilog="The last line is `N passed, M failed`; the exit status is 1 when M > 0.",
    )
    parser.add_argument(
        "folder", metavar="DIR", nargs="?", type=Path, default=VECTORS, help="folder of vectors"
    )
    folder: Path = parser.parse_args(arguments).folder
    if not folder.is_dir():
        parser.error(f"{folder} is not a folder")
    try:
        tally = run(folder, print)
    except ServerFailed as error:
        print(f"python -m tests.conformance: {error}", file=sys.stderr)
        return 2
    print(tally)
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
