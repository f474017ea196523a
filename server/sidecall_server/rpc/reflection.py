"""Server reflection, v1 and v1alpha, so that grpcurl and its like need no .proto files.

The library has only v1alpha. Both versions have the same messages, and recent tools ask for
v1 first; so one servicer answers under both names.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import grpc
import grpc.aio
from google.protobuf import descriptor_pool
from google.protobuf.descriptor import FileDescriptor
from grpc_reflection.v1alpha import reflection, reflection_pb2

V1: Final = "grpc.reflection.v1.ServerReflection"
V1ALPHA: Final = reflection.SERVICE_NAME


def add_reflection(server: grpc.aio.Server, service_names: Iterable[str]) -> None:
    """Add both versions, which list these services and themselves."""
    servicer = reflection.aio.ReflectionServicer([*service_names, V1, V1ALPHA], _MethodsToo())
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


class _MethodsToo:
    """The default pool of descriptors, which by itself finds no methods by their names."""

    def __init__(self) -> None:
        self._pool = descriptor_pool.Default()

    def FindFileContainingSymbol(self, symbol: str) -> FileDescriptor:
        """The file that defines the symbol. Raises KeyError when there is none."""
        try:
            return self._pool.FindFileContainingSymbol(symbol)
        except KeyError:
            service_name, _, method_name = symbol.rpartition(".")
            service = self._pool.FindServiceByName(service_name)
            return service.methods_by_name[method_name].containing_service.file

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pool, name)
