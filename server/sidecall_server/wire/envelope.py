"""The message of the stream with its frames left as bytes.

The same wire form as ConnectRequest and ConnectResponse, described once more here so that
a frame that is not protobuf harms only itself, and frames are written into a message as
they were serialised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.protobuf import descriptor_pb2, descriptor_pool, message, message_factory

from sidecall_server.domain.errors import InvalidArgument
from sidecall_server.domain.frames import Envelope

if TYPE_CHECKING:
    from collections.abc import Callable


def _message_class() -> Callable[..., Any]:
    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name="sidecall_server/envelope.proto", package="sidecall_server", syntax="proto3"
    )
    kind = file.message_type.add(name="Envelope")
    for number, (name, type_, label) in enumerate(
        (
            ("sequence", field.TYPE_UINT64, field.LABEL_OPTIONAL),
            ("acknowledged", field.TYPE_UINT64, field.LABEL_OPTIONAL),
            ("frames", field.TYPE_BYTES, field.LABEL_REPEATED),
        ),
        start=1,
    ):
        kind.field.add(name=name, number=number, type=type_, label=label)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("sidecall_server.Envelope"))


_Envelope = _message_class()


def open_envelope(data: bytes) -> Envelope:
    """Read a message.

    Raises:
        InvalidArgument: the bytes are not a ConnectRequest.
    """
    try:
        read = _Envelope.FromString(data)  # type: ignore[attr-defined]
    except message.DecodeError:
        raise InvalidArgument("the message is not a sidecall.v1.ConnectRequest") from None
    return Envelope(read.sequence, read.acknowledged, read.frames)


def seal_envelope(envelope: Envelope) -> bytes:
    """Write a message."""
    data: bytes = _Envelope(
        sequence=envelope.sequence, acknowledged=envelope.acknowledged, frames=envelope.frames
    ).SerializeToString()
    return data
