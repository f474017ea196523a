/** The unary requests, against a real sidecar. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { promptOutput, RefusedError, type ToolOutput } from "../src/index.js";
import { callOf, client, connect, saying } from "./support/sidecar.js";

const call = callOf("turn", "id", "tool");

test("a sidecar tells about itself", async (t) => {
  const info = await (await client(t)).runtimeInfo();
  assert.match(info.serverVersion, /^\d/);
  assert.ok(info.serverInstanceId);
  assert.deepEqual(info.protocolVersions, [1]);
  assert.equal(info.limits["maxCallsInFlight"], 256);
  assert.equal(info.limits["heartbeatIntervalMs"], 15_000);
});

test("an agent that runs its tools itself can use the recorder", async (t) => {
  const sidecar = await client(t);
  const { session } = await sidecar.createSession({ sessionId: "mine", displayName: "me" });
  const { sessionId } = session;
  assert.equal(sessionId, "mine");
  await assert.rejects(sidecar.createSession({ sessionId }), (error) => {
    assert.ok(error instanceof RefusedError);
    assert.equal(error.reason, "SESSION_ALREADY_EXISTS");
    assert.equal(error.code, 6);
    return true;
  });
  const did = callOf("turn", "id", "tool", '{"big": 12345678901234567890123, "e": "é"}');
  assert.equal(await sidecar.recordToolCall(sessionId, did), "recorded");
  assert.equal(await sidecar.recordToolCall(sessionId, did), "duplicate");
  const attached = await sidecar.attach(sessionId, {
    samplingRequestId: "request",
    turnId: "turn",
    outputs: [promptOutput(did)],
  });
  assert.equal(attached.length, 1);
  assert.equal(
    attached[0]?.executedToolCallsJson,
    '[{"name":"tool","arguments":{"big":12345678901234567890123,"e":"é"}}]',
  );
  assert.equal((await sidecar.getSession(sessionId)).heldRecordBytes > 0, true);
  assert.equal(await sidecar.endTurn(sessionId, "turn"), 0);
  assert.equal(await sidecar.deleteSession(sessionId), 0);
  await assert.rejects(sidecar.recordToolCall(sessionId, did), { reason: "SESSION_NOT_FOUND" });
});

test("the output of exec carries the records of its cell", async (t) => {
  const agent = await connect(t, {
    tools: [saying("nested", "x")],
    session: { toolMode: { modelToolMode: "code_mode" } },
  });
  const exec = { turnId: "turn", callId: "exec" };
  await agent.registerCell("cell", exec);
  const nested = await agent.dispatch({
    ...callOf("turn", "n", "nested"),
    source: { kind: "code_mode", cellId: "cell", runtimeToolCallId: "7" },
  });
  assert.equal(nested.projections.codeModeJson, '"x"');
  assert.equal(nested.projections.responseItemJson, undefined);
  const attached = await agent.attach({
    samplingRequestId: "request",
    turnId: "turn",
    outputs: [{ kind: "custom", ...exec }],
  });
  assert.match(attached[0]?.executedToolCallsJson ?? "", /\{"name":"nested","arguments":\{\}\}/);
  const listed = [];
  for await (const { status } of agent.client.listToolCalls(agent.sessionId, { turnId: "turn" })) {
    listed.push([status.callId, status.cellId, status.phase, status.ending?.kind]);
  }
  assert.deepEqual(listed, [["n", "cell", "terminal", "completed"]]);
});

test("sessions are listed", async (t) => {
  const agent = await connect(t, { session: { displayName: "listed" } });
  const ids = [];
  for await (const { sessionId, state } of agent.client.listSessions()) {
    ids.push([sessionId, state]);
  }
  assert.deepEqual(
    ids.filter(([id]) => id === agent.sessionId),
    [[agent.sessionId, "attached"]],
  );
});

for (const [output, model] of [
  ["hello", '"output":"hello"'],
  [
    {
      kind: "function",
      content: [
        { type: "input_image", imageUrl: "data:x", detail: "low" },
        { type: "input_audio", audioUrl: "data:y" },
        { type: "encrypted_content", encryptedContent: "z" },
        { type: "input_text", text: "t" },
      ],
    },
    '[{"type":"input_image","image_url":"data:x","detail":"low"},',
  ],
  [{ kind: "json", valueJson: '{"n": 1.10}' }, '{\\"n\\":1.10}'],
  [{ kind: "apply_patch", text: "done" }, '"output":"done"'],
  [
    {
      kind: "exec_command",
      output: Buffer.from("bad \xff", "latin1"),
      exitCode: 3,
      hookCommand: "make",
      wallTimeMs: 1500,
      truncationPolicy: { tokens: 100 },
    },
    "Wall time: 1.5000 seconds\\nProcess exited with code 3\\nOutput:\\nbad \uFFFD",
  ],
  [
    {
      kind: "mcp",
      resultJson: '{"content":[{"type":"text","text":"hi"}]}',
      wallTimeMs: 250,
      truncationPolicy: { bytes: 1000 },
    },
    "Wall time: 0.2500 seconds\\nOutput:\\n",
  ],
  [{ kind: "mcp_raw", resultJson: '{"content":[]}' }, '"type":"mcp_tool_call_output"'],
  [{ kind: "aborted", message: "stopped" }, '"output":"stopped"'],
  [{ kind: "tool_search", toolsJson: ['{"name":"t"}'] }, '"tools":[{"name":"t"}]'],
] satisfies [ToolOutput | string, string][]) {
  const name = typeof output === "string" ? "text" : output.kind;
  test(`${name} is projected without a session`, async (t) => {
    const from = typeof output === "string" ? output : { ...output, containsExternalContext: true };
    const views = await (await client(t)).projectToolOutput(call, from);
    assert.ok(views.responseItemJson?.includes(model), views.responseItemJson);
    assert.ok(views.logPreview !== undefined && views.codeModeJson !== undefined);
    assert.equal(views.responseItem?.callId, "id");
    assert.equal(views.containsExternalContext, typeof output !== "string");
    const items = views.responseItem && "output" in views.responseItem && views.responseItem.output;
    if (typeof output !== "string" && output.kind === "function") {
      assert.deepEqual(items, output.content);
    }
  });
}

test("a post hook's feedback takes the output's place for the model", async (t) => {
  const views = await (await client(t)).projectToolOutput(call, "hello", {
    feedback: "instead",
    views: ["response_item_json", "code_mode"],
  });
  assert.match(views.responseItemJson ?? "", /instead/);
  assert.equal(views.codeModeJson, '"hello"');
  assert.equal(views.logPreview, undefined);
});

test("failures are projected without a session", async (t) => {
  const sidecar = await client(t);
  for (const [failure, message, endsTurn] of [
    [{ kind: "respond_to_model", message: "no file" }, "no file", false],
    [{ kind: "fatal", message: "over" }, "over", true],
    [{ kind: "unhandled", message: "defect" }, "tool task failed to receive: defect", true],
    [{ kind: "unknown_tool" }, "unsupported call: tool", false],
    [{ kind: "payload_mismatch" }, "tool tool invoked with incompatible payload", true],
    [{ kind: "aborted", reason: "timed_out", elapsedMs: 1500 }, "timed out after 1.5s", false],
  ] as const) {
    const projected = await sidecar.projectToolFailure(call, failure);
    assert.equal(projected.message, message);
    assert.equal(projected.endsTurn, endsTurn);
    assert.equal(projected.projections.responseItemJson === undefined, endsTurn);
    assert.equal(projected.scriptError, undefined);
  }
  const nested = { ...call, source: { kind: "code_mode", cellId: "cell" } as const };
  const failed = await sidecar.projectToolFailure(nested, { kind: "fatal", message: "over" });
  assert.equal(failed.scriptError, "Fatal error: over");
});

test("text is truncated, and prompts are normalised", async (t) => {
  const sidecar = await client(t);
  assert.equal(
    await sidecar.truncateText("example output", { tokens: 1 }),
    "ex…3 tokens truncated…ut",
  );
  assert.match(
    await sidecar.truncateText("example output", { tokens: 1 }, { formatted: true }),
    /^Warning: truncated output/,
  );
  const { missingOutputs, orphanEntryIndexes } = await sidecar.normalizePrompt([
    { type: "call", kind: "function", callId: "asked" },
    { type: "output", kind: "function", callId: "never asked" },
  ]);
  assert.deepEqual(orphanEntryIndexes, [1]);
  assert.equal(missingOutputs[0]?.entryIndex, 0);
  assert.match(missingOutputs[0]?.responseItemJson ?? "", /"call_id":"asked","output":"aborted"/);
});

test("a refusal names the field", async (t) => {
  const wrong = { ...call, callId: "" };
  await assert.rejects((await client(t)).projectToolOutput(wrong, "x"), (error) => {
    assert.ok(error instanceof RefusedError);
    assert.equal(error.reason, "MISSING_FIELD");
    assert.deepEqual(
      error.fieldViolations.map(({ field }) => field),
      ["call.call_id"],
    );
    return true;
  });
});

test("a request ends with its signal, or its time", async (t) => {
  const sidecar = await client(t);
  const reason = new Error("enough");
  await assert.rejects(sidecar.runtimeInfo({ signal: AbortSignal.abort(reason) }), reason);
  const controller = new AbortController();
  const asked = assert.rejects(sidecar.runtimeInfo({ signal: controller.signal }), reason);
  controller.abort(reason);
  await asked;
  await assert.rejects(sidecar.runtimeInfo({ timeoutMs: 0 }), { reason: "DEADLINE_EXCEEDED" });
});
