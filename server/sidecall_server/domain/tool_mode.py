"""Code mode: which tools a model may call how, and what a script may pass (SPEC I3, I5)."""

from __future__ import annotations

from collections.abc import Mapping

from sidecall_server.domain.json_shape import as_string
from sidecall_server.domain.json_text import parse, write
from sidecall_server.domain.values import (
    CustomPayload,
    FunctionPayload,
    PayloadKind,
    ToolMode,
    ToolName,
)

EXEC_TOOL = "exec"


class NestedInputError(Exception):
    """A script's call cannot be made; the message is the text of its exception (I3)."""


def effective_tool_mode(
    *,
    model_mode: ToolMode | None,
    feature_code_mode: bool,
    feature_code_mode_only: bool,
    provider_available: bool,
    fallback_disabled: bool,
) -> ToolMode:
    """The mode that holds: the model's own, else what the features ask for (I5).

    Code mode that the provider cannot give becomes direct, unless that is forbidden. Code mode
    only never does.
    """
    if model_mode is not None:
        requested = model_mode
    elif feature_code_mode_only:
        requested = ToolMode.CODE_MODE_ONLY
    elif feature_code_mode:
        requested = ToolMode.CODE_MODE
    else:
        requested = ToolMode.DIRECT
    falls_back = not provider_available and not fallback_disabled
    return ToolMode.DIRECT if requested is ToolMode.CODE_MODE and falls_back else requested


def nested_payload(
    tool_name: ToolName, kind: PayloadKind, input_json: str | None
) -> FunctionPayload | CustomPayload:
    """The payload of a script's call; `input_json` None: called without an argument (I3).

    Raises:
        NestedInputError: a cell may not start a cell, or the argument has the wrong type.
        JsonError: the argument is not JSON.
    """
    if tool_name.in_default_namespace and tool_name.name == EXEC_TOOL:
        raise NestedInputError("exec cannot invoke itself")
    value = None if input_json is None else parse(input_json)
    if kind is PayloadKind.CUSTOM:
        text = as_string(value)
        if text is None:
            raise NestedInputError(f"tool `{tool_name.flat}` expects a string input")
        return CustomPayload(text)
    if input_json is None:
        return FunctionPayload("{}")
    if isinstance(value, Mapping):
        return FunctionPayload(write(value))
    raise NestedInputError(f"tool `{tool_name.flat}` expects a JSON object for arguments")
