"""``sidecall inspect``: sessions and tool calls of a running sidecar, as tables or JSON."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import grpc
from google.protobuf import json_format
from google.protobuf.descriptor import EnumDescriptor
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp
from sidecall.endpoint import Endpoint
from sidecall.v1 import call_outcome_pb2 as outcomes
from sidecall.v1 import runtime_service_pb2 as runtime_messages
from sidecall.v1 import runtime_service_pb2_grpc as runtime_rpcs
from sidecall.v1 import session_service_pb2 as session_messages
from sidecall.v1 import session_service_pb2_grpc as session_rpcs
from sidecall.v1 import tool_call_pb2 as calls

from sidecall_server.app.endpoint import (
    EndpointError,
    add_endpoint_flags,
    chosen_endpoint,
    failure,
)
from sidecall_server.app.tables import details, table

PAGE_SIZE: Final = 1000

_EPILOG: Final = """\
examples:
  sidecall inspect sessions
  sidecall inspect session my-session
  sidecall inspect call my-session turn-1 call_0
  sidecall inspect --json sessions | jq '.[].session_id'

exit status: 0 shown; 1 not found or refused; 2 nothing answers, or the command
cannot be used.
"""


class Inspection:
    """The rpcs that show what a sidecar holds; they change nothing."""

    def __init__(self, channel: grpc.Channel, endpoint: Endpoint, timeout_seconds: float) -> None:
        self._sessions = session_rpcs.SessionServiceStub(channel)
        self._runtime = runtime_rpcs.RuntimeServiceStub(channel)
        self._metadata = endpoint.metadata
        self._timeout_seconds = timeout_seconds

    def sessions(self) -> Iterator[session_messages.Session]:
        """All sessions, oldest first."""
        token = ""
        while True:
            page = self._sessions.ListSessions(
                session_messages.ListSessionsRequest(page_size=PAGE_SIZE, page_token=token),
                timeout=self._timeout_seconds,
                metadata=self._metadata,
            )
            yield from page.sessions
            if not (token := page.next_page_token):
                return

    def session(self, session_id: str) -> session_messages.Session:
        """One session."""
        answer = self._sessions.GetSession(
            session_messages.GetSessionRequest(session_id=session_id),
            timeout=self._timeout_seconds,
            metadata=self._metadata,
        )
        return answer.session

    def calls(self, session_id: str) -> Iterator[outcomes.ToolCallStatus]:
        """The calls of a session in the order of their dispatch, as far as they are kept."""
        token = ""
        while True:
            page = self._runtime.ListToolCalls(
                runtime_messages.ListToolCallsRequest(
                    session_id=session_id, page_size=PAGE_SIZE, page_token=token
                ),
                timeout=self._timeout_seconds,
                metadata=self._metadata,
            )
            yield from (entry.call for entry in page.calls)
            if not (token := page.next_page_token):
                return

    def call(self, session_id: str, turn_id: str, call_id: str) -> outcomes.ToolCallStatus:
        """One call."""
        reference = outcomes.CallReference(turn_id=turn_id, call_id=call_id)
        answer = self._runtime.GetToolCall(
            runtime_messages.GetToolCallRequest(session_id=session_id, call=reference),
            timeout=self._timeout_seconds,
            metadata=self._metadata,
        )
        return answer.call


def run(arguments: Sequence[str]) -> int:
    """Show what was asked for; returns the exit status."""
    parser = _parser()
    options = parser.parse_intermixed_args(arguments)
    show, wanted = _SHOWN[options.what]
    if len(options.ids) != len(wanted):
        parser.error(f"{options.what} takes {' '.join(wanted) or 'no ids'}")
    try:
        endpoint = chosen_endpoint(options)
    except EndpointError as error:
        print(f"sidecall inspect: {error}", file=sys.stderr)
        return 2
    with endpoint.channel() as channel:
        try:
            text = show(
                Inspection(channel, endpoint, options.timeout_seconds), options.json, *options.ids
            )
        except grpc.RpcError as error:
            status, message = failure(error, endpoint)
            print(f"sidecall inspect: {message}", file=sys.stderr)
            return status
    print(text)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sidecall inspect",
        usage="sidecall inspect sessions [option ...]\n"
        "       sidecall inspect session SESSION [option ...]\n"
        "       sidecall inspect call SESSION TURN CALL [option ...]",
        allow_abbrev=False,
        description="Look at sessions and tool calls of a running sidecar.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="JSON instead of tables")
    add_endpoint_flags(parser)
    parser.add_argument("what", choices=_SHOWN, help=argparse.SUPPRESS)
    parser.add_argument("ids", nargs="*", help=argparse.SUPPRESS)
    return parser


def _show_sessions(inspection: Inspection, as_json: bool) -> str:
    found = list(inspection.sessions())
    if as_json:
        return _json_list(found)
    if not found:
        return "no sessions"
    rows = [
        (
            session.session_id,
            _state(session),
            str(session.open_calls),
            str(session.terminal_calls),
            _moment(session.create_time),
            session.options.display_name,
        )
        for session in found
    ]
    return table(("SESSION", "STATE", "OPEN", "ENDED", "CREATED (UTC)", "NAME"), rows)


def _show_session(inspection: Inspection, as_json: bool, session_id: str) -> str:
    session = inspection.session(session_id)
    found = list(inspection.calls(session_id))
    if as_json:
        listed = _json_list(found).replace("\n", "\n  ")
        shown = _json(session).replace("\n", "\n  ")
        return f'{{\n  "session": {shown},\n  "calls": {listed}\n}}'
    sizes, losses = session.recorder_sizes, session.recorder_losses
    lost = [f"{field.name} {count}" for field, count in losses.ListFields()]
    about = details(
        [
            ("session", session.session_id),
            ("name", session.options.display_name),
            ("state", _state(session)),
            ("created (UTC)", _moment(session.create_time)),
            (
                "tool mode",
                _name(calls.ToolMode.DESCRIPTOR, session.effective_tool_mode, "TOOL_MODE_"),
            ),
            ("calls", f"{session.open_calls} open, {session.terminal_calls} ended"),
            ("recorder", "on" if session.options.recorder_enabled else "off"),
            (
                "records",
                f"{sizes.direct_calls} direct, {sizes.pending_nested_calls} nested,"
                f" {sizes.retained_outputs} outputs attached",
            ),
            ("record bytes", str(sizes.held_bytes)),
            ("records lost", ", ".join(lost) or "none"),
            ("external context", "marked" if session.external_context_marked else ""),
            ("hooks failed open", str(session.hooks_failed_open or "")),
            ("late results", str(session.late_results or "")),
            ("watchers", str(session.watchers or "")),
        ]
    )
    if not found:
        return about
    rows = [
        (
            call.call.turn_id,
            call.call.call_id,
            _tool(call),
            _progress(call),
            _seconds(call.durations.total) if call.durations.HasField("total") else "",
        )
        for call in found
    ]
    head = ("TURN", "CALL", "TOOL", "STATE", "SECONDS")
    return f"{about}\n\n{table(head, rows)}"


def _show_call(
    inspection: Inspection, as_json: bool, session_id: str, turn_id: str, call_id: str
) -> str:
    call = inspection.call(session_id, turn_id, call_id)
    if as_json:
        return _json(call)
    outcome, durations = call.outcome, call.durations
    aborted = outcome.aborted
    handler = "started" if outcome.handler_executed else "never started"
    return details(
        [
            ("session", call.session_id),
            ("turn", call.call.turn_id),
            ("call", call.call.call_id),
            ("tool", _tool(call)),
            ("payload", _name(calls.PayloadKind.DESCRIPTOR, call.payload_kind, "PAYLOAD_KIND_")),
            ("cell", call.cell_id),
            ("dispatch order", str(call.dispatch_order)),
            ("submitted (UTC)", _moment(call.submit_time)),
            ("state", _progress(call)),
            ("handler", handler if call.HasField("outcome") else ""),
            ("message", outcome.model_failure.message or outcome.fatal.message or aborted.message),
            (
                "how far",
                _name(outcomes.AbortProgress.DESCRIPTOR, aborted.progress, "ABORT_PROGRESS_"),
            ),
            (
                "teardown",
                _name(outcomes.TeardownState.DESCRIPTOR, aborted.teardown, "TEARDOWN_STATE_"),
            ),
            *(
                (f"{phase} seconds", _seconds(getattr(durations, phase)))
                for phase in ("dispatch", "handler", "total")
                if durations.HasField(phase)
            ),
        ]
    )


_SHOWN: Final[Mapping[str, tuple[Callable[..., str], tuple[str, ...]]]] = {
    "sessions": (_show_sessions, ()),
    "session": (_show_session, ("SESSION",)),
    "call": (_show_call, ("SESSION", "TURN", "CALL")),
}
"""What can be shown, by what, and the ids it takes."""


def _progress(call: outcomes.ToolCallStatus) -> str:
    outcome = call.outcome
    match outcome.WhichOneof("outcome"):
        case None:
            return _name(outcomes.CallPhase.DESCRIPTOR, call.phase, "CALL_PHASE_")
        case "completed":
            return "completed" if outcome.completed.success else "completed, no success"
        case "aborted":
            return _name(outcomes.AbortReason.DESCRIPTOR, outcome.aborted.reason, "ABORT_REASON_")
        case kind:
            return kind.replace("_", " ")


def _state(session: session_messages.Session) -> str:
    return _name(session_messages.SessionState.DESCRIPTOR, session.state, "SESSION_STATE_")


def _tool(call: outcomes.ToolCallStatus) -> str:
    return call.tool_name.namespace + call.tool_name.name


def _name(enum: EnumDescriptor, number: int, prefix: str) -> str:
    """An enum value as words, empty when it says nothing; one of a newer server as its number."""
    if not number:
        return ""
    value = enum.values_by_number.get(number)
    return (
        str(number) if value is None else value.name.removeprefix(prefix).replace("_", " ").lower()
    )


def _moment(moment: Timestamp) -> str:
    return datetime.fromtimestamp(moment.seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _seconds(duration: Duration) -> str:
    return f"{duration.seconds + duration.nanos / 1e9:.3f}"


def _json(message: Message) -> str:
    return json_format.MessageToJson(message, preserving_proto_field_name=True)


def _json_list(messages: Sequence[Message]) -> str:
    if not messages:
        return "[]"
    items = ",\n".join(_json(message) for message in messages).replace("\n", "\n  ")
    return f"[\n  {items}\n]"
