"""An agent's history, and the model requests that it builds of it: raw JSON, embedded raw."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sidecall.client import Agent, Attachment, Custom, PayloadKind, PromptOutput, ToolCall

METADATA_KEY = "internal_chat_message_metadata_passthrough"


@dataclass(frozen=True)
class Output:
    """One output in the history: its item as JSON text, and how a prompt describes it."""

    item_json: str
    described: PromptOutput


class History:
    """The items of a conversation, in order."""

    def __init__(self) -> None:
        self.items: list[str | Output] = []

    def say(self, text: str) -> None:
        """A message of the user."""
        self.items.append(json.dumps({"type": "message", "role": "user", "content": text}))

    def ask(self, call: ToolCall) -> None:
        """The model's call."""
        item: dict[str, Any] = {"call_id": call.call_id, "name": call.name}
        if call.namespace is not None:
            item["namespace"] = call.namespace
        if isinstance(call.payload, Custom):
            item |= {"type": "custom_tool_call", "input": call.payload.input}
        else:
            item |= {"type": "function_call", "arguments": getattr(call.payload, "arguments", "")}
        self.items.append(json.dumps(item))

    async def run(self, agent: Agent, call: ToolCall) -> None:
        """The model's call, and its output after it."""
        self.ask(call)
        result = await agent.call(call)
        assert result.projections is not None
        assert result.projections.response_item_json is not None
        kind: PayloadKind = call.payload.kind
        described = PromptOutput(kind, call.call_id, call.turn_id)
        self.items.append(Output(result.projections.response_item_json, described))

    def compact(self, summary: str) -> None:
        """Only a summary stays."""
        self.items = []
        self.say(summary)

    async def request(self, agent: Agent, sampling_request_id: str, turn_id: str) -> bytes:
        """The next model request, each output with the records that belong to it."""
        outputs = [item for item in self.items if isinstance(item, Output)]
        attachment = await agent.attach(
            sampling_request_id, [output.described for output in outputs], turn_id
        )
        with_records = iter(_with_metadata(outputs, attachment))
        items = [item if isinstance(item, str) else next(with_records) for item in self.items]
        return ('{"model":"test","input":[' + ",".join(items) + "]}").encode()


def _with_metadata(outputs: list[Output], attachment: Attachment) -> list[str]:
    records = {entry.output_index: entry for entry in attachment.outputs}
    items = []
    for index, output in enumerate(outputs):
        item = output.item_json
        if index in records:
            turn = json.dumps(output.described.turn_id)
            calls = records[index].executed_tool_calls_json
            metadata = f'{{"turn_id":{turn},"executed_tool_calls":{calls}}}'
            item = f'{item[:-1]},"{METADATA_KEY}":{metadata}}}'
        items.append(item)
    return items
