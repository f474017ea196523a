"""Valid messages made wrong: fields of the message changed, then its bytes."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, Final, cast

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

_DEEP_JSON: Final = b"[" * 200 + b"]" * 200
BYTES: Final = (
    b"",
    b" ",
    b"x",
    b"\xff",
    b"\xed\xa0\x80",
    b"\x00\x1c\xc2\x85",
    b"{",
    b"null",
    b"[NaN]",
    b'"\\ud800"',
    b'{"a":1e400,"a":-0.0,"\\u0000":[1.10]}',
    b'{"command":["ls"],"_codex_executed_tool_call_truncated":{}}',
    b'{"content":[{"type":"text"},{"type":"image","data":1},7,null]}',
    b'{"content":[{"type":"audio","data":"data:audio/wav;base64,////"}],"isError":"x"}',
    _DEEP_JSON,
    b"9" * 6000,
    b'"' * 8193,
    b"\r\n" * 3000,
    "😀é\u2028".encode() * 700,
)
STRINGS: Final = (
    "",
    " ",
    "x",
    "\x00",
    "a/b",
    "é" * 256,
    "x" * 513,
    "x" * 9000,
    "😀",
    "-1",
    "1",
    "s",
)
INTEGERS: Final = (0, 1, 2, 3, 7, 127, 128, 8192, 2**31 - 1, 2**32 - 1, 2**53, 2**63 - 1, 2**64 - 1)
_BITS: Final = {
    FieldDescriptor.CPPTYPE_INT32: (32, True),
    FieldDescriptor.CPPTYPE_UINT32: (32, False),
    FieldDescriptor.CPPTYPE_INT64: (64, True),
    FieldDescriptor.CPPTYPE_UINT64: (64, False),
}


def mutated_message(message: Message, rng: random.Random) -> None:
    """Change one field, somewhere in the message."""
    owner = rng.choice(list(_messages(message)))
    fields = cast(list[FieldDescriptor], list(owner.DESCRIPTOR.fields))
    if not fields:
        return
    field = rng.choice(fields)
    if rng.random() < 0.2:
        owner.ClearField(field.name)
    elif field.is_repeated:
        _change_repeated(owner, field, rng)
    elif field.message_type is not None:
        getattr(owner, field.name).SetInParent()
    else:
        setattr(owner, field.name, _value(field, rng))


def mutated_bytes(data: bytes, rng: random.Random) -> bytes:
    """Change some bytes."""
    return rng.choice(_BYTE_MUTATIONS)(data, rng)


def _messages(message: Message) -> Iterator[Message]:
    yield message
    for field, value in message.ListFields():
        if field.message_type is not None:
            for inner in value if field.is_repeated else (value,):
                yield from _messages(inner)


def _change_repeated(owner: Message, field: FieldDescriptor, rng: random.Random) -> None:
    values: Any = getattr(owner, field.name)
    if values and rng.random() < 0.3:
        del values[rng.randrange(len(values))]
    elif field.message_type is not None:
        added = values.add()
        if len(values) > 1 and rng.random() < 0.5:
            added.CopyFrom(values[0])
    else:
        values.append(_value(field, rng))


def _value(field: FieldDescriptor, rng: random.Random) -> object:
    match field.cpp_type:
        case FieldDescriptor.CPPTYPE_BOOL:
            return rng.random() < 0.5
        case FieldDescriptor.CPPTYPE_ENUM:
            return rng.choice((0, 1, 2, 3, 5, 99, -1, 2**31 - 1))
        case FieldDescriptor.CPPTYPE_STRING:
            return rng.choice(BYTES if field.type == FieldDescriptor.TYPE_BYTES else STRINGS)
        case FieldDescriptor.CPPTYPE_FLOAT | FieldDescriptor.CPPTYPE_DOUBLE:
            return rng.choice((0.0, -1.0, float("inf"), float("nan"), 1e308))
    bits, signed = _BITS[field.cpp_type]
    value = rng.choice(INTEGERS) * (rng.choice((1, -1)) if signed else 1)
    return max(-(1 << bits - 1), min(value, (1 << bits - 1) - 1)) if signed else value % (1 << bits)


def _flip(data: bytes, rng: random.Random) -> bytes:
    if not data:
        return b"\x00"
    changed = bytearray(data)
    for _ in range(rng.randrange(1, 4)):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _insert(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.randbytes(rng.randrange(1, 8)) + data[at:]


def _double(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data + data[at:]


_BYTE_MUTATIONS: Final[tuple[Callable[[bytes, random.Random], bytes], ...]] = (
    _flip,
    _cut,
    _insert,
    _double,
)
