/** The stream, against a server that says what its test wants. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { ResumeOutcome, ServerFrame } from "../src/gen/sidecall/v1/runtime_stream.js";
import { Agent, type AgentOptions, SessionLostError } from "../src/index.js";
import { ACKNOWLEDGE_AFTER_MESSAGES } from "../src/link.js";
import {
  chunk,
  completes,
  ErrorReason,
  FakeServer,
  type FakeStream,
  invoke,
  refuses,
  resumed,
} from "./support/fake-server.js";
import { callOf, Puppet } from "./support/sidecar.js";

/** An agent that is attached to a fake server. */
async function attached(t: TestContext, options: AgentOptions = {}, welcome = {}) {
  const server = await FakeServer.start(t);
  const puppet = new Puppet();
  const [agent, stream] = await Promise.all([
    Agent.connect({
      endpoint: server.endpoint,
      tools: [puppet.tool("tool", { supportsParallelCalls: true })],
      ...options,
    }),
    server.connection(welcome),
  ]);
  t.after(() => agent.close({ timeoutMs: 0 }));
  const dispatch = (id: string, text?: string) => agent.dispatch(callOf("turn", id, "tool", text));
  return { server, agent, stream, puppet, dispatch };
}

/** The ids of the calls that a message dispatches. */
async function dispatched(stream: FakeStream) {
  const { sequence, frames } = await stream.next();
  const ids = frames.map(({ frame }) =>
    frame?.$case === "dispatchCall" ? frame.value.call?.callId : frame?.$case,
  );
  return [Number(sequence), ...ids];
}

async function lostBecause(agent: Agent): Promise<string> {
  const lost = await agent.ended;
  assert.ok(lost instanceof SessionLostError);
  return lost.reason;
}

test("frames that are ready together travel together", async (t) => {
  const { stream, dispatch } = await attached(t);
  dispatch("alone");
  assert.deepEqual(await dispatched(stream), [1, "alone"]);
  for (const id of ["a", "b", "c"]) {
    dispatch(id);
  }
  assert.deepEqual(await dispatched(stream), [2, "a", "b", "c"]);
});

test("messages that were not acknowledged are sent again as they were", async (t) => {
  const { server, stream, dispatch } = await attached(t);
  for (const id of ["a", "b", "c"]) {
    dispatch(id);
    await stream.next();
  }
  assert.equal(stream.hello.sessionId, "");
  stream.fail();
  const again = await server.connection(resumed(1));
  assert.equal(again.hello.sessionId, "session");
  assert.equal(again.hello.resumeToken, "token");
  assert.equal(again.hello.tools[0]?.toolName?.name, "tool");
  dispatch("d");
  assert.deepEqual(await dispatched(again), [2, "b"]);
  assert.deepEqual(await dispatched(again), [3, "c"]);
  assert.deepEqual(await dispatched(again), [4, "d"]);
});

test("what is said while the connection is lost goes with the next", async (t) => {
  const { server, agent, stream, dispatch } = await attached(t);
  agent.dropConnection();
  await stream.cancelled;
  dispatch("while away");
  assert.deepEqual(await dispatched(await server.connection(resumed(0))), [1, "while away"]);
});

test("a message that was seen is dropped", async (t) => {
  const { server, stream, puppet } = await attached(t);
  stream.say(1, invoke("1", "one"));
  stream.say(1, invoke("x", "again"));
  stream.say(2, invoke("2", "two"));
  assert.equal((await puppet.started.take()).call.callId, "one");
  assert.equal((await puppet.started.take()).call.callId, "two");
  stream.fail();
  const next = await server.connection(resumed(0));
  assert.equal(next.hello.lastSequenceReceived, 2n);
  next.say(2, invoke("y", "again"));
  next.say(3, invoke("2", "two, told again"), invoke("3", "three"));
  assert.equal((await puppet.started.take()).call.callId, "three");
});

test("a missing message begins the connection anew", async (t) => {
  const { server, stream, puppet } = await attached(t);
  stream.say(1, invoke("1", "one"));
  stream.say(3, invoke("3", "three"));
  await stream.cancelled;
  const next = await server.connection(resumed(0));
  assert.equal(next.hello.lastSequenceReceived, 1n);
  next.say(2, invoke("2", "two"));
  for (const id of ["one", "two"]) {
    assert.equal((await puppet.started.take()).call.callId, id);
  }
});

test("after a gap what is known is dropped, and what is not is answered", async (t) => {
  const outcomes: string[] = [];
  const { server, agent, stream, puppet, dispatch } = await attached(t, {
    onConnection: (outcome) => outcomes.push(outcome),
  });
  const [ended, open] = [dispatch("ended"), dispatch("open")];
  await stream.next();
  stream.say(1, completes("ended"), invoke("known", "open"));
  await puppet.started.take();
  const cancelled = agent.cancel({ turnId: "other" });
  const asked = (await stream.frames())[0];
  stream.fail();
  const next = await server.connection({
    resumeOutcome: ResumeOutcome.RESUME_OUTCOME_GAP,
    lastSequenceReceived: 2n,
    nextSequence: 10n,
  });
  assert.deepEqual((await next.frames())[0], asked, "its answer may have been in the gap");
  next.say(
    10,
    completes("ended"),
    invoke("known", "open"),
    {
      $case: "abortHandler",
      value: {
        token: Buffer.from("never seen"),
        call: undefined,
        reason: 1,
        waitForTeardown: true,
        teardownTimeout: undefined,
      },
    },
    { $case: "cancelResult", value: { cancelId: 1n, calls: [] } },
  );
  const message = await next.next();
  const teardown = message.frames[0]?.frame;
  assert.equal(message.acknowledged, 10n);
  assert.ok(teardown?.$case === "teardownComplete");
  assert.equal(teardown.value.invocationToken.toString(), "never seen");
  assert.deepEqual(await cancelled, []);
  assert.equal((await ended).kind, "completed");
  puppet.texts.put("done");
  const result = (await next.frames())[0];
  assert.ok(result?.$case === "handlerResult");
  assert.equal(result.value.invocationToken.toString(), "known");
  assert.equal(puppet.started.waiting, 0, "it does not run twice");
  next.say(11, completes("open"));
  assert.equal((await open).kind, "completed");
  assert.deepEqual(outcomes, ["new", "gap"]);
});

test("large frames of the server are put together, with others between", async (t) => {
  const { stream, puppet } = await attached(t);
  const whole = ServerFrame.encode({ frame: invoke("large", "large", "x".repeat(2500)) }).finish();
  for (let sequence = 1; sequence <= 3; sequence++) {
    const piece = whole.subarray((sequence - 1) * 1000, sequence * 1000);
    stream.say(sequence, invoke(`${sequence}`, `${sequence}`), chunk(7, whole.length, piece));
  }
  for (const id of ["1", "2", "3"]) {
    assert.equal((await puppet.started.take()).call.callId, id);
  }
  const { payload } = (await puppet.started.take()).call;
  assert.equal(payload.kind === "function" && payload.arguments.length, 2500);
});

test("large results go in pieces, and hold up nothing", async (t) => {
  const { stream, puppet } = await attached(t);
  stream.say(1, invoke("a", "a"), invoke("b", "b"));
  await puppet.started.take();
  await puppet.started.take();
  puppet.texts.put("x".repeat(3000));
  puppet.texts.put("small");
  const kinds: (string | undefined)[][] = [];
  const pieces: Buffer[] = [];
  do {
    const frames = await stream.frames();
    kinds.push(frames.map((frame) => frame?.$case));
    pieces.push(...frames.flatMap((it) => (it?.$case === "outputChunk" ? it.value.data : [])));
  } while (Buffer.concat(pieces).length < 3000);
  assert.deepEqual(kinds, [["handlerResult", "outputChunk"], ["outputChunk"], ["outputChunk"]]);
});

for (const [name, frame] of Object.entries({
  "a frame above the limit": chunk(1, 65_537, Buffer.from("x")),
  "more than was said": chunk(1, 1, Buffer.from("xx")),
  "what is not a frame": chunk(1, 1, Buffer.from([0xff])),
})) {
  test(`a server that sends ${name} loses the session`, async (t) => {
    const { agent, stream } = await attached(t);
    stream.say(1, frame);
    assert.equal(await lostBecause(agent), "PROTOCOL_VIOLATED");
  });
}

test("an idle client says that it is there", async (t) => {
  const heartbeatInterval = { seconds: 0n, nanos: 10_000_000 };
  const { stream } = await attached(t, {}, { heartbeatInterval });
  for (let beats = 0; beats < 2; beats++) {
    const message = await stream.next();
    assert.equal(message.sequence, 0n);
    assert.equal(message.frames[0]?.frame?.$case, "heartbeat");
  }
});

test("a silent server is dead, and the client connects again", async (t) => {
  const heartbeatTimeout = { seconds: 0n, nanos: 30_000_000 };
  const { server, stream } = await attached(t, {}, { heartbeatTimeout });
  await server.connection(resumed(0));
  await stream.cancelled;
});

test("a server that says something now and then lives", async (t) => {
  const { stream, dispatch } = await attached(
    t,
    {},
    {
      heartbeatInterval: { seconds: 0n, nanos: 200_000_000 },
      heartbeatTimeout: { seconds: 2n, nanos: 0 },
    },
  );
  for (let beats = 0; beats < 12; beats++) {
    await stream.next();
    stream.say(0, { $case: "heartbeat", value: {} });
  }
  dispatch("id");
  assert.deepEqual(await dispatched(stream), [1, "id"]);
});

test("messages are acknowledged without a word to say", async (t) => {
  const { stream } = await attached(t);
  for (let sequence = 1; sequence <= ACKNOWLEDGE_AFTER_MESSAGES; sequence++) {
    stream.say(sequence, completes("unknown"));
  }
  const { sequence, acknowledged, frames } = await stream.next();
  assert.equal(sequence, 0n);
  assert.equal(acknowledged, BigInt(ACKNOWLEDGE_AFTER_MESSAGES));
  assert.equal(frames.length, 0);
});

test("a message that was not read is sent again, and what came with the refusal counts", async (t) => {
  const { server, stream, puppet, dispatch } = await attached(t);
  dispatch("id");
  assert.deepEqual(await dispatched(stream), [1, "id"]);
  const unread = ErrorReason.ERROR_REASON_SEQUENCE_OUT_OF_ORDER;
  stream.say(1, refuses(1n, undefined, unread), invoke("1", "one"));
  const next = await server.connection(resumed(0));
  assert.deepEqual(await dispatched(next), [1, "id"]);
  assert.equal((await puppet.started.take()).call.callId, "one");
});

test("a whole message that was refused refuses its calls, and frees their credits", async (t) => {
  const { stream, dispatch } = await attached(t, {}, { maxCallsInFlight: 2 });
  const refused = [dispatch("a"), dispatch("b")];
  dispatch("c");
  assert.deepEqual(await dispatched(stream), [1, "a", "b"]);
  stream.say(1, refuses(1n, undefined, ErrorReason.ERROR_REASON_MESSAGE_TOO_LARGE));
  for (const pending of refused) {
    await assert.rejects(pending.outcome, { reason: "MESSAGE_TOO_LARGE", message: "no" });
  }
  assert.deepEqual(await dispatched(stream), [2, "c"]);
});

test("a frame that was refused is one call's alone", async (t) => {
  const { stream, dispatch } = await attached(t);
  const [good, bad] = [dispatch("good"), dispatch("bad")];
  await stream.next();
  stream.say(1, refuses(1n, 1, ErrorReason.ERROR_REASON_INVALID_FIELD), completes("good"));
  await assert.rejects(bad.outcome, { reason: "INVALID_FIELD" });
  assert.equal((await good).kind, "completed");
});

test("a call that was refused may be tried again in its turn", async (t) => {
  const { agent, stream } = await attached(t);
  const turn = agent.turn("turn");
  turn.dispatch(callOf("", "id", "tool"));
  stream.say(1, refuses((await stream.next()).sequence, 0, ErrorReason.ERROR_REASON_CALL_LIMIT));
  await assert.rejects(turn.outcomes(), { reason: "CALL_LIMIT" });
  turn.dispatch(callOf("", "id", "tool"));
  await stream.next();
  stream.say(2, completes("id"));
  assert.deepEqual(
    (await turn.outcomes()).map(({ call, kind }) => [call.callId, kind]),
    [["id", "completed"]],
  );
});

test("an outcome is not another call's under the same ids", async (t) => {
  const { stream, dispatch } = await attached(t);
  const [first, other] = [dispatch("id"), dispatch("id", "other")];
  const { sequence } = await stream.next();
  stream.say(1, completes("id"));
  assert.equal((await first).kind, "completed");
  stream.say(2, refuses(sequence, 1, ErrorReason.ERROR_REASON_CALL_ID_CONFLICT));
  await assert.rejects(other.outcome, { reason: "CALL_ID_CONFLICT" });
});

test("a result above the limit is never sent", async (t) => {
  const { stream, puppet } = await attached(t);
  stream.say(1, invoke("token", "id"));
  puppet.texts.put("x".repeat(70_000));
  const result = (await stream.frames())[0];
  assert.ok(result?.$case === "handlerResult" && result.value.result?.$case === "unhandledError");
  assert.match(result.value.result.value.message.toString(), /^MESSAGE_TOO_LARGE/);
});

test("a result that was refused still ends its call", async (t) => {
  const reported: string[] = [];
  const { stream, puppet } = await attached(t, {
    onError: (error) => reported.push(error.message),
  });
  stream.say(1, invoke("token", "id"));
  puppet.texts.put("unusable");
  const { sequence } = await stream.next();
  stream.say(2, refuses(sequence, 0, ErrorReason.ERROR_REASON_OUTPUT_MISMATCH));
  const anew = (await stream.frames())[0];
  assert.ok(anew?.$case === "handlerResult");
  assert.equal(anew.value.invocationToken.toString(), "token");
  assert.equal(anew.value.result?.$case, "unhandledError");
  stream.say(3, refuses(sequence + 1n, 0, ErrorReason.ERROR_REASON_OUTPUT_MISMATCH));
  stream.say(4, invoke("last", "last"));
  puppet.texts.put("good");
  const next = (await stream.frames())[0];
  assert.ok(next?.$case === "handlerResult");
  assert.equal(next.value.invocationToken.toString(), "last", "it is answered anew only once");
  assert.deepEqual(reported, Array(2).fill("the result of id was refused: no"));
});

test("a cancel or a notice that was refused is the caller's to hear", async (t) => {
  const { agent, stream } = await attached(t);
  const asked = assert.rejects(agent.cancel({ turnId: "" }), { reason: "INVALID_FIELD" });
  const invalid = ErrorReason.ERROR_REASON_INVALID_FIELD;
  stream.say(1, refuses((await stream.next()).sequence, 0, invalid));
  await asked;
  const said = assert.rejects(agent.endTurn(""), { reason: "INVALID_FIELD" });
  const { sequence, frames } = await stream.next();
  const barrier = frames[1]?.frame;
  assert.ok(barrier?.$case === "cancelCalls");
  stream.say(2, refuses(sequence, 0, invalid), {
    $case: "cancelResult",
    value: { cancelId: barrier.value.cancelId, calls: [] },
  });
  await said;
});

test("a refusal that nobody waits for is reported", async (t) => {
  const reported = new Promise((resolve) => {
    void attached(t, { onError: resolve }).then(({ stream }) =>
      stream.say(1, refuses(9n, 0, ErrorReason.ERROR_REASON_UNKNOWN_INVOCATION)),
    );
  });
  assert.equal(((await reported) as { reason: string }).reason, "UNKNOWN_INVOCATION");
});

test("bytes beyond the credits wait until others have ended", async (t) => {
  const { stream, dispatch } = await attached(t, {}, { maxBytesInFlight: 1000n });
  for (const id of ["a", "b", "c"]) {
    dispatch(id, "x".repeat(400));
  }
  assert.deepEqual(await dispatched(stream), [1, "a", "b"]);
  stream.say(1, completes("a"));
  assert.deepEqual(await dispatched(stream), [2, "c"]);
});

test("what was acknowledged is not sent again", async (t) => {
  const { server, agent, stream, dispatch } = await attached(t);
  dispatch("a");
  await stream.next();
  stream.acknowledge(1);
  stream.say(1, { $case: "drain", value: { timeLeft: undefined } });
  stream.say(2, completes("a"));
  agent.dropConnection();
  await stream.cancelled;
  const next = await server.connection(resumed(1));
  dispatch("b");
  assert.deepEqual(await dispatched(next), [2, "b"]);
});

test("another start of the server loses the session, and all that waits for it", async (t) => {
  const { server, agent, stream, puppet, dispatch } = await attached(t);
  const pending = assert.rejects(dispatch("id").outcome, { reason: "SERVER_RESTARTED" });
  stream.say(1, invoke("token", "id"));
  await puppet.started.take();
  const asked = assert.rejects(agent.cancel({ all: true }), SessionLostError);
  stream.fail();
  await server.connection({ serverInstanceId: "another" });
  assert.equal(await lostBecause(agent), "SERVER_RESTARTED");
  await Promise.all([pending, asked]);
  assert.equal((await puppet.stopped.take()).reason, "session_lost");
  puppet.mayEnd.put();
  await assert.rejects(dispatch("late").outcome, SessionLostError);
  await assert.rejects(agent.endTurn("turn"), SessionLostError);
});

test("a farewell is the last word, and is said again where it was lost", async (t) => {
  const { server, agent, stream, dispatch } = await attached(t);
  dispatch("id");
  const left = agent.detach();
  assert.deepEqual(await dispatched(stream), [1, "id"]);
  assert.deepEqual(await dispatched(stream), [2, "detach"]);
  stream.fail();
  const next = await server.connection(resumed(1));
  assert.deepEqual(await dispatched(next), [2, "detach"]);
  next.end();
  await left;
  assert.equal(await lostBecause(agent), "DETACHED");
});

test("a server that does not begin with Welcome is no sidecar", async (t) => {
  const server = await FakeServer.start(t);
  const connecting = Agent.connect({ endpoint: server.endpoint });
  const stream = await server.greeted();
  stream.say(1, completes("id"));
  await assert.rejects(connecting, /did not begin with Welcome/);
});

test("connecting can be given up", async (t) => {
  const server = await FakeServer.start(t);
  const controller = new AbortController();
  const { signal } = controller;
  const connecting = Agent.connect({ endpoint: server.endpoint, signal });
  await server.greeted();
  const reason = new Error("enough");
  controller.abort(reason);
  await assert.rejects(connecting, reason);
  await assert.rejects(Agent.connect({ endpoint: server.endpoint, signal }), reason);
});
