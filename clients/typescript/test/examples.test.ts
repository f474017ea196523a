/** The examples and the README. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { checkRequest, nextRequest } from "../examples/demo/request.js";
import { checkOutcome, script } from "../examples/demo/script.js";
import type { Outcome } from "../src/index.js";
import { executable, installed } from "./support/sidecar.js";

const run = promisify(execFile);
const root = new URL("../../", import.meta.url);

/** What an example writes; rejects where it fails. */
async function output(example: string, environment: NodeJS.ProcessEnv = {}): Promise<string> {
  const env = {
    ...process.env,
    SIDECALL_BIN: executable,
    MCP_SERVER_TIME: process.env["MCP_SERVER_TIME"] || installed("mcp-server-time"),
    ...environment,
  };
  const program = fileURLToPath(new URL(`dist/examples/${example}.js`, root));
  return (await run(process.execPath, [program], { env })).stdout;
}

test("the minimal agent runs", async () => {
  assert.equal(
    await output("minimal"),
    `{"type":"function_call_output","call_id":"call_0","output":"2.5"}
{"type":"function_call_output","call_id":"call_1","output":"cannot divide by zero"}
0 [{"name":"divide","arguments":{"number":10,"by":4}}]
1 [{"name":"divide","arguments":{"number":10,"by":0}}]
`,
  );
});

test("the README shows the minimal agent as it is", () => {
  const program = readFileSync(new URL("examples/minimal.ts", root), "utf8");
  const readme = readFileSync(new URL("README.md", root), "utf8");
  assert.ok(readme.includes(`\`\`\`ts\n${program}\`\`\`\n`));
});

test("the demo plays its turn in eighty columns", async () => {
  const said = await output("demo/main");
  assert.ok(said.endsWith("\nAll as expected.\n"), said);
  for (const line of said.split("\n")) {
    assert.ok(Array.from(line).length <= 80, line);
  }
});

test("the demo fails where something is missing", async () => {
  for (const [environment, says] of [
    [{ MCP_SERVER_TIME: "/nowhere/mcp" }, /MCP server \/nowhere\/mcp did not start/],
    [{ SIDECALL_BIN: "/nowhere/sidecall" }, /cannot start \/nowhere\/sidecall/],
  ] as const) {
    await assert.rejects(output("demo/main", environment), (error: { code: number }) => {
      assert.equal(error.code, 1);
      assert.match(String(error), says);
      return true;
    });
  }
});

test("a request or an outcome that lacks something is found", () => {
  const [step] = script();
  assert.ok(step !== undefined);
  const argumentsJson = "arguments" in step.call.payload ? step.call.payload.arguments : "";
  const responseItemJson =
    '{"type":"function_call_output","call_id":"call_1","output":"hello from bash"}';
  const outcome = {
    call: { ...step.call, turnId: "turn_1" },
    kind: "completed",
    lifecycle: "completed",
    projections: { responseItemJson },
  } as unknown as Outcome;
  const attachment = (name: string) => ({
    outputIndex: 0,
    executedToolCallsJson: `[{"name":"${name}","arguments":${argumentsJson}}]`,
    metadataBytes: 0,
  });
  const check = (...attachments: ReturnType<typeof attachment>[]) =>
    checkRequest(nextRequest([outcome], attachments), [step]);
  assert.equal(check(attachment("shell")).length, 1);
  assert.throws(() => check(), /call_1 carries the records undefined/);
  assert.throws(() => check(attachment("other")), /call_1 carries the records .*other/);
  assert.throws(() => checkRequest(nextRequest([], []), [step]), /has 0 outputs, not 1/);

  checkOutcome(step, outcome);
  assert.throws(() => checkOutcome(step, { ...outcome, lifecycle: "failed" }), /not as expected/);
  assert.throws(() => checkOutcome({ ...step, text: "other" }, outcome), /not as expected/);
});
