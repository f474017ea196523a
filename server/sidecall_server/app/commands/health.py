"""``sidecall health``: the exec probe, for what cannot speak gRPC over a unix socket."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Final

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from sidecall_server.app.endpoint import (
    EndpointError,
    add_endpoint_flags,
    chosen_endpoint,
    failure,
)

_EPILOG: Final = """\
exit status: 0 it serves; 1 it does not (starting, draining, unknown service);
2 nothing answers, or the command cannot be used.

examples:
  sidecall health
  sidecall health --endpoint unix:///run/me/agent.sock
As a Kubernetes probe, with SIDECALL_ENDPOINT set in the container:
  exec: {command: [sidecall, health]}
"""


def run(arguments: Sequence[str]) -> int:
    """Ask grpc.health.v1 and print the answer; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="sidecall health",
        allow_abbrev=False,
        description="Ask a running sidecar whether it serves.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_endpoint_flags(parser)
    parser.add_argument("--service", default="", help="one gRPC service (default: the whole)")
    options = parser.parse_args(arguments)
    try:
        endpoint = chosen_endpoint(options)
    except EndpointError as error:
        print(f"sidecall health: {error}", file=sys.stderr)
        return 2
    with endpoint.channel() as channel:
        check: grpc.UnaryUnaryMultiCallable[
            health_pb2.HealthCheckRequest, health_pb2.HealthCheckResponse
        ] = health_pb2_grpc.HealthStub(channel).Check  # type: ignore[attr-defined]
        try:
            answer = check(
                health_pb2.HealthCheckRequest(service=options.service),
                timeout=options.timeout_seconds,
                metadata=endpoint.metadata,
            )
        except grpc.RpcError as error:
            status, text = failure(error, endpoint)
            print(f"sidecall health: {text}", file=sys.stderr)
            return status
    print(health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status))
    return 0 if answer.status == health_pb2.HealthCheckResponse.SERVING else 1
