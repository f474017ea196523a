"""runtime_service.proto without its stream: what the server is, calls, cancels, outlines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from sidecall.v1 import runtime_service_pb2 as pb
from sidecall.v1 import runtime_stream_pb2 as stream_pb

from sidecall_server.domain.frames import (
    CancelDisposition,
    CancelledCall,
    CancelTarget,
)
from sidecall_server.domain.limits import MAX_CALLS_OF_CANCEL
from sidecall_server.domain.prompt import (
    NormalisedPrompt,
    OutlineEntry,
    OutlineKind,
    normalise_prompt,
)
from sidecall_server.domain.runtime_limits import RuntimeLimits
from sidecall_server.domain.session_options import View
from sidecall_server.wire.call_outcome import (
    KnownCall,
    read_call_reference,
    write_call_reference,
    write_call_status,
)
from sidecall_server.wire.durations import write_duration
from sidecall_server.wire.tool_call import PAYLOAD_KINDS
from sidecall_server.wire.tool_output import keep_views, write_response_item
from sidecall_server.wire.validation import (
    Problems,
    bounded,
    missing,
    read_enum,
    read_oneof,
    read_required_id,
)


class ServerInfo(NamedTuple):
    """What does not change while a server runs."""

    version: str
    instance_id: str
    protocol_versions: tuple[int, ...]
    features: tuple[str, ...]
    recorder_enabled: bool
    """Whether a new session records calls where it does not say (J1)."""


class ReadableCall(KnownCall, Protocol):
    """A call with what is kept of its end: its terminal frame as it went out; empty: still open."""

    @property
    def completed_data(self) -> bytes: ...


_DISPOSITIONS: Final = {
    CancelDisposition.ACCEPTED: stream_pb.CANCEL_DISPOSITION_ACCEPTED,
    CancelDisposition.ALREADY_TERMINAL: stream_pb.CANCEL_DISPOSITION_ALREADY_TERMINAL,
    CancelDisposition.UNKNOWN: stream_pb.CANCEL_DISPOSITION_UNKNOWN,
}


def write_info(
    info: ServerInfo, limits: RuntimeLimits, *, draining: bool
) -> pb.GetRuntimeInfoResponse:
    """What the server is, and which limits hold."""
    return pb.GetRuntimeInfoResponse(
        server_version=info.version,
        server_instance_id=info.instance_id,
        protocol_versions=info.protocol_versions,
        features=info.features,
        limits=write_limits(limits),
        draining=draining,
        recorder_enabled_by_default=info.recorder_enabled,
    )


def write_limits(limits: RuntimeLimits) -> pb.RuntimeLimits:
    return pb.RuntimeLimits(
        max_sessions=limits.max_sessions,
        max_calls_in_flight=limits.max_calls_in_flight,
        max_calls_in_flight_total=limits.max_calls_in_flight_total,
        max_bytes_in_flight=limits.max_bytes_in_flight,
        max_bytes_in_flight_total=limits.max_bytes_in_flight_total,
        max_replay_bytes=limits.max_replay_bytes,
        max_message_bytes=limits.max_message_bytes,
        max_chunk_bytes=limits.max_chunk_bytes,
        max_frame_bytes=limits.max_frame_bytes,
        max_declarations=limits.max_declarations,
        max_retained_calls=limits.max_retained_calls,
        max_retained_bytes=limits.max_retained_bytes,
        max_watchers=limits.max_watchers,
        max_watcher_events=limits.max_watcher_events,
        max_id_bytes=limits.max_id_bytes,
        max_tool_name_bytes=limits.max_tool_name_bytes,
        max_record_bytes_total=limits.max_record_bytes_total,
        resume_grace=write_duration(limits.resume_grace_seconds),
        session_idle_timeout=write_duration(limits.session_idle_timeout_seconds),
        heartbeat_interval=write_duration(limits.heartbeat_interval_seconds),
        heartbeat_timeout=write_duration(limits.heartbeat_timeout_seconds),
        max_teardown_timeout=write_duration(limits.max_teardown_timeout_seconds),
        default_hook_timeout=write_duration(limits.default_hook_timeout_seconds),
    )


# --- calls ----------------------------------------------------------------------------


def write_call(
    session_id: str, call: ReadableCall, views: Sequence[View] | None
) -> pb.GetToolCallResponse:
    """A call and, of those made when it ended, the views that are wanted (None: all)."""
    completed = stream_pb.ServerFrame.FromString(call.completed_data).call_completed
    projections = None
    if completed.HasField("projections"):
        projections = keep_views(completed.projections, views)
    return pb.GetToolCallResponse(call=write_call_status(session_id, call), projections=projections)


def read_cancel_target(message: stream_pb.CancelTarget, path: str) -> CancelTarget:
    """Which calls to cancel."""
    return _TARGETS[read_oneof(message, "target", path, _TARGETS)](message, path)


def write_cancelled(calls: Iterable[CancelledCall]) -> list[stream_pb.CancelledCall]:
    """What a cancel did, call by call."""
    return [
        stream_pb.CancelledCall(
            call=write_call_reference(call), disposition=_DISPOSITIONS[disposition]
        )
        for call, disposition in calls
    ]


def _read_calls(message: stream_pb.CancelTarget, path: str) -> CancelTarget:
    problems = Problems()
    references = []
    calls = bounded(message.calls.calls, f"{path}.calls.calls", MAX_CALLS_OF_CANCEL)
    for index, call in enumerate(calls):
        with problems:
            references.append(read_call_reference(call, f"{path}.calls.calls[{index}]"))
    problems.check()
    return CancelTarget(calls=tuple(references))


def _read_turn(message: stream_pb.CancelTarget, path: str) -> CancelTarget:
    return CancelTarget(turn_id=read_required_id(message.turn_id, f"{path}.turn_id"))


def _read_all(message: stream_pb.CancelTarget, path: str) -> CancelTarget:
    return CancelTarget()


_TARGETS: Final[Mapping[str, Callable[[stream_pb.CancelTarget, str], CancelTarget]]] = {
    "calls": _read_calls,
    "turn_id": _read_turn,
    "all": _read_all,
}

# --- outlines -------------------------------------------------------------------------


def normalize_prompt(request: pb.NormalizePromptRequest) -> pb.NormalizePromptResponse:
    """What a prompt's outline needs before it can be sent (G11, G12)."""
    problems = Problems()
    positions: list[int] = []
    outline: list[OutlineEntry] = []
    for index, message in enumerate(bounded(request.entries, "entries")):
        with problems:
            entry = _read_entry(message, f"entries[{index}]")
            if entry.call_id or entry.kind is OutlineKind.OUTPUT:
                positions.append(index)
                outline.append(entry)
    problems.check()
    return _write_normalised(normalise_prompt(outline), positions)


def _read_entry(message: pb.OutlineEntry, path: str) -> OutlineEntry:
    chosen = message.WhichOneof("entry")
    if chosen is None:
        raise missing(path, ("call", "output"))
    entry = message.call if chosen == "call" else message.output
    return OutlineEntry(
        OutlineKind(chosen),
        read_enum(PAYLOAD_KINDS, entry.kind, f"{path}.{chosen}.kind"),
        entry.call_id,
        entry.server_executed,
    )


def _write_normalised(
    prompt: NormalisedPrompt, positions: Sequence[int]
) -> pb.NormalizePromptResponse:
    return pb.NormalizePromptResponse(
        missing_outputs=[
            pb.MissingOutput(
                entry_index=positions[output.call_index],
                response_item=write_response_item(output.response_item),
                response_item_json=output.response_item.to_json().encode(),
            )
            for output in prompt.missing
        ],
        orphan_entry_indexes=[positions[index] for index in prompt.orphan_indexes],
    )
