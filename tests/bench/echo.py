"""The floor: what gRPC alone costs for the same bytes.

A stream first says which ready bytes answer a short message and which a long one; then each
message gets one answer. Nothing is read, made or kept.
"""

from __future__ import annotations

import struct
from typing import Any, Final, TypeAlias

import grpc
import grpc.aio

SERVICE: Final = "sidecall.bench.Echo"
PREPARE: Final = f"/{SERVICE}/Prepare"
UNARY: Final = f"/{SERVICE}/Unary"
STREAM: Final = f"/{SERVICE}/Stream"

Context: TypeAlias = "grpc.aio.ServicerContext[bytes, bytes]"

_HEAD: Final = struct.Struct(">II")


def opening(longest_short: int, short_answer: bytes, long_answer: bytes) -> bytes:
    """The first message of a stream.

    `longest_short`: bytes up to which a message gets the short message's answer.
    """
    return _HEAD.pack(longest_short, len(short_answer)) + short_answer + long_answer


def add_echo(server: grpc.aio.Server) -> None:
    """Add the service to a server; its messages are bytes."""
    echo = _Echo()
    handlers: dict[str, grpc.RpcMethodHandler[Any, Any]] = {
        "Prepare": grpc.unary_unary_rpc_method_handler(echo.prepare),
        "Unary": grpc.unary_unary_rpc_method_handler(echo.unary),
        "Stream": grpc.stream_stream_rpc_method_handler(echo.stream),
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))


class _Echo:
    def __init__(self) -> None:
        self._answer = b""

    async def prepare(self, answer: bytes, context: Context) -> bytes:
        """What every unary rpc is answered with from now on."""
        self._answer = answer
        return b""

    async def unary(self, request: bytes, context: Context) -> bytes:
        return self._answer

    async def stream(self, requests: object, context: Context) -> None:
        head: Any = await context.read()
        longest_short, short_bytes = _HEAD.unpack_from(head)
        short = head[_HEAD.size : _HEAD.size + short_bytes]
        long = head[_HEAD.size + short_bytes :]
        while True:
            message: Any = await context.read()
            if message is grpc.aio.EOF:
                return
            await context.write(short if len(message) <= longest_short else long)
