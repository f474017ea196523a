"""A JSON text as it is read: values of Python, but for the text of numbers (SPEC N1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias


class JsonNumber(str):
    """The source text of a number, kept as it was written."""

    __slots__ = ()


JsonValue: TypeAlias = (
    "Mapping[str, JsonValue] | Sequence[JsonValue] | str | JsonNumber | float | int | bool | None"
)
"""A parsed value: objects are dicts in source order, numbers are `JsonNumber`."""
