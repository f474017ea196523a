"""Outcomes keep the three facts apart on the wire (R1, S8)."""

from __future__ import annotations

import pytest
from sidecall.v1 import call_outcome_pb2 as pb
from sidecall_server.domain.errors import InvalidArgument
from sidecall_server.domain.failure import AbortReason
from sidecall_server.domain.frames import CallDurations, CallReference
from sidecall_server.domain.outcome import (
    Aborted,
    AbortProgress,
    CallOutcome,
    CallResult,
    Completed,
    Fatal,
    LifecycleFinish,
    ModelFailure,
    TeardownState,
)
from sidecall_server.wire.call_outcome import (
    read_call_reference,
    write_call_durations,
    write_call_outcome,
    write_call_reference,
)


@pytest.mark.parametrize(
    ("result", "kind", "expected"),
    [
        (Completed(False), "completed", pb.CompletedOutcome(success=False)),
        (ModelFailure("m"), "model_failure", pb.ModelFailureOutcome(message="m")),
        (Fatal("f"), "fatal", pb.FatalOutcome(message="f")),
        (
            Aborted(
                AbortReason.TIMED_OUT,
                AbortProgress.HANDLER_FINISHED,
                TeardownState.TIMED_OUT,
                "late",
            ),
            "aborted",
            pb.AbortedOutcome(
                reason=pb.ABORT_REASON_TIMED_OUT,
                progress=pb.ABORT_PROGRESS_HANDLER_FINISHED,
                teardown=pb.TEARDOWN_STATE_TIMED_OUT,
                message="late",
            ),
        ),
    ],
)
def test_a_result_is_one_of_four(result: CallResult, kind: str, expected: object) -> None:
    message = write_call_outcome(CallOutcome(result, LifecycleFinish.BLOCKED, True))
    assert message.WhichOneof("outcome") == kind
    assert getattr(message, kind) == expected
    assert message.lifecycle == pb.LIFECYCLE_FINISH_BLOCKED
    assert message.handler_executed


def test_times_that_a_call_never_reached_are_absent() -> None:
    message = write_call_durations(CallDurations(0.0, None, 1.25))
    assert message.HasField("dispatch")
    assert message.dispatch.ToNanoseconds() == 0
    assert not message.HasField("handler")
    assert message.total.ToNanoseconds() == 1_250_000_000


def test_a_reference_comes_back_as_it_went_out() -> None:
    reference = CallReference("t", "c")
    assert read_call_reference(write_call_reference(reference), "call") == reference


def test_a_reference_needs_a_call() -> None:
    with pytest.raises(InvalidArgument) as caught:
        read_call_reference(pb.CallReference(turn_id="t" * 513), "call")
    assert [violation.field for violation in caught.value.violations] == [
        "call.turn_id",
        "call.call_id",
    ]
