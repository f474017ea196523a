"""Properties that are computed when they are first asked for, and once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T", covariant=True)


class once(Generic[T]):
    """As `functools.cached_property`, without the lock that Python 3.11's takes.

    The lock costs more than most of what is computed here; values are used by one thread only.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__
        self.__isabstractmethod__ = getattr(compute, "__isabstractmethod__", False)

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type | None = None) -> T:
        # Not a data descriptor: what stands in the instance is found before it.
        value = instance.__dict__[self._name] = self._compute(instance)
        return value
