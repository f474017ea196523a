"""The message of the stream with its frames left as bytes.

The same wire form as ConnectRequest and ConnectResponse, described once more here so that
a frame that is not protobuf harms only itself, and frames are written into a message as
they were serialised.
"""

from __future__ import annotations

from typing import Final

from google.protobuf import message

from sidecall_server.domain.errors import InvalidArgument
from sidecall_server.domain.frames import Envelope
from sidecall_server.wire.raw_message import BYTES, MANY, ONE, UINT64, raw_message
from sidecall_server.wire.wire_form import Parts, put, put_number, tag, varint_at

_Envelope = raw_message(
    "Envelope",
    (("sequence", 1, UINT64, ONE), ("acknowledged", 2, UINT64, ONE), ("frames", 3, BYTES, MANY)),
)


def open_envelope(data: bytes) -> Envelope:
    """Read a message.

    Raises:
        InvalidArgument: the bytes are not a ConnectRequest.
    """
    sequence = acknowledged = position = 0
    frames: list[bytes] = []
    size = len(data)
    while position < size:
        field = data[position]
        number, position = varint_at(data, position + 1)
        if field == _FRAMES[0] and 0 <= number <= size - position:
            frames.append(data[position : position + number])
            position += number
        elif field == _SEQUENCE[0] and number >= 0:
            sequence = number
        elif field == _ACKNOWLEDGED[0] and number >= 0:
            acknowledged = number
        else:
            return _open_unusual(data)
    return Envelope(sequence, acknowledged, frames)


def _open_unusual(data: bytes) -> Envelope:
    """Read a message that has other fields, numbers beyond 56 bits, or is none."""
    try:
        read = _Envelope.FromString(data)
    except message.DecodeError:
        raise InvalidArgument("the message is not a sidecall.v1.ConnectRequest") from None
    return Envelope(read.sequence, read.acknowledged, read.frames)


def seal_envelope(envelope: Envelope) -> bytes:
    """Write a message; each frame is copied once."""
    parts: Parts = []
    put_number(parts, _SEQUENCE, envelope.sequence)
    put_number(parts, _ACKNOWLEDGED, envelope.acknowledged)
    for frame in envelope.frames:
        put(parts, _FRAMES, frame)
    return b"".join(parts)


_SEQUENCE: Final = tag(_Envelope, "sequence")
_ACKNOWLEDGED: Final = tag(_Envelope, "acknowledged")
_FRAMES: Final = tag(_Envelope, "frames")
