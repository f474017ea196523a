"""What a model server receives: outputs with the records of what was attempted (SPEC J-M)."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sidecall.client import (
    Agent,
    Custom,
    Function,
    Invocation,
    SessionOptions,
    Tool,
    ToolCall,
    connect,
    spawn,
)

from tests.e2e.history import METADATA_KEY, History
from tests.e2e.model_server import ModelServer, model_server

SIDECALL = str(Path(sys.executable).parent / "sidecall")
BUDGET_BYTES = 32_768


async def echo(invocation: Invocation) -> str:
    """A tool."""
    return f"ran {invocation.call.call_id}"


TOOLS = [
    Tool("echo", echo, parallel=True),
    Tool("edit", echo, namespace="files", payload_kinds=["custom"]),
    Tool("exec", echo, payload_kinds=["custom"]),
]


@contextlib.asynccontextmanager
async def agent(**options: Any) -> AsyncIterator[Agent]:
    async with (
        spawn(executable=SIDECALL) as endpoint,
        connect(endpoint, tools=TOOLS, options=SessionOptions(**options)) as connected,
    ):
        yield connected


@pytest.fixture
def model() -> Any:
    with model_server() as server:
        yield server


def call(
    call_id: str, arguments: str = "{}", *, turn: str = "t1", cell: str | None = None
) -> ToolCall:
    return ToolCall(call_id, "echo", Function(arguments), turn_id=turn, cell_id=cell)


def custom(call_id: str, name: str, text: str, namespace: str | None = None) -> ToolCall:
    return ToolCall(call_id, name, Custom(text), turn_id="t1", namespace=namespace)


def message(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": text}


def function_items(
    call_id: str, arguments: str, records: list[Any] | None, turn: str = "t1"
) -> list[Any]:
    """A call and its output, as the model server must see them."""
    return [
        {"type": "function_call", "call_id": call_id, "name": "echo", "arguments": arguments},
        with_records(
            {"type": "function_call_output", "call_id": call_id, "output": f"ran {call_id}"},
            records,
            turn,
        ),
    ]


def custom_items(sent: ToolCall, records: list[Any] | None) -> list[Any]:
    assert isinstance(sent.payload, Custom)
    item = {
        "type": "custom_tool_call",
        "call_id": sent.call_id,
        "name": sent.name,
        "input": sent.payload.input,
    }
    if sent.namespace is not None:
        item["namespace"] = sent.namespace
    output = {
        "type": "custom_tool_call_output",
        "call_id": sent.call_id,
        "output": f"ran {sent.call_id}",
    }
    return [item, with_records(output, records, "t1")]


def with_records(item: dict[str, Any], records: list[Any] | None, turn: str) -> dict[str, Any]:
    if records is None:
        return item
    return item | {METADATA_KEY: {"turn_id": turn, "executed_tool_calls": records}}


def record(name: str, arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def marker(original_bytes: int, max_bytes: int = 8192) -> dict[str, Any]:
    return {
        "_codex_executed_tool_call_truncated": {
            "original_bytes": original_bytes,
            "max_bytes": max_bytes,
        }
    }


def received(items: list[Any]) -> dict[str, Any]:
    return {"model": "test", "input": items}


ESCAPED = "\\" * 4096


async def first_turn(connected: Agent, history: History) -> list[ToolCall]:
    """A namespaced custom call, an escaped string over 8 KiB, exec and what its cell called."""
    history.say("do it")
    calls = [
        custom("c1", "edit", "the patch", "files"),
        custom("c2", "edit", ESCAPED, "files"),
        custom("c3", "exec", "await tools.echo({})"),
    ]
    for one in calls[:2]:
        await history.run(connected, one)
    await connected.register_cell("cell", "c3", "t1")
    for number in (1, 2):
        nested = call(f"exec-{number}", f'{{"n":{number}.10}}', cell="cell")
        await connected.call(nested)
    await history.run(connected, calls[2])
    return calls


FIRST_RECORDS: list[list[Any]] = [
    [record("files__edit", "the patch")],
    [record("files__edit", marker(8194))],
    [
        record("exec", "await tools.echo({})"),
        record("echo", {"n": 1.1}),
        record("echo", {"n": 2.1}),
    ],
]


async def test_with_the_recorder_off_no_request_has_such_a_field(model: ModelServer) -> None:
    async with agent(recorder_enabled=False) as connected:
        history = History()
        calls = await first_turn(connected, history)
        got = model.post(await history.request(connected, "r1", "t1"))
    expected = [message("do it")]
    for sent in calls:
        expected += custom_items(sent, None)
    assert got == received(expected)
    assert METADATA_KEY.encode() not in model.bodies[-1]


async def test_the_next_request_carries_what_was_attempted(model: ModelServer) -> None:
    async with agent() as connected:
        history = History()
        calls = await first_turn(connected, history)
        got = model.post(await history.request(connected, "r1", "t1"))
        expected = [message("do it")]
        for sent, records in zip(calls, FIRST_RECORDS, strict=True):
            expected += custom_items(sent, records)
        assert got == received(expected)
        assert b'{"n":1.10}' in model.bodies[-1], "numbers keep their text"

        model.post(await history.request(connected, "r1", "t1"))
        assert model.bodies[-1] == model.bodies[-2], "a retry is the same, byte for byte"

        connected.end_turn("t1")
        history.say("and now?")
        await history.run(connected, call("c1", '{"q":1}', turn="t2"))
        got = model.post(await history.request(connected, "r2", "t2"))
        followed = [message("and now?")]
        followed += function_items("c1", '{"q":1}', [record("echo", {"q": 1})], turn="t2")
        assert got == received(expected + followed), "retained, and the reused id is told apart"

        history.compact("all was done")
        await history.run(connected, call("c9", turn="t2"))
        got = model.post(await history.request(connected, "r3", "t2"))
        compacted = [message("all was done")]
        compacted += function_items("c9", "{}", [record("echo", {})], turn="t2")
        assert got == received(compacted)
        session = await connected.unary.get_session(connected.session_id)
        assert session.recorder_losses["retained_pruned"] == 6, (
            "three of exec, and one of each other"
        )
        assert session.recorder_sizes["retained_outputs"] == 1


async def test_512_calls_keep_the_budget_the_newest_and_the_count(model: ModelServer) -> None:
    arguments = json.dumps({"text": "x" * (1024 - len('{"text": ""}'))})
    async with agent() as connected:
        history = History()
        done = 0
        for turn in range(4):
            for _ in range(128):
                done += 1
                await history.run(connected, call(f"c{done}", arguments, turn=f"t{turn}"))
            got = model.post(await history.request(connected, f"r{turn}", f"t{turn}"))
            outputs = [item for item in got["input"] if item["type"] == "function_call_output"]
            assert len(outputs) == done
            check_budget(outputs, done, arguments)
        session = await connected.unary.get_session(connected.session_id)
    lost = {name: count for name, count in session.recorder_losses.items() if count}
    assert set(lost) == {"budget_truncated", "budget_omitted"}


def check_budget(outputs: list[Any], done: int, arguments: str) -> None:
    """At most 32 KiB of metadata, every call represented once, the newest whole."""
    carrying = [output[METADATA_KEY] for output in outputs if METADATA_KEY in output]
    total = represented = 0
    for metadata in carrying:
        calls = metadata["executed_tool_calls"]
        text = json.dumps(calls, ensure_ascii=False, separators=(",", ":"))
        total += len(text) + len('"executed_tool_calls":') + 1
        for one in calls:
            cut = one["arguments"].get("_codex_executed_tool_call_truncated", {})
            represented += 1 + cut.get("omitted_calls", 0)
    assert total <= BUDGET_BYTES
    assert represented == done
    newest = outputs[-1][METADATA_KEY]["executed_tool_calls"]
    assert newest == [record("echo", json.loads(arguments))]
    assert len(carrying) >= 24, "the budget is used"
