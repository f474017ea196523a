/**
 * An agent with real tools: it starts a sidecar, plays a scripted turn of a model, and makes the
 * model's next request. It fails where anything is not as it must be.
 */
import { Agent, promptOutput, spawn, type Turn } from "@sidecall/client";
import { connectMcp, mcpTools } from "./mcp.js";
import { reportCall, reportRequest } from "./report.js";
import { checkRequest, nextRequest } from "./request.js";
import {
  checkOutcome,
  guard,
  MCP_NAMESPACE,
  RUNS_LONG,
  type Step,
  script,
  TURN_ID,
} from "./script.js";
import { Shell } from "./shell.js";

/** Holds the path of mcp-server-time. */
const MCP_SERVER_VARIABLE = "MCP_SERVER_TIME";
/** How long the whole demo may take, in milliseconds. */
const TIME_LIMIT_MS = 30_000;

async function demo(): Promise<void> {
  const server = process.env[MCP_SERVER_VARIABLE] || "mcp-server-time";
  await using mcp = await connectMcp(server, "--local-timezone", "UTC");
  const shell = new Shell();
  await using sidecar = await spawn();
  await using agent = await Agent.connect({
    endpoint: sidecar.endpoint,
    clientName: "demo-typescript",
    tools: [...(await mcpTools(MCP_NAMESPACE, mcp.client)), shell.tool()],
    hooks: [guard],
  });
  await act(agent, shell);
}

/** Plays the turn and makes the next request. */
async function act(agent: Agent, shell: Shell): Promise<void> {
  const steps = script();
  console.log(`The model asks for ${steps.length} calls in one turn.\n`);
  const turn = agent.turn(TURN_ID);
  for (const step of steps) {
    await play(turn, step, shell);
  }
  const outcomes = await turn.outcomes();
  for (const [index, step] of steps.entries()) {
    reportCall(step, outcomes[index]);
    checkOutcome(step, outcomes[index]);
  }
  if (!shell.killed.has(RUNS_LONG)) {
    throw new Error(`the process of ${RUNS_LONG} was not ended`);
  }
  const attachments = await agent.attach({
    samplingRequestId: "request_2",
    turnId: TURN_ID,
    outputs: outcomes.map(({ call }) => promptOutput(call)),
  });
  const request = nextRequest(outcomes, attachments);
  const items = checkRequest(request, steps);
  const sizeBytes = Buffer.byteLength(request);
  console.log(`\nThe next model request (${sizeBytes} bytes) says, each with its record:\n`);
  reportRequest(items);
  await turn.end();
  console.log("\nAll as expected.");
}

/** Dispatches one call, cancels the one that runs long, and waits unless it runs beside the next. */
async function play(turn: Turn, step: Step, shell: Shell): Promise<void> {
  const pending = turn.dispatch(step.call);
  if (step.call.callId === RUNS_LONG) {
    await Promise.race([shell.runs(RUNS_LONG), pending.outcome]);
    await pending.cancel();
  }
  if (!step.beside) {
    await pending;
  }
}

function fail(error: unknown): never {
  console.error("demo:", error);
  process.exit(1);
}

setTimeout(() => fail("it took too long"), TIME_LIMIT_MS).unref();
await demo().catch(fail);
