"""A server process with one tiny service in the sidecar's place: ``python -m … FLAGS``.

`/test.Bell/Wait` says ``waiting``, then ``rung`` when `/test.Bell/Ring` is called; it fails with
ABORTED when a drain ends first. It stands for an open tool call.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator

import grpc
import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from sidecall_server.app.commands.serve import run
from sidecall_server.app.settings import Settings


class BellApplication:
    """Implements `sidecall_server.app.server.Application`."""

    instance_id = "bell"

    def __init__(self, settings: Settings) -> None:
        self._health = health.aio.HealthServicer()
        self._rung = asyncio.Event()
        self._waiting: set[asyncio.Task[object]] = set()

    def add_to(self, server: grpc.aio.Server) -> None:
        health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
        handlers: dict[str, grpc.RpcMethodHandler[bytes, bytes]] = {
            "Wait": grpc.unary_stream_rpc_method_handler(self._wait),
            "Ring": grpc.unary_unary_rpc_method_handler(self._ring),
        }
        server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler("test.Bell", handlers),)
        )

    async def set_serving(self, serving: bool) -> None:
        states = health_pb2.HealthCheckResponse
        await self._health.set("", states.SERVING if serving else states.NOT_SERVING)

    def limit_refused(self, limit: str) -> None:
        pass

    async def drain(self, seconds: float) -> None:
        if self._waiting:
            await asyncio.wait(self._waiting, timeout=seconds)

    async def close(self) -> None:
        for task in self._waiting:
            task.cancel()

    async def _wait(
        self, request: bytes, context: grpc.aio.ServicerContext[bytes, bytes]
    ) -> AsyncIterator[bytes]:
        waiting: asyncio.Task[object] = asyncio.create_task(self._rung.wait())
        self._waiting.add(waiting)
        yield b"waiting"
        await asyncio.wait({waiting})
        self._waiting.discard(waiting)
        if waiting.cancelled():
            await context.abort(grpc.StatusCode.ABORTED, "the drain has ended")
        yield b"rung"

    async def _ring(self, request: bytes, context: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
        self._rung.set()
        return b""


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:], BellApplication))
