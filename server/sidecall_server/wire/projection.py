"""projection_service.proto: failures and cell results come in, what callers see goes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from sidecall.v1 import projection_service_pb2 as pb

from sidecall_server.domain.cell_result import (
    CellCompleted,
    CellFailed,
    CellRunning,
    CellStatus,
    CellTerminated,
    project_cell_result,
)
from sidecall_server.domain.failure import (
    abort_text,
    payload_mismatch_text,
    script_error_text,
    unhandled_error_text,
    unknown_tool_text,
)
from sidecall_server.domain.limits import NANOSECONDS_PER_SECOND
from sidecall_server.domain.outputs import AbortedOutput, ToolOutput
from sidecall_server.domain.projection import FailureProjection, Projection
from sidecall_server.domain.session_options import ALL_VIEWS, View
from sidecall_server.domain.truncation import decode_lossy, truncate, truncate_formatted
from sidecall_server.domain.values import ToolCall
from sidecall_server.wire.call_outcome import ABORT_REASONS
from sidecall_server.wire.tool_call import read_tool_call
from sidecall_server.wire.tool_output import (
    read_content,
    read_tool_output,
    read_truncation_policy,
    read_views,
    write_projections,
)
from sidecall_server.wire.validation import (
    Problems,
    read_enum,
    read_nanoseconds,
    read_oneof,
    read_required_id,
)


def project_output(request: pb.ProjectToolOutputRequest) -> pb.ProjectToolOutputResponse:
    """The views of an output that answers a call (B, C, D)."""
    problems = Problems()
    views = ALL_VIEWS
    with problems:
        call = read_tool_call(request.call, "call")
    with problems:
        output = read_tool_output(request.output, "output")
    if request.HasField("views"):
        with problems:
            views = read_views(request.views, "views")
    problems.check()
    feedback = decode_lossy(request.feedback) if request.HasField("feedback") else None
    return pb.ProjectToolOutputResponse(
        projections=write_projections(Projection(call, output, feedback), views)
    )


def project_failure(request: pb.ProjectToolFailureRequest) -> pb.ProjectToolFailureResponse:
    """What a failed call shows to its caller (F2, F3, G4-G9)."""
    problems = Problems()
    with problems:
        call = read_tool_call(request.call, "call")
    with problems:
        failure = read_oneof(request, "failure", "failure", (*_FAILURES, "aborted"))
    problems.check()
    if failure == "aborted":
        return _project_abort(request.aborted, call)
    message, fatal = _FAILURES[failure](request, call)
    if call.nested:
        script_error = script_error_text(message, fatal=fatal)
        return pb.ProjectToolFailureResponse(message=message, script_error=script_error)
    if fatal:
        return pb.ProjectToolFailureResponse(message=message, ends_turn=True)
    return pb.ProjectToolFailureResponse(
        message=message,
        projections=write_projections(FailureProjection(call, message), ALL_VIEWS),
    )


def project_cell(request: pb.ProjectCellResultRequest) -> pb.ProjectCellResultResponse:
    """The output of `exec` or `wait` (I2, E8)."""
    problems = Problems()
    views: tuple[View, ...] = ALL_VIEWS
    with problems:
        call = read_tool_call(request.call, "call")
    with problems:
        content = read_content(request.content, "content")
    with problems:
        status = _STATUSES[read_oneof(request, "status", "status", _STATUSES)](request)
    with problems:
        wall_time = read_nanoseconds(request, "wall_time", "")
    if request.HasField("views"):
        with problems:
            views = read_views(request.views, "views")
    problems.check()
    tokens = request.max_output_tokens if request.HasField("max_output_tokens") else None
    output = ToolOutput(project_cell_result(content, status, wall_time, tokens))
    return pb.ProjectCellResultResponse(
        projections=write_projections(Projection(call, output), views)
    )


def truncate_text(request: pb.TruncateTextRequest) -> pb.TruncateTextResponse:
    """A text with its middle cut out (E1-E4)."""
    policy = read_truncation_policy(request.policy, "policy")
    cut = truncate_formatted if request.formatted else truncate
    return pb.TruncateTextResponse(text=cut(request.text, policy).encode())


def _project_abort(message: pb.AbortedCall, call: ToolCall) -> pb.ProjectToolFailureResponse:
    """An abort is no error: direct and nested callers both get an output (G3)."""
    problems = Problems()
    with problems:
        reason = read_enum(ABORT_REASONS, message.reason, "aborted.reason")
    with problems:
        elapsed = read_nanoseconds(message, "elapsed", "aborted")
    problems.check()
    text = abort_text(reason, call.tool_name, elapsed / NANOSECONDS_PER_SECOND)
    projection = Projection(call, ToolOutput(AbortedOutput(text)))
    return pb.ProjectToolFailureResponse(
        message=text, projections=write_projections(projection, ALL_VIEWS)
    )


_FAILURES: Final[
    Mapping[str, Callable[[pb.ProjectToolFailureRequest, ToolCall], tuple[str, bool]]]
] = {
    "respond_to_model": lambda request, _call: (decode_lossy(request.respond_to_model), False),
    "fatal": lambda request, _call: (decode_lossy(request.fatal), True),
    "unhandled": lambda request, _call: (
        unhandled_error_text(decode_lossy(request.unhandled)),
        True,
    ),
    "unknown_tool": lambda _request, call: (
        unknown_tool_text(call.tool_name, call.payload.kind),
        False,
    ),
    "payload_mismatch": lambda _request, call: (payload_mismatch_text(call.tool_name), True),
}
"""A failure's text, and whether it is fatal."""

_STATUSES: Final[Mapping[str, Callable[[pb.ProjectCellResultRequest], CellStatus]]] = {
    "running_cell_id": lambda request: CellRunning(
        read_required_id(request.running_cell_id, "running_cell_id")
    ),
    "terminated": lambda _request: CellTerminated(),
    "completed": lambda _request: CellCompleted(),
    "script_error": lambda request: CellFailed(decode_lossy(request.script_error)),
}
