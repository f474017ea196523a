/** Hooks: functions that are asked before or after a tool runs, and how their answers combine. */
import { wireDuration } from "./durations.js";
import { type HookPoint, hookPoints } from "./enums.js";
import { textOf } from "./errors.js";
import { type HookDeclaration, HookVerdict } from "./gen/sidecall/v1/runtime_stream.js";
import type { HookQuestion } from "./outcome.js";
import { withResolvers } from "./with-resolvers.js";

/** What a hook is asked. */
export interface HookInput extends HookQuestion {
  /** Aborts with the call, or when the hook's time is over. */
  signal: AbortSignal;
}

/** What a hook says. */
export type Verdict = (
  | { kind: "proceed" }
  /** Go on with other arguments: JSON text of any type. Pre hooks only. */
  | { kind: "rewrite"; inputJson: string }
  /**
   * Stop. Before the handler the call fails with the reason, which must not be blank. After it
   * the session's `postHookBlock` decides; a blank reason becomes a default text.
   */
  | { kind: "block"; reason: string }
  /** Show the model this in place of the output. Post hooks only. */
  | { kind: "feedback"; message: string }
) & {
  /** Texts for the conversation; they come back with the outcome, also of a blocked call. */
  additionalContexts?: readonly string[] | undefined;
};

/**
 * A hook. One that throws, takes too long, or gives a verdict that its point cannot use leaves
 * the call as it is (SPEC F10).
 */
export interface Hook {
  /** Where it runs. */
  point: HookPoint;
  /** The names or aliases that it wants. Absent: all. */
  matchers?: readonly string[] | undefined;
  /** How long it may take, in milliseconds. Absent: the server's default. */
  timeoutMs?: number | undefined;
  /** The hook. Nothing returned: go on unchanged. */
  run(input: HookInput): Verdict | undefined | Promise<Verdict | undefined>;
}

/** What one hook came to. */
export interface HookAnswer {
  /** What it said; undefined: it failed. */
  verdict: Verdict | undefined;
  /** Why it failed, or why its verdict cannot be used. */
  failure: string | undefined;
  /** The position of the hook among those that finished, from 0. */
  finished: number;
}

export function declareHook(hook: Hook): HookDeclaration {
  return {
    point: hookPoints.wire(hook.point),
    matchers: [...(hook.matchers ?? [])],
    timeout: wireDuration(hook.timeoutMs),
  };
}

/** The hook wants to be asked. */
export function matches(hook: Hook, { point, payload }: HookQuestion): boolean {
  const names = [payload.toolName, ...payload.matcherAliases];
  return (
    hook.point === point &&
    (!hook.matchers?.length || hook.matchers.some((matcher) => names.includes(matcher)))
  );
}

/**
 * Asks hooks side by side; their answers come in the order of the hooks. One that outlasts its
 * time or the signal is not waited for.
 */
export async function askHooks(
  hooks: readonly Hook[],
  question: HookQuestion,
  signal: AbortSignal,
  timeoutMs?: number,
): Promise<HookAnswer[]> {
  let finished = 0;
  return Promise.all(
    hooks.map(async (hook) => {
      try {
        const verdict = await ask(hook, question, withTimeout(signal, hook.timeoutMs, timeoutMs));
        return { verdict, failure: unusable(question.point, verdict), finished: finished++ };
      } catch (thrown) {
        return { verdict: undefined, failure: textOf(thrown), finished: finished++ };
      }
    }),
  );
}

/**
 * Makes one verdict of several answers, in the order of the hooks (SPEC F6, F9). The contexts of
 * all are kept. A block cancels rewrites; before the handler the first reason counts, after it
 * all messages do, a blank line between. Of several rewrites the one that finished last counts.
 * Where no hook came to anything usable the hooks have failed.
 */
export function combine(point: HookPoint, answers: readonly HookAnswer[]): HookVerdict {
  const usable = answers.filter((answer) => answer.failure === undefined);
  const verdicts = usable.flatMap(({ verdict }) => verdict ?? []);
  const contexts = answers.flatMap(({ verdict }) => verdict?.additionalContexts ?? []);
  return HookVerdict.create({
    verdict:
      answers.length > 0 && usable.length === 0
        ? { $case: "failed", value: { message: Buffer.from(failures(answers)) } }
        : strongest(point, usable, verdicts),
    additionalContexts: contexts.map((context) => Buffer.from(context)),
  });
}

function strongest(
  point: HookPoint,
  usable: readonly HookAnswer[],
  verdicts: readonly Verdict[],
): NonNullable<HookVerdict["verdict"]> {
  const reasons = verdicts.flatMap((verdict) => (verdict.kind === "block" ? verdict.reason : []));
  if (reasons.length > 0) {
    const reason = point === "pre_tool_use" ? (reasons[0] ?? "") : joined(reasons);
    return { $case: "block", value: { reason: Buffer.from(reason) } };
  }
  const messages = verdicts.flatMap((verdict) =>
    verdict.kind === "feedback" ? verdict.message : [],
  );
  if (messages.length > 0) {
    return { $case: "feedback", value: { message: Buffer.from(joined(messages)) } };
  }
  const rewrite = [...usable]
    .sort((one, other) => other.finished - one.finished)
    .find(({ verdict }) => verdict?.kind === "rewrite")?.verdict;
  if (rewrite?.kind === "rewrite") {
    return { $case: "rewrite", value: { inputJson: Buffer.from(rewrite.inputJson) } };
  }
  return { $case: "proceed", value: {} };
}

/** Why a point cannot use a verdict (SPEC F10). */
function unusable(point: HookPoint, verdict: Verdict): string | undefined {
  switch (verdict.kind) {
    case "feedback":
      return point === "pre_tool_use" ? "a pre hook cannot give feedback" : undefined;
    case "block":
      return point === "pre_tool_use" && isBlank(verdict.reason)
        ? "a pre hook's block needs a reason"
        : undefined;
    case "rewrite":
      if (point === "post_tool_use") {
        return "a post hook cannot rewrite the input";
      }
      return isJson(verdict.inputJson) ? undefined : "a rewrite must be JSON text";
    case "proceed":
      return undefined;
  }
}

async function ask(hook: Hook, question: HookQuestion, signal: AbortSignal): Promise<Verdict> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = withResolvers<never>();
  const stop = () => reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  try {
    const answered = (async () => hook.run({ ...question, signal }))();
    return (await Promise.race([answered, aborted])) ?? { kind: "proceed" };
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** A signal of the hook's own, which ends at the first of the times as well. */
function withTimeout(signal: AbortSignal, ...timeoutsMs: (number | undefined)[]): AbortSignal {
  const said = timeoutsMs.filter((timeout) => timeout !== undefined);
  const timeouts = said.map((timeout) => AbortSignal.timeout(Math.ceil(timeout)));
  return AbortSignal.any([signal, ...timeouts]);
}

function failures(answers: readonly HookAnswer[]): string {
  return answers.map(({ failure }) => failure).join("; ");
}

function joined(messages: readonly string[]): string {
  return messages.filter((message) => !isBlank(message)).join("\n\n");
}

function isBlank(text: string): boolean {
  return !/\P{White_Space}/u.test(text);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
