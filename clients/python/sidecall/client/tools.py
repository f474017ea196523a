"""What an agent brings: tools and hooks, as plain async functions."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from sidecall.client import values

HookPoint: TypeAlias = Literal["pre_tool_use", "post_tool_use"]


class RespondToModelError(Exception):
    """A handler's error that the model may read; the text goes to it as it is."""


class FatalError(Exception):
    """A handler's error that ends the turn."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """One run of a handler.

    Attributes:
        call: the call, with the payload that a hook may have rewritten.
        rewritten: whether a hook rewrote the payload.
        dispatch_order: the position of the call among all calls of the session.
    """

    call: values.ToolCall
    rewritten: bool
    dispatch_order: int

    @property
    def arguments(self) -> Any:
        """The arguments of a function call, parsed; blank ones are an empty object.

        Raises:
            RespondToModelError: they are not JSON; the model gets to read why.
        """
        payload = self.call.payload
        if not isinstance(payload, values.Function):
            raise RespondToModelError(f"tool {self.call.name} takes function arguments")
        try:
            return json.loads(payload.arguments) if payload.arguments.strip() else {}
        except ValueError as error:
            raise RespondToModelError(f"failed to parse function arguments: {error}") from None


Handler: TypeAlias = Callable[[Invocation], Awaitable["values.ToolOutput | str"]]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool of the agent.

    The handler returns a `ToolOutput` or a plain text, raises `RespondToModelError` for what
    the model may read and `FatalError` for what ends the turn. A call that is cancelled
    cancels the handler's task.

    Args:
        name: its name.
        handler: the async function that runs it.
        namespace: None: it has none, which is not the same as an empty one.
        parallel: it may run beside other tools that may; all others run alone.
        hidden: it is not shown to the model; runs alone.
        ready: False: calls wait until `Agent.update_tools` says that it can run.
        hook_kind: what hooks see of it.
        payload_kinds: what it takes; empty: function and tool search.
        cancel_mode: ``wait_for_teardown``: a cancelled call ends when its handler has ended.
        teardown_timeout_seconds: how long that may take; None: 10 s.
        call_timeout_seconds: how long a call may take in all; None: no limit.
    """

    name: str
    handler: Handler
    namespace: str | None = None
    parallel: bool = False
    hidden: bool = False
    ready: bool = True
    hook_kind: values.HookKind = "default"
    payload_kinds: Sequence[values.PayloadKind] = ()
    cancel_mode: values.CancelMode = "abort"
    teardown_timeout_seconds: float | None = None
    call_timeout_seconds: float | None = None

    @property
    def key(self) -> tuple[str | None, str]:
        """Its full name."""
        return (self.namespace, self.name)


# --- hooks ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Proceed:
    """Go on unchanged."""

    additional_contexts: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Go on with other arguments, JSON text of any type. Pre hooks only."""

    input_json: str
    additional_contexts: Sequence[str] = ()

    @classmethod
    def of(cls, value: Any, additional_contexts: Sequence[str] = ()) -> Rewrite:
        """The rewrite to any value that `json` can write."""
        return cls(json.dumps(value, ensure_ascii=False), additional_contexts)


@dataclass(frozen=True, slots=True)
class Block:
    """Stop, with what the model reads. A pre hook must say why."""

    reason: str = ""
    additional_contexts: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Feedback:
    """Show the model this in place of the output. Post hooks only."""

    message: str
    additional_contexts: Sequence[str] = ()


Verdict: TypeAlias = Proceed | Rewrite | Block | Feedback


@dataclass(frozen=True, slots=True)
class HookInput:
    """What a hook gets to see: the call and what `HookPayload` says about it."""

    call: values.CallReference
    point: HookPoint
    payload: values.HookPayload

    @property
    def tool_input(self) -> Any:
        """The arguments, parsed; text where they are not JSON."""
        return json.loads(self.payload.tool_input_json)

    @property
    def tool_response(self) -> Any:
        """The response, parsed. Post hooks only."""
        text = self.payload.tool_response_json
        return None if text is None else json.loads(text)


HookFunction: TypeAlias = Callable[[HookInput], Awaitable["Verdict | None"]]


@dataclass(frozen=True, slots=True)
class Hook:
    """A hook of the agent.

    Its function answers with a verdict; None is `Proceed`. One that raises leaves the call
    unchanged.

    Args:
        point: before the handler, or after it returned a success.
        function: the async function.
        matchers: tool names, or their aliases, that it wants; empty: all.
        timeout_seconds: how long it may take; None: the server's default.
    """

    point: HookPoint
    function: HookFunction
    matchers: Sequence[str] = field(default=())
    timeout_seconds: float | None = None

    def matches(self, payload: values.HookPayload) -> bool:
        """Whether it wants this call."""
        names = (payload.tool_name, *payload.matcher_aliases)
        return not self.matchers or any(name in self.matchers for name in names)
