"""A real server process on a socket of its own."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import grpc

MAX_MESSAGE_BYTES = 256 << 20
"""Vectors that nobody has seen yet may be large."""

STOP_TIMEOUT_SECONDS = 20.0


class ServerFailed(Exception):
    """The server did not start; the message says what it said."""


@contextlib.contextmanager
def live_server() -> Iterator[grpc.Channel]:
    """Run ``sidecall serve``; yields a channel to it.

    Raises:
        ServerFailed: it ended before it was ready.
    """
    with tempfile.TemporaryDirectory(prefix="sidecall-") as folder:
        socket = Path(folder, "s.sock")
        command = [sys.executable, "-m", "sidecall_server", "serve", "--socket", str(socket)]
        command += ["--max-message-bytes", str(MAX_MESSAGE_BYTES), "--log-level", "warning"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                address = _address(process)
                options = [
                    ("grpc.default_authority", "localhost"),
                    ("grpc.max_receive_message_length", -1),
                ]
                with grpc.insecure_channel(address, options) as channel:
                    yield channel
            finally:
                process.terminate()
                try:
                    process.wait(STOP_TIMEOUT_SECONDS)
                except subprocess.TimeoutExpired:
                    process.kill()


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    ready = process.stdout.readline()
    try:
        address: str = json.loads(ready)["address"]
    except ValueError:
        raise ServerFailed(f"the server ended with status {process.wait()}") from None
    return address
