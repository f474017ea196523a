"""Runs vector files against a live server and reports."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import grpc

from tests.conformance.differences import difference
from tests.conformance.families import Families
from tests.conformance.lines import BadLine, Line, find_lines, read_vector
from tests.conformance.live_server import live_server


class Tally(NamedTuple):
    """Lines that passed and failed; together all that were read."""

    passed: int
    failed: int

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed"


def run(folder: Path, report: Callable[[str], None]) -> Tally:
    """Run every vector file of a folder; reports each failure.

    Raises:
        ServerFailed: there is no server to ask.
    """
    passed = failed = 0
    with live_server() as channel:
        families = Families(channel)
        for line in find_lines(folder):
            failure = check(line, families)
            if failure is None:
                passed += 1
            else:
                failed += 1
                report(failure)
    return Tally(passed, failed)


def check(line: Line, families: Families) -> str | None:
    """What is wrong with the answer to one line; None: nothing."""
    where = f"{line.file}:{line.number}"
    try:
        vector = read_vector(line)
    except BadLine as error:
        return f"FAILED {where}\n  {error}"
    where += f" {vector.name}"
    try:
        answer = families.answer(vector)
    except grpc.RpcError as error:
        return f"FAILED {where}\n  {error.code().name}: {error.details()}"
    except Exception as error:  # noqa: BLE001 - one line never stops the others
        return f"FAILED {where}\n  {type(error).__name__}: {error}"
    found = difference(_compared(vector.op, vector.expect), answer)
    return None if found is None else f"FAILED {where}\n  {found}"


def _compared(op: str, expect: Any) -> Any:
    """The part of an expectation that counts: the wording of JSON errors does not."""
    if op != "json" or not isinstance(expect, dict):
        return expect
    return {key: expect[key] for key in ("ok", "text") if key in expect}
