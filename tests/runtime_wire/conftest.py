"""One real sidecar for the forged frames, and two sessions that must not notice them."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import grpc.aio
import pytest

from tests.app.processes import Processes, ServerProcess
from tests.runtime_wire.peer import CHANNEL_OPTIONS
from tests.runtime_wire.scene import Scene

SIDECALL = str(Path(sys.executable).parent / "sidecall")

MAX_MESSAGE_BYTES = 65536
MAX_CHUNK_BYTES = 4096


@pytest.fixture(scope="module")
def sidecar(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """`sidecall serve` on a unix socket, with small limits."""
    folder = tmp_path_factory.mktemp("sidecar")
    processes = Processes(folder)
    yield processes.start(
        "--socket",
        str(folder / "s.sock"),
        "--max-message-bytes",
        str(MAX_MESSAGE_BYTES),
        "--max-chunk-bytes",
        str(MAX_CHUNK_BYTES),
        "--max-frame-bytes",
        "131072",
        command=(SIDECALL, "serve"),
    )
    processes.close()


@pytest.fixture
async def channel(sidecar: ServerProcess) -> AsyncIterator[grpc.aio.Channel]:
    async with grpc.aio.insecure_channel(sidecar.address, CHANNEL_OPTIONS) as channel:
        yield channel


@pytest.fixture
async def scene(channel: grpc.aio.Channel) -> AsyncIterator[Scene]:
    """Two sessions, each with a call whose handler runs; afterwards both must still end well."""
    scene = await Scene.begin(channel)
    yield scene
    await scene.unharmed()
    await scene.leave()
