"""A whole agent: one tool, one call, and the next model request."""

import asyncio
import json

from sidecall.client import (
    Function,
    Invocation,
    PromptOutput,
    RespondToModelError,
    Tool,
    ToolCall,
    connect,
    spawn,
)


async def divide(invocation: Invocation) -> str:
    """A tool is an async function."""
    numbers = invocation.arguments
    if not numbers["by"]:
        raise RespondToModelError("cannot divide by zero")  # the model reads this
    return str(numbers["number"] / numbers["by"])


async def main() -> None:
    async with spawn() as endpoint, connect(endpoint, tools=[Tool("divide", divide)]) as agent:
        turn = agent.turn("turn_1")
        for call_id, by in (("call_1", 4), ("call_2", 0)):  # what the model asked for
            arguments = Function(json.dumps({"number": 10, "by": by}))
            turn.dispatch(ToolCall(call_id, "divide", arguments, turn_id="turn_1"))
        for item in await turn.response_items():  # JSON, for the next request, in call order
            print(item)
        outputs = [PromptOutput("function", call, "turn_1") for call in ("call_1", "call_2")]
        attachment = await agent.attach("request_2", outputs)
        for entry in attachment.outputs:
            print(entry.output_index, entry.executed_tool_calls_json)


asyncio.run(main())
