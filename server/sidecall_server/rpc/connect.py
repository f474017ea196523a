"""RuntimeService.Connect: one gRPC stream per connection, as bytes.

Messages pass as bytes in both directions: grpcio would kill the whole stream for one frame
that is not protobuf, and the runtime keeps what it sent as bytes anyway. The handler writes
by itself instead of yielding, so that a write which the agent does not take can be cancelled.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import grpc
import grpc.aio

from sidecall_server.rpc.identity import owner_of
from sidecall_server.runtime.connection import Connection
from sidecall_server.runtime.sessions import Sessions

METHOD = "Connect"
SERVICE = "sidecall.v1.RuntimeService"

GATHER_TURNS = 3
"""In the first turn of the loop gRPC's thread is heard, in the second `_read` wakes, and before
the third it has handed over the message. With fewer, hardly two messages meet."""


def add_connect(server: grpc.aio.Server, sessions: Sessions) -> None:
    """Add Connect; after the generated code has added its service, whose entry it replaces."""

    async def connect(_requests: object, context: grpc.aio.ServicerContext[bytes, bytes]) -> None:
        rpc = asyncio.current_task()
        assert rpc is not None
        connection = Connection(
            sessions,
            owner_of(context),
            sessions.codec,
            abandon=rpc.cancel,
            gather_turns=GATHER_TURNS,
        )
        reader = asyncio.create_task(_read(connection, context))
        try:
            await connection.serve(context.write)
        except grpc.aio.InternalError:
            """A write failed: the connection is lost, which `closed` tells the session."""
        finally:
            connection.closed()
            reader.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await reader

    handler: grpc.RpcMethodHandler[bytes, bytes] = grpc.stream_stream_rpc_method_handler(connect)
    server.add_registered_method_handlers(SERVICE, {METHOD: handler})


async def _read(connection: Connection, context: grpc.aio.ServicerContext[bytes, bytes]) -> None:
    """Feed the connection until the client is done. EOF is not Detach: the writer ends."""
    try:
        while True:
            message: Any = await context.read()
            if message is grpc.aio.EOF:
                return
            connection.put(message)
            if connection.full:
                await connection.room()
    finally:
        connection.hung_up()
