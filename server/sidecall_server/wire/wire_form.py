"""protobuf's wire form, written by hand where it is on every call's path.

A message is the list of its parts, joined once when it is whole: protobuf's own objects would
copy every text twice more, and cost as much as all else that is done for a call. Fields are
named; their numbers and kinds are those of the contract. As protobuf does, `put_text`,
`put_data` and `put_number` leave a field out where it has its default; what tells absent from
empty (a message, a member of a oneof, an `optional`) is written with `put`, or with `begin` and
`end`.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

Parts: TypeAlias = list[bytes]

_VARINT: Final = 0
_LENGTH_DELIMITED: Final = 2
_WIRE_TYPES: Final = {
    FieldDescriptor.TYPE_BOOL: _VARINT,
    FieldDescriptor.TYPE_ENUM: _VARINT,
    FieldDescriptor.TYPE_INT32: _VARINT,
    FieldDescriptor.TYPE_INT64: _VARINT,
    FieldDescriptor.TYPE_UINT32: _VARINT,
    FieldDescriptor.TYPE_UINT64: _VARINT,
    FieldDescriptor.TYPE_BYTES: _LENGTH_DELIMITED,
    FieldDescriptor.TYPE_MESSAGE: _LENGTH_DELIMITED,
    FieldDescriptor.TYPE_STRING: _LENGTH_DELIMITED,
}


def varint(number: int) -> bytes:
    """A number that is not negative, seven bits to a byte, the lowest first."""
    if number < 0x80:
        return _LAST[number]
    return _MORE[number & 0x7F] + varint(number >> 7)


_LAST: Final = [bytes((number,)) for number in range(0x80)]
_MORE: Final = [bytes((number | 0x80,)) for number in range(0x80)]


def tag(message: type[Message], field: str) -> bytes:
    """What stands before a field: its number, and how its length is known."""
    described = message.DESCRIPTOR.fields_by_name[field]
    return varint(described.number << 3 | _WIRE_TYPES[described.type])


def put(parts: Parts, field: bytes, value: bytes) -> None:
    """A field of bytes or text, or a whole message, also where it is empty."""
    parts.append(field + varint(len(value)))
    parts.append(value)


def put_data(parts: Parts, field: bytes, value: bytes) -> None:
    """A field of bytes."""
    if value:
        put(parts, field, value)


def put_text(parts: Parts, field: bytes, value: str) -> None:
    """A field of text."""
    if value:
        put(parts, field, value.encode())


def put_number(parts: Parts, field: bytes, value: int) -> None:
    """A whole number that is not negative, an enum's number, or a truth."""
    if value:
        parts.append(field + varint(value))


def begin(parts: Parts) -> int:
    """Begin a message within the message; what is put from now on is in it, until its `end`."""
    parts.append(b"")
    return len(parts)


def end(parts: Parts, begun: int, field: bytes) -> None:
    """End the message that `begin` began: now its size is known, it gets its field."""
    size = 0
    for index in range(begun, len(parts)):
        size += len(parts[index])
    parts[begun - 1] = field + varint(size)
