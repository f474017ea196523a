/** How the answers of several hooks make one verdict. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { HookVerdict } from "../src/gen/sidecall/v1/runtime_stream.js";
import { askHooks, combine, type Hook, type HookAnswer, type Verdict } from "../src/hook.js";
import type { HookPoint, HookQuestion } from "../src/index.js";

function question(point: HookPoint): HookQuestion {
  return {
    call: { turnId: "turn", callId: "id" },
    point,
    payload: { toolName: "tool", matcherAliases: [], toolUseId: "id", toolInputJson: "{}" },
  };
}

const oops: Hook["run"] = () => {
  throw new Error("oops");
};
const signal = new AbortController().signal;

/** What hooks that say this come to; a hook is a verdict, or what makes one. */
async function verdictOf(point: HookPoint, said: readonly (Verdict | Hook["run"])[]) {
  const hooks = said.map(
    (one): Hook => ({ point, run: typeof one === "function" ? one : () => one }),
  );
  return shown(combine(point, await askHooks(hooks, question(point), signal)));
}

/** A verdict as a text: kind, text, contexts. */
function shown({ verdict, additionalContexts }: HookVerdict): string {
  const text = Object.values(verdict?.value ?? {}).map(String);
  return [verdict?.$case, ...text, ...additionalContexts.map((context) => `+${context}`)].join("|");
}

const rewrite = (inputJson: string, ...additionalContexts: string[]): Verdict => ({
  kind: "rewrite",
  inputJson,
  additionalContexts,
});
const block = (reason: string, ...additionalContexts: string[]): Verdict => ({
  kind: "block",
  reason,
  additionalContexts,
});
const feedback = (message: string, ...additionalContexts: string[]): Verdict => ({
  kind: "feedback",
  message,
  additionalContexts,
});

for (const [name, point, said, expected] of [
  ["none", "pre_tool_use", [], "proceed"],
  ["nothing said", "pre_tool_use", [() => undefined], "proceed"],
  [
    "contexts stay in order",
    "pre_tool_use",
    [
      { kind: "proceed", additionalContexts: ["a"] },
      { kind: "proceed", additionalContexts: ["b", "c"] },
    ],
    "proceed|+a|+b|+c",
  ],
  ["the last rewrite", "pre_tool_use", [rewrite("1"), rewrite("2")], "rewrite|2"],
  [
    "a block cancels rewrites",
    "pre_tool_use",
    [rewrite("1", "x"), block("no", "y")],
    "block|no|+x|+y",
  ],
  ["the first reason", "pre_tool_use", [block(" "), block("a"), block("b")], "block|a"],
  [
    "a block needs a reason",
    "pre_tool_use",
    [block(" \n", "x")],
    "failed|a pre hook's block needs a reason|+x",
  ],
  ["one of two failed", "pre_tool_use", [rewrite("1"), oops], "rewrite|1"],
  ["all failed", "pre_tool_use", [oops, oops], "failed|oops; oops"],
  ["feedback too early", "pre_tool_use", [feedback("x")], "failed|a pre hook cannot give feedback"],
  [
    "a rewrite too late",
    "post_tool_use",
    [rewrite("1")],
    "failed|a post hook cannot rewrite the input",
  ],
  [
    "a rewrite that is not JSON",
    "pre_tool_use",
    [rewrite("{")],
    "failed|a rewrite must be JSON text",
  ],
  [
    "blocks are joined",
    "post_tool_use",
    [block("a"), { kind: "proceed" }, block(""), block("b")],
    "block|a\n\nb",
  ],
  ["feedback is joined", "post_tool_use", [feedback("a"), feedback("b")], "feedback|a\n\nb"],
  ["a block wins over feedback", "post_tool_use", [feedback("a", "x"), block("")], "block||+x"],
] satisfies [string, HookPoint, (Verdict | Hook["run"])[], string][]) {
  test(`verdicts: ${name}`, async () => assert.equal(await verdictOf(point, said), expected));
}

test("hooks run side by side, and of several rewrites the last to end wins", async () => {
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const slow: Hook["run"] = () => released.then(() => rewrite('"slow"'));
  const fast: Hook["run"] = () => {
    release(); // only where the slow one is asked already, or will be
    return rewrite('"fast"');
  };
  assert.equal(await verdictOf("pre_tool_use", [slow, fast]), 'rewrite|"slow"');
});

test("a hook that outlasts the call is not waited for", async () => {
  const aborted = new AbortController();
  const hook: Hook = {
    point: "pre_tool_use",
    run: () => {
      aborted.abort(new Error("over"));
      return new Promise(() => undefined);
    },
  };
  const answers: HookAnswer[] = await askHooks([hook], question(hook.point), aborted.signal);
  assert.deepEqual(answers, [{ verdict: undefined, failure: "over", finished: 0 }]);
});
