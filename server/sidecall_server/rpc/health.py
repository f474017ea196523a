"""grpc.health.v1 for the server as a whole and for each of its services."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import grpc.aio
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

SERVICE_NAME: Final = health.SERVICE_NAME


class Health:
    """NOT_SERVING until told otherwise."""

    def __init__(self, service_names: Iterable[str]) -> None:
        self._names = (health.OVERALL_HEALTH, *service_names)
        self._servicer = _NotServingYet(self._names)

    def add_to(self, server: grpc.aio.Server) -> None:
        """Add the service."""
        health_pb2_grpc.add_HealthServicer_to_server(self._servicer, server)

    async def set_serving(self, serving: bool) -> None:
        """Say from now on that the server serves, or does not."""
        response = health_pb2.HealthCheckResponse
        status = response.SERVING if serving else response.NOT_SERVING
        for name in self._names:
            await self._servicer.set(name, status)


class _NotServingYet(health.aio.HealthServicer):
    """The library's servicer says SERVING from its construction on."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__()
        self._server_status = dict.fromkeys(names, health_pb2.HealthCheckResponse.NOT_SERVING)
