"""The recorder, bound and json vectors as domain values (see tests/conformance/vectors)."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sidecall_server.domain.budget import BoundedItem
from sidecall_server.domain.executed_call import ExecutedCall, Truncation
from sidecall_server.domain.json_text import compact
from sidecall_server.domain.prompt_description import PromptOutput
from sidecall_server.domain.values import (
    CodeMode,
    CustomPayload,
    Direct,
    DirectPlaintextMessage,
    FunctionPayload,
    PayloadKind,
    ToolCall,
    ToolCallSource,
    ToolName,
    ToolPayload,
    ToolSearchPayload,
)

Json = dict[str, Any]

_FOLDER = Path(__file__).parents[1] / "conformance" / "vectors"


def read(family: str) -> list[Json]:
    """All lines of one family."""
    with gzip.open(_FOLDER / f"{family}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def executed_call(source: Json) -> ExecutedCall:
    if "truncated" in source:
        return ExecutedCall.marker(source["name"], Truncation(**source["truncated"]))
    return ExecutedCall.raw(source["name"], compact(source["arguments_text"]))


def bounded_item(source: Json) -> BoundedItem:
    return BoundedItem(tuple(map(executed_call, source["calls"])), _turn_id(source) is not None)


def repetitions(operation: Json) -> Iterator[Json]:
    """The operation itself, or its repetitions with `{i}` filled in."""
    if "repeat" not in operation:
        yield operation
        return
    text = json.dumps({key: value for key, value in operation.items() if key != "repeat"})
    for turn in range(operation["repeat"]):
        yield json.loads(text.replace("{i}", str(turn)))


def tool_call(source: Json) -> ToolCall:
    name = source["tool_name"]
    return ToolCall(
        source["call_id"],
        ToolName(name["name"], name.get("namespace")),
        _payload(source["payload"]),
        _source(source),
    )


def prompt_outputs(items: Sequence[Json]) -> list[tuple[int, PromptOutput]]:
    """The outputs among the items of a prompt, each with its index there."""
    return [
        (index, PromptOutput(PayloadKind(item["kind"]), item["call_id"], _turn_id(item)))
        for index, item in enumerate(items)
        if item["kind"] != "message"
    ]


def _turn_id(item: Json) -> str | None:
    turn_id: str | None = item.get("turn_id")
    return turn_id


def _payload(source: Json) -> ToolPayload:
    match source["kind"]:
        case "function":
            return FunctionPayload(source["arguments"])
        case "custom":
            return CustomPayload(source["input"])
        case _:
            return ToolSearchPayload(source["query"], source.get("limit"))


def _source(operation: Json) -> ToolCallSource:
    match operation["source"]:
        case "direct":
            return Direct()
        case "direct_plaintext_message":
            return DirectPlaintextMessage()
        case _:
            return CodeMode(operation["cell_id"])
