"""What hooks hear of a call, and what their verdicts do (SPEC F4-F10).

Hooks run in the agent. A verdict that cannot be used changes nothing (F10).
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from sidecall_server.domain.json_shape import as_array, as_string, object_in
from sidecall_server.domain.json_text import JsonError, compact, quote
from sidecall_server.domain.truncation import is_blank
from sidecall_server.domain.values import (
    CustomPayload,
    FunctionPayload,
    ToolCall,
    ToolName,
    ToolPayload,
)

SPAWN_AGENT = "spawn_agent"
MULTI_AGENT_NAMESPACE = "multi_agent_v1"
TOOLS_WITHOUT_PRE_HOOK = ("wait", "write_stdin")
SHELL_HOOK_NAME = "Bash"
APPLY_PATCH_HOOK_NAME = "apply_patch"
MCP_PREFIX = "mcp__"
DEFAULT_POST_HOOK_BLOCK_TEXT = "PostToolUse hook blocked the tool result"


class HookKind(StrEnum):
    """How a tool's calls are told to hooks; declared with the tool (F4)."""

    DEFAULT = "default"
    SHELL = "shell"
    APPLY_PATCH = "apply_patch"
    MCP = "mcp"
    NONE = "none"


class PreToolUsePayload(Struct, frozen=True):
    """What a pre hook hears."""

    tool_name: str
    matcher_aliases: tuple[str, ...]
    tool_input_json: str


class PostToolUsePayload(Struct, frozen=True):
    """What a post hook hears."""

    tool_name: str
    matcher_aliases: tuple[str, ...]
    tool_use_id: str
    tool_input_json: str
    tool_response_json: str


class PreHookVerdict(Struct, frozen=True):
    """What one pre hook, or all of them together, answered. None: no rewrite, no block."""

    additional_contexts: tuple[str, ...] = ()
    rewrite_json: str | None = None
    block_reason: str | None = None


class RewriteError(Exception):
    """A hook rewrote the input of a call whose input cannot be rewritten (F7)."""


def pre_tool_use(call: ToolCall, hook_kind: HookKind) -> PreToolUsePayload | None:
    """What pre hooks hear of the call; None: they are not asked (F4)."""
    name = call.tool_name
    if name.in_default_namespace and name.name in TOOLS_WITHOUT_PRE_HOOK:
        return None
    named = hook_name(call, hook_kind)
    input_json = hook_input_json(call.payload, hook_kind)
    if named is None or input_json is None:
        return None
    tool_name, aliases = named
    return PreToolUsePayload(tool_name, aliases, input_json)


def hook_name(call: ToolCall, hook_kind: HookKind) -> tuple[str, tuple[str, ...]] | None:
    """The name and the aliases that hooks match; None: no hook hears of such a call (F4).

    Free-form calls are told only by the patch tool, searches never.
    """
    payload = call.payload
    if hook_kind is HookKind.APPLY_PATCH and isinstance(payload, CustomPayload):
        return APPLY_PATCH_HOOK_NAME, ("Write", "Edit")
    if not isinstance(payload, FunctionPayload):
        return None
    match hook_kind:
        case HookKind.DEFAULT:
            return _default_name(call.tool_name)
        case HookKind.SHELL:
            return SHELL_HOOK_NAME, ()
        case HookKind.APPLY_PATCH:
            return APPLY_PATCH_HOOK_NAME, ("Write", "Edit")
        case HookKind.MCP:
            return _mcp_name(call.tool_name), ()
        case HookKind.NONE:
            return None


def hook_input_json(payload: ToolPayload, hook_kind: HookKind) -> str | None:
    """The input that hooks hear: the arguments, or the command that they hold (F4)."""
    match hook_kind, payload:
        case HookKind.SHELL, FunctionPayload():
            return _command_json(_shell_command(payload.arguments))
        case HookKind.APPLY_PATCH, CustomPayload():
            return _command_json(payload.input)
        case HookKind.APPLY_PATCH, FunctionPayload():
            return _command_json(_string_field(payload.arguments, "input"))
        case ((HookKind.DEFAULT | HookKind.MCP), FunctionPayload()):
            return arguments_json(payload.arguments)
        case _:
            return None


def arguments_json(arguments: str) -> str:
    """The arguments as JSON: blank is an empty object, what is not JSON a string (F4)."""
    if is_blank(arguments):
        return "{}"
    try:
        return compact(arguments)
    except JsonError:
        return quote(arguments)


def blocked_text(tool_name: str, tool_input_json: str, reason: str) -> str:
    """The model error of a call that a pre hook blocked (F6)."""
    if tool_name in (SHELL_HOOK_NAME, APPLY_PATCH_HOOK_NAME):
        command = _string_field(tool_input_json, "command")
        if command is not None:
            return f"Command blocked by PreToolUse hook: {reason}. Command: {command}"
    return f"Tool call blocked by PreToolUse hook: {reason}. Tool: {tool_name}"


def rewrite_payload(payload: ToolPayload, input_json: str) -> FunctionPayload:
    """The payload with a hook's input in place of its arguments: any JSON value (F7).

    Raises:
        RewriteError: only function payloads can be rewritten.
        JsonError: the input is not JSON.
    """
    if not isinstance(payload, FunctionPayload):
        raise RewriteError("hook input rewrite received unsupported function tool payload")
    return FunctionPayload(compact(input_json))


def combine_pre_verdicts(
    verdicts: Sequence[PreHookVerdict], finish_order: Sequence[int] | None = None
) -> PreHookVerdict:
    """One verdict of several hooks, given in their configured order (F6).

    All contexts are kept. A block cancels every rewrite, the first reason counts. Of several
    rewrites the hook that finished last wins; `finish_order` holds the indexes of the hooks as
    they finished (None: in their configured order). A block without a reason says nothing (F10).
    """
    contexts = tuple([text for verdict in verdicts for text in verdict.additional_contexts])
    reasons = [
        verdict.block_reason
        for verdict in verdicts
        if verdict.block_reason is not None and not is_blank(verdict.block_reason)
    ]
    if reasons:
        return PreHookVerdict(contexts, block_reason=reasons[0])
    finished = range(len(verdicts)) if finish_order is None else finish_order
    rewrites = [
        verdicts[index].rewrite_json for index in finished if verdicts[index].block_reason is None
    ]
    usable = [rewrite for rewrite in rewrites if rewrite is not None]
    return PreHookVerdict(contexts, rewrite_json=usable[-1] if usable else None)


def post_hook_block_text(messages: Sequence[str]) -> str:
    """What the model reads where post hooks blocked the result (F9, F10)."""
    said = [message for message in messages if not is_blank(message)]
    return "\n\n".join(said) if said else DEFAULT_POST_HOOK_BLOCK_TEXT


def _default_name(name: ToolName) -> tuple[str, tuple[str, ...]]:
    agents = name.in_default_namespace or name.namespace == MULTI_AGENT_NAMESPACE
    if agents and name.name == SPAWN_AGENT:
        return SPAWN_AGENT, ("Agent",)
    return name.flat, ()


def _mcp_name(name: ToolName) -> str:
    server = (name.namespace or "").rstrip("_")
    tool = name.name.lstrip("_")
    joined = f"{server}__{tool}" if server else tool
    return joined if joined.startswith(MCP_PREFIX) else MCP_PREFIX + joined


def _command_json(command: str | None) -> str | None:
    return None if command is None else f'{{"command":{quote(command)}}}'


def _shell_command(arguments: str) -> str | None:
    """The command line, however the tool spells it: `command` text or words, or `cmd` text."""
    fields = object_in(arguments)
    command = fields.get("command", fields.get("cmd"))
    array = as_array(command)
    if array is None:
        return as_string(command)
    words = [word for word in map(as_string, array) if word is not None]
    return shlex.join(words) if len(words) == len(array) else None


def _string_field(text: str, key: str) -> str | None:
    return as_string(object_in(text).get(key))
