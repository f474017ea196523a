"""The pool: a real Envoy with the configuration of deploy/envoy before real sidecars."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from sidecall.v1 import runtime_service_pb2 as runtime
from sidecall.v1 import runtime_service_pb2_grpc as runtime_rpcs
from sidecall.v1 import runtime_stream_pb2 as stream
from sidecall.v1 import session_service_pb2 as sessions
from sidecall.v1 import session_service_pb2_grpc as session_rpcs

from tests.app.certificates import Authority
from tests.app.processes import DEADLINE_SECONDS, Processes, ServerProcess
from tests.app.test_command_line import SERVE
from tests.deploy.front import (
    cluster,
    configuration,
    connection_manager,
    moved,
    running,
    validated,
)

SESSION_IDS = [f"session-{number}" for number in range(24)]


@pytest.fixture
def authority(folder: Path) -> Authority:
    """Signs the sidecars and the front, whose files are in the folder."""
    authority = Authority.make("authority")
    certificate, key = authority.sign("front").write(folder)
    (folder / "front.crt").write_bytes(certificate.read_bytes())
    (folder / "front.key").write_bytes(key.read_bytes())
    (folder / "ca.crt").write_bytes(authority.certificate_pem)
    return authority


class Pool:
    """Two sidecars behind Envoy."""

    def __init__(self, sidecars: list[ServerProcess], channel: grpc.Channel) -> None:
        self.sidecars = sidecars
        self._sessions = session_rpcs.SessionServiceStub(channel)
        self._runtime = runtime_rpcs.RuntimeServiceStub(channel)

    def instance(self, session_id: str = "", token: str = "one") -> str:
        """The sidecar that an rpc of the session reaches."""
        info = self._runtime.GetRuntimeInfo(
            runtime.GetRuntimeInfoRequest(),
            metadata=_metadata(session_id, token),
            timeout=DEADLINE_SECONDS,
        )
        return info.server_instance_id

    def create(self, session_id: str) -> None:
        self._sessions.CreateSession(
            sessions.CreateSessionRequest(session_id=session_id),
            metadata=_metadata(session_id, "one"),
            timeout=DEADLINE_SECONDS,
        )

    def knows(self, session_id: str) -> bool:
        try:
            self._sessions.GetSession(
                sessions.GetSessionRequest(session_id=session_id),
                metadata=_metadata(session_id, "one"),
                timeout=DEADLINE_SECONDS,
            )
        except grpc.RpcError as error:
            if "SESSION_NOT_FOUND" not in str(error):
                raise
            return False
        return True

    def welcome(self, session_id: str) -> stream.Welcome:
        """Attach to a session, and leave."""
        hello = stream.Hello(protocol_versions=[1], session_id=session_id)
        detach = stream.Detach()
        requests = iter(
            [
                stream.ConnectRequest(frames=[stream.ClientFrame(hello=hello)]),
                stream.ConnectRequest(sequence=1, frames=[stream.ClientFrame(detach=detach)]),
            ]
        )
        responses = self._runtime.Connect(
            requests, metadata=_metadata(session_id, "one"), timeout=DEADLINE_SECONDS
        )
        (welcome,) = (
            frame.welcome
            for response in responses
            for frame in response.frames
            if frame.WhichOneof("frame") == "welcome"
        )
        return welcome


def _metadata(session_id: str, token: str) -> tuple[tuple[str, str], ...]:
    identity = ("authorization", f"Bearer {token}")
    return (identity, ("sidecall-session-id", session_id)) if session_id else (identity,)


@pytest.fixture
def pool(authority: Authority, folder: Path, processes: Processes) -> Iterator[Pool]:
    """As deploy/kubernetes/pool.yaml starts them: TLS and bearer tokens."""
    certificate, key = authority.sign("sidecar").write(folder)
    (folder / "tokens").write_text("".join(f"{token}\n" for token in ("one", *SESSION_IDS)))
    sidecars = [
        processes.start(
            *("--listen", "127.0.0.1:0", "--bearer-token-file", str(folder / "tokens")),
            *("--tls-certificate", str(certificate), "--tls-key", str(key)),
            command=SERVE,
        )
        for _ in range(2)
    ]
    ports = [int(sidecar.address.rpartition(":")[2]) for sidecar in sidecars]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    credentials = grpc.ssl_channel_credentials(authority.certificate_pem)
    with grpc.secure_channel(f"localhost:{port}", credentials) as channel:
        front = Pool(sidecars, channel)

        def ready() -> None:
            grpc.channel_ready_future(channel).result(DEADLINE_SECONDS)

        with running(moved(configuration(), folder, ports, port), folder, ready):
            yield front


def test_envoy_takes_the_configuration(authority: Authority, folder: Path) -> None:
    result = validated(moved(configuration(), folder, [7777], 7777), folder)

    assert (result.returncode, result.stdout) == (
        0,
        f"configuration '{folder / 'envoy.yaml'}' OK\n",
    )


def test_envoy_would_refuse_a_field_that_does_not_exist(authority: Authority, folder: Path) -> None:
    config = moved(configuration(), folder, [7777], 7777)
    cluster(config)["ring_hash_lb_config"]["minimal_ring_size"] = 1024

    result = validated(config, folder)

    assert result.returncode != 0
    assert "minimal_ring_size" in result.stderr


def test_nothing_in_the_front_ends_a_stream_that_is_merely_long_or_quiet() -> None:
    manager = connection_manager(configuration())
    ((virtual_host,),) = (manager["route_config"]["virtual_hosts"],)
    (route,) = virtual_host["routes"]

    assert (manager["stream_idle_timeout"], manager["request_timeout"]) == ("0s", "0s")
    assert (route["route"]["timeout"], route["route"]["idle_timeout"]) == ("0s", "0s")
    assert set(route["route"]["max_stream_duration"].values()) == {"0s"}
    assert "max_stream_duration" not in manager["common_http_protocol_options"]


def test_every_rpc_of_a_session_reaches_the_same_sidecar(pool: Pool) -> None:
    instances = {}
    for session_id in SESSION_IDS:
        pool.create(session_id)
        instances[session_id] = pool.instance(session_id)

    for session_id in reversed(SESSION_IDS):
        assert pool.knows(session_id)
        assert pool.instance(session_id) == instances[session_id]
        assert pool.welcome(session_id).server_instance_id == instances[session_id]
    assert set(instances.values()) == {str(one.ready["instance_id"]) for one in pool.sidecars}


def test_an_agent_that_names_no_session_stays_where_its_token_leads(pool: Pool) -> None:
    instances = {token: pool.instance(token=token) for token in SESSION_IDS}

    for token in SESSION_IDS:
        assert pool.instance(token=token) == instances[token]
    assert len(set(instances.values())) == 2


def test_the_session_decides_even_where_several_agents_share_it(pool: Pool) -> None:
    instances = {pool.instance("session-1", token) for token in SESSION_IDS}

    assert len(instances) == 1


def test_a_caller_without_a_token_is_refused_by_the_sidecar(pool: Pool) -> None:
    with pytest.raises(grpc.RpcError, match="UNAUTHENTICATED"):
        pool.instance("session-1", token="wrong")


def test_a_sidecar_that_leaves_takes_only_its_own_sessions_with_it(pool: Pool) -> None:
    instances = {}
    for session_id in SESSION_IDS:
        pool.create(session_id)
        instances[session_id] = pool.instance(session_id)
    leaving, staying = pool.sidecars

    assert leaving.signalled(signal.SIGTERM) == 0

    gone = str(leaving.ready["instance_id"])
    for session_id in SESSION_IDS:
        if instances[session_id] == gone:
            _until_moved(pool, session_id, str(staying.ready["instance_id"]))
            assert not pool.knows(session_id)
        else:
            assert pool.knows(session_id)


def _until_moved(pool: Pool, session_id: str, instance: str) -> None:
    """Until Envoy's health check has seen that the session's sidecar is gone."""
    for _ in range(1000):
        try:
            reached = pool.instance(session_id)
        except grpc.RpcError as error:
            if "UNAVAILABLE" not in str(error):
                raise
        else:
            assert reached == instance
            return
    raise AssertionError("the front still sends the session to a sidecar that left")
