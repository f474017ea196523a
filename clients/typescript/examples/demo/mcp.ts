/** Tools of an MCP server that others wrote, over stdio. */

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { type Invocation, RespondToModelError, type Tool, type ToolOutput } from "@sidecall/client";
import { MODEL_POLICY } from "./shell.js";

/** Starts a server. */
export async function connectMcp(command: string, ...args: string[]) {
  const client = new Client({ name: "sidecall-demo", version: "1.0.0" });
  try {
    await client.connect(new StdioClientTransport({ command, args, stderr: "ignore" }));
  } catch (error) {
    throw new Error(`the MCP server ${command} did not start`, { cause: error });
  }
  return { client, [Symbol.asyncDispose]: () => client.close() };
}

/** The tools of a server, ready to be declared, in a namespace of their own. */
export async function mcpTools(namespace: string, client: Client): Promise<Tool[]> {
  const { tools } = await client.listTools();
  return tools.map(({ name }) => ({
    name,
    namespace,
    handler: (asked) => callMcp(client, name, asked),
    hookKind: "mcp",
    supportsParallelCalls: true,
  }));
}

async function callMcp(client: Client, name: string, asked: Invocation): Promise<ToolOutput> {
  const args = asked.arguments<Record<string, unknown>>();
  const startedMs = performance.now();
  const { signal } = asked;
  try {
    const result = await client.callTool({ name, arguments: args }, undefined, { signal });
    return {
      kind: "mcp",
      resultJson: JSON.stringify(result),
      toolInputJson: JSON.stringify(args),
      wallTimeMs: performance.now() - startedMs,
      truncationPolicy: MODEL_POLICY,
    };
  } catch (error) {
    throw new RespondToModelError(String(error));
  }
}
