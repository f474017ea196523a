"""Vector files: found, unpacked, split into lines."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from sidecall_server.domain.json_value import JsonNumber

Json = dict[str, Any]

VECTORS = Path(__file__).with_name("vectors")
"""The project's own copies."""

_SUFFIXES = (".jsonl", ".jsonl.gz")


class Line(NamedTuple):
    """One line of a vector file, not yet read."""

    file: str
    number: int
    data: bytes


class Vector(NamedTuple):
    """A request, whose numbers are kept as `JsonNumber` (N1), and what it must give."""

    name: str
    op: str
    request: Json
    expect: Json


class BadLine(ValueError):
    """A line that is no vector."""


def find_lines(folder: Path) -> Iterator[Line]:
    """All lines of all vector files of a folder; a file that cannot be unpacked is one bad line."""
    for path in sorted(path for path in folder.iterdir() if path.name.endswith(_SUFFIXES)):
        try:
            data = path.read_bytes()
            if path.suffix == ".gz":
                data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            yield Line(path.name, 0, f"unreadable: {error}".encode())
            continue
        for number, line in enumerate(data.removesuffix(b"\n").split(b"\n") if data else (), 1):
            yield Line(path.name, number, line)


def read_vector(line: Line) -> Vector:
    """Read a line.

    Raises:
        BadLine: it is not a vector.
    """
    try:
        text = line.data.decode()
        plain = json.loads(text)
        request = json.loads(text, parse_int=JsonNumber, parse_float=JsonNumber)["request"]
        return Vector(plain["name"], request["op"], request, plain["expect"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadLine(f"not a vector: {type(error).__name__}: {error}") from None
