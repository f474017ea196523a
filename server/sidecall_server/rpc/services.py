"""Everything the server serves, put together."""

from __future__ import annotations

from typing import Final

import grpc.aio
from sidecall.v1 import (
    projection_service_pb2,
    projection_service_pb2_grpc,
    recorder_service_pb2,
    runtime_service_pb2,
    runtime_service_pb2_grpc,
    session_service_pb2,
    session_service_pb2_grpc,
)

from sidecall_server.domain.session_options import SessionOptions
from sidecall_server.rpc import health
from sidecall_server.rpc.connect import add_connect
from sidecall_server.rpc.health import Health
from sidecall_server.rpc.projection_servicer import ProjectionServicer
from sidecall_server.rpc.recorder_servicer import add_recorder
from sidecall_server.rpc.reflection import add_reflection
from sidecall_server.rpc.runtime_servicer import RuntimeServicer
from sidecall_server.rpc.session_servicer import SessionServicer
from sidecall_server.runtime.sessions import Sessions
from sidecall_server.wire.runtime import ServerInfo

SERVICE_NAMES: Final = tuple(
    service.full_name
    for file in (
        session_service_pb2,
        runtime_service_pb2,
        recorder_service_pb2,
        projection_service_pb2,
    )
    for service in file.DESCRIPTOR.services_by_name.values()
)
"""The services of sidecall.v1."""

CHANNELZ: Final = "grpc.channelz.v1.Channelz"


def add_services(
    server: grpc.aio.Server, sessions: Sessions, info: ServerInfo, *, channelz: bool = False
) -> Health:
    """Add all services; returns the health, which says NOT_SERVING until it is told.

    `channelz`: also tell about the server's own sockets and channels.
    """
    defaults = SessionOptions(recorder_enabled=info.recorder_enabled)
    runtime_service_pb2_grpc.add_RuntimeServiceServicer_to_server(
        RuntimeServicer(sessions, info), server
    )
    add_connect(server, sessions)
    session_service_pb2_grpc.add_SessionServiceServicer_to_server(
        SessionServicer(sessions, defaults), server
    )
    add_recorder(server, sessions)
    projection_service_pb2_grpc.add_ProjectionServiceServicer_to_server(
        ProjectionServicer(), server
    )
    names = [*SERVICE_NAMES, health.SERVICE_NAME]
    if channelz:
        _add_channelz(server)
        names.append(CHANNELZ)
    add_reflection(server, names)
    serving = Health(SERVICE_NAMES)
    serving.add_to(server)
    return serving


def _add_channelz(server: grpc.aio.Server) -> None:
    # Only who debugs pays for the import.
    from grpc_channelz.v1 import channelz

    channelz.add_channelz_servicer(server)
