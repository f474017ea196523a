"""The limits of a runtime, as its operator set them. GetRuntimeInfo shows them all."""

from __future__ import annotations

from msgspec import Struct

_MIB = 1 << 20
_KIB = 1 << 10


class RuntimeLimits(Struct, frozen=True):
    """Named as in ``runtime_service.proto``; times in seconds."""

    max_sessions: int = 10_000
    max_calls_in_flight: int = 256
    max_calls_in_flight_total: int = 16_384
    max_bytes_in_flight: int = 64 * _MIB
    max_bytes_in_flight_total: int = 512 * _MIB
    max_replay_bytes: int = 8 * _MIB
    max_message_bytes: int = 4 * _MIB
    max_chunk_bytes: int = 256 * _KIB
    max_frame_bytes: int = 32 * _MIB
    max_declarations: int = 4096
    max_retained_calls: int = 1024
    max_retained_bytes: int = 4 * _MIB
    max_watchers: int = 32
    max_watcher_events: int = 1024
    max_id_bytes: int = 512
    max_tool_name_bytes: int = 8192
    max_record_bytes_total: int = 256 * _MIB
    max_closed_sessions: int = 256
    resume_grace_seconds: float = 30.0
    session_idle_timeout_seconds: float = 3600.0
    heartbeat_interval_seconds: float = 15.0
    heartbeat_timeout_seconds: float = 45.0
    max_teardown_timeout_seconds: float = 60.0
    default_hook_timeout_seconds: float = 60.0
