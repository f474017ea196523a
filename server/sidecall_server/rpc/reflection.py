"""Server reflection, v1 and v1alpha, so that grpcurl and its like need no .proto files.

The library has only v1alpha. Both versions have the same messages, and recent tools ask for
v1 first; so one servicer answers under both names.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import grpc
import grpc.aio
from grpc_reflection.v1alpha import reflection, reflection_pb2

V1: Final = "grpc.reflection.v1.ServerReflection"
V1ALPHA: Final = reflection.SERVICE_NAME


def add_reflection(server: grpc.aio.Server, service_names: Iterable[str]) -> None:
    """Add both versions, which list these services and themselves."""
    servicer = reflection.aio.ReflectionServicer([*service_names, V1, V1ALPHA])
    method = grpc.stream_stream_rpc_method_handler(
        servicer.ServerReflectionInfo,
        request_deserializer=reflection_pb2.ServerReflectionRequest.FromString,
        response_serializer=reflection_pb2.ServerReflectionResponse.SerializeToString,
    )
    server.add_generic_rpc_handlers(
        [
            grpc.method_handlers_generic_handler(name, {"ServerReflectionInfo": method})
            for name in (V1, V1ALPHA)
        ]
    )
