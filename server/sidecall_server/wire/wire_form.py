"""protobuf's wire form, written and read by hand where it is on every call's path.

protobuf's own objects would copy every text twice more, and cost as much as all else that is done
for a call. Fields are named; their numbers and kinds are those of the contract.

A message that is written is the list of its parts, joined once when it is whole. As protobuf does,
`put_text`, `put_data` and `put_number` leave a field out where it has its default; what tells
absent from empty (a message, a member of a oneof, an `optional`) is written with `put`, or with
`begin` and `end`. A message that is read is walked through with a `Cursor`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias, TypeVar

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

Parts: TypeAlias = list[bytes]
MessageT = TypeVar("MessageT", bound=Message)
ValueT = TypeVar("ValueT")

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


def message_of(
    message: type[MessageT], put_fields: Callable[[Parts, ValueT], None], value: ValueT
) -> MessageT:
    """What is written by hand, as a message of protobuf."""
    parts: Parts = []
    put_fields(parts, value)
    return message.FromString(b"".join(parts))


# --- reading --------------------------------------------------------------------------


class Unusual(Exception):
    """Something else stands there than is usual; protobuf may well read it."""


class Cursor:
    """Walks through a message whose fields come in the order of their numbers, each once.

    Every method raises Unusual where the bytes are not so.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._position = 0
        self._end = len(data)

    def at(self, field: bytes) -> bool:
        """Whether this field comes next. Its number is below 16."""
        return self._position < self._end and self.data[self._position] == field[0]

    def enter(self, field: bytes) -> int:
        """Go into the message of the field; returns what `leave` is to be given."""
        outer = self._end
        size = self._number(field)
        if size > outer - self._position:
            raise Unusual
        self._end = self._position + size
        return outer

    def leave(self, outer: int) -> None:
        """Leave the message, of which nothing is left."""
        if self._position != self._end:
            raise Unusual
        self._end = outer

    def finish(self) -> None:
        """Nothing is left of the whole."""
        if self._position != len(self.data):
            raise Unusual

    def raw(self, field: bytes) -> bytes:
        """A field's bytes; none where it is absent."""
        if not self.at(field):
            return b""
        size = self._number(field)
        begin = self._position
        if size > self._end - begin:
            raise Unusual
        self._position = begin + size
        return self.data[begin : begin + size]

    def text(self, field: bytes) -> str:
        """A field's text; empty where it is absent.

        Raises:
            UnicodeDecodeError: it is not UTF-8.
        """
        return self.raw(field).decode()

    def truth(self, field: bytes) -> bool:
        """A field that is there."""
        number = self._number(field)
        if number > 1:
            raise Unusual
        return number == 1

    def _number(self, field: bytes) -> int:
        if not self.at(field):
            raise Unusual
        number, self._position = varint_at(self.data, self._position + 1)
        if number < 0:
            raise Unusual
        return number


def varint_at(data: bytes, position: int) -> tuple[int, int]:
    """The number that stands there, and where it ends; -1: it is not there, or has 57 bits."""
    number = shift = 0
    while position < len(data) and shift < _PLAIN_BITS:
        byte = data[position]
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, position
        shift += 7
    return -1, position


_PLAIN_BITS: Final = 56
