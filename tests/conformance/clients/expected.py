"""What an event must be: exact, but for places where a pattern stands."""

from __future__ import annotations

import re
from typing import Any

from tests.conformance.differences import difference

Json = dict[str, Any]
Captures = dict[str, str]


class Pattern:
    """A text that must match as a whole. What its named groups match must be the same each time
    the name comes up in a scenario."""

    def __init__(self, regex: str) -> None:
        self._regex = re.compile(regex, re.DOTALL)

    def matches(self, actual: object, captures: Captures) -> bool:
        """Whether it is that text; its groups are captured."""
        found = self._regex.fullmatch(actual) if isinstance(actual, str) else None
        if found is None:
            return False
        groups = {name: text for name, text in found.groupdict().items() if text is not None}
        same = all(captures.get(name, text) == text for name, text in groups.items())
        if same:
            captures.update(groups)
        return same

    def __repr__(self) -> str:
        return f"text matching {self._regex.pattern!r}"


def unlike(expected: Json, actual: Json, captures: Captures) -> str | None:
    """Where an event is not what it must be; None: nowhere, and what it says is captured."""
    learned = dict(captures)
    found = difference(_filled(expected, actual, learned), actual)
    if found is None:
        captures.update(learned)
    return found


def take(expected: list[Json], actual: Json, captures: Captures) -> str | None:
    """Strike an event off those that must come, in any order; else where it is unlike them."""
    closest = None
    for one in expected:
        found = unlike(one, actual, captures)
        if found is None:
            expected.remove(one)
            return None
        if _about(one) == _about(actual):
            closest = found
    return closest or f"expected one of {[_about(one) for one in expected]}"


def _about(event: Json) -> tuple[Any, ...]:
    return tuple(event[key] for key in ("event", "turn_id", "call_id") if key in event)


def _filled(expected: Any, actual: Any, captures: Captures) -> Any:
    """The expectation, with what is really there where a pattern allows it."""
    if isinstance(expected, Pattern):
        return actual if expected.matches(actual, captures) else repr(expected)
    if isinstance(expected, dict) and isinstance(actual, dict):
        return {key: _filled(one, actual.get(key), captures) for key, one in expected.items()}
    if isinstance(expected, list) and isinstance(actual, list):
        padded = actual + [None] * len(expected)
        return [_filled(one, padded[index], captures) for index, one in enumerate(expected)]
    return expected
