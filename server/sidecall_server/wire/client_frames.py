"""runtime_stream.proto, the agent's side: frames come in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from google.protobuf.message import DecodeError, Message
from sidecall.v1 import runtime_stream_pb2 as pb

from sidecall_server.domain.declarations import (
    DEFAULT_PAYLOAD_KINDS,
    CancelMode,
    HookDeclaration,
    HookPoint,
    ToolDeclaration,
)
from sidecall_server.domain.errors import InvalidArgument, Reason
from sidecall_server.domain.frames import (
    Block,
    CallReference,
    CancelCalls,
    Chunk,
    ClientFrame,
    Detach,
    DispatchCall,
    EndTurn,
    FatalError,
    Feedback,
    HandlerResult,
    Heartbeat,
    Hello,
    HookFailed,
    HookVerdict,
    Proceed,
    RegisterCell,
    RespondToModel,
    Rewrite,
    TeardownComplete,
    UnhandledError,
    UpdateTools,
    Verdict,
)
from sidecall_server.domain.hooks import HookKind
from sidecall_server.domain.json_text import JsonError, compact
from sidecall_server.domain.limits import (
    DEFAULT_TEARDOWN_SECONDS,
    NANOSECONDS_PER_SECOND,
)
from sidecall_server.domain.session_options import SessionOptions
from sidecall_server.domain.truncation import decode_lossy
from sidecall_server.wire.call_outcome import read_call_reference
from sidecall_server.wire.runtime import read_cancel_target
from sidecall_server.wire.session import read_session_options, read_turn_options
from sidecall_server.wire.tool_call import PAYLOAD_KINDS, read_tool_call, read_tool_name
from sidecall_server.wire.tool_output import read_tool_output, read_views
from sidecall_server.wire.usual_frames import read_usual
from sidecall_server.wire.validation import (
    MAX_NAMED_VALUES,
    bounded,
    checked,
    missing,
    read_enum,
    read_id,
    read_nanoseconds,
    read_oneof,
    read_required_id,
)

HOOK_KINDS: Final[Mapping[int, HookKind]] = {
    pb.HOOK_KIND_UNSPECIFIED: HookKind.DEFAULT,
    pb.HOOK_KIND_DEFAULT: HookKind.DEFAULT,
    pb.HOOK_KIND_SHELL: HookKind.SHELL,
    pb.HOOK_KIND_APPLY_PATCH: HookKind.APPLY_PATCH,
    pb.HOOK_KIND_MCP: HookKind.MCP,
    pb.HOOK_KIND_NONE: HookKind.NONE,
}
CANCEL_MODES: Final[Mapping[int, CancelMode]] = {
    pb.CANCEL_MODE_UNSPECIFIED: CancelMode.ABORT,
    pb.CANCEL_MODE_ABORT: CancelMode.ABORT,
    pb.CANCEL_MODE_WAIT_FOR_TEARDOWN: CancelMode.WAIT_FOR_TEARDOWN,
}
HOOK_POINTS: Final[Mapping[int, HookPoint]] = {
    pb.HOOK_POINT_PRE_TOOL_USE: HookPoint.PRE_TOOL_USE,
    pb.HOOK_POINT_POST_TOOL_USE: HookPoint.POST_TOOL_USE,
}
_PROCEED: Final = Proceed()
_HEARTBEAT: Final = Heartbeat()


class ClientFrames:
    """Reads frames; knows what the options of a new session are where it does not say."""

    def __init__(self, default_options: SessionOptions) -> None:
        self._default_options = default_options

    def read(self, data: bytes) -> ClientFrame | Chunk:
        """One frame of an agent.

        Raises:
            InvalidArgument: it is not a frame, or its fields cannot be used.
        """
        usual = read_usual(data)
        return self.read_any(data) if usual is None else usual

    def read_any(self, data: bytes) -> ClientFrame | Chunk:
        """The same, with protobuf."""
        try:
            message = pb.ClientFrame.FromString(data)
        except DecodeError:
            raise InvalidArgument(
                "the frame is not a sidecall.v1.ClientFrame; a `string` field may hold bytes that"
                " are not UTF-8",
                reason=Reason.INVALID_FIELD,
            ) from None
        kind = message.WhichOneof("frame")
        if kind is None:
            raise missing("frame", ("hello", *_READERS))
        if kind == "hello":
            return self._hello(message.hello)
        return _READERS[kind](getattr(message, kind), kind, len(data))

    def call_of(self, data: bytes) -> CallReference | None:
        """The call that a frame would dispatch, though the rest of it may be unusable.

        Only refused frames are asked this, so they alone are parsed twice.
        """
        try:
            message = pb.ClientFrame.FromString(data)
            call = message.dispatch_call.call
            return CallReference(
                read_id(call.turn_id, "turn_id"), read_required_id(call.call_id, "call_id")
            )
        except (DecodeError, InvalidArgument):
            return None

    def _hello(self, message: pb.Hello) -> Hello:
        if not message.protocol_versions:
            raise missing("hello.protocol_versions")
        return Hello(
            tuple(message.protocol_versions),
            read_id(message.session_id, "hello.session_id"),
            message.resume_token,
            message.last_sequence_received,
            read_session_options(message.options, "hello.options", self._default_options),
            _tools(message.tools, "hello.tools"),
            _hooks(message.hooks, "hello.hooks"),
            message.client_name,
        )


def _update_tools(message: pb.UpdateTools, path: str, size: int) -> UpdateTools:
    return UpdateTools(
        _tools(message.upsert, f"{path}.upsert"),
        tuple(
            read_tool_name(name, f"{path}.remove[{index}]")
            for index, name in enumerate(bounded(message.remove, f"{path}.remove"))
        ),
        _hooks(message.hooks.hooks, f"{path}.hooks.hooks") if message.HasField("hooks") else None,
    )


def _dispatch_call(message: pb.DispatchCall, path: str, size: int) -> DispatchCall:
    if not message.HasField("call"):
        raise missing(f"{path}.call")
    return DispatchCall(
        read_tool_call(message.call, f"{path}.call"),
        read_turn_options(message.turn_options, f"{path}.turn_options")
        if message.HasField("turn_options")
        else None,
        read_views(message.views, f"{path}.views") if message.HasField("views") else None,
        _positive_seconds(message, "timeout", path),
        message.traceparent,
        size,
    )


def _handler_result(message: pb.HandlerResult, path: str, size: int) -> HandlerResult:
    token = _token(message.invocation_token, f"{path}.invocation_token")
    kind = read_oneof(
        message, "result", path, ("output", "respond_to_model", "fatal", "unhandled_error")
    )
    if kind == "output":
        return HandlerResult(token, read_tool_output(message.output, f"{path}.output"), size)
    text = decode_lossy(getattr(message, kind).message)
    return HandlerResult(token, _ERRORS[kind](text), size)


def _hook_verdict(message: pb.HookVerdict, path: str, size: int) -> HookVerdict:
    token = _token(message.hook_token, f"{path}.hook_token")
    kind = message.WhichOneof("verdict")
    verdict: Verdict = _PROCEED
    if kind == "rewrite":
        verdict = _rewrite(message.rewrite)
    elif kind == "block":
        verdict = Block(decode_lossy(message.block.reason))
    elif kind == "feedback":
        verdict = Feedback(decode_lossy(message.feedback.message))
    elif kind == "failed":
        verdict = HookFailed(decode_lossy(message.failed.message))
    texts = bounded(message.additional_contexts, f"{path}.additional_contexts")
    contexts = tuple(decode_lossy(context) for context in texts)
    return HookVerdict(token, verdict, contexts, size)


def _rewrite(message: pb.Rewrite) -> Verdict:
    """A rewrite that is not JSON is an unusable verdict, not a bad frame (F10)."""
    try:
        return Rewrite(compact(message.input_json.decode()))
    except (UnicodeDecodeError, JsonError) as error:
        return HookFailed(f"the rewritten input is not JSON: {error}")


def _cancel_calls(message: pb.CancelCalls, path: str, size: int) -> CancelCalls:
    if not message.HasField("target"):
        raise missing(f"{path}.target")
    return CancelCalls(message.cancel_id, read_cancel_target(message.target, f"{path}.target"))


def _teardown_complete(message: pb.TeardownComplete, path: str, size: int) -> TeardownComplete:
    return TeardownComplete(_token(message.invocation_token, f"{path}.invocation_token"))


def _register_cell(message: pb.RegisterCell, path: str, size: int) -> RegisterCell:
    return RegisterCell(
        read_required_id(message.cell_id, f"{path}.cell_id"),
        read_call_reference(message.output_call, f"{path}.output_call"),
    )


def _end_turn(message: pb.EndTurn, path: str, size: int) -> EndTurn:
    return EndTurn(read_required_id(message.turn_id, f"{path}.turn_id"))


def _output_chunk(message: pb.OutputChunk, path: str, size: int) -> Chunk:
    return Chunk(message.transfer_id, message.size_bytes, message.data)


def _heartbeat(message: pb.Heartbeat, path: str, size: int) -> Heartbeat:
    return _HEARTBEAT


def _detach(message: pb.Detach, path: str, size: int) -> Detach:
    return Detach(message.close_session)


def _tools(messages: Any, path: str) -> tuple[ToolDeclaration, ...]:
    return tuple(
        _tool(message, f"{path}[{index}]") for index, message in enumerate(bounded(messages, path))
    )


def _tool(message: pb.ToolDeclaration, path: str) -> ToolDeclaration:
    if not message.HasField("tool_name"):
        raise missing(f"{path}.tool_name")
    kinds = tuple(
        read_enum(PAYLOAD_KINDS, kind, f"{path}.payload_kinds[{index}]")
        for index, kind in enumerate(
            bounded(message.payload_kinds, f"{path}.payload_kinds", MAX_NAMED_VALUES)
        )
    )
    teardown = DEFAULT_TEARDOWN_SECONDS
    if message.HasField("teardown_timeout"):
        teardown = read_nanoseconds(message, "teardown_timeout", path) / NANOSECONDS_PER_SECOND
    return checked(
        path,
        ToolDeclaration,
        tool_name=read_tool_name(message.tool_name, f"{path}.tool_name"),
        hook_kind=read_enum(HOOK_KINDS, message.hook_kind, f"{path}.hook_kind"),
        payload_kinds=kinds or DEFAULT_PAYLOAD_KINDS,
        supports_parallel_calls=message.supports_parallel_calls,
        hidden=message.hidden,
        ready=not message.not_ready,
        cancel_mode=read_enum(CANCEL_MODES, message.cancel_mode, f"{path}.cancel_mode"),
        teardown_timeout_seconds=teardown,
        call_timeout_seconds=_positive_seconds(message, "call_timeout", path),
    )


def _hooks(messages: Any, path: str) -> tuple[HookDeclaration, ...]:
    return tuple(
        checked(
            f"{path}[{index}]",
            HookDeclaration,
            point=read_enum(HOOK_POINTS, message.point, f"{path}[{index}].point"),
            matchers=tuple(bounded(message.matchers, f"{path}[{index}].matchers")),
            timeout_seconds=_positive_seconds(message, "timeout", f"{path}[{index}]"),
        )
        for index, message in enumerate(bounded(messages, path))
    )


def _token(data: bytes, path: str) -> bytes:
    if not data:
        raise missing(path)
    return data


def _positive_seconds(message: Message, field: str, path: str) -> float | None:
    """A time that may be absent; a given one must be above zero."""
    if not message.HasField(field):
        return None
    nanoseconds = read_nanoseconds(message, field, path)
    if not nanoseconds:
        raise InvalidArgument.of(f"{path}.{field}", "must be above zero, or absent")
    return nanoseconds / NANOSECONDS_PER_SECOND


_ERRORS: Final[Mapping[str, Callable[[str], RespondToModel | FatalError | UnhandledError]]] = {
    "respond_to_model": RespondToModel,
    "fatal": FatalError,
    "unhandled_error": UnhandledError,
}

_READERS: Final[Mapping[str, Callable[[Any, str, int], ClientFrame | Chunk]]] = {
    "update_tools": _update_tools,
    "dispatch_call": _dispatch_call,
    "handler_result": _handler_result,
    "hook_verdict": _hook_verdict,
    "cancel_calls": _cancel_calls,
    "teardown_complete": _teardown_complete,
    "register_cell": _register_cell,
    "end_turn": _end_turn,
    "output_chunk": _output_chunk,
    "heartbeat": _heartbeat,
    "detach": _detach,
}
