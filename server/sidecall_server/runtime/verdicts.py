"""What hooks answered, in terms of the call (F6-F10).

A verdict that cannot be used fails open: the call goes on unchanged, and it is counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sidecall_server.domain.call_state import PostHookAnswered, PreHookAnswered
from sidecall_server.domain.frames import (
    Block,
    Feedback,
    HookFailed,
    HookVerdict,
    HookView,
    Rewrite,
)
from sidecall_server.domain.hooks import (
    HookKind,
    RewriteError,
    blocked_text,
    post_hook_block_text,
    rewrite_payload,
)
from sidecall_server.domain.projection import Projection
from sidecall_server.domain.session_options import PostHookBlock
from sidecall_server.domain.truncation import is_blank

if TYPE_CHECKING:
    from sidecall_server.runtime.call import Call
    from sidecall_server.runtime.session import Session


def pre_hook(call: Call, view: HookView, frame: HookVerdict, session: Session) -> PreHookAnswered:
    """The pre hook's verdict: go on, go on with other arguments, or stop (F6, F7)."""
    verdict, contexts = frame.verdict, frame.additional_contexts
    if isinstance(verdict, Block) and not is_blank(verdict.reason):
        text = blocked_text(view.tool_name, view.tool_input_json, verdict.reason)
        return PreHookAnswered(contexts, blocked=text)
    if isinstance(verdict, Rewrite):
        try:
            payload = rewrite_payload(call.state.call.payload, verdict.input_json)
        except RewriteError as error:
            return PreHookAnswered(contexts, failure=str(error))
        return PreHookAnswered(contexts, payload=payload)
    if isinstance(verdict, HookFailed | Block | Feedback):
        session.hook_failed_open(call, verdict)
    return PreHookAnswered(contexts)


def post_hook(call: Call, frame: HookVerdict, session: Session) -> PostHookAnswered:
    """The post hook's verdict: what the model reads in place of the output (F9)."""
    verdict, contexts = frame.verdict, frame.additional_contexts
    if isinstance(verdict, Feedback):
        call.feedback = verdict.message
    elif isinstance(verdict, Block):
        text = post_hook_block_text([verdict.reason])
        if session.options.post_hook_block is PostHookBlock.REJECT_RESULT:
            return PostHookAnswered(contexts, rejected=text)
        call.feedback = text
    elif isinstance(verdict, HookFailed | Rewrite):
        session.hook_failed_open(call, verdict)
    return PostHookAnswered(contexts)


def post_hook_view(projection: Projection, kind: HookKind) -> HookView | None:
    """What the post hook gets to see; None: no hook speaks about this output (C5, F5)."""
    seen = projection.post_tool_use(kind)
    if seen is None:
        return None
    return HookView(
        seen.tool_name,
        seen.matcher_aliases,
        seen.tool_use_id,
        seen.tool_input_json,
        seen.tool_response_json,
    )
