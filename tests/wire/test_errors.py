"""A status fits into metadata, whatever it has to say."""

from __future__ import annotations

import pytest
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo
from hypothesis import given
from hypothesis import strategies as st
from sidecall.v1 import errors_pb2
from sidecall_server.domain.errors import (
    AlreadyExists,
    DomainError,
    FailedPrecondition,
    FieldViolation,
    InvalidArgument,
    NotFound,
    Reason,
    ResourceExhausted,
    Unavailable,
)
from sidecall_server.wire.errors import cut_text, write_message, write_reason, write_status

_texts = st.builds(
    lambda text, count: text * count,
    st.text(st.characters(codec="utf-8"), max_size=8),
    st.sampled_from([1, 30, 3000]),
)
_violations = st.lists(st.builds(FieldViolation, _texts, _texts), max_size=40)
_errors: st.SearchStrategy[DomainError] = st.one_of(
    st.builds(
        lambda text, violations: InvalidArgument(text, violations=violations * 3),
        _texts,
        _violations,
    ),
    st.builds(lambda a, b, c: NotFound(a, resource_type=b[:40], resource_name=c), *[_texts] * 3),
    st.builds(
        lambda a, b, c: AlreadyExists(a, resource_type=b[:40], resource_name=c), *[_texts] * 3
    ),
    st.builds(FailedPrecondition, _texts),
    st.builds(lambda text: ResourceExhausted(text, subject="max_sessions"), _texts),
    st.builds(Unavailable, _texts),
)


@given(_errors)
def test_no_status_is_above_four_kilobytes_nor_its_message_above_one(error: DomainError) -> None:
    status = write_status(error, 3)
    assert status.ByteSize() <= 4096
    assert len(status.message.encode()) <= 1024
    assert status.message.startswith(f"{error.reason}: ")
    info = ErrorInfo()
    assert status.details[0].Unpack(info)
    assert (info.reason, info.domain) == (error.reason, "sidecall")


@given(_violations.filter(bool))
def test_violations_are_shown_in_order_or_counted(violations: list[FieldViolation]) -> None:
    status = write_status(InvalidArgument("bad", violations=violations), 3)
    bad = BadRequest()
    assert status.details[1].Unpack(bad)
    shown = list(bad.field_violations)
    if len(shown) <= len(violations) and shown[-1].description.startswith("and "):
        left = int(shown.pop().description.split(" ")[1])
    else:
        left = 0
    assert len(shown) + left == len(violations)
    for written, violation in zip(shown, violations, strict=False):
        assert written.field == cut_text(violation.field, 256)


@given(_texts, st.integers(3, 100))
def test_a_text_is_cut_at_a_character_s_edge_and_says_so(text: str, limit_bytes: int) -> None:
    cut = cut_text(text, limit_bytes)
    assert len(cut.encode()) <= limit_bytes
    if cut != text:
        assert cut.endswith("…")
        assert text.startswith(cut[:-1])
        assert len(text.encode()) > limit_bytes


@pytest.mark.parametrize("reason", list(Reason))
def test_a_reason_has_its_value_in_the_contract(reason: Reason) -> None:
    assert errors_pb2.ErrorReason.Name(write_reason(reason)) == f"ERROR_REASON_{reason}"


def test_a_message_begins_with_its_reason() -> None:
    assert write_message(Reason.TURN_ENDED, "start a new one") == "TURN_ENDED: start a new one"
