"""The command line of the real sidecar, as a shell sees it: output and exit status."""

from __future__ import annotations

import json
import sys
from importlib import metadata
from pathlib import Path

import pytest
from sidecall_server.app.cli import COMMANDS
from sidecall_server.app.settings import Settings
from sidecall_server.app.version import VERSION, compiled

from tests.app.certificates import Authority
from tests.app.processes import Processes, ServerProcess, finished

SHOWN = f"sidecall {VERSION} (compiled)\n" if compiled() else f"sidecall {VERSION}\n"
SIDECALL = (sys.executable, "-m", "sidecall_server")
SERVE = (*SIDECALL, "serve")


@pytest.fixture
def server(folder: Path, processes: Processes) -> ServerProcess:
    return processes.start("--socket", str(folder / "a.sock"), command=SERVE)


def test_the_version_is_shown() -> None:
    result = finished(*SIDECALL, "--version")

    assert (result.returncode, result.stdout) == (0, SHOWN)
    assert metadata.version("sidecall-server") == VERSION


def test_the_installed_command_is_the_module() -> None:
    script = Path(sys.executable).with_name("sidecall")

    assert finished(str(script), "--version").stdout == SHOWN


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_explains_itself_within_80_columns(command: str) -> None:
    result = finished(*SIDECALL, command, "--help", variables={"COLUMNS": "80"})

    assert result.returncode == 0
    assert f"sidecall {command}" in result.stdout
    assert max(len(line) for line in result.stdout.splitlines()) <= 80


@pytest.mark.parametrize("command", [(), ("dance",), ("serve", "--no-such-flag"), ("inspect",)])
def test_a_command_that_cannot_be_used_exits_with_2(command: tuple[str, ...]) -> None:
    result = finished(*SIDECALL, *command)

    assert (result.returncode, result.stdout) == (2, "")
    assert "usage: sidecall" in result.stderr


def test_settings_that_cannot_be_used_exit_with_2_and_say_why() -> None:
    result = finished(*SERVE, variables={"SIDECALL_MAX_SESSIONS": "0"})

    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("sidecall serve: SIDECALL_MAX_SESSIONS: input should be")


def test_every_setting_has_a_flag_and_a_variable_in_the_help() -> None:
    shown = finished(*SERVE, "--help").stdout

    for name in Settings.model_fields:
        assert f"--{name.replace('_', '-')}" in shown
        assert f"[SIDECALL_{name.upper()}]" in shown


def test_config_shows_each_value_with_its_source(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text("max_watchers = 3\n")

    result = finished(
        *SIDECALL,
        *("config", "--json", "--config", str(file), "--max-sessions", "5", "--no-channelz"),
        variables={"SIDECALL_DRAIN_SECONDS": "1.5"},
    )

    shown = json.loads(result.stdout)
    assert shown["max_sessions"] == {"value": 5, "source": "--max-sessions"}
    assert shown["channelz"] == {"value": False, "source": "--channelz"}
    assert shown["drain_seconds"] == {"value": 1.5, "source": "SIDECALL_DRAIN_SECONDS"}
    assert shown["max_watchers"] == {"value": 3, "source": str(file)}
    assert shown["max_message_bytes"] == {"value": 4 << 20, "source": "default"}
    assert list(shown) == [
        line.split()[0] for line in finished(*SIDECALL, "config").stdout.splitlines()
    ]


def test_config_shows_where_the_default_socket_is(folder: Path) -> None:
    shown = finished(*SIDECALL, "config", variables={"XDG_RUNTIME_DIR": str(folder)}).stdout

    assert shown.splitlines()[0].split() == [
        "socket",
        f'"{folder}/sidecall/sidecall.sock"',
        "default",
    ]


def test_health_exits_with_0_where_the_sidecar_serves(server: ServerProcess) -> None:
    by_flag = finished(*SIDECALL, "health", "--endpoint", server.address)
    by_variable = finished(*SIDECALL, "health", variables={"SIDECALL_ENDPOINT": server.address})

    assert (by_flag.returncode, by_flag.stdout) == (0, "SERVING\n")
    assert (by_variable.returncode, by_variable.stdout) == (0, "SERVING\n")


def test_health_finds_the_default_socket_by_itself(folder: Path, processes: Processes) -> None:
    variables = {"XDG_RUNTIME_DIR": str(folder)}
    processes.start(command=SERVE, variables=variables)

    assert finished(*SIDECALL, "health", variables=variables).returncode == 0


@pytest.mark.parametrize(
    ("service", "status"), [("sidecall.v1.RuntimeService", 0), ("no.such.Service", 1)]
)
def test_health_can_be_asked_for_one_service(
    service: str, status: int, server: ServerProcess
) -> None:
    result = finished(*SIDECALL, "health", "--endpoint", server.address, "--service", service)

    assert result.returncode == status


@pytest.mark.parametrize("command", [("health",), ("inspect", "sessions")])
def test_nothing_at_the_endpoint_exits_with_2(command: tuple[str, ...], folder: Path) -> None:
    address = f"unix://{folder}/nobody.sock"

    result = finished(*SIDECALL, *command, variables={"SIDECALL_ENDPOINT": address})

    assert (result.returncode, result.stdout) == (2, "")
    assert f"nothing answers at {address}" in result.stderr


def test_a_probe_does_not_load_what_only_the_server_needs() -> None:
    program = (
        "import sys, sidecall_server.app.commands.health as _;"
        "print(sorted({'pydantic', 'sidecall.v1'} & set(sys.modules)))"
    )

    assert finished(sys.executable, "-c", program).stdout == "[]\n"


def test_health_and_inspect_prove_who_they_are_over_mutual_tls_with_a_token(
    folder: Path, processes: Processes
) -> None:
    authority = Authority.make("authority")
    (folder / "ca.pem").write_bytes(authority.certificate_pem)
    certificate, key = authority.sign("both").write(folder)
    (folder / "tokens").write_text("secret\n")
    server = processes.start(
        *("--listen", "127.0.0.1:0", "--bearer-token-file", str(folder / "tokens")),
        *("--tls-certificate", str(certificate), "--tls-key", str(key)),
        *("--tls-client-ca", str(folder / "ca.pem")),
        command=SERVE,
    )
    tls = ("--endpoint", server.address, "--tls-ca", str(folder / "ca.pem"))
    mutual = (*tls, "--tls-certificate", str(certificate), "--tls-key", str(key))
    token = ("--token-file", str(folder / "tokens"))

    assert finished(*SIDECALL, "health", *mutual).returncode == 0
    assert finished(*SIDECALL, "health", *tls, "--timeout-seconds", "2").returncode == 2
    assert finished(*SIDECALL, "inspect", *mutual, *token, "sessions").stdout == "no sessions\n"
    without = finished(*SIDECALL, "inspect", *mutual, "sessions")
    assert (without.returncode, "UNAUTHENTICATED" in without.stderr) == (1, True)


def test_inspect_says_what_is_not_there(server: ServerProcess) -> None:
    result = finished(*SIDECALL, "inspect", "--endpoint", server.address, "session", "nobody")

    assert (result.returncode, result.stdout) == (1, "")
    assert "SESSION_NOT_FOUND" in result.stderr
