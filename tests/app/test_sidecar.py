"""The real sidecar as a process: its settings reach the services, and it ends well."""

from __future__ import annotations

import signal
from pathlib import Path

import grpc
import pytest
from sidecall.v1 import runtime_service_pb2 as runtime
from sidecall.v1 import runtime_service_pb2_grpc as runtime_rpcs
from sidecall.v1 import session_service_pb2 as sessions
from sidecall.v1 import session_service_pb2_grpc as session_rpcs
from sidecall_server.app.version import VERSION

from tests.app.processes import DEADLINE_SECONDS, Processes, finished
from tests.app.test_command_line import SERVE, SIDECALL

MAX_RSS_KIB = 64 * 1024


def test_settings_reach_the_services(folder: Path, processes: Processes) -> None:
    server = processes.start(
        *("--socket", str(folder / "a.sock"), "--max-sessions", "1"),
        *("--resume-grace-seconds", "0.25", "--no-recorder-enabled"),
        command=SERVE,
    )
    with server.channel() as channel:
        info = runtime_rpcs.RuntimeServiceStub(channel).GetRuntimeInfo(
            runtime.GetRuntimeInfoRequest(), timeout=DEADLINE_SECONDS
        )

    assert info.server_version == VERSION
    assert info.server_instance_id == server.ready["instance_id"]
    assert info.limits.max_sessions == 1
    assert info.limits.resume_grace.ToTimedelta().total_seconds() == 0.25
    assert not info.recorder_enabled_by_default


def test_a_limit_from_the_settings_holds(folder: Path, processes: Processes) -> None:
    server = processes.start(
        "--socket", str(folder / "a.sock"), "--max-sessions", "1", command=SERVE
    )
    with server.channel() as channel:
        create = session_rpcs.SessionServiceStub(channel).CreateSession
        create(sessions.CreateSessionRequest(), timeout=DEADLINE_SECONDS)

        with pytest.raises(grpc.RpcError, match="SESSION_LIMIT"):
            create(sessions.CreateSessionRequest(), timeout=DEADLINE_SECONDS)


def test_a_message_above_the_limit_is_refused_with_a_reason(
    folder: Path, processes: Processes
) -> None:
    server = processes.start(
        *("--socket", str(folder / "a.sock"), "--max-message-bytes", "20000"),
        *("--max-chunk-bytes", "10000"),
        command=SERVE,
    )
    with server.channel() as channel:
        stub = session_rpcs.SessionServiceStub(channel)
        with pytest.raises(grpc.RpcError, match="MESSAGE_TOO_LARGE"):
            stub.GetSession(
                sessions.GetSessionRequest(session_id="x" * 20_000), timeout=DEADLINE_SECONDS
            )


def test_each_start_is_a_new_instance(folder: Path, processes: Processes) -> None:
    first = processes.start("--socket", str(folder / "a.sock"), command=SERVE)
    second = processes.start("--socket", str(folder / "b.sock"), command=SERVE)

    assert first.ready["instance_id"] != second.ready["instance_id"]


def test_an_open_watch_ends_with_the_server_and_does_not_hold_it_up(
    folder: Path, processes: Processes
) -> None:
    path = folder / "a.sock"
    server = processes.start("--socket", str(path), "--drain-seconds", "3600", command=SERVE)
    with server.channel() as channel:
        stub = session_rpcs.SessionServiceStub(channel)
        created = stub.CreateSession(
            sessions.CreateSessionRequest(session_id="s"), timeout=DEADLINE_SECONDS
        )
        watch = stub.WatchSession(
            sessions.WatchSessionRequest(session_id=created.session.session_id),
            timeout=DEADLINE_SECONDS,
        )
        assert next(watch).WhichOneof("event") == "snapshot"

        assert server.signalled(signal.SIGTERM) == 0

        last = [event.state_changed.state for event in watch][-1]
    assert last == sessions.SESSION_STATE_CLOSED
    assert not path.exists()


def test_inspect_shows_the_sessions_of_a_running_sidecar(
    folder: Path, processes: Processes
) -> None:
    server = processes.start("--socket", str(folder / "a.sock"), command=SERVE)
    with server.channel() as channel:
        options = sessions.SessionOptions(display_name="my agent")
        session_rpcs.SessionServiceStub(channel).CreateSession(
            sessions.CreateSessionRequest(session_id="s", options=options),
            timeout=DEADLINE_SECONDS,
        )

    table = finished(*SIDECALL, "inspect", "sessions", "--endpoint", server.address).stdout
    details = finished(*SIDECALL, "inspect", "session", "s", "--endpoint", server.address).stdout

    assert table.splitlines()[1].split()[:2] == ["s", "open"]
    assert table.splitlines()[1].endswith("my agent")
    assert "records lost   none" in details


@pytest.mark.parametrize(
    ("flag", "said"), [("--channelz", "OK"), ("--no-channelz", "UNIMPLEMENTED")]
)
def test_channelz_is_served_only_when_asked_for(
    flag: str, said: str, folder: Path, processes: Processes
) -> None:
    server = processes.start("--socket", str(folder / "a.sock"), flag, command=SERVE)
    with server.channel() as channel:
        servers: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(
            "/grpc.channelz.v1.Channelz/GetServers"
        )
        code = servers.future(b"", timeout=DEADLINE_SECONDS).code()

    assert code.name == said


def test_an_idle_sidecar_takes_at_most_64_mib(folder: Path, processes: Processes) -> None:
    server = processes.start("--socket", str(folder / "a.sock"), command=SERVE)

    status = Path(f"/proc/{server.process.pid}/status").read_text()

    resident = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
    assert int(resident.split()[1]) <= MAX_RSS_KIB
