/** Calls and their handlers, against a real sidecar. */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  FatalError,
  RefusedError,
  RespondToModelError,
  type Tool,
  TurnFatalError,
  throwIfFatal,
} from "../src/index.js";
import { callOf, connect, mirror, ownSidecar, Puppet, saying } from "./support/sidecar.js";

test("a turn gives its items in call order, whatever ends first", async (t) => {
  const [slow, fast] = [new Puppet(), new Puppet()];
  const parallel = { supportsParallelCalls: true };
  const agent = await connect(t, {
    tools: [slow.tool("slow", parallel), fast.tool("fast", parallel)],
  });
  const turn = agent.turn("turn");
  turn.dispatch(callOf("", "first", "slow"));
  const second = turn.dispatch(callOf("", "second", "fast"));
  await slow.started.take();
  fast.texts.put("2");
  await second;
  slow.texts.put("1");

  assert.deepEqual(await turn.responseItems(), [
    '{"type":"function_call_output","call_id":"first","output":"1"}',
    '{"type":"function_call_output","call_id":"second","output":"2"}',
  ]);
  const outcomes = await turn.outcomes();
  assert.deepEqual(
    outcomes.map(({ call, dispatchOrder, kind }) => [call.callId, dispatchOrder, kind]),
    [
      ["first", 1, "completed"],
      ["second", 2, "completed"],
    ],
  );
  await turn.end();
  await assert.rejects(turn.dispatch(callOf("", "third", "fast")).outcome, {
    reason: "TURN_ENDED",
  });
  assert.equal((await turn.responseItems()).length, 2, "a refused call has no item");
});

test("what a handler throws decides who hears of it", async (t) => {
  const throwing = (name: string, thrown: unknown): Tool => ({
    name,
    handler: () => {
      throw thrown;
    },
  });
  const tools = [
    throwing("readable", new RespondToModelError("no such file: x")),
    throwing("empty", new RespondToModelError("")),
    throwing("fatal", new FatalError("the disk is full")),
    throwing("defect", new TypeError("x is undefined")),
    throwing("text", "oops"),
    { name: "nothing", handler: () => undefined as unknown as string },
  ];
  const strict = await connect(t, { tools });
  const lenient = await connect(t, { tools, unhandledErrors: "respond_to_model" });
  const defect = "tool task failed to receive: ";
  for (const [agent, name, kind, message] of [
    [strict, "readable", "model_failure", "no such file: x"],
    [strict, "empty", "model_failure", ""],
    [strict, "fatal", "fatal", "the disk is full"],
    [strict, "defect", "fatal", `${defect}x is undefined`],
    [strict, "text", "fatal", `${defect}oops`],
    [strict, "nothing", "fatal", `${defect}the handler returned no output`],
    [strict, "nobody", "model_failure", "unsupported call: nobody"],
    [lenient, "defect", "model_failure", "x is undefined"],
    [lenient, "fatal", "fatal", "the disk is full"],
  ] as const) {
    const outcome = await agent.dispatch(callOf(name, "id", name));
    assert.equal(outcome.kind, kind, name);
    assert.equal("message" in outcome && outcome.message, message);
    if (kind === "fatal") {
      assert.throws(() => throwIfFatal(outcome), TurnFatalError);
    } else {
      assert.equal(throwIfFatal(outcome), outcome);
    }
  }
});

test("arguments that are not JSON are the model's to mend", async (t) => {
  const agent = await connect(t, {
    tools: [{ name: "parse", handler: (asked) => JSON.stringify(asked.arguments()) }],
  });
  const blank = await agent.dispatch(callOf("turn", "1", "parse", " "));
  assert.equal(blank.kind, "completed");
  assert.match(blank.projections.responseItemJson ?? "", /"output":"\{\}"/);
  const broken = await agent.dispatch(callOf("turn", "2", "parse", "{"));
  assert.equal(broken.kind, "model_failure");
  assert.match("message" in broken ? broken.message : "", /^failed to parse function arguments: /);
});

test("a call that cannot be taken is refused with its fields, and harms no other", async (t) => {
  const agent = await connect(t, { tools: [mirror] });
  const good = agent.dispatch(callOf("turn", "good", "mirror"));
  await assert.rejects(agent.dispatch(callOf("turn", "", "mirror")).outcome, (error) => {
    assert.ok(error instanceof RefusedError);
    assert.match(error.fieldViolations[0]?.field ?? "", /call_id$/);
    assert.ok(error.message.startsWith(error.reason));
    return true;
  });
  assert.equal((await good).kind, "completed");
});

test("the same call again runs once, and ends alike", async (t) => {
  const puppet = new Puppet();
  const agent = await connect(t, { tools: [puppet.tool("tool")] });
  const again = () => agent.dispatch(callOf("turn", "id", "tool"));
  const pending = [again(), again()];
  await puppet.started.take();
  puppet.texts.put("once");
  await pending[0];
  pending.push(again());
  for (const { kind, projections } of await Promise.all(pending)) {
    assert.equal(kind, "completed");
    assert.match(projections.responseItemJson ?? "", /"once"/);
  }
  assert.equal(puppet.started.waiting, 0);
});

test("another call under the same ids is refused and harms nothing", async (t) => {
  const puppet = new Puppet();
  const agent = await connect(t, { tools: [puppet.tool("tool")] });
  const first = agent.dispatch(callOf("turn", "id", "tool"));
  await puppet.started.take();
  await assert.rejects(agent.dispatch(callOf("turn", "id", "tool", { other: true })).outcome, {
    reason: "CALL_ID_CONFLICT",
  });
  puppet.texts.put("done");
  assert.equal((await first).kind, "completed");
});

test("calls beyond the credits wait in their order", async (t) => {
  const { endpoint } = await ownSidecar(t, "--max-calls-in-flight", "2");
  const ran: string[] = [];
  const agent = await connect(t, {
    endpoint,
    tools: [{ name: "tool", handler: ({ call }) => String(ran.push(call.callId)) }],
  });
  const turn = agent.turn("turn");
  const ids = Array.from("abcdefghi");
  for (const id of ids) {
    turn.dispatch(callOf("", id, "tool"));
  }
  const outcomes = await turn.outcomes();
  assert.deepEqual(
    outcomes.map(({ kind }) => kind),
    ids.map(() => "completed"),
  );
  assert.deepEqual(ran, ids);
});

test("a namespace that is empty is not none", async (t) => {
  const names = [{ name: "t" }, { name: "t", namespace: "" }, { name: "t", namespace: "mcp__x" }];
  const agent = await connect(t, {
    tools: names.map((name, index) => saying("", String(index), name)),
  });
  for (const [index, name] of names.entries()) {
    const outcome = await agent.dispatch({ ...callOf("turn", String(index), ""), ...name });
    assert.match(outcome.projections.responseItemJson ?? "", new RegExp(`"output":"${index}"`));
  }
});

test("large arguments and outputs go in pieces, and what is above the limit is told", async (t) => {
  const half = 3 << 20;
  const agent = await connect(t, {
    tools: [mirror, { name: "huge", handler: () => "x".repeat(40 << 20) }],
  });
  const large = await agent.dispatch(callOf("1", "large", "mirror", "é".repeat(half)));
  assert.equal(large.projections.responseItemJson?.split("é").length, half + 1);

  const huge = await agent.dispatch(callOf("2", "huge", "huge"));
  assert.equal(huge.kind, "fatal");
  assert.match("message" in huge ? huge.message : "", /MESSAGE_TOO_LARGE/);
  await assert.rejects(agent.dispatch(callOf("3", "id", "mirror", "x".repeat(40 << 20))).outcome, {
    reason: "MESSAGE_TOO_LARGE",
  });
});

test("tools come and go", async (t) => {
  const agent = await connect(t, {
    tools: [saying("later", "now it can", { notReady: true }), saying("gone", "")],
  });
  const waits = agent.dispatch(callOf("turn", "waits", "later"));
  await agent.updateTools({ upsert: [saying("later", "now it can")], remove: [{ name: "gone" }] });
  assert.match((await waits).projections.responseItemJson ?? "", /now it can/);
  const gone = await agent.dispatch(callOf("turn", "gone", "gone"));
  assert.equal("message" in gone && gone.message, "unsupported call: gone");

  const wrong = saying("later", "worse", { teardownTimeoutMs: -1 });
  await assert.rejects(agent.updateTools({ upsert: [wrong] }), (error) => {
    assert.ok(error instanceof RefusedError && error.fieldViolations.length > 0);
    return true;
  });
  const kept = await agent.dispatch(callOf("turn", "kept", "later"));
  assert.match(kept.projections.responseItemJson ?? "", /now it can/, "nothing has changed");
});

test("a call's own views and payloads", async (t) => {
  const agent = await connect(t, {
    tools: [
      {
        name: "tool",
        payloadKinds: ["custom", "tool_search"],
        handler: ({ call }) => JSON.stringify(call.payload),
      },
    ],
  });
  const views = ["log", "response_item", "code_mode", "hook"] as const;
  const custom = await agent.dispatch(
    { turnId: "turn", callId: "1", name: "tool", payload: { kind: "custom", input: "a\nb" } },
    { views },
  );
  const text = '{"kind":"custom","input":"a\\nb"}';
  assert.equal(custom.projections.logPreview, text);
  assert.deepEqual(custom.projections.responseItem, {
    type: "custom_tool_call_output",
    callId: "1",
    output: text,
  });
  assert.equal(custom.projections.codeModeJson, JSON.stringify(text));
  assert.equal(custom.projections.responseItemJson, undefined);
  const payload = { kind: "tool_search", query: "mail" } as const;
  const searched = await agent.dispatch({ turnId: "turn", callId: "2", name: "tool", payload });
  assert.match(searched.projections.responseItemJson ?? "", /mail/);
});
