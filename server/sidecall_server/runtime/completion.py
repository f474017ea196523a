"""The terminal frame of a call: its outcome and who reads what of it (G8, G9, R3, R6)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sidecall_server.domain.frames import CallCompleted
from sidecall_server.domain.hooks import HookKind
from sidecall_server.domain.outcome import Aborted, Completed, ModelFailure
from sidecall_server.domain.outputs import AbortedOutput, ToolOutput
from sidecall_server.domain.projection import FailureProjection, Projection
from sidecall_server.domain.session_options import SessionOptions

if TYPE_CHECKING:
    from sidecall_server.runtime.call import Call


def completed_frame(call: Call, options: SessionOptions) -> CallCompleted:
    """Build the terminal frame of a call that has ended. Views are computed when written."""
    outcome = call.outcome
    assert outcome is not None, "the call has ended"
    views = call.dispatch.views
    if views is None:
        views = options.nested_views if call.dispatch.call.nested else options.direct_views
    return CallCompleted(
        call.reference,
        call.dispatch_order,
        outcome,
        projection_of(call),
        views,
        HookKind.DEFAULT if call.state.tool is None else call.state.tool.hook_kind,
        call.state.contexts,
        call.durations(),
    )


def projection_of(call: Call) -> Projection | FailureProjection | None:
    """What the outcome shows; None: nothing (a Fatal, or a script's exception)."""
    outcome = call.outcome
    assert outcome is not None, "the call has ended"
    result = outcome.result
    if isinstance(result, Completed):
        assert call.projection is not None, "a completed call has an output"
        if call.feedback is None:
            return call.projection
        return call.projection.with_feedback(call.feedback)
    if isinstance(result, Aborted):
        return Projection(call.state.call, ToolOutput(AbortedOutput(result.message)))
    if isinstance(result, ModelFailure) and not call.dispatch.call.nested:
        return FailureProjection(call.state.call, result.message)
    return None
