/** Cancelling, against a real sidecar. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FatalError, type Outcome } from "../src/index.js";
import { callOf, client, connect, ownSidecar, Puppet } from "./support/sidecar.js";

/** How an aborted call ended. */
function abortOf(outcome: Outcome) {
  assert.equal(outcome.kind, "aborted");
  const { reason, progress, teardown } = outcome;
  return { reason, progress, teardown };
}

test("a cancelled call ends before its handler has", async (t) => {
  const puppet = new Puppet();
  const agent = await connect(t, { tools: [puppet.tool("tool")] });
  const turn = agent.turn("turn");
  const pending = turn.dispatch(callOf("", "id", "tool"));
  await puppet.started.take();
  assert.deepEqual(await turn.cancel(), [
    { turnId: "turn", callId: "id", disposition: "accepted" },
  ]);
  assert.deepEqual(abortOf(await pending), {
    reason: "cancelled",
    progress: "handler_interrupted",
    teardown: "none",
  });
  const told = await puppet.stopped.take();
  assert.equal(told.reason, "cancelled");
  assert.equal(told.waitForTeardown, false);
  puppet.mayEnd.put();

  const calls = ["id", "never"].map((callId) => ({ turnId: "turn", callId }));
  assert.deepEqual(await agent.cancel({ calls }), [
    { turnId: "turn", callId: "id", disposition: "already_terminal" },
    { turnId: "turn", callId: "never", disposition: "unknown" },
  ]);
});

test("a call with a teardown ends when its handler has", async (t) => {
  const puppet = new Puppet();
  const agent = await connect(t, {
    tools: [puppet.tool("tool", { cancelMode: "wait_for_teardown" })],
  });
  const controller = new AbortController();
  const { signal } = controller;
  const pending = agent.dispatch(callOf("turn", "id", "tool"), { signal });
  await puppet.started.take();
  controller.abort();
  const told = await puppet.stopped.take();
  assert.equal(told.waitForTeardown, true);
  assert.equal(told.teardownTimeoutMs, 10_000);
  assert.deepEqual(await pending.cancel(), "accepted", "it is still open");
  puppet.mayEnd.put();
  assert.deepEqual(abortOf(await pending), {
    reason: "cancelled",
    progress: "handler_interrupted",
    teardown: "done",
  });
});

test("a teardown has its time", async (t) => {
  const puppet = new Puppet();
  const agent = await connect(t, {
    tools: [puppet.tool("tool", { cancelMode: "wait_for_teardown", teardownTimeoutMs: 20 })],
  });
  const pending = agent.dispatch(callOf("turn", "id", "tool"));
  await puppet.started.take();
  await pending.cancel();
  assert.equal(abortOf(await pending).teardown, "timed_out");
  puppet.mayEnd.put();
});

test("a call that takes too long is aborted", async (t) => {
  const puppet = new Puppet();
  const agent = await connect(t, { tools: [puppet.tool("tool")] });
  const pending = agent.dispatch(callOf("turn", "id", "tool"), { timeoutMs: 500 });
  await puppet.started.take();
  assert.equal(abortOf(await pending).reason, "timed_out");
  assert.equal((await puppet.stopped.take()).reason, "timed_out");
  puppet.mayEnd.put();
});

test("a call that is cancelled in the queue never starts", async (t) => {
  const puppet = new Puppet();
  const agent = await connect(t, { tools: [puppet.tool("tool")] });
  const runs = agent.dispatch(callOf("turn", "runs", "tool"));
  const queued = agent.dispatch(callOf("turn", "queued", "tool"));
  await puppet.started.take();
  assert.equal(await queued.cancel(), "accepted");
  assert.equal(abortOf(await queued).progress, "not_started");
  puppet.texts.put("done");
  assert.equal((await runs).kind, "completed");
  assert.equal(puppet.started.waiting, 0);
});

test("a call that is cancelled before it is sent never starts", async (t) => {
  const { endpoint } = await ownSidecar(t, "--max-calls-in-flight", "1");
  const puppet = new Puppet();
  const agent = await connect(t, { endpoint, tools: [puppet.tool("tool")] });
  const controller = new AbortController();
  const { signal } = controller;
  const runs = agent.dispatch(callOf("turn", "runs", "tool"));
  const waiting = [
    agent.dispatch(callOf("turn", "one", "tool")),
    agent.dispatch(callOf("turn", "two", "tool"), { signal }),
    agent.dispatch(callOf("turn", "three", "tool"), { signal: AbortSignal.abort() }),
  ];
  await puppet.started.take();
  controller.abort();
  assert.equal(await waiting[0]?.cancel(), "accepted");
  puppet.texts.put("done");
  assert.equal((await runs).kind, "completed");
  for (const pending of waiting) {
    abortOf(await pending);
  }
});

test("a fatal call aborts the others of its turn", async (t) => {
  const puppet = new Puppet();
  const parallel = { supportsParallelCalls: true };
  const fatal = () => {
    throw new FatalError("over");
  };
  const agent = await connect(t, {
    tools: [puppet.tool("tool", parallel), { name: "fatal", handler: fatal, ...parallel }],
  });
  const pending = agent.dispatch(callOf("turn", "id", "tool"));
  await puppet.started.take();
  assert.equal((await agent.dispatch(callOf("turn", "fatal", "fatal"))).kind, "fatal");
  assert.equal(abortOf(await pending).reason, "turn_fatal");
  puppet.mayEnd.put();
});

test("an operator can cancel without the stream", async (t) => {
  const puppet = new Puppet();
  const agent = await connect(t, { tools: [puppet.tool("tool")] });
  const operator = await client(t);
  const pending = agent.dispatch(callOf("turn", "id", "tool"));
  await puppet.started.take();
  const call = { turnId: "turn", callId: "id" };
  const open = await operator.getToolCall(agent.sessionId, call);
  assert.equal(open.status.phase, "handler");
  assert.equal(open.status.ending, undefined);
  const cancelled = await operator.cancelToolCall(agent.sessionId, { all: true });
  assert.deepEqual(cancelled, [{ ...call, disposition: "accepted" }]);
  abortOf(await pending);
  puppet.mayEnd.put();
  const { status, projections } = await operator.getToolCall(agent.sessionId, call);
  assert.equal(status.ending?.kind, "aborted");
  assert.match(projections.responseItemJson ?? "", /aborted by user/);
});
