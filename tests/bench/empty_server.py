"""The least a Python gRPC server can be: import grpc.aio, bind, start, say so."""

from __future__ import annotations

import asyncio
import json
import sys

import grpc.aio


async def _serve(path: str) -> None:
    server = grpc.aio.server()
    server.add_insecure_port(f"unix:{path}")
    await server.start()
    print(json.dumps({"event": "ready", "address": f"unix:{path}"}), flush=True)
    await server.wait_for_termination()


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[2]))  # after --socket
