"""Tools of MCP servers that others wrote, over stdio with the official client library."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TextIO

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from sidecall.client import Invocation, McpOutput, Tool


@dataclass(frozen=True, slots=True)
class McpTool:
    """One tool of a server."""

    session: ClientSession
    name: str

    async def __call__(self, invocation: Invocation) -> McpOutput:
        """The handler: the arguments go to the server as they are."""
        arguments = invocation.arguments
        started = time.monotonic()
        result = await self.session.call_tool(self.name, arguments)
        return McpOutput(
            result.model_dump_json(by_alias=True, exclude_none=True),
            tool_input_json=json.dumps(arguments),
            wall_time_seconds=time.monotonic() - started,
            contains_external_context=True,
        )


@contextlib.asynccontextmanager
async def mcp_tools(
    namespace: str, command: str, arguments: list[str], errors: TextIO
) -> AsyncIterator[list[Tool]]:
    """Start a server; its tools, ready to be declared, in `mcp__{namespace}__`."""
    parameters = StdioServerParameters(command=command, args=arguments)
    async with (
        stdio_client(parameters, errlog=errors) as (reader, writer),
        ClientSession(reader, writer) as session,
    ):
        await session.initialize()
        listed = await session.list_tools()
        yield [
            Tool(
                tool.name,
                McpTool(session, tool.name),
                namespace=f"mcp__{namespace}__",
                parallel=True,
                hook_kind="mcp",
            )
            for tool in listed.tools
        ]
