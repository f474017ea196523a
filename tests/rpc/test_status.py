"""Codes are those that the contract documents."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sidecall.v1 import errors_pb2
from sidecall_server.domain.errors import Reason
from sidecall_server.rpc.status import CODES

_PROTO = Path(__file__).parents[2] / "protos/sidecall/v1/errors.proto"
_VALUE = re.compile(r"((?:\s+//[^\n]*\n)+)\s+ERROR_REASON_(\w+) = \d+;")
_CODE = re.compile(r"\b([A-Z]+(?:_[A-Z]+)*)\.")


def _documented() -> dict[str, str]:
    """Reason -> code, read from the comments; a reason without a code is left out."""
    found = {}
    for comment, reason in _VALUE.findall(_PROTO.read_text()):
        codes = _CODE.findall(comment)
        if codes:
            found[reason] = codes[-1]
    return found


def test_the_reasons_are_those_of_the_contract() -> None:
    names = {name.removeprefix("ERROR_REASON_") for name, _ in errors_pb2.ErrorReason.items()}
    assert names == {reason.value for reason in Reason} | {"UNSPECIFIED"}


@pytest.mark.parametrize("reason", list(Reason))
def test_a_reason_has_the_code_that_its_comment_says(reason: Reason) -> None:
    assert CODES[reason].name == _documented().get(reason, "FAILED_PRECONDITION")


def test_only_the_gap_of_a_resume_has_no_documented_code() -> None:
    assert {reason.value for reason in Reason} - _documented().keys() == {"RESUME_GAP"}
