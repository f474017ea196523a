"""What an operator can set, and where each value came from.

A setting is a field of `Settings`: its name makes the flag (``--max-sessions``), the variable
(``SIDECALL_MAX_SESSIONS``) and the key in a TOML file (``max_sessions``); its description is
the help text. A flag wins over a variable, a variable over the file, the file over the
default. Sizes are bytes and times are seconds, as the names say.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple, get_args, get_type_hints

from msgspec import Struct
from pydantic_core import SchemaValidator, ValidationError
from pydantic_core.core_schema import (
    bool_schema,
    float_schema,
    int_schema,
    literal_schema,
    no_info_after_validator_function,
    nullable_schema,
    str_schema,
    typed_dict_field,
    typed_dict_schema,
)

from sidecall_server.app.logs import LogFormat
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

# pydantic's own models would do the same, and take a fifth of the server's start.
Count = Annotated[int, int_schema(ge=1, le=_MAX_UINT32)]
Bytes = Annotated[int, int_schema(ge=1, le=_MAX_INT64)]
MessageBytes = Annotated[int, int_schema(ge=16 * 1024, le=_MAX_MESSAGE_BYTES)]
TextBytes = Annotated[int, int_schema(ge=64, le=64 * 1024)]
Seconds = Annotated[float, float_schema(ge=0.001, le=_YEAR_SECONDS, allow_inf_nan=False)]
SecondsOrZero = Annotated[float, float_schema(ge=0, le=_YEAR_SECONDS, allow_inf_nan=False)]
Switch = Annotated[bool, bool_schema()]
Text = Annotated[str | None, nullable_schema(str_schema())]
File = Annotated[Path | None, nullable_schema(no_info_after_validator_function(Path, str_schema()))]
_LogLevel = Literal["debug", "info", "warning", "error"]
LogLevel = Annotated[_LogLevel, literal_schema(list(get_args(_LogLevel)))]
LogForm = Annotated[LogFormat, literal_schema(list(get_args(LogFormat)))]


class SettingsError(Exception):
    """Settings that cannot be used; the message names each, where it stands, and why."""


class Listening(Struct, frozen=True):
    """Where the server listens, and whom it lets in."""

    socket: Annotated[
        Text,
        "path of the unix socket; by default sidecall/sidecall.sock in"
        " $XDG_RUNTIME_DIR, else in a private folder of the temporary directory",
    ] = None
    socket_group: Annotated[
        Text, "group that may use the unix socket; by default only its owner may"
    ] = None
    listen: Annotated[
        Text, "HOST:PORT to listen on instead of a unix socket; port 0 takes a free one"
    ] = None
    tls_certificate: Annotated[
        File, "PEM file with the server's certificate chain; turns TLS on"
    ] = None
    tls_key: Annotated[File, "PEM file with the key of that certificate"] = None
    tls_client_ca: Annotated[
        File, "PEM file with the authorities that sign clients; turns mutual TLS on"
    ] = None
    bearer_token_file: Annotated[
        File, "file with the accepted bearer tokens, one a line; read again on change"
    ] = None

    def __post_init__(self) -> None:
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


class Process(Listening, frozen=True):
    """How the process lives and what it says."""

    drain_seconds: Annotated[SecondsOrZero, "how long open calls may go on after SIGTERM"] = 10.0
    exit_with_parent: Annotated[Switch, "leave when the parent process is gone"] = False
    exit_on_stdin_eof: Annotated[Switch, "leave when standard input ends"] = False
    log_level: Annotated[LogLevel, "least severe log record to write"] = "info"
    log_format: Annotated[LogForm, "form of the log; auto: text on a terminal, else JSON"] = "auto"
    recorder_enabled: Annotated[Switch, "whether a session records calls where it does not say"] = (
        True
    )
    channelz: Annotated[Switch, "serve grpc.channelz.v1 for debugging"] = False
    uvloop: Annotated[Switch, "run on uvloop; needs the extra [uvloop]"] = False


class Observability(Process, frozen=True):
    """What the server shows of its calls."""

    metrics_listen: Annotated[
        Text,
        "HOST:PORT of this machine on which to serve Prometheus metrics; needs the"
        " extra [prometheus]",
    ] = None
    otlp_endpoint: Annotated[
        Text,
        "http(s)://HOST:PORT of the OTLP/gRPC receiver for traces and metrics; needs"
        " the extra [otel], and OTEL_* variables set the rest",
    ] = None
    log_previews: Annotated[
        Switch, "show the first 2 KiB of each output in the debug log and in traces"
    ] = False


class Limits(Observability, frozen=True):
    """What the server takes at most; GetRuntimeInfo shows these to clients."""

    max_sessions: Annotated[Count, "sessions at a time"] = _LIMITS.max_sessions
    max_closed_sessions: Annotated[Count, "ended sessions that are kept to be read"] = (
        _LIMITS.max_closed_sessions
    )
    max_calls_in_flight: Annotated[Count, "open calls of one session"] = _LIMITS.max_calls_in_flight
    max_calls_in_flight_total: Annotated[Count, "open calls of all sessions"] = (
        _LIMITS.max_calls_in_flight_total
    )
    max_bytes_in_flight: Annotated[Bytes, "payload and answer bytes of a session's open calls"] = (
        _LIMITS.max_bytes_in_flight
    )
    max_bytes_in_flight_total: Annotated[
        Bytes, "bytes that all sessions hold together, records aside"
    ] = _LIMITS.max_bytes_in_flight_total
    max_replay_bytes: Annotated[Bytes, "bytes a session keeps for a client to resume"] = (
        _LIMITS.max_replay_bytes
    )
    max_message_bytes: Annotated[MessageBytes, "bytes of one gRPC message, both ways"] = (
        _LIMITS.max_message_bytes
    )
    max_chunk_bytes: Annotated[Bytes, "bytes of one chunk of a large frame"] = (
        _LIMITS.max_chunk_bytes
    )
    max_frame_bytes: Annotated[Bytes, "bytes of one frame that comes in chunks"] = (
        _LIMITS.max_frame_bytes
    )
    max_declarations: Annotated[
        Count, "tools a session may declare, and hooks with their matchers"
    ] = _LIMITS.max_declarations
    max_retained_calls: Annotated[Count, "ended calls of a session that can be read"] = (
        _LIMITS.max_retained_calls
    )
    max_retained_bytes: Annotated[Bytes, "bytes of ended calls of a session"] = (
        _LIMITS.max_retained_bytes
    )
    max_watchers: Annotated[Count, "watchers of one session"] = _LIMITS.max_watchers
    max_watcher_events: Annotated[Count, "events that wait for a slow watcher"] = (
        _LIMITS.max_watcher_events
    )
    max_id_bytes: Annotated[TextBytes, "bytes of an id: of sessions, turns, calls, cells"] = (
        _LIMITS.max_id_bytes
    )
    max_tool_name_bytes: Annotated[TextBytes, "bytes of a tool's name, and of its namespace"] = (
        _LIMITS.max_tool_name_bytes
    )
    max_record_bytes_total: Annotated[Bytes, "bytes of all records; beyond it only markers"] = (
        _LIMITS.max_record_bytes_total
    )
    resume_grace_seconds: Annotated[Seconds, "how long a lost agent may take to come back"] = (
        _LIMITS.resume_grace_seconds
    )
    session_idle_timeout_seconds: Annotated[Seconds, "how long a session may be idle"] = (
        _LIMITS.session_idle_timeout_seconds
    )
    heartbeat_interval_seconds: Annotated[Seconds, "how often each side says it is there"] = (
        _LIMITS.heartbeat_interval_seconds
    )
    heartbeat_timeout_seconds: Annotated[Seconds, "how long the other side may be silent"] = (
        _LIMITS.heartbeat_timeout_seconds
    )
    max_teardown_timeout_seconds: Annotated[Seconds, "longest teardown a tool may ask for"] = (
        _LIMITS.max_teardown_timeout_seconds
    )
    default_hook_timeout_seconds: Annotated[Seconds, "time of a hook that names none"] = (
        _LIMITS.default_hook_timeout_seconds
    )

    def __post_init__(self) -> None:
        super().__post_init__()
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

    def runtime_limits(self) -> RuntimeLimits:
        """The same, as the runtime takes them."""
        names = RuntimeLimits.__struct_fields__
        return RuntimeLimits(**{name: getattr(self, name) for name in names})


class Settings(Limits, frozen=True):
    """All settings of a server."""


GROUPS: Final[tuple[type[Listening], ...]] = (Listening, Process, Observability, Limits)
"""The groups in the order in which people read them; each is built on the one before."""


class Setting(NamedTuple):
    """One field of a group."""

    name: str
    schema: Any
    """What may be given, as pydantic-core takes it."""
    description: str
    default: object


def settings_of(group: type[Listening]) -> list[Setting]:
    """The settings that a group adds, in order."""
    settings = []
    for name in group.__annotations__:
        schema, description = _HINTS[name].__metadata__
        settings.append(Setting(name, schema, description, getattr(_DEFAULTS, name)))
    return settings


class LoadedSettings(NamedTuple):
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
    origins = dict.fromkeys(Settings.__struct_fields__, "default")
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
        return LoadedSettings(Settings(**_VALIDATOR.validate_python(values)), origins)
    except ValidationError as error:
        raise SettingsError(_explain(error, origins)) from None


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
    for key in values.keys() - set(Settings.__struct_fields__):
        close = difflib.get_close_matches(key, Settings.__struct_fields__, n=1)
        hint = f"; did you mean {close[0]}?" if close else "; `sidecall config` lists them all"
        raise SettingsError(f"{path}: there is no setting {key}{hint}")
    return values


def _explain(error: ValidationError, origins: Mapping[str, str]) -> str:
    lines = []
    for problem in error.errors(include_url=False):
        reason = problem["msg"]
        field = str(problem["loc"][0])
        where = origins[field]
        named = where if where in (flag_name(field), variable_name(field)) else f"{where}: {field}"
        lines.append(f"{named}: {reason[:1].lower()}{reason[1:]}, not {problem['input']!r}")
    return "\n".join(lines)


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise SettingsError(message)


_HINTS: Final = get_type_hints(Settings, include_extras=True)
_DEFAULTS: Final = Settings()
_VALIDATOR: Final = SchemaValidator(
    typed_dict_schema(
        {
            setting.name: typed_dict_field(setting.schema, required=False)
            for group in GROUPS
            for setting in settings_of(group)
        },
        extra_behavior="forbid",
    )
)
