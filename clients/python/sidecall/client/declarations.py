"""Tools and hooks as the stream's messages declare them, and verdicts as it carries them."""

from __future__ import annotations

from collections.abc import Iterable

from sidecall.client import messages
from sidecall.client.tools import Block, Feedback, Hook, Proceed, Rewrite, Tool, Verdict
from sidecall.v1 import (
    runtime_stream_pb2 as pb,
)
from sidecall.v1 import (
    tool_call_pb2 as call_pb,
)


def tool_declarations(tools: Iterable[Tool]) -> list[pb.ToolDeclaration]:
    """What the server gets to know of the tools."""
    return [
        pb.ToolDeclaration(
            tool_name=messages.tool_name(tool.name, tool.namespace),
            hook_kind=messages.enum_number(pb.HookKind, "HOOK_KIND", tool.hook_kind),
            payload_kinds=[
                messages.enum_number(call_pb.PayloadKind, "PAYLOAD_KIND", kind)
                for kind in tool.payload_kinds
            ],
            supports_parallel_calls=tool.parallel,
            hidden=tool.hidden,
            not_ready=not tool.ready,
            cancel_mode=messages.enum_number(pb.CancelMode, "CANCEL_MODE", tool.cancel_mode),
            teardown_timeout=messages.duration(tool.teardown_timeout_seconds),
            call_timeout=messages.duration(tool.call_timeout_seconds),
        )
        for tool in tools
    ]


def hook_declarations(hooks: Iterable[Hook]) -> list[pb.HookDeclaration]:
    """What the server gets to know of the hooks."""
    return [
        pb.HookDeclaration(
            point=messages.enum_number(pb.HookPoint, "HOOK_POINT", hook.point),
            matchers=hook.matchers,
            timeout=messages.duration(hook.timeout_seconds),
        )
        for hook in hooks
    ]


def verdict_message(hook_token: bytes, verdict: Verdict | None) -> pb.HookVerdict:
    """The answer to a hook invocation; None: the hooks failed."""
    if verdict is None:
        return hook_failed_message(hook_token, "every hook failed; see the agent's log")
    contexts = [messages.lossy(context) for context in verdict.additional_contexts]
    message = pb.HookVerdict(hook_token=hook_token, additional_contexts=contexts)
    match verdict:
        case Proceed():
            message.proceed.SetInParent()
        case Rewrite(input_json=input_json):
            message.rewrite.input_json = messages.lossy(input_json)
        case Block(reason=reason):
            message.block.SetInParent()
            message.block.reason = messages.lossy(reason)
        case Feedback(message=text):
            message.feedback.SetInParent()
            message.feedback.message = messages.lossy(text)
    return message


def hook_failed_message(hook_token: bytes, message: str) -> pb.HookVerdict:
    """The answer that lets the call go on unchanged; the message is for the log."""
    failed = pb.HookFailed(message=messages.lossy(message))
    return pb.HookVerdict(hook_token=hook_token, failed=failed)
