"""Tables for people: at most 80 columns, and nothing in them that a terminal would obey."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

MAX_COLUMNS: Final = 80

_GAP: Final = "  "
_ELLIPSIS: Final = "…"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns side by side under a head; the widest is cut until the lines fit."""
    cells = [list(head), *([printable(cell) for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
    room = MAX_COLUMNS - len(_GAP) * (len(widths) - 1)
    while sum(widths) > room:
        widths[widths.index(max(widths))] -= 1
    lines = (
        _GAP.join(
            shortened(cell, width).ljust(width) for cell, width in zip(row, widths, strict=True)
        )
        for row in cells
    )
    return "\n".join(line.rstrip() for line in lines)


def details(pairs: Sequence[tuple[str, str]]) -> str:
    """One ``name  value`` a line; empty values are left out."""
    shown = [(name, printable(value)) for name, value in pairs if value]
    width = max((len(name) for name, _ in shown), default=0)
    room = MAX_COLUMNS - width - len(_GAP)
    return "\n".join(f"{name:<{width}}{_GAP}{shortened(value, room)}" for name, value in shown)


def shortened(text: str, width: int) -> str:
    """The text, its end cut off where it is too long."""
    return text if len(text) <= width else text[: max(0, width - 1)] + _ELLIPSIS


def printable(text: str) -> str:
    """The text with control characters and the like shown as ``\\x1b``, never sent."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )
