"""Seconds of the runtime as protobuf times. None is negative."""

from __future__ import annotations

from typing import Final

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from sidecall_server.domain.limits import NANOSECONDS_PER_SECOND
from sidecall_server.wire.wire_form import Parts, begin, end, put_number, tag

_SECONDS: Final = tag(Duration, "seconds")
_NANOS: Final = tag(Duration, "nanos")


def write_duration(seconds: float | None, into: Duration | None = None) -> Duration | None:
    """A span of time; None stays absent."""
    if seconds is None:
        return None
    message = Duration() if into is None else into
    message.seconds, message.nanos = divmod(_nanoseconds(seconds), NANOSECONDS_PER_SECOND)
    return message


def put_duration(parts: Parts, field: bytes, seconds: float | None) -> None:
    """The same, into a message that is written by hand."""
    if seconds is None:
        return
    nanoseconds = _nanoseconds(seconds)
    begun = begin(parts)
    put_number(parts, _SECONDS, nanoseconds // NANOSECONDS_PER_SECOND)
    put_number(parts, _NANOS, nanoseconds % NANOSECONDS_PER_SECOND)
    end(parts, begun, field)


def write_timestamp(unix_seconds: float) -> Timestamp:
    """A point in time."""
    whole, nanos = divmod(_nanoseconds(unix_seconds), NANOSECONDS_PER_SECOND)
    return Timestamp(seconds=whole, nanos=nanos)


def _nanoseconds(seconds: float) -> int:
    return int(seconds * NANOSECONDS_PER_SECOND + 0.5)
