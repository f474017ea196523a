"""Where two answers part, said in a line or two."""

from __future__ import annotations

from typing import Any

SHOWN_CHARACTERS = 100
CONTEXT_CHARACTERS = 30


def difference(expected: Any, actual: Any, path: str = "") -> str | None:
    """The first place where they differ; None: nowhere."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        for key in {**expected, **actual}:
            place = f"{path}.{key}" if path else str(key)
            if key not in expected or key not in actual:
                side = "unexpected" if key in actual else "missing"
                return f"{place}: {side}: {_shown(actual.get(key, expected.get(key)))}"
            found = difference(expected[key], actual[key], place)
            if found is not None:
                return found
        return None
    if isinstance(expected, list) and isinstance(actual, list):
        for index, pair in enumerate(zip(expected, actual, strict=False)):
            found = difference(*pair, f"{path}[{index}]")
            if found is not None:
                return found
        if len(expected) != len(actual):
            return f"{path}: expected {len(expected)} entries, got {len(actual)}"
        return None
    if expected == actual and isinstance(expected, bool) is isinstance(actual, bool):
        return None
    if isinstance(expected, str) and isinstance(actual, str):
        start = max(0, _common(expected, actual) - CONTEXT_CHARACTERS)
        where = f"{path} from character {start}" if start else path
        return _sides(where, expected[start:], actual[start:])
    return _sides(path, expected, actual)


def _sides(path: str, expected: Any, actual: Any) -> str:
    return f"{path or 'answer'}\n    expected {_shown(expected)}\n    got      {_shown(actual)}"


def _shown(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}..."


def _common(expected: str, actual: str) -> int:
    """How many characters both begin with."""
    for index, (left, right) in enumerate(zip(expected, actual, strict=False)):
        if left != right:
            return index
    return min(len(expected), len(actual))
