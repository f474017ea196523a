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

_Envelope = raw_message(
    "Envelope",
    (("sequence", 1, UINT64, ONE), ("acknowledged", 2, UINT64, ONE), ("frames", 3, BYTES, MANY)),
)


def open_envelope(data: bytes) -> Envelope:
    """Read a message.

    Raises:
        InvalidArgument: the bytes are not a ConnectRequest.
    """
    try:
        read = _Envelope.FromString(data)
    except message.DecodeError:
        raise InvalidArgument("the message is not a sidecall.v1.ConnectRequest") from None
    return Envelope(read.sequence, read.acknowledged, read.frames)


def seal_envelope(envelope: Envelope) -> bytes:
    """Write a message.

    By hand: protobuf would copy each frame three times, this copies it once.
    """
    parts: list[bytes] = []
    if envelope.sequence:
        parts += (_SEQUENCE, _varint(envelope.sequence))
    if envelope.acknowledged:
        parts += (_ACKNOWLEDGED, _varint(envelope.acknowledged))
    for frame in envelope.frames:
        parts += (_FRAME, _varint(len(frame)), frame)
    return b"".join(parts)


def _varint(number: int) -> bytes:
    """A number that is not negative, seven bits to a byte, the lowest first."""
    if number < 0x80:
        return _LAST[number]
    return _MORE[number & 0x7F] + _varint(number >> 7)


_LAST: Final = tuple(bytes((number,)) for number in range(0x80))
_MORE: Final = tuple(bytes((number | 0x80,)) for number in range(0x80))


def _tag(field: str, wire_type: int) -> bytes:
    """What stands before a field; one byte, as the numbers are below 16."""
    return _varint(_Envelope.DESCRIPTOR.fields_by_name[field].number << 3 | wire_type)


_SEQUENCE: Final = _tag("sequence", 0)
_ACKNOWLEDGED: Final = _tag("acknowledged", 0)
_FRAME: Final = _tag("frames", 2)
