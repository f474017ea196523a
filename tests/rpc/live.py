"""A real server on a unix socket, in the test's own event loop."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status
from sidecall.v1.projection_service_pb2_grpc import ProjectionServiceStub
from sidecall.v1.recorder_service_pb2_grpc import RecorderServiceStub
from sidecall.v1.runtime_service_pb2_grpc import RuntimeServiceStub
from sidecall.v1.session_service_pb2_grpc import SessionServiceStub
from sidecall_server.domain.runtime_limits import RuntimeLimits
from sidecall_server.domain.session_options import SessionOptions
from sidecall_server.rpc.boundary import ErrorBoundary, receive_limit_bytes
from sidecall_server.rpc.health import Health
from sidecall_server.rpc.services import add_services
from sidecall_server.runtime.protocol import PROTOCOL_VERSIONS
from sidecall_server.runtime.sessions import Sessions
from sidecall_server.wire.codec import ProtobufCodec
from sidecall_server.wire.runtime import ServerInfo

_DETAILS = (
    error_details_pb2.ErrorInfo,
    error_details_pb2.BadRequest,
    error_details_pb2.RetryInfo,
    error_details_pb2.QuotaFailure,
    error_details_pb2.ResourceInfo,
)


@dataclass
class Live:
    """The server from inside, and a client's stubs for it."""

    channel: grpc.aio.Channel
    sessions: Sessions
    health: Health

    def __post_init__(self) -> None:
        # The stubs serve both worlds; these are of the asyncio one.
        self.session: Any = SessionServiceStub(self.channel)
        self.recorder: Any = RecorderServiceStub(self.channel)
        self.projection: Any = ProjectionServiceStub(self.channel)
        self.runtime: Any = RuntimeServiceStub(self.channel)

    def call_bytes(self, method: str, data: bytes) -> Any:
        """Send bytes to a method, whatever they are."""
        rpc: Any = self.channel.unary_unary(method)
        return rpc(data)


@dataclass(frozen=True)
class Refusal:
    """What a client learns from an error."""

    code: grpc.StatusCode
    message: str
    status: status_pb2.Status

    def detail(self, kind: type[Message]) -> Any:
        """The detail of that kind."""
        for packed in self.status.details:
            if packed.Is(kind.DESCRIPTOR):
                detail = kind()
                packed.Unpack(detail)
                return detail
        raise AssertionError(f"no {kind.__name__} in {self.status}")

    @property
    def reason(self) -> str:
        info = self.detail(error_details_pb2.ErrorInfo)
        assert info.domain == "sidecall"
        assert self.message.startswith(f"{info.reason}: ")
        return str(info.reason)

    @property
    def fields(self) -> list[str]:
        bad = self.detail(error_details_pb2.BadRequest)
        return [violation.field for violation in bad.field_violations]


@contextlib.asynccontextmanager
async def serving(
    folder: Path, *, recorder_enabled: bool = True, channelz: bool = False, **limits: Any
) -> AsyncIterator[Live]:
    """Serve all services; `limits` as in RuntimeLimits."""
    runtime_limits = RuntimeLimits(**limits)
    sessions = Sessions(
        runtime_limits,
        ProtobufCodec(
            runtime_limits, "instance", SessionOptions(recorder_enabled=recorder_enabled)
        ),
    )
    info = ServerInfo("1.2.3", "instance", PROTOCOL_VERSIONS, ("recorder",), recorder_enabled)
    server = _server(runtime_limits.max_message_bytes)
    health = add_services(server, sessions, info, channelz=channelz)
    async with _started(server, folder) as channel:
        yield Live(channel, sessions, health)
    sessions.close()


@contextlib.asynccontextmanager
async def serving_handlers(
    folder: Path, handlers: grpc.GenericRpcHandler, max_message_bytes: int = 4 << 20
) -> AsyncIterator[grpc.aio.Channel]:
    """Serve handlers of a test's own behind the boundary."""
    server = _server(max_message_bytes)
    server.add_generic_rpc_handlers([handlers])
    async with _started(server, folder) as channel:
        yield channel


async def refused(call: Any, answer: Any = None) -> Refusal:
    """The error an rpc ends with where its answer is awaited; fails where it does not."""
    try:
        await (call if answer is None else answer)
    except grpc.aio.AioRpcError as error:
        status = await rpc_status.aio.from_call(call)
        return Refusal(error.code(), error.details() or "", status or status_pb2.Status())
    raise AssertionError("the rpc was not refused")


def details_of(status: status_pb2.Status) -> Sequence[str]:
    """The kinds of details a status carries."""
    return [
        kind.__name__
        for packed in status.details
        for kind in _DETAILS
        if packed.Is(kind.DESCRIPTOR)
    ]


def _server(max_message_bytes: int) -> grpc.aio.Server:
    return grpc.aio.server(
        interceptors=[ErrorBoundary(max_message_bytes)],
        options=[("grpc.max_receive_message_length", receive_limit_bytes(max_message_bytes))],
    )


@contextlib.asynccontextmanager
async def _started(server: grpc.aio.Server, folder: Path) -> AsyncIterator[grpc.aio.Channel]:
    address = f"unix:{folder}/s.sock"
    server.add_insecure_port(address)
    await server.start()
    options = [("grpc.default_authority", "localhost"), ("grpc.max_receive_message_length", -1)]
    try:
        async with grpc.aio.insecure_channel(address, options) as channel:
            yield channel
    finally:
        await server.stop(None)
