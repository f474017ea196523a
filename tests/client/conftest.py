"""A real server on a loop thread, behind pytest-grpc's fixtures: tests are blocking clients."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import grpc
import pytest
from sidecall.client import Client, Endpoint, spawn

from tests.client.agents import SIDECALL
from tests.rpc.live import serving


class LoopThread:
    """An event loop of its own, for a server beside blocking tests."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="server")

    def __enter__(self) -> LoopThread:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()

    def serve(self, folder: Path, stop: threading.Event) -> Future[None]:
        """Serve until `stop`; the future ends with the server."""
        ready: Future[None] = Future()

        async def run() -> None:
            async with serving(folder):
                ready.set_result(None)
                await asyncio.to_thread(stop.wait)

        ended = asyncio.run_coroutine_threadsafe(run(), self.loop)
        ready.result(10)
        return ended


@pytest.fixture(scope="module")
def grpc_addr(tmp_path_factory: pytest.TempPathFactory) -> str:
    """In place of pytest-grpc's TCP port: a unix socket."""
    return f"unix://{tmp_path_factory.mktemp('socket') / 's.sock'}"


@pytest.fixture(scope="module")
def grpc_server(grpc_addr: str) -> Iterator[None]:
    """In place of pytest-grpc's thread-pool server: the real one."""
    folder = Path(grpc_addr.removeprefix("unix://")).parent
    stop = threading.Event()
    with LoopThread() as thread:
        ended = thread.serve(folder, stop)
        yield
        stop.set()
        ended.result(10)


@pytest.fixture(scope="module")
def grpc_channel(grpc_create_channel: Callable[..., grpc.Channel]) -> Iterator[grpc.Channel]:
    """A channel as agents make it on a unix socket."""
    options: Any = [("grpc.default_authority", "localhost")]
    with grpc_create_channel(options=options) as channel:
        yield channel


@pytest.fixture
def client(grpc_server: None, grpc_addr: str) -> Iterator[Client]:
    """A blocking client of the server."""
    with Client(Endpoint(grpc_addr)) as connected:
        yield connected


@pytest.fixture
async def endpoint() -> AsyncIterator[Endpoint]:
    """A sidecar process, for agents."""
    async with spawn(executable=SIDECALL) as spawned:
        yield spawned
