"""`sidecall serve` with the echo beside it: one process, one loop, one gRPC server."""

from __future__ import annotations

import sys

import grpc.aio
from sidecall_server.app.application import SidecallApplication
from sidecall_server.app.commands.serve import run

from tests.bench.echo import add_echo


class WithEcho(SidecallApplication):
    """The sidecar and the echo."""

    def add_to(self, server: grpc.aio.Server) -> None:
        super().add_to(server)
        add_echo(server)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:], WithEcho))
