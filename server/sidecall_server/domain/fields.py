"""What is done with all fields of a value, whoever made its class: msgspec, or a compiler.

What a compiled value does in place of what msgspec does stands here, too: `same`, `shown` and
`parts_of` are what `server/native_sources.py` makes its methods of.
"""

from __future__ import annotations

from typing import Any, TypeVar

from msgspec import Struct, structs

ValueT = TypeVar("ValueT")


def names_of(kind: type[Any]) -> tuple[str, ...]:
    """The names of the fields of a kind of value, in the order in which they are given."""
    names: tuple[str, ...] = kind.__match_args__
    return names


def fields_of(value: object) -> dict[str, Any]:
    """The fields of a value by their names."""
    return {name: getattr(value, name) for name in names_of(type(value))}


def replace(value: ValueT, **changes: Any) -> ValueT:
    """The same value with other fields; it is checked as a new one is."""
    if isinstance(value, Struct):
        return structs.replace(value, **changes)
    kind: Any = type(value)
    replaced: ValueT = kind(**(fields_of(value) | changes))
    return replaced


def set_field(value: object, name: str, to: object) -> None:
    """Set a field of a value that is being made."""
    if isinstance(value, Struct):
        structs.force_setattr(value, name, to)
    else:
        setattr(value, name, to)


def same(one: object, other: object) -> bool:
    """Whether two values of one kind are equal."""
    return fields_of(one) == fields_of(other)


def shown(value: object) -> str:
    """As it is written in a program."""
    fields = [f"{name}={field!r}" for name, field in fields_of(value).items()]
    return f"{type(value).__name__}({', '.join(fields)})"


def parts_of(value: object) -> tuple[Any, ...]:
    """What `copy` and `pickle` make it of again."""
    return type(value), tuple(fields_of(value).values())
