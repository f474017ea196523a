"""A model server that keeps what it is asked, over real HTTP."""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
import urllib.request
from collections.abc import Iterator
from typing import Any


class _Handler(http.server.BaseHTTPRequestHandler):
    server: ModelServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.bodies.append(body)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the test looks at the bodies."""


class ModelServer(http.server.ThreadingHTTPServer):
    """Answers every request with an empty response."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.bodies: list[bytes] = []

    def post(self, body: bytes) -> Any:
        """Send a request as an agent would; what the server received, parsed."""
        host, port = self.server_address[0], self.server_address[1]
        request = urllib.request.Request(f"http://{host!s}:{port}/v1/responses", data=body)
        with urllib.request.urlopen(request) as response:
            response.read()
        return json.loads(self.bodies[-1])


@contextlib.contextmanager
def model_server() -> Iterator[ModelServer]:
    """A server for the time of the block."""
    with ModelServer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
