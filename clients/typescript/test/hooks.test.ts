/** Hooks, against a real sidecar. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Hook, HookInput, SidecallError, Verdict } from "../src/index.js";
import { withResolvers } from "../src/with-resolvers.js";
import { callOf, connect, mirror } from "./support/sidecar.js";

/** A hook that always says the same. */
function hook(point: Hook["point"], verdict: Verdict): Hook {
  return { point, run: () => verdict };
}

test("a rewrite is what the handler gets", async (t) => {
  const agent = await connect(t, {
    tools: [mirror],
    hooks: [hook("pre_tool_use", { kind: "rewrite", inputJson: '{"n": 1.10}' })],
  });
  const outcome = await agent.dispatch(callOf("turn", "id", "mirror"));
  assert.match(outcome.projections.responseItemJson ?? "", /\{\\"n\\":1\.10\}/);
});

test("a pre hook blocks with a reason, and the contexts of all stay", async (t) => {
  const agent = await connect(t, {
    tools: [mirror],
    hooks: [
      hook("pre_tool_use", { kind: "rewrite", inputJson: "1", additionalContexts: ["first"] }),
      hook("pre_tool_use", { kind: "block", reason: "no", additionalContexts: ["2", "3"] }),
    ],
  });
  const outcome = await agent.dispatch(callOf("turn", "id", "mirror"));
  assert.equal(outcome.kind, "model_failure");
  assert.equal(outcome.message, "Tool call blocked by PreToolUse hook: no. Tool: mirror");
  assert.equal(outcome.lifecycle, "blocked");
  assert.equal(outcome.handlerExecuted, false);
  assert.deepEqual(outcome.additionalContexts, ["first", "2", "3"]);
});

test("a hook that fails leaves the call as it is", async (t) => {
  const reported: SidecallError[] = [];
  const failing = (point: Hook["point"]): Hook => ({
    point,
    run: async () => {
      throw new Error("broken");
    },
  });
  const agent = await connect(t, {
    tools: [mirror],
    hooks: [failing("pre_tool_use"), failing("post_tool_use")],
    onError: (error) => reported.push(error),
  });
  assert.equal((await agent.dispatch(callOf("turn", "id", "mirror"))).kind, "completed");
  const { hooksFailedOpen } = await agent.client.getSession(agent.sessionId);
  assert.equal(hooksFailedOpen, 2);
  assert.deepEqual(
    reported.map(({ message }) => message),
    Array(2).fill("a hook for mirror failed: broken"),
  );
});

test("a hook that takes too long is not waited for", async (t) => {
  const { promise, resolve } = withResolvers<unknown>();
  const agent = await connect(t, {
    tools: [mirror],
    onError: () => undefined,
    hooks: [
      {
        point: "pre_tool_use",
        timeoutMs: 20,
        run: ({ signal }) => {
          signal.addEventListener("abort", () => resolve(signal.reason));
          return new Promise(() => undefined);
        },
      },
    ],
  });
  assert.equal((await agent.dispatch(callOf("turn", "id", "mirror"))).kind, "completed");
  assert.ok(await promise, "the hook was told");
});

test("a post hook sees the output and speaks in its place", async (t) => {
  const asked: HookInput[] = [];
  const agent = await connect(t, {
    tools: [mirror],
    hooks: [
      {
        point: "post_tool_use",
        matchers: ["mirror"],
        run: (input) => {
          asked.push(input);
          return { kind: "feedback", message: "withheld" };
        },
      },
      hook("post_tool_use", { kind: "feedback", message: "and more" }),
    ],
  });
  const outcome = await agent.dispatch(callOf("turn", "id", "mirror"));
  assert.match(outcome.projections.responseItemJson ?? "", /"withheld\\n\\nand more"/);
  assert.equal(outcome.kind === "completed" && outcome.success, true);
  assert.equal(asked.length, 1);
  assert.deepEqual(asked[0]?.call, { turnId: "turn", callId: "id" });
  assert.equal(asked[0]?.payload.toolInputJson, "{}");
  assert.equal(asked[0]?.payload.toolResponseJson, '"{}"');
});

test("a post hook's block may reject the result", async (t) => {
  const agent = await connect(t, {
    tools: [mirror],
    session: { postHookBlock: "reject_result" },
    hooks: [
      hook("post_tool_use", { kind: "block", reason: "one" }),
      hook("post_tool_use", { kind: "block", reason: "two" }),
    ],
  });
  const outcome = await agent.dispatch(callOf("turn", "id", "mirror"));
  assert.equal(outcome.kind, "model_failure");
  assert.equal(outcome.message, "one\n\ntwo");
});

test("hooks match names and aliases, and can be replaced", async (t) => {
  const asked: string[] = [];
  const noting = (matcher: string): Hook => ({
    point: "pre_tool_use",
    matchers: [matcher],
    run: () => {
      asked.push(matcher);
      return undefined;
    },
  });
  const agent = await connect(t, {
    tools: [
      {
        name: "apply_patch",
        hookKind: "apply_patch",
        payloadKinds: ["custom"],
        handler: () => ({ kind: "apply_patch", text: "done" }),
      },
    ],
    hooks: [noting("Write"), noting("Bash")],
  });
  const patch = (callId: string) =>
    agent.dispatch({
      turnId: "turn",
      callId,
      name: "apply_patch",
      payload: { kind: "custom", input: "*** Begin Patch" },
    });
  await patch("1");
  await agent.updateTools({ hooks: [noting("apply_patch")] });
  await patch("2");
  assert.deepEqual(asked, ["Write", "apply_patch"]);
});
