"""The one place where exceptions become statuses, and messages bytes and back.

grpcio by itself shows an exception's text to the client, and answers bad bytes and large
messages without saying why; so requests pass it as bytes and are read here.
"""

from __future__ import annotations

import contextlib
import inspect
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final, NoReturn, TypeAlias

import grpc
import grpc.aio
from google.protobuf.message import DecodeError

from sidecall_server.domain.errors import (
    DomainError,
    InvalidArgument,
    Reason,
    ResourceExhausted,
)
from sidecall_server.rpc.status import grpc_status

log = logging.getLogger(__name__)

Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"

_OVERSIZE_FACTOR: Final = 2


def receive_limit_bytes(max_message_bytes: int) -> int:
    """What grpcio is to accept, so that this module can refuse what is too large in its words.

    Beyond it grpcio answers RESOURCE_EXHAUSTED by itself, without details.
    """
    return max_message_bytes * _OVERSIZE_FACTOR


class ErrorBoundary(grpc.aio.ServerInterceptor):
    """Stands before every rpc. Put it first among the interceptors.

    `limit_refused` is told the name of each limit at which an rpc is refused.
    """

    def __init__(
        self, max_message_bytes: int, limit_refused: Callable[[str], None] = lambda limit: None
    ) -> None:
        self._max_message_bytes = max_message_bytes
        self._limit_refused = limit_refused

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Handler | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Handler | None:
        """Wrap the handler of a method."""
        handler = await continuation(handler_call_details)
        if handler is None:
            return None
        guard = _Guard(
            handler, handler_call_details.method, self._max_message_bytes, self._limit_refused
        )
        return guard.handler()


class _Guard:
    """One method's handler behind the boundary."""

    def __init__(
        self,
        handler: Handler,
        method: str,
        max_message_bytes: int,
        limit_refused: Callable[[str], None],
    ) -> None:
        self._handler = handler
        self._method = method
        self._max_message_bytes = max_message_bytes
        self._limit_refused = limit_refused

    def handler(self) -> Handler:
        handler = self._handler
        match handler.request_streaming, handler.response_streaming:
            case False, False:
                return grpc.unary_unary_rpc_method_handler(self._unary_unary)
            case False, True:
                return grpc.unary_stream_rpc_method_handler(
                    self._streaming(handler.unary_stream, self._read),
                    response_serializer=handler.response_serializer,
                )
            case True, True:
                return grpc.stream_stream_rpc_method_handler(
                    self._streaming(handler.stream_stream, lambda requests: requests),
                    request_deserializer=handler.request_deserializer,
                    response_serializer=handler.response_serializer,
                )
            case _:
                return handler

    async def _unary_unary(self, data: bytes, context: Context) -> bytes:
        behaviour: Any = self._handler.unary_unary
        try:
            return self._write(await behaviour(self._read(data), context))
        except Exception as error:  # noqa: BLE001 - the boundary
            await self._answer(error, context)

    def _streaming(self, behaviour: Any, read: Callable[[Any], Any]) -> Any:
        """Streams are async generators, or coroutines that write to the context."""

        async def generator(incoming: Any, context: Context) -> AsyncIterator[Any]:
            try:
                async with contextlib.aclosing(behaviour(read(incoming), context)) as responses:
                    async for response in responses:
                        yield response
            except Exception as error:  # noqa: BLE001 - the boundary
                await self._answer(error, context)

        async def coroutine(incoming: Any, context: Context) -> None:
            try:
                await behaviour(read(incoming), context)
            except Exception as error:  # noqa: BLE001 - the boundary
                await self._answer(error, context)

        return generator if inspect.isasyncgenfunction(behaviour) else coroutine

    def _read(self, data: bytes) -> Any:
        if len(data) > self._max_message_bytes:
            raise ResourceExhausted(
                f"the message has {len(data)} bytes, the limit is {self._max_message_bytes}; send"
                " less at once, or large outputs in chunks over Connect",
                reason=Reason.MESSAGE_TOO_LARGE,
                subject="max_message_bytes",
            )
        deserialise = self._handler.request_deserializer
        if deserialise is None:
            return data
        try:
            return deserialise(data)
        except DecodeError as error:
            # The only hint at a string that is not UTF-8; the field is not told.
            if "UTF-8" in str(error):
                raise InvalidArgument(
                    "a string of the request is not UTF-8", reason=Reason.INVALID_UTF8
                ) from None
            raise InvalidArgument(
                f"the bytes are not the request message of {self._method}"
            ) from None

    def _write(self, response: Any) -> bytes:
        serialise = self._handler.response_serializer
        data: bytes = response if serialise is None else serialise(response)
        if len(data) > self._max_message_bytes:
            raise ResourceExhausted(
                f"the answer has {len(data)} bytes, the limit is {self._max_message_bytes}; ask for"
                " fewer views or a smaller page, or use Connect",
                reason=Reason.MESSAGE_TOO_LARGE,
                subject="max_message_bytes",
            )
        return data

    async def _answer(self, error: Exception, context: Context) -> NoReturn:
        """End the rpc with the error's status; what nobody foresaw is logged, not shown."""
        if isinstance(error, grpc.aio.AbortError):
            raise error
        if isinstance(error, ResourceExhausted):
            self._limit_refused(error.subject)
        if not isinstance(error, DomainError):
            reference = secrets.token_hex(6)
            log.error(
                "internal error in %s, reference %s",
                self._method,
                reference,
                exc_info=error,
                extra={"method": self._method, "reference": reference},
            )
            error = DomainError(
                f"the server has a defect; report it with the reference {reference}",
                reason=Reason.INTERNAL,
            )
        status = grpc_status(error)
        await context.abort(status.code, status.details, status.trailing_metadata)
