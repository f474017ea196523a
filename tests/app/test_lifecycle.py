"""The life of a server process: ready line, drain, and every reason to leave (DESIGN §3)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

import grpc
import pytest
from grpc_health.v1 import health_pb2
from sidecall_server.app.version import VERSION, compiled

from tests.app.processes import (
    BELL_COMMAND,
    DEADLINE_SECONDS,
    ROOT,
    Processes,
    ServerProcess,
    environment,
    method_of,
)

NOT_SERVING: Final = health_pb2.HealthCheckResponse.NOT_SERVING
SERVING: Final = health_pb2.HealthCheckResponse.SERVING

T = TypeVar("T", covariant=True)

PARENT: Final = """
import subprocess, sys, threading
def start():
    subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
thread = threading.Thread(target=start)
thread.start()
thread.join()
print("started", file=sys.stderr, flush=True)
sys.stdin.read()
"""
"""A parent that starts a server from a thread that ends at once, then waits to be killed."""


class StreamCall(Protocol[T]):
    """What a call with a streamed answer offers, as far as these tests use it."""

    def __iter__(self) -> Iterator[T]: ...
    def __next__(self) -> T: ...
    def is_active(self) -> bool: ...


def waiting_call(channel: grpc.Channel) -> StreamCall[bytes]:
    """A call that the server has taken and that stays open until the bell rings."""
    wait: Any = channel.unary_stream("/test.Bell/Wait")
    call: StreamCall[bytes] = wait(b"", timeout=DEADLINE_SECONDS)
    assert next(call) == b"waiting"
    return call


def health_watch(channel: grpc.Channel) -> StreamCall[health_pb2.HealthCheckResponse]:
    watch: Any = channel.unary_stream(
        "/grpc.health.v1.Health/Watch",
        request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
        response_deserializer=health_pb2.HealthCheckResponse.FromString,
    )
    statuses: StreamCall[health_pb2.HealthCheckResponse] = watch(
        health_pb2.HealthCheckRequest(), timeout=DEADLINE_SECONDS
    )
    return statuses


def remaining_output(server: ServerProcess) -> str:
    assert server.process.stdout is not None
    return server.process.stdout.read()


def test_the_ready_line_is_the_only_line_on_standard_output(
    folder: Path, processes: Processes
) -> None:
    server = processes.start("--socket", str(folder / "a.sock"))
    server.signalled(signal.SIGTERM)

    assert remaining_output(server) == ""
    assert server.ready == {
        "event": "ready",
        "address": f"unix://{folder}/a.sock",
        "pid": server.process.pid,
        "version": VERSION,
        "compiled": compiled(),
        "instance_id": "bell",
    }


def test_the_log_is_json_lines_on_standard_error(folder: Path, processes: Processes) -> None:
    server = processes.start("--socket", str(folder / "a.sock"))
    server.signalled(signal.SIGTERM)

    messages = [json.loads(line)["message"] for line in server.log.splitlines()]
    assert messages == ["ready", "leaving: SIGTERM", "stopped"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_well_and_removes_the_socket(
    number: int, folder: Path, processes: Processes
) -> None:
    path = folder / "a.sock"
    server = processes.start("--socket", str(path))

    assert server.signalled(number) == 0
    assert not path.exists()


def test_health_says_serving_when_ready_and_not_serving_during_a_drain(
    folder: Path, processes: Processes
) -> None:
    server = processes.start("--socket", str(folder / "a.sock"))
    with server.channel() as channel:
        call = waiting_call(channel)
        watch = health_watch(channel)
        assert next(watch).status == SERVING

        server.process.send_signal(signal.SIGTERM)

        assert next(watch).status == NOT_SERVING
        assert call.is_active()


def test_a_drain_waits_for_open_calls(folder: Path, processes: Processes) -> None:
    server = processes.start("--socket", str(folder / "a.sock"))
    with server.channel() as channel:
        call = waiting_call(channel)
        watch = health_watch(channel)
        next(watch)
        server.process.send_signal(signal.SIGTERM)
        assert next(watch).status == NOT_SERVING

        method_of(channel, "Ring")(b"", timeout=DEADLINE_SECONDS)

        assert list(call) == [b"rung"]
    assert server.process.wait(DEADLINE_SECONDS) == 0


def test_open_calls_are_aborted_when_the_drain_ends(folder: Path, processes: Processes) -> None:
    server = processes.start("--socket", str(folder / "a.sock"), "--drain-seconds", "0.1")
    with server.channel() as channel:
        call = waiting_call(channel)

        server.process.send_signal(signal.SIGTERM)

        with pytest.raises(grpc.RpcError, match="the drain has ended"):
            next(call)
    assert server.process.wait(DEADLINE_SECONDS) == 0


def test_an_idle_stream_does_not_hold_the_server_up(folder: Path, processes: Processes) -> None:
    server = processes.start("--socket", str(folder / "a.sock"), "--drain-seconds", "3600")
    with server.channel() as channel:
        assert next(health_watch(channel)).status == SERVING

        assert server.signalled(signal.SIGTERM) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_stops_the_server_at_once(
    number: int, folder: Path, processes: Processes
) -> None:
    path = folder / "a.sock"
    server = processes.start("--socket", str(path), "--drain-seconds", "3600")
    with server.channel() as channel:
        waiting_call(channel)
        watch = health_watch(channel)
        next(watch)
        server.process.send_signal(signal.SIGTERM)
        assert next(watch).status == NOT_SERVING

        assert server.signalled(number) == 128 + number
    assert not path.exists()


def test_the_end_of_standard_input_ends_the_server(folder: Path, processes: Processes) -> None:
    path = folder / "a.sock"
    server = processes.start("--socket", str(path), "--exit-on-stdin-eof")
    assert server.process.stdin is not None

    server.process.stdin.close()

    assert server.process.wait(DEADLINE_SECONDS) == 0
    assert not path.exists()


def test_the_loss_of_standard_input_shortens_the_drain(folder: Path, processes: Processes) -> None:
    server = processes.start(
        "--socket", str(folder / "a.sock"), "--exit-on-stdin-eof", "--drain-seconds", "3600"
    )
    assert server.process.stdin is not None
    with server.channel() as channel:
        call = waiting_call(channel)

        server.process.stdin.close()

        with pytest.raises(grpc.RpcError, match="the drain has ended"):
            next(call)
    assert server.process.wait(DEADLINE_SECONDS) == 0


def test_standard_input_does_not_matter_when_not_asked_for(
    folder: Path, processes: Processes
) -> None:
    server = processes.start("--socket", str(folder / "a.sock"))
    assert server.process.stdin is not None

    server.process.stdin.close()

    assert server.serves()


def test_the_server_leaves_with_its_parent_but_not_with_the_thread_that_started_it(
    folder: Path,
) -> None:
    path = folder / "a.sock"
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, *BELL_COMMAND, "--socket", str(path), "--exit-with-parent"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=environment(),
    )
    with parent:
        assert parent.stderr is not None
        assert parent.stdout is not None
        assert parent.stderr.readline() == "started\n"
        server = ServerProcess(parent, parent.stdout.readline(), Path(os.devnull))
        assert server.serves()

        parent.kill()

        # The server holds the other end of standard output: it ends when the server does.
        assert parent.stdout.read() == ""
        assert not path.exists()


def test_a_closed_standard_output_does_not_keep_the_server_from_serving(folder: Path) -> None:
    path = folder / "a.sock"
    reading, writing = os.pipe()
    os.close(reading)
    with subprocess.Popen(
        [*BELL_COMMAND, "--socket", str(path)],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=environment(),
    ) as process:
        os.close(writing)
        assert process.stderr is not None
        ready, warning = (json.loads(process.stderr.readline()) for _ in range(2))
        assert (ready["message"], warning["message"]) == ("ready", "nobody reads the ready line")

        process.terminate()

        assert process.wait(DEADLINE_SECONDS) == 0


def test_the_server_runs_on_uvloop_when_asked(folder: Path, processes: Processes) -> None:
    server = processes.start("--socket", str(folder / "a.sock"), "--uvloop")

    assert server.serves()
    assert server.signalled(signal.SIGTERM) == 0
