"""Messages of the contract, described once more with some of their fields left as bytes.

What is not read yet costs nothing, bytes that are not protobuf harm only themselves, and what is
serialised already is written as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TypeAlias

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_FIELD: Final = descriptor_pb2.FieldDescriptorProto
ONE: Final = _FIELD.LABEL_OPTIONAL
MANY: Final = _FIELD.LABEL_REPEATED
STRING: Final = _FIELD.TYPE_STRING
BOOL: Final = _FIELD.TYPE_BOOL
BYTES: Final = _FIELD.TYPE_BYTES
INT32: Final = _FIELD.TYPE_INT32
UINT64: Final = _FIELD.TYPE_UINT64

RawField: TypeAlias = (
    "tuple[str, int, descriptor_pb2.FieldDescriptorProto.Type.ValueType,"
    " descriptor_pb2.FieldDescriptorProto.Label.ValueType]"
)
"""A field's name, number, type and how often it may come."""


def raw_message(name: str, fields: Iterable[RawField]) -> Any:
    """A message class of these fields, in a pool of its own."""
    file = descriptor_pb2.FileDescriptorProto(
        name=f"sidecall_server/{name}.proto", package="sidecall_server", syntax="proto3"
    )
    kind = file.message_type.add(name=name)
    for field, number, type_, label in fields:
        kind.field.add(name=field, number=number, type=type_, label=label)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"sidecall_server.{name}"))
