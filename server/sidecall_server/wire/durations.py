"""Seconds of the runtime as protobuf times."""

from __future__ import annotations

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from sidecall_server.domain.limits import NANOSECONDS_PER_SECOND


def write_duration(seconds: float | None, into: Duration | None = None) -> Duration | None:
    """A span of time; None stays absent."""
    if seconds is None:
        return None
    message = Duration() if into is None else into
    nanoseconds = round(seconds * NANOSECONDS_PER_SECOND)
    message.seconds, message.nanos = divmod(nanoseconds, NANOSECONDS_PER_SECOND)
    return message


def write_timestamp(unix_seconds: float) -> Timestamp:
    """A point in time."""
    whole, nanos = divmod(round(unix_seconds * NANOSECONDS_PER_SECOND), NANOSECONDS_PER_SECOND)
    return Timestamp(seconds=whole, nanos=nanos)
