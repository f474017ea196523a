"""What the server's time goes to, by layer and by function."""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tests.bench.plan import Cell
from tests.bench.processes import loading, serving

SECONDS: Final = 8.0
FUNCTIONS: Final = 25

Stacks = Sequence[tuple[Sequence[str], int]]

_PLACES: Final = (
    ("sidecall_server/domain/", "domain"),
    ("sidecall_server/runtime/", "runtime"),
    ("sidecall_server/wire/", "wire, with protobuf"),
    ("sidecall_server/rpc/", "rpc"),
    ("sidecall_server/app/", "app"),
    ("/selectors.py", "gRPC's own threads"),
    ("/asyncio/", "asyncio, with gRPC's Cython"),
    ("/grpc/", "grpc.aio"),
)


def profile(cell: Cell, seconds: float = SECONDS) -> Iterator[str]:
    """Run a cell for some seconds under the profiler; the findings, line by line."""
    stacks = _sampled(cell, seconds)
    total = sum(samples for _, samples in stacks)
    layers: Counter[str] = Counter()
    own: Counter[str] = Counter()
    within: Counter[str] = Counter()
    for stack, samples in stacks:
        layers[layer_of(stack[0])] += samples
        own[_short(stack[0])] += samples
        for function in {_short(frame) for frame in stack}:
            within[function] += samples
    yield f"{total} samples of processor time"
    yield ""
    for layer, samples in layers.most_common():
        yield f"{samples / total:6.1%}  {layer}"
    yield ""
    yield "   own  within  function"
    for function, samples in own.most_common(FUNCTIONS):
        yield f"{samples / total:6.1%}  {within[function] / total:6.1%}  {function}"


def _sampled(cell: Cell, seconds: float) -> Stacks:
    with tempfile.TemporaryDirectory(prefix="sidecall-bench-") as folder:
        file = Path(folder) / "stacks.json"
        command = (sys.executable, "-m", "tests.bench.sampled_server", str(file))
        # Functions that are compiled are on no stack.
        environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
        with serving(Path(folder), command, environment) as server, loading(server) as load:
            load.begin(cell, seconds)
            os.kill(server.pid, signal.SIGUSR1)
            load.measured()
        stacks: Stacks = json.loads(file.read_text())
        return stacks


def layer_of(frame: str) -> str:
    """Where a function belongs."""
    return next((layer for part, layer in _PLACES if part in frame), "the rest")


def _short(frame: str) -> str:
    path, _, function = frame.rpartition(":")
    return f"{'/'.join(Path(path).parts[-2:])} {function}"
