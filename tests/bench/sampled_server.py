"""The server with a statistical profiler: `python -m tests.bench.sampled_server FILE FLAG...`.

From SIGUSR1 on the stack of the event loop's thread is noted each time the process has used a
little more processor time; at the end FILE gets `[[stack, samples], ...]` as JSON, innermost
frame first. C code counts as the Python function that called it. Samples in `select` are those
of gRPC's own threads: the loop was waiting.
"""

from __future__ import annotations

import json
import signal
import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Final

from sidecall_server.app.commands.serve import run

from tests.bench.server import WithEcho

INTERVAL_SECONDS: Final = 0.001
"""Of processor time; the kernel may round it up to its own tick."""


def main(file: str, flags: list[str]) -> int:
    """Serve; returns the exit status."""
    stacks: Counter[tuple[str, ...]] = Counter()

    def sample(number: int, frame: FrameType | None) -> None:
        stack = []
        while frame is not None:
            stack.append(f"{frame.f_code.co_filename}:{frame.f_code.co_qualname}")
            frame = frame.f_back
        stacks[tuple(stack)] += 1

    def begin(number: int, frame: FrameType | None) -> None:
        signal.setitimer(signal.ITIMER_PROF, INTERVAL_SECONDS, INTERVAL_SECONDS)

    signal.signal(signal.SIGPROF, sample)
    signal.signal(signal.SIGUSR1, begin)
    try:
        return run(flags, WithEcho)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        Path(file).write_text(json.dumps(list(stacks.items())))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
