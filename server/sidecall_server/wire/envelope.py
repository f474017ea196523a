"""The message of the stream with its frames left as bytes.

The same wire form as ConnectRequest and ConnectResponse, described once more here so that
a frame that is not protobuf harms only itself, and frames are written into a message as
they were serialised.
"""

from __future__ import annotations

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
    """Write a message."""
    data: bytes = _Envelope(
        sequence=envelope.sequence, acknowledged=envelope.acknowledged, frames=envelope.frames
    ).SerializeToString()
    return data
