"""What an operator can set, and where each value came from.

A setting is a field of `Settings`: its name makes the flag (``--max-sessions``), the variable
(``SIDECALL_MAX_SESSIONS``) and the key in a TOML file (``max_sessions``); its description is
the help text. A flag wins over a variable, a variable over the file, the file over the
default. Sizes are bytes and times are seconds, as the names say.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from sidecall_server.domain.fields import names_of
from sidecall_server.domain.runtime_limits import RuntimeLimits

ENVIRONMENT_PREFIX: Final = "SIDECALL_"
CONFIG_VARIABLE: Final = "SIDECALL_CONFIG"

_MAX_UINT32: Final = (1 << 32) - 1
_MAX_MESSAGE_BYTES: Final = 1 << 29
"""gRPC takes twice of it at most: enough room to refuse what is too large in our own words."""

_MAX_INT64: Final = (1 << 63) - 1
_YEAR_SECONDS: Final = 365 * 24 * 3600.0
_ENVELOPE_BYTES: Final = 1024
"""What a message needs around a chunk: sequence numbers, the frame's own fields."""

_LIMITS: Final = RuntimeLimits()

Count = Annotated[int, Field(ge=1, le=_MAX_UINT32)]
Bytes = Annotated[int, Field(ge=1, le=_MAX_INT64)]
MessageBytes = Annotated[int, Field(ge=16 * 1024, le=_MAX_MESSAGE_BYTES)]
TextBytes = Annotated[int, Field(ge=64, le=64 * 1024)]
Seconds = Annotated[float, Field(ge=0.001, le=_YEAR_SECONDS, allow_inf_nan=False)]
SecondsOrZero = Annotated[float, Field(ge=0, le=_YEAR_SECONDS, allow_inf_nan=False)]


class SettingsError(Exception):
    """Settings that cannot be used; the message names each, where it stands, and why."""


class _Group(BaseModel):
    # Only the whole is ever validated: building each group's validator would slow the start.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Listening(_Group):
    """Where the server listens, and whom it lets in."""

    socket: str | None = Field(
        None,
        description="path of the unix socket; by default sidecall/sidecall.sock in"
        " $XDG_RUNTIME_DIR, else in a private folder of the temporary directory",
    )
    socket_group: str | None = Field(
        None, description="group that may use the unix socket; by default only its owner may"
    )
    listen: str | None = Field(
        None, description="HOST:PORT to listen on instead of a unix socket; port 0 takes a free one"
    )
    tls_certificate: Path | None = Field(
        None, description="PEM file with the server's certificate chain; turns TLS on"
    )
    tls_key: Path | None = Field(None, description="PEM file with the key of that certificate")
    tls_client_ca: Path | None = Field(
        None, description="PEM file with the authorities that sign clients; turns mutual TLS on"
    )
    bearer_token_file: Path | None = Field(
        None, description="file with the accepted bearer tokens, one a line; read again on change"
    )

    @model_validator(mode="after")
    def _check_listening(self) -> Self:
        if self.listen is not None:
            _require(self.socket is None, "listen and socket exclude each other; set one")
            _require(self.socket_group is None, "socket_group needs a unix socket, not listen")
        else:
            _require(self.tls_certificate is None, "TLS needs listen; a unix socket has none")
        _require(
            (self.tls_certificate is None) == (self.tls_key is None),
            "tls_certificate and tls_key belong together; set both or none",
        )
        _require(
            self.tls_client_ca is None or self.tls_certificate is not None,
            "tls_client_ca needs tls_certificate and tls_key",
        )
        return self


class Process(_Group):
    """How the process lives and what it says."""

    drain_seconds: SecondsOrZero = Field(
        10.0, description="how long open calls may go on after SIGTERM"
    )
    exit_with_parent: bool = Field(False, description="leave when the parent process is gone")
    exit_on_stdin_eof: bool = Field(False, description="leave when standard input ends")
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="least severe log record to write"
    )
    log_format: Literal["auto", "text", "json"] = Field(
        "auto", description="form of the log; auto: text on a terminal, else JSON"
    )
    recorder_enabled: bool = Field(
        True, description="whether a session records calls where it does not say"
    )
    channelz: bool = Field(False, description="serve grpc.channelz.v1 for debugging")
    uvloop: bool = Field(False, description="run on uvloop; needs the extra [uvloop]")


class Observability(_Group):
    """What the server shows of its calls."""

    metrics_listen: str | None = Field(
        None,
        description="HOST:PORT of this machine on which to serve Prometheus metrics; needs the"
        " extra [prometheus]",
    )
    otlp_endpoint: str | None = Field(
        None,
        description="http(s)://HOST:PORT of the OTLP/gRPC receiver for traces and metrics; needs"
        " the extra [otel], and OTEL_* variables set the rest",
    )
    log_previews: bool = Field(
        False,
        description="show the first 2 KiB of each output in the debug log and in traces",
    )


class Limits(_Group):
    """What the server takes at most; GetRuntimeInfo shows these to clients."""

    max_sessions: Count = Field(_LIMITS.max_sessions, description="sessions at a time")
    max_closed_sessions: Count = Field(
        _LIMITS.max_closed_sessions, description="ended sessions that are kept to be read"
    )
    max_calls_in_flight: Count = Field(
        _LIMITS.max_calls_in_flight, description="open calls of one session"
    )
    max_calls_in_flight_total: Count = Field(
        _LIMITS.max_calls_in_flight_total, description="open calls of all sessions"
    )
    max_bytes_in_flight: Bytes = Field(
        _LIMITS.max_bytes_in_flight,
        description="payload and answer bytes of a session's open calls",
    )
    max_bytes_in_flight_total: Bytes = Field(
        _LIMITS.max_bytes_in_flight_total,
        description="bytes that all sessions hold together, records aside",
    )
    max_replay_bytes: Bytes = Field(
        _LIMITS.max_replay_bytes, description="bytes a session keeps for a client to resume"
    )
    max_message_bytes: MessageBytes = Field(
        _LIMITS.max_message_bytes, description="bytes of one gRPC message, both ways"
    )
    max_chunk_bytes: Bytes = Field(
        _LIMITS.max_chunk_bytes, description="bytes of one chunk of a large frame"
    )
    max_frame_bytes: Bytes = Field(
        _LIMITS.max_frame_bytes, description="bytes of one frame that comes in chunks"
    )
    max_declarations: Count = Field(
        _LIMITS.max_declarations,
        description="tools a session may declare, and hooks with their matchers",
    )
    max_retained_calls: Count = Field(
        _LIMITS.max_retained_calls, description="ended calls of a session that can be read"
    )
    max_retained_bytes: Bytes = Field(
        _LIMITS.max_retained_bytes, description="bytes of ended calls of a session"
    )
    max_watchers: Count = Field(_LIMITS.max_watchers, description="watchers of one session")
    max_watcher_events: Count = Field(
        _LIMITS.max_watcher_events, description="events that wait for a slow watcher"
    )
    max_id_bytes: TextBytes = Field(
        _LIMITS.max_id_bytes, description="bytes of an id: of sessions, turns, calls, cells"
    )
    max_tool_name_bytes: TextBytes = Field(
        _LIMITS.max_tool_name_bytes, description="bytes of a tool's name, and of its namespace"
    )
    max_record_bytes_total: Bytes = Field(
        _LIMITS.max_record_bytes_total, description="bytes of all records; beyond it only markers"
    )
    resume_grace_seconds: Seconds = Field(
        _LIMITS.resume_grace_seconds, description="how long a lost agent may take to come back"
    )
    session_idle_timeout_seconds: Seconds = Field(
        _LIMITS.session_idle_timeout_seconds, description="how long a session may be idle"
    )
    heartbeat_interval_seconds: Seconds = Field(
        _LIMITS.heartbeat_interval_seconds, description="how often each side says it is there"
    )
    heartbeat_timeout_seconds: Seconds = Field(
        _LIMITS.heartbeat_timeout_seconds, description="how long the other side may be silent"
    )
    max_teardown_timeout_seconds: Seconds = Field(
        _LIMITS.max_teardown_timeout_seconds, description="longest teardown a tool may ask for"
    )
    default_hook_timeout_seconds: Seconds = Field(
        _LIMITS.default_hook_timeout_seconds, description="time of a hook that names none"
    )

    @model_validator(mode="after")
    def _check_limits(self) -> Self:
        _require(
            self.heartbeat_timeout_seconds > self.heartbeat_interval_seconds,
            "heartbeat_timeout_seconds must be longer than heartbeat_interval_seconds",
        )
        _require(
            self.max_chunk_bytes + _ENVELOPE_BYTES <= self.max_message_bytes,
            f"max_chunk_bytes must be at least {_ENVELOPE_BYTES} below max_message_bytes",
        )
        _require(
            self.max_chunk_bytes <= self.max_frame_bytes,
            "max_chunk_bytes must not be above max_frame_bytes",
        )
        return self

    def runtime_limits(self) -> RuntimeLimits:
        """The same, as the runtime takes them."""
        names = names_of(RuntimeLimits)
        return RuntimeLimits(**{name: getattr(self, name) for name in names})


class Settings(Limits, Observability, Process, Listening):
    """All settings of a server."""


GROUPS: Final[tuple[type[_Group], ...]] = (Listening, Process, Observability, Limits)
"""The groups in the order in which people read them."""


@dataclass(frozen=True, slots=True)
class LoadedSettings:
    """The values in effect, and per field its origin: ``default``, a file, variable or flag."""

    settings: Settings
    origins: Mapping[str, str]


def flag_name(field: str) -> str:
    """The flag of a field: ``max_sessions`` → ``--max-sessions``."""
    return "--" + field.replace("_", "-")


def variable_name(field: str) -> str:
    """The environment variable of a field: ``max_sessions`` → ``SIDECALL_MAX_SESSIONS``."""
    return ENVIRONMENT_PREFIX + field.upper()


def load(
    flags: Mapping[str, object],
    environment: Mapping[str, str],
    config_file: str | None = None,
) -> LoadedSettings:
    """Put the sources together; an empty variable counts as unset.

    Args:
        flags: field name → value, only those that were given.
        environment: the process's variables; foreign ones are ignored.
        config_file: a TOML file; absent: the one that ``SIDECALL_CONFIG`` names, if any.

    Raises:
        SettingsError: a value, a key or the file cannot be used.
    """
    config_file = config_file or environment.get(CONFIG_VARIABLE) or None
    values: dict[str, object] = {}
    origins = dict.fromkeys(_reading_order(), "default")
    if config_file is not None:
        from_file = _read_file(Path(config_file))
        values |= from_file
        origins |= dict.fromkeys(from_file, config_file)
    for field in origins:
        if field in flags:
            values[field], origins[field] = flags[field], flag_name(field)
        elif value := environment.get(variable_name(field)):
            values[field], origins[field] = value, variable_name(field)
    try:
        return LoadedSettings(Settings.model_validate(values), origins)
    except ValidationError as error:
        raise SettingsError(_explain(error, origins)) from None


def _reading_order() -> list[str]:
    return [field for group in GROUPS for field in group.model_fields]


def _read_file(path: Path) -> dict[str, object]:
    # Most servers have no file, and their start need not pay for these.
    import difflib
    import tomllib

    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: is not TOML: {error}") from None
    for key in values.keys() - Settings.model_fields.keys():
        close = difflib.get_close_matches(key, Settings.model_fields, n=1)
        hint = f"; did you mean {close[0]}?" if close else "; `sidecall config` lists them all"
        raise SettingsError(f"{path}: there is no setting {key}{hint}")
    return values


def _explain(error: ValidationError, origins: Mapping[str, str]) -> str:
    lines = []
    for problem in error.errors(include_url=False):
        reason = problem["msg"].removeprefix("Value error, ")
        if not problem["loc"]:
            lines.append(reason)
            continue
        field = str(problem["loc"][0])
        where = origins[field]
        named = where if where in (flag_name(field), variable_name(field)) else f"{where}: {field}"
        lines.append(f"{named}: {reason[:1].lower()}{reason[1:]}, not {problem['input']!r}")
    return "\n".join(lines)


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)
