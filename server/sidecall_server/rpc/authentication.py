"""Bearer tokens: every rpc but the health checks needs one of those in a file."""

from __future__ import annotations

import hmac
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Final, TypeVar

import grpc
import grpc.aio

from sidecall_server.domain.errors import Unauthenticated

log = logging.getLogger(__name__)

_SCHEME: Final = "bearer"
_HEALTH_PREFIX: Final = "/grpc.health.v1.Health/"
"""Load balancers probe without a token, and learn no more than up or down."""

_Request = TypeVar("_Request")
_Response = TypeVar("_Response")
_Stamp = tuple[int, int, int]


class TokenFileError(Exception):
    """The token file cannot be used; the message says why."""


class BearerTokens:
    """The accepted tokens: the lines of a file, read again when it changes.

    Several lines let clients move to a new token one by one. A file that is gone or empty for
    a moment does not lock everybody out: the last good tokens stay until it is readable again.
    """

    def __init__(self, path: Path) -> None:
        """Read the file.

        Raises:
            TokenFileError: it cannot be read or holds no token.
        """
        self._path = path
        try:
            self._seen: _Stamp | None = self._stamp()
            self._tokens = self._read()
        except OSError as error:
            raise TokenFileError(f"{path}: cannot be read: {error.strerror}") from None

    def accept(self, token: bytes) -> bool:
        """Whether the token is one of them; takes the same time for each wrong one."""
        self._follow()
        matches = [hmac.compare_digest(token, known) for known in self._tokens]
        return any(matches)

    def _follow(self) -> None:
        try:
            stamp = self._stamp()
            if stamp == self._seen:
                return
            self._tokens = self._read()
        except (OSError, TokenFileError) as error:
            if self._seen is not None:
                log.error("bearer tokens not reloaded, the last ones stay: %s", error)
                self._seen = None
            return
        self._seen = stamp
        log.info("bearer tokens reloaded")

    def _stamp(self) -> _Stamp:
        state = os.stat(self._path)
        return state.st_mtime_ns, state.st_ino, state.st_size

    def _read(self) -> list[bytes]:
        tokens = [line.strip() for line in self._path.read_bytes().splitlines() if line.strip()]
        if not tokens:
            raise TokenFileError(f"{self._path}: holds no token; write one a line")
        return tokens


class BearerAuthentication(grpc.aio.ServerInterceptor):
    """Refuses rpcs without an accepted ``authorization: Bearer …`` as Unauthenticated.

    Stands behind the exception boundary, which answers with the status.
    """

    def __init__(self, tokens: BearerTokens) -> None:
        self._tokens = tokens

    async def intercept_service(
        self,
        continuation: Callable[
            [grpc.HandlerCallDetails], Awaitable[grpc.RpcMethodHandler[_Request, _Response] | None]
        ],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[_Request, _Response] | None:
        """Let the rpc through, or put a handler in its place that refuses it."""
        if handler_call_details.method.startswith(_HEALTH_PREFIX) or self._accepts(
            handler_call_details.invocation_metadata
        ):
            return await continuation(handler_call_details)
        return grpc.stream_stream_rpc_method_handler(_refuse)

    def _accepts(self, metadata: object) -> bool:
        for key, value in metadata or ():  # type: ignore[attr-defined]
            if key == "authorization":
                text = value if isinstance(value, str) else value.decode("latin-1")
                scheme, _, token = text.partition(" ")
                return scheme.lower() == _SCHEME and self._tokens.accept(token.strip().encode())
        return False


async def _refuse(
    requests: AsyncIterator[bytes], context: grpc.aio.ServicerContext[bytes, bytes]
) -> AsyncIterator[bytes]:
    """Stands for every rpc: on the wire a refused unary rpc looks the same as a stream."""
    raise Unauthenticated(
        "no accepted bearer token; send metadata `authorization: Bearer TOKEN` with a token of"
        " the server's --bearer-token-file"
    )
    yield b""
