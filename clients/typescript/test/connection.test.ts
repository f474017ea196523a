/** Lost connections, lost sessions, and leaving, against real sidecars. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Mailbox } from "../conformance/mailboxes.js";
import { Agent, RefusedError, type ResumeOutcome, SidecallClient, spawn } from "../src/index.js";
import {
  callOf,
  client,
  connect,
  executable,
  ownSidecar,
  Puppet,
  saying,
  sharedEndpoint,
} from "./support/sidecar.js";

test("a broken connection is resumed, and nothing is lost", async (t) => {
  const puppet = new Puppet();
  const began = new Mailbox<ResumeOutcome>();
  const agent = await connect(t, {
    tools: [puppet.tool("tool")],
    onConnection: (how) => began.put(how),
  });
  assert.equal(await began.take(), "new");
  const before = agent.dispatch(callOf("turn", "before", "tool"));
  await puppet.started.take();
  agent.dropConnection();
  puppet.texts.put("answered while away");
  const during = agent.dispatch(callOf("turn", "during", "tool"));
  assert.equal(await began.take(), "resumed");
  assert.match((await before).projections.responseItemJson ?? "", /answered while away/);
  await puppet.started.take();
  puppet.texts.put("and after");
  assert.match((await during).projections.responseItemJson ?? "", /and after/);
  assert.equal(puppet.started.waiting, 0, "no handler ran twice");
});

test("many breaks lose nothing and repeat nothing", async (t) => {
  const began = new Mailbox<ResumeOutcome>();
  const ran: string[] = [];
  const agent = await connect(t, {
    onConnection: (how) => began.put(how),
    tools: [
      {
        name: "tool",
        supportsParallelCalls: true,
        handler: ({ call }) => {
          ran.push(call.callId);
          return "x".repeat(5000);
        },
      },
    ],
  });
  await began.take();
  const turn = agent.turn("turn");
  for (let index = 0; index < 300; index++) {
    turn.dispatch(callOf("", `${index}`, "tool"));
    if (index % 60 === 59) {
      agent.dropConnection();
      assert.equal(await began.take(), "resumed");
    }
  }
  const outcomes = await turn.outcomes();
  assert.deepEqual(
    outcomes.map(({ kind, dispatchOrder }) => [kind, dispatchOrder]),
    Array.from({ length: 300 }, (_, index) => ["completed", index + 1]),
  );
  assert.equal(ran.length, 300);
});

test("a sidecar that starts anew knows nothing of the session", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "sidecall-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const args = ["--socket", join(folder, "s.sock")];
  const first = await ownSidecar(t, ...args);
  const puppet = new Puppet();
  const agent = await connect(t, { endpoint: first.endpoint, tools: [puppet.tool("tool")] });
  const pending = agent.dispatch(callOf("turn", "id", "tool"));
  const refused = assert.rejects(pending.outcome, { reason: "SESSION_NOT_FOUND" });
  await puppet.started.take();
  process.kill(first.pid, "SIGKILL");
  assert.deepEqual(await first.exited, { code: null, signal: "SIGKILL" });
  await ownSidecar(t, ...args);
  await refused;
  const lost = await agent.ended;
  assert.equal(lost.reason, "SESSION_NOT_FOUND");
  assert.ok(lost.cause instanceof RefusedError);
  assert.equal((await puppet.stopped.take()).reason, "session_lost");
  puppet.mayEnd.put();
});

test("another agent takes the session over with its token, and not without", async (t) => {
  const { session, resumeToken } = await (await client(t)).createSession({
    directViews: ["log"],
    toolMode: { modelToolMode: "code_mode" },
  });
  const key = { sessionId: session.sessionId, resumeToken };
  const first = await connect(t, { attachTo: key, tools: [saying("tool", "1")] });
  assert.equal(first.sessionId, key.sessionId);
  assert.equal(first.effectiveToolMode, "code_mode");
  const { projections } = await first.dispatch(callOf("turn", "1", "tool"));
  assert.equal(projections.logPreview, "1");
  assert.equal(projections.responseItemJson, undefined);

  const endpoint = await sharedEndpoint();
  const attachTo = { ...key, resumeToken: "" };
  await assert.rejects(Agent.connect({ endpoint, attachTo }), RefusedError);
  const second = await connect(t, { attachTo: first.key, tools: [saying("tool", "2")] });
  assert.equal((await first.ended).reason, "TAKEN_OVER");
  const outcome = await second.dispatch(callOf("turn", "2", "tool"));
  assert.equal(outcome.projections.logPreview, "2");
});

test("detaching ends calls and handlers, and leaves the session", async (t) => {
  const puppet = new Puppet();
  const agent = await connect(t, { tools: [puppet.tool("tool")] });
  const pending = agent.dispatch(callOf("turn", "id", "tool"));
  await puppet.started.take();
  puppet.mayEnd.put();
  await agent.detach();
  assert.equal(puppet.stopped.waiting, 1, "the handler was waited for");
  assert.equal((await pending).kind, "aborted");
  await assert.rejects(agent.dispatch(callOf("turn", "late", "tool")).outcome, {
    reason: "DETACHED",
  });
  const session = await agent.client.getSession(agent.sessionId);
  assert.equal(session.state, "open");
  assert.equal(session.openCalls, 0);
  assert.equal(session.terminalCalls, 1);
  await agent.client.deleteSession(agent.sessionId);
});

test("leaving does not wait for ever for a handler that goes on", async (t) => {
  const puppet = new Puppet();
  const agent = await connect(t, { tools: [puppet.tool("tool")] });
  agent.dispatch(callOf("turn", "id", "tool"));
  await puppet.started.take();
  await agent.detach({ timeoutMs: 20 });
  assert.equal((await agent.ended).reason, "DETACHED");
  puppet.mayEnd.put();
});

test("closing ends the session, also over a broken connection", async (t) => {
  const observer = await client(t);
  for (const isBroken of [false, true]) {
    const agent = await connect(t);
    if (isBroken) {
      agent.dropConnection();
    }
    await agent.close();
    assert.equal((await observer.getSession(agent.sessionId)).state, "closed");
  }
});

test("a sidecar that shuts down refuses new calls and ends open ones", async (t) => {
  const sidecar = await spawn({ executable });
  const puppet = new Puppet();
  const drains = new Mailbox<number>();
  const agent = await connect(t, {
    endpoint: sidecar.endpoint,
    tools: [puppet.tool("tool")],
    onDrain: (timeLeftMs) => drains.put(timeLeftMs),
  });
  const open = agent.dispatch(callOf("turn", "open", "tool"));
  await puppet.started.take();
  const stopped = sidecar.stop();
  const timeLeftMs = await drains.take();
  assert.ok(timeLeftMs > 0 && timeLeftMs <= 10_000, `${timeLeftMs}`);
  await assert.rejects(agent.dispatch(callOf("turn", "late", "tool")).outcome, {
    reason: "DRAINING",
  });
  puppet.texts.put("in time");
  assert.match((await open).projections.responseItemJson ?? "", /in time/);
  assert.deepEqual(await stopped, { code: 0, signal: null });
  assert.equal((await agent.ended).reason, "DRAINING");
});

test("nobody there is told as such", async () => {
  const endpoint = "unix:///nowhere/s.sock";
  await assert.rejects(Agent.connect({ endpoint }), { reason: "UNAVAILABLE" });
  const nobody = new SidecallClient(endpoint);
  await assert.rejects(nobody.runtimeInfo(), { reason: "UNAVAILABLE" });
  nobody.close();
});
