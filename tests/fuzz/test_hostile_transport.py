"""Hostile peers on a real socket: clean errors only, and the server is healthy afterwards."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import os
import resource
import socket
import struct
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from grpc import StatusCode
from sidecall.v1 import projection_service_pb2 as projection_pb
from sidecall.v1 import runtime_service_pb2 as runtime_pb
from sidecall.v1 import tool_output_pb2 as output_pb
from sidecall.v1.projection_service_pb2_grpc import ProjectionServiceStub
from sidecall.v1.runtime_service_pb2_grpc import RuntimeServiceStub

from tests.app.processes import DEADLINE_SECONDS, Processes, ServerProcess
from tests.runtime_wire import frames
from tests.runtime_wire.peer import CHANNEL_OPTIONS, METHOD, StreamPeer
from tests.runtime_wire.scene import TOOLS, Scene

SIDECALL = str(Path(sys.executable).parent / "sidecall")
HEARTBEAT_TIMEOUT_SECONDS = 1.0
MAX_MESSAGE_BYTES = 1 << 20
BOMB_BYTES = 256 << 20
GRPCIO = '"logger":"grpc._cython.cygrpc"'
IDLE_CONNECTIONS = 1000
CONNECTS = 200
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"

SLACK_BYTES = 32 << 20
"""What the server may gain while it refuses: buffers, pools."""


class Victim:
    """The server that is attacked."""

    def __init__(self, server: ServerProcess) -> None:
        self.address = server.address
        self._server = server
        self._errors = _errors(server.log)
        self._proc = Path("/proc") / str(server.process.pid)

    @property
    def path(self) -> str:
        return self.address.removeprefix("unix://")

    @property
    def fds(self) -> int:
        return len(os.listdir(self._proc / "fd"))

    @property
    def peak_bytes(self) -> int:
        """The most memory it ever held."""
        (line,) = [
            line
            for line in (self._proc / "status").read_text().splitlines()
            if line.startswith("VmHWM")
        ]
        return int(line.split()[1]) << 10

    @property
    def log(self) -> str:
        return self._server.log

    def connect(self) -> socket.socket:
        """A connection without HTTP/2."""
        raw = socket.socket(socket.AF_UNIX)
        raw.connect(self.path)
        return raw

    async def let_go(self, fds: int) -> None:
        """Wait until it has no more descriptors than that."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            while self.fds > fds:  # noqa: ASYNC110
                await asyncio.sleep(0.05)

    async def healthy(self) -> None:
        """A new client has a whole call."""
        async with grpc.aio.insecure_channel(self.address, CHANNEL_OPTIONS) as channel:
            peer = StreamPeer(channel)
            await peer.attach(tools=TOOLS)
            await peer.send(frames.answer(await Scene.invoked(peer, "after")))
            assert (await peer.expect("call_completed")).outcome.completed.success
            await peer.lose()
        known, self._errors = self._errors, _errors(self.log)
        assert self._errors[len(known) :] == []


def _errors(log: str) -> list[str]:
    """What the server logged as errors; grpcio calls a peer that goes in mid-write one, too."""
    return [line for line in log.splitlines() if '"level":"error"' in line and GRPCIO not in line]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("victim")
    processes = Processes(folder)
    started = processes.start(
        f"--socket={folder / 's.sock'}",
        "--heartbeat-interval-seconds=0.5",
        f"--heartbeat-timeout-seconds={HEARTBEAT_TIMEOUT_SECONDS}",
        "--resume-grace-seconds=0.5",
        f"--max-message-bytes={MAX_MESSAGE_BYTES}",
        "--log-format=json",
        command=(SIDECALL, "serve"),
    )
    limit = 4 * IDLE_CONNECTIONS
    resource.prlimit(started.process.pid, resource.RLIMIT_NOFILE, (limit, limit))
    yield started
    processes.close()


@pytest.fixture
async def victim(server: ServerProcess) -> AsyncIterator[Victim]:
    victim = Victim(server)
    yield victim
    await victim.healthy()


@pytest.fixture
async def channel(victim: Victim) -> AsyncIterator[grpc.aio.Channel]:
    async with grpc.aio.insecure_channel(victim.address, CHANNEL_OPTIONS) as channel:
        yield channel


@pytest.fixture
def many_descriptors() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4 * IDLE_CONNECTIONS), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_streams_that_never_say_hello_are_ended(
    victim: Victim, channel: grpc.aio.Channel
) -> None:
    peers = [StreamPeer(channel) for _ in range(CONNECTS)]
    for peer in peers:
        peer.open()
    ends = await asyncio.gather(*(peer.ended() for peer in peers))
    assert {(end.code, end.reason) for end in ends} == {
        (StatusCode.DEADLINE_EXCEEDED, "HEARTBEAT_TIMEOUT")
    }


async def test_a_stream_that_says_only_garbage_instead_of_hello_is_ended(
    victim: Victim, channel: grpc.aio.Channel
) -> None:
    """Garbage is no sign of life of a session: there is none yet."""
    peer = StreamPeer(channel)
    peer.open()

    async def mutter() -> None:
        while peer.end is None:
            await peer.write(b"\xff")
            await asyncio.sleep(HEARTBEAT_TIMEOUT_SECONDS / 5)

    muttering = asyncio.create_task(mutter())
    try:
        async with asyncio.timeout(HEARTBEAT_TIMEOUT_SECONDS * 8):
            end = await peer.ended()
        assert end.code in (StatusCode.FAILED_PRECONDITION, StatusCode.DEADLINE_EXCEEDED)
    finally:
        muttering.cancel()
        await peer.lose()


async def test_an_agent_that_holds_its_stream_and_reads_nothing_is_given_up(
    victim: Victim, channel: grpc.aio.Channel
) -> None:
    """More waits than the transport takes, so the server is in the middle of a write (R3)."""
    peer = StreamPeer(channel)
    await peer.attach(tools=TOOLS)
    peer.reading.clear()
    for number in range(40):
        large = frames.call(f"large-{number}", arguments=b"x" * 200_000)
        await peer.send(frames.dispatch(large))
    async with grpc.aio.insecure_channel(victim.address, CHANNEL_OPTIONS) as other:
        scene = Scene(other, peer, peer)
        async with asyncio.timeout(HEARTBEAT_TIMEOUT_SECONDS * 8):
            while (await scene.look(peer)).open_calls:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
    await peer.lose()


async def test_streams_that_come_and_go_leave_nothing(
    victim: Victim, channel: grpc.aio.Channel
) -> None:
    await victim.healthy()
    fds = victim.fds
    for _ in range(5):
        streams: list[Any] = [channel.stream_stream(METHOD)() for _ in range(CONNECTS)]
        for stream in streams:
            stream.cancel()
    await victim.let_go(fds + 1)


@pytest.mark.parametrize("said", [b"", PREFACE, PREFACE + SETTINGS, b"GET / HTTP/1.1\r\n\r\n"])
async def test_a_thousand_idle_connections_hinder_nobody(
    victim: Victim, many_descriptors: None, said: bytes
) -> None:
    fds, before = victim.fds, victim.peak_bytes
    with contextlib.ExitStack() as stack:
        for _ in range(IDLE_CONNECTIONS):
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                stack.enter_context(victim.connect()).sendall(said)
        await victim.healthy()
        assert victim.peak_bytes - before < 4 * SLACK_BYTES
    await victim.let_go(fds + 2)


@pytest.mark.parametrize(
    "said",
    [
        os.urandom(4096),
        PREFACE + b"\xff" * 4096,
        PREFACE + SETTINGS + b"\x00\x40\x00\x00\x00\x00\x00\x00\x01" + b"x" * 100,
        PREFACE + SETTINGS + struct.pack(">I", 4)[1:] + b"\x03\x00\x00\x00\x00\x07\x00\x00\x00\x01",
    ],
    ids=["random", "preface and noise", "data for no stream", "reset of no stream"],
)
async def test_noise_on_the_socket_ends_only_its_connection(victim: Victim, said: bytes) -> None:
    for _ in range(20):
        with victim.connect() as raw, contextlib.suppress(BrokenPipeError, ConnectionResetError):
            raw.sendall(said)


@pytest.mark.parametrize("size_bytes", [16 << 10, 256 << 10, 4 << 20])
async def test_giant_metadata_is_refused(
    victim: Victim, channel: grpc.aio.Channel, size_bytes: int
) -> None:
    stub: Any = RuntimeServiceStub(channel)
    metadata = (("x-giant", "g" * size_bytes),)
    before = victim.peak_bytes
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await stub.GetRuntimeInfo(
            runtime_pb.GetRuntimeInfoRequest(), metadata=metadata, timeout=DEADLINE_SECONDS
        )
    assert refused.value.code() is StatusCode.RESOURCE_EXHAUSTED
    assert victim.peak_bytes - before < SLACK_BYTES


async def test_a_compression_bomb_is_refused_before_it_unpacks(
    victim: Victim, channel: grpc.aio.Channel
) -> None:
    stub: Any = ProjectionServiceStub(channel)
    before = victim.peak_bytes
    request = projection_pb.TruncateTextRequest(
        text=bytes(BOMB_BYTES), policy=output_pb.TruncationPolicy(bytes=1)
    )
    assert len(gzip.compress(bytes(1 << 20), 6)) < 2000
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await stub.TruncateText(
            request, compression=grpc.Compression.Gzip, timeout=DEADLINE_SECONDS
        )
    assert refused.value.code() is StatusCode.RESOURCE_EXHAUSTED
    assert victim.peak_bytes - before < SLACK_BYTES


async def test_a_compression_bomb_on_the_stream_ends_only_the_stream(
    victim: Victim, channel: grpc.aio.Channel
) -> None:
    before = victim.peak_bytes
    peer = StreamPeer(channel)
    peer.open(compression=grpc.Compression.Gzip)
    await peer.write(bytes(BOMB_BYTES // 8))  # packed well within the time for Hello
    assert (await peer.ended()).code is StatusCode.RESOURCE_EXHAUSTED
    assert victim.peak_bytes - before < SLACK_BYTES
