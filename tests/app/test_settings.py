"""Settings: where values come from, and what is refused in which words."""

from __future__ import annotations

from pathlib import Path

import pytest
from sidecall.v1 import runtime_service_pb2
from sidecall_server.app.settings import Settings, SettingsError, load
from sidecall_server.domain.fields import replace
from sidecall_server.domain.runtime_limits import RuntimeLimits

FLAGS = {"max_sessions": "1"}
VARIABLES = {"SIDECALL_MAX_SESSIONS": "2"}
FILE = "max_sessions = 3\n"

CONSTANTS = {"max_id_bytes", "max_tool_name_bytes"}
"""Limits of the contract that belong to the behaviour and cannot be set."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "sidecall.toml"
    path.write_text(FILE)
    return path


@pytest.mark.parametrize(
    ("flags", "variables", "with_file", "value", "origin"),
    [
        (FLAGS, VARIABLES, True, 1, "--max-sessions"),
        ({}, VARIABLES, True, 2, "SIDECALL_MAX_SESSIONS"),
        ({}, {}, True, 3, "FILE"),
        ({}, {}, False, RuntimeLimits().max_sessions, "default"),
        (FLAGS, {}, False, 1, "--max-sessions"),
        ({}, {"SIDECALL_MAX_SESSIONS": ""}, True, 3, "FILE"),
    ],
)
def test_a_flag_wins_over_a_variable_over_the_file_over_the_default(
    flags: dict[str, object],
    variables: dict[str, str],
    with_file: bool,
    value: int,
    origin: str,
    file: Path,
) -> None:
    loaded = load(flags, variables, str(file) if with_file else None)

    assert loaded.settings.max_sessions == value
    assert loaded.origins["max_sessions"] == origin.replace("FILE", str(file))


def test_a_variable_may_name_the_file(file: Path) -> None:
    assert load({}, {"SIDECALL_CONFIG": str(file)}).settings.max_sessions == 3


def test_variables_of_clients_do_not_matter() -> None:
    variables = {"SIDECALL_ENDPOINT": "unix:///x", "SIDECALL_TOKEN": "secret", "HOME": "/"}

    assert load({}, variables).settings == Settings()


def test_every_setting_has_an_origin_in_the_order_of_the_groups() -> None:
    names = list(load({}, {}).origins)

    assert set(names) == set(Settings.model_fields)
    assert names[0] == "socket"


def test_every_limit_of_the_runtime_can_be_set_and_starts_from_its_default() -> None:
    assert Settings().runtime_limits() == RuntimeLimits()

    changed = Settings(max_sessions=7, heartbeat_interval_seconds=0.5).runtime_limits()

    expected = replace(RuntimeLimits(), max_sessions=7, heartbeat_interval_seconds=0.5)
    assert changed == expected


def test_every_limit_of_the_contract_is_a_setting_with_its_unit_in_the_name() -> None:
    fields = runtime_service_pb2.RuntimeLimits.DESCRIPTOR.fields
    names = {
        field.name + ("_seconds" if field.message_type is not None else "") for field in fields
    }

    assert names - CONSTANTS <= set(Settings.model_fields)


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("MAX_SESSIONS", "0", "SIDECALL_MAX_SESSIONS: input should be greater than or equal to 1"),
        ("MAX_SESSIONS", "4294967296", "SIDECALL_MAX_SESSIONS: input should be less than"),
        ("MAX_SESSIONS", "many", "SIDECALL_MAX_SESSIONS: input should be a valid integer"),
        ("MAX_MESSAGE_BYTES", "1", "SIDECALL_MAX_MESSAGE_BYTES: input should be greater"),
        ("DRAIN_SECONDS", "-1", "SIDECALL_DRAIN_SECONDS: input should be greater"),
        ("DRAIN_SECONDS", "nan", "SIDECALL_DRAIN_SECONDS: input should be a finite number"),
        ("DRAIN_SECONDS", "inf", "SIDECALL_DRAIN_SECONDS: input should be"),
        ("RESUME_GRACE_SECONDS", "0", "SIDECALL_RESUME_GRACE_SECONDS: input should be greater"),
        ("LOG_LEVEL", "loud", "SIDECALL_LOG_LEVEL: input should be 'debug', 'info'"),
        ("CHANNELZ", "perhaps", "SIDECALL_CHANNELZ: input should be a valid boolean"),
        ("HEARTBEAT_TIMEOUT_SECONDS", "15", "must be longer than heartbeat_interval_seconds"),
        ("MAX_CHUNK_BYTES", str(4 << 20), "below max_message_bytes"),
        ("MAX_FRAME_BYTES", "1000", "max_chunk_bytes must not be above max_frame_bytes"),
        ("TLS_KEY", "key.pem", "belong together"),
        ("TLS_CLIENT_CA", "ca.pem", "needs tls_certificate"),
    ],
)
def test_a_bad_value_is_named_with_what_was_expected(variable: str, value: str, said: str) -> None:
    with pytest.raises(SettingsError) as refusal:
        load({}, {f"SIDECALL_{variable}": value})

    assert said in str(refusal.value)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"listen": "127.0.0.1:1", "socket": "/x"}, "exclude each other"),
        ({"listen": "127.0.0.1:1", "socket_group": "g"}, "needs a unix socket"),
        ({"tls_certificate": "c", "tls_key": "k"}, "TLS needs listen"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(
    flags: dict[str, object], said: str
) -> None:
    with pytest.raises(SettingsError, match=said):
        load(flags, {})


def test_all_bad_values_are_named_at_once() -> None:
    with pytest.raises(SettingsError) as refusal:
        load({"max_sessions": "x"}, {"SIDECALL_MAX_WATCHERS": "y"})

    said = str(refusal.value)
    assert [line.partition(":")[0] for line in said.splitlines()] == [
        "--max-sessions",
        "SIDECALL_MAX_WATCHERS",
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("max_sesions = 1", "there is no setting max_sesions; did you mean max_sessions?"),
        ("zebra = 1", "there is no setting zebra; `sidecall config` lists them all"),
        ("[limits]\nmax_sessions = 1", "there is no setting limits"),
        ("max_sessions = ", "is not TOML"),
        ("max_sessions = 0", ": max_sessions: input should be greater"),
    ],
)
def test_a_bad_file_is_named_with_what_is_wrong(content: str, said: str, file: Path) -> None:
    file.write_text(content)

    with pytest.raises(SettingsError) as refusal:
        load({}, {}, str(file))

    assert str(refusal.value).startswith(str(file))
    assert said in str(refusal.value)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        load({}, {}, str(tmp_path / "nothing.toml"))
