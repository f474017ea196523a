"""What a parsed JSON value is: a number is kept as text, and is no string (SPEC N1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sidecall_server.domain.json_text import (
    JsonError,
    parse,
)
from sidecall_server.domain.json_value import JsonNumber, JsonValue


def as_string(value: JsonValue) -> str | None:
    """The value if it is a JSON string."""
    return value if isinstance(value, str) and not isinstance(value, JsonNumber) else None


def as_array(value: JsonValue) -> Sequence[JsonValue] | None:
    """The value if it is a JSON array."""
    return value if isinstance(value, Sequence) and not isinstance(value, str) else None


def object_in(text: str) -> Mapping[str, JsonValue]:
    """The fields of the object that the text holds; none where it holds no object."""
    try:
        value = parse(text)
    except JsonError:
        return {}
    return value if isinstance(value, Mapping) else {}
