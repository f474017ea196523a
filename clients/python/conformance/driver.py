"""Drives the Python client for the conformance suite (tests/conformance/DRIVER.md).

One JSON command per line of stdin, one JSON event per line of stdout. The suite plays the model
and the handlers: a handler or hook that is asked says so, and waits for the suite's answer.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from contextlib import AsyncExitStack
from typing import Any

from sidecall import client

Fields = Mapping[str, Any]

UNUSABLE = (client.SidecallError, ValueError, KeyError, TypeError, AttributeError)
"""What a command comes to that the sidecar or the driver cannot use."""

HOOK_POINTS = {"pre": "pre_tool_use", "post": "post_tool_use"}


class Mailboxes:
    """The suite's answers by key, whoever comes first: who writes or who reads."""

    def __init__(self) -> None:
        self._boxes: dict[tuple[str, ...], asyncio.Queue[Fields]] = {}
        self._readers: set[asyncio.Future[Fields]] = set()
        self._closed = False

    def put(self, key: tuple[str, ...], letter: Fields) -> None:
        """Leave an answer."""
        self._box(key).put_nowait(letter)

    async def take(self, key: tuple[str, ...]) -> Fields:
        """The next answer; cancelled where none will come any more."""
        if self._closed:
            raise asyncio.CancelledError
        reader = asyncio.ensure_future(self._box(key).get())
        self._readers.add(reader)
        try:
            return await reader
        finally:
            self._readers.discard(reader)

    def close(self) -> None:
        """No more answers: whoever waits for one is let go."""
        self._closed = True
        for reader in self._readers:
            reader.cancel()

    def _box(self, key: tuple[str, ...]) -> asyncio.Queue[Fields]:
        return self._boxes.setdefault(key, asyncio.Queue())


class Driver:
    """One agent, as the suite commands it."""

    def __init__(self) -> None:
        self._agent: client.Agent | None = None
        self._answers = Mailboxes()
        self._turns: dict[str, client.Turn] = {}
        self._beside: set[asyncio.Task[None]] = set()
        self._stack = AsyncExitStack()

    async def run(self) -> None:
        """Carry out commands until stdin ends."""
        async with self._stack:
            while line := await asyncio.to_thread(sys.stdin.buffer.readline):
                try:
                    await self._do(json.loads(line))
                except UNUSABLE as error:
                    say("error", **error_fields(error))
            self._answers.close()

    # --- commands ---------------------------------------------------------------------

    async def _do(self, command: Fields) -> None:
        agent = self._agent
        match command["do"]:
            case "connect":
                await self._connect(command)
            case "answer" | "torn_down" | "verdict" as kind:
                self._answers.put((command.get("point", kind), *key(command)), command)
            case kind if agent is None:
                raise ValueError(f"{kind} comes before connect")
            case "dispatch":
                self._dispatch(agent, command)
            case "cancel":
                await self._start(self._cancel(agent, command))
            case "drop":
                agent.drop_connection()
            case "update_tools":
                await self._start(self._update_tools(agent, command))
            case "register_cell":
                await self._start(self._register_cell(agent, command))
            case "end_turn":
                await self._start(self._end_turn(agent, command["turn_id"]))
            case "outputs":
                await self._start(self._outputs(agent, command["turn_id"]))
            case "attach":
                await self._start(self._attach(agent, command))
            case "detach":
                await self._start(self._detach(agent, close_session=command.get("close", False)))
            case kind:
                raise ValueError(f"unknown command {kind!r}")

    async def _connect(self, command: Fields) -> None:
        connections: list[str] = []

        def connected(resume: str) -> None:
            connections.append(resume)
            if len(connections) > 1:
                say("reconnected", resume=resume)

        agent = await self._stack.enter_async_context(
            client.connect(
                command["endpoint"],
                tools=[self._tool(tool) for tool in command.get("tools", ())],
                hooks=[self._hook(hook) for hook in command.get("hooks", ())],
                options=client.SessionOptions(**command.get("options", {})),
                client_name="conformance",
                on_connection=connected,
                on_frame_error=lambda error: say("error", **error_fields(error)),
            )
        )
        self._agent = agent
        session = {"session_id": agent.session_id, "effective_tool_mode": agent.effective_tool_mode}
        say("connected", **session, resume=connections[0])

    def _dispatch(self, agent: client.Agent, command: Fields) -> None:
        call = call_value(command["call"])
        ids = {"turn_id": call.turn_id, "call_id": call.call_id}
        turn = self._turns.setdefault(call.turn_id, agent.turn(call.turn_id))
        timeout = seconds(command, "timeout_ms")
        try:
            pending = turn.dispatch(call, views=command.get("views"), timeout_seconds=timeout)
        except client.SidecallError as error:
            say("refused", **ids, **error_fields(error))
            return
        self._beside_commands(self._completed(pending, ids))

    async def _completed(self, pending: client.PendingCall, ids: Fields) -> None:
        try:
            say("completed", **result_fields(await pending))
        except client.SidecallError as error:
            say("refused", **ids, **error_fields(error))

    async def _cancel(self, agent: client.Agent, command: Fields) -> None:
        calls = [client.CallReference(*key(call)) for call in command.get("calls", ())]
        found = await agent.cancel(calls or None, turn_id=command.get("turn_id"))
        calls_found = [
            {"turn_id": call.turn_id, "call_id": call.call_id, "disposition": disposition}
            for call, disposition in found.items()
        ]
        say("cancel_result", calls=calls_found)

    async def _update_tools(self, agent: client.Agent, command: Fields) -> None:
        await agent.update_tools(
            [self._tool(tool) for tool in command.get("upsert", ())],
            [self._tool(tool) for tool in command.get("remove", ())],
        )
        say("updated")

    async def _register_cell(self, agent: client.Agent, command: Fields) -> None:
        turn_id, call_id = key(command)
        await agent.register_cell(command["cell_id"], call_id, turn_id)
        say("registered")

    async def _end_turn(self, agent: client.Agent, turn_id: str) -> None:
        await agent.end_turn(turn_id)
        say("turn_ended")

    async def _outputs(self, agent: client.Agent, turn_id: str) -> None:
        turn = self._turns.get(turn_id) or agent.turn(turn_id)
        say("outputs", response_items=await turn.response_items())

    async def _attach(self, agent: client.Agent, command: Fields) -> None:
        attachment = await agent.attach(
            command["sampling_request_id"],
            [client.PromptOutput(**output) for output in command["outputs"]],
            command.get("turn_id", ""),
        )
        outputs = [
            {"index": one.output_index, "json": one.executed_tool_calls_json}
            | {"metadata_bytes": one.metadata_bytes}
            for one in attachment.outputs
        ]
        say("attached", attached=attachment.attached, outputs=outputs)

    async def _detach(self, agent: client.Agent, *, close_session: bool) -> None:
        await agent.detach(close_session=close_session)
        say("detached")

    # --- handlers and hooks -----------------------------------------------------------

    def _tool(self, tool: Fields) -> client.Tool:
        tears_down = tool.get("cancel_mode") == "wait_for_teardown"

        async def handle(invocation: client.Invocation) -> client.ToolOutput:
            call = invocation.call
            ids = {"turn_id": call.turn_id, "call_id": call.call_id}
            asked = {"name": call.name, "payload": payload_fields(call.payload)}
            say("handler_started", **ids, **asked, rewritten=invocation.rewritten)
            try:
                answer = await self._answers.take(("answer", *key(ids)))
            except asyncio.CancelledError:
                say("handler_cancelled", **ids)
                if tears_down:
                    await self._answers.take(("torn_down", *key(ids)))
                raise
            return output_of(answer["result"])

        return client.Tool(
            tool["name"],
            handle,
            namespace=tool.get("namespace"),
            parallel=tool.get("parallel", False),
            ready=not tool.get("not_ready", False),
            hook_kind=tool.get("hook_kind", "default"),
            payload_kinds=tool.get("payload_kinds", ()),
            cancel_mode=tool.get("cancel_mode", "abort"),
            teardown_timeout_seconds=seconds(tool, "teardown_timeout_ms"),
            call_timeout_seconds=seconds(tool, "call_timeout_ms"),
        )

    def _hook(self, hook: Fields) -> client.Hook:
        point = hook["point"]

        async def ask(asked: client.HookInput) -> client.Verdict:
            ids = {"turn_id": asked.call.turn_id, "call_id": asked.call.call_id}
            seen = {
                "tool_name": asked.payload.tool_name,
                "tool_input_json": asked.payload.tool_input_json,
                "tool_response_json": asked.payload.tool_response_json,
            }
            say("hook_started", **ids, point=point, **given(seen))
            answer = await self._answers.take((point, *key(ids)))
            return verdict_of(answer.get("verdict"), answer.get("contexts", ()))

        return client.Hook(
            HOOK_POINTS[point],  # type: ignore[arg-type]  # a Literal from a table
            ask,
            matchers=hook.get("matchers", ()),
            timeout_seconds=seconds(hook, "timeout_ms"),
        )

    # --- beside the commands ----------------------------------------------------------

    async def _start(self, work: Coroutine[Any, Any, None]) -> None:
        """Let work send what it sends, and wait for the sidecar beside the next commands."""
        self._beside_commands(guarded(work))
        await asyncio.sleep(0)  # tasks run in their order: the new one reaches its first wait

    def _beside_commands(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)


async def guarded(work: Awaitable[None]) -> None:
    """An error of the client is an event."""
    try:
        await work
    except client.SidecallError as error:
        say("error", **error_fields(error))


# --- commands as the client's values ------------------------------------------------------


def key(ids: Fields) -> tuple[str, str]:
    """Which call."""
    return (ids["turn_id"], ids["call_id"])


def seconds(fields: Fields, name: str) -> float | None:
    """Milliseconds as seconds."""
    return fields[name] / 1000 if name in fields else None


def call_value(call: Fields) -> client.ToolCall:
    """A call of the model or of a script."""
    payloads: dict[str, Callable[[], client.Payload]] = {
        "function": lambda: client.Function(call.get("arguments", "")),
        "custom": lambda: client.Custom(call.get("input", "")),
        "tool_search": lambda: client.ToolSearch(call.get("query", ""), call.get("limit")),
    }
    payload = payloads[call.get("kind", "function")]()
    where: dict[str, Any] = {"namespace": call.get("namespace"), "cell_id": call.get("cell_id")}
    return client.ToolCall(call["call_id"], call["name"], payload, call["turn_id"], **where)


def output_of(result: Fields) -> client.ToolOutput:
    """What a handler returns, or raises."""
    outside = result.get("external_context", False)
    match result:
        case {"respond_to_model": message}:
            raise client.RespondToModelError(message)
        case {"fatal": message}:
            raise client.FatalError(message)
        case {"raise": message}:
            raise RuntimeError(message)
        case {"json": text}:
            return client.JsonOutput(text, result.get("success"), outside)
        case {"mcp_raw": text}:
            return client.McpRawOutput(text, outside)
        case {"exec": text}:
            return client.ExecCommandOutput(
                text.encode(),
                result.get("exit_code"),
                hook_command=result.get("hook_command"),
                contains_external_context=outside,
            )
    return client.FunctionOutput(
        result["text"] * result.get("repeat", 1),
        result.get("success"),
        contains_external_context=outside,
    )


def verdict_of(verdict: Fields | None, contexts: Iterable[str]) -> client.Verdict:
    """What a hook answers, or raises."""
    said = tuple(contexts)
    match verdict:
        case {"rewrite": text}:
            return client.Rewrite(text, said)
        case {"block": reason}:
            return client.Block(reason, said)
        case {"feedback": message}:
            return client.Feedback(message, said)
        case {"raise": message}:
            raise RuntimeError(message)
    return client.Proceed(said)


# --- the client's values as events --------------------------------------------------------


def say(event: str, **fields: Any) -> None:
    """Write an event."""
    sys.stdout.write(json.dumps({"event": event, **fields}) + "\n")
    sys.stdout.flush()


def given(fields: Fields) -> Fields:
    """The fields that say something."""
    return {name: value for name, value in fields.items() if value is not None}


def payload_fields(payload: client.Payload) -> Fields:
    """A payload as it came to the handler."""
    match payload:
        case client.Function(arguments=arguments):
            return {"kind": "function", "arguments": arguments}
        case client.Custom(input=text):
            return {"kind": "custom", "input": text}
        case client.ToolSearch(query=query, limit=limit):
            return given({"kind": "tool_search", "query": query, "limit": limit})


def result_fields(result: client.CallResult) -> Fields:
    """How a call ended."""
    fields: dict[str, Any] = {
        "turn_id": result.call.turn_id,
        "call_id": result.call.call_id,
        "dispatch_order": result.dispatch_order,
        "lifecycle": result.lifecycle,
        "handler_executed": result.handler_executed,
        "additional_contexts": result.additional_contexts,
        **outcome_fields(result),
    }
    views = result.projections
    if views is not None:
        fields |= given({name: getattr(views, name) for name in VIEWS})
    return fields


VIEWS = ("response_item_json", "code_mode_json", "log_preview")
OUTCOMES = {"ModelFailure": "model_failure", "FatalFailure": "fatal", "Aborted": "aborted"}


def outcome_fields(result: client.CallResult) -> Fields:
    """What the outcome says."""
    outcome = result.outcome
    if isinstance(outcome, client.Completed):
        return {"outcome": "completed", "success": outcome.success}
    fields = {"outcome": OUTCOMES[type(outcome).__name__], "message": outcome.message}
    if isinstance(outcome, client.Aborted):
        fields |= {name: getattr(outcome, name) for name in ("reason", "progress", "teardown")}
    return fields


def error_fields(error: Exception) -> Fields:
    """What went wrong."""
    if not isinstance(error, client.SidecallError):
        return {"reason": "", "message": f"not a command: {error!r}", "field_violations": []}
    lost = isinstance(error, client.SessionLostError)
    violations = [
        {"field": one.field, "description": one.description} for one in error.field_violations
    ]
    reason = "SESSION_LOST" if lost else error.reason
    return {"reason": reason, "message": error.message, "field_violations": violations}


if __name__ == "__main__":
    asyncio.run(Driver().run())
