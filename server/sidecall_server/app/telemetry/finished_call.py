"""How a call that has ended is spoken of in logs, metrics and traces."""

from __future__ import annotations

from typing import Final, NamedTuple

from sidecall_server.domain.failure import AbortReason
from sidecall_server.domain.outcome import (
    Aborted,
    CallOutcome,
    Completed,
    Fatal,
    LifecycleFinish,
    ModelFailure,
)
from sidecall_server.runtime.call import Call

PHASE_BUCKETS_SECONDS: Final = (
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0),
)
"""From a call that does nothing to one that builds a project."""

_OUTCOMES: Final = {
    Completed: "completed",
    ModelFailure: "model_failure",
    Fatal: "fatal",
    Aborted: "aborted",
}


class FinishedCall(NamedTuple):
    """A call's outcome in the words of the proto, without its texts."""

    outcome: str
    """completed, model_failure, fatal or aborted."""
    success: bool
    """Completed, and the output counts as a success (G1)."""
    abort_reason: str
    """Empty: not aborted."""
    error_type: str
    """What went wrong, from a small set; empty: nothing, or the agent's own wish to cancel."""

    @classmethod
    def of(cls, outcome: CallOutcome) -> FinishedCall:
        """From the outcome."""
        result = outcome.result
        name = _OUTCOMES[type(result)]
        success = isinstance(result, Completed) and result.success
        reason = result.reason if isinstance(result, Aborted) else None
        if success or reason is AbortReason.CANCELLED:
            error_type = ""
        elif isinstance(result, Completed):
            error_type = "tool_failure"
        elif outcome.lifecycle is LifecycleFinish.BLOCKED:
            error_type = "blocked"
        else:
            error_type = name if reason is None else reason.value
        return cls(name, success, "" if reason is None else reason.value, error_type)


def log_preview(call: Call) -> str | None:
    """The bounded text of the output that a log may show (E11); None: there is none."""
    completed = call.completed
    if completed is None or completed.projection is None:
        return None
    return completed.projection.log_preview
