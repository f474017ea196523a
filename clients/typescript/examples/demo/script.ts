/** The turn that the model plays, and what must come of it. */
import { isDeepStrictEqual } from "node:util";
import { functionPayload, type Hook, type Outcome, type ToolCall } from "@sidecall/client";

export const TURN_ID = "turn_1";
export const MCP_NAMESPACE = "mcp__time__";
/** The call that is cancelled once it runs. */
export const RUNS_LONG = "call_5";

/** One call of the model. */
export interface Step {
  title: string;
  call: Omit<ToolCall, "turnId">;
  /** The next step is dispatched without waiting for this one. */
  beside?: boolean;
  /** What its outcome must say. */
  ends: Partial<Outcome>;
  /** What the model must read, in part. */
  text: string;
}

const COMPLETED = { kind: "completed", lifecycle: "completed" } as const;

export function script(): Step[] {
  return [
    {
      title: "a command that succeeds",
      call: shellCall("call_1", "printf 'hello from bash\\n'"),
      ends: COMPLETED,
      text: "hello from bash",
    },
    {
      title: "a command that fails",
      call: shellCall("call_2", "echo broken >&2; exit 3"),
      ends: COMPLETED,
      text: "Process exited with code 3",
    },
    {
      title: "MCP, in parallel: the time",
      call: timeCall("call_3", "get_current_time", { timezone: "Europe/Berlin" }),
      beside: true,
      ends: COMPLETED,
      text: "Europe/Berlin",
    },
    {
      title: "MCP, in parallel: a conversion",
      call: timeCall("call_4", "convert_time", {
        source_timezone: "UTC",
        time: "12:00",
        target_timezone: "Asia/Tokyo",
      }),
      ends: COMPLETED,
      text: "21:00",
    },
    {
      title: "a command that is cancelled",
      call: shellCall(RUNS_LONG, "echo it runs; sleep 600"),
      ends: {
        kind: "aborted",
        lifecycle: "aborted",
        reason: "cancelled",
        progress: "handler_interrupted",
        teardown: "done",
      },
      text: "aborted by user",
    },
    {
      title: "a command that a hook blocks",
      call: shellCall("call_6", "rm -rf build"),
      ends: { kind: "model_failure", lifecycle: "blocked", handlerExecuted: false },
      text: "Command blocked by PreToolUse hook: nothing is deleted here.",
    },
    {
      title: "a tool that nobody has",
      call: {
        callId: "call_7",
        name: "browse",
        payload: functionPayload('{"url": "https://example.org"}'),
      },
      ends: { kind: "model_failure", lifecycle: "none" },
      text: "unsupported call: browse",
    },
  ];
}

/** The hook that deletes nothing. */
export const guard: Hook = {
  point: "pre_tool_use",
  matchers: ["Bash"],
  run: ({ payload }) => {
    const { command } = JSON.parse(payload.toolInputJson) as { command: string };
    return command.includes("rm -rf")
      ? { kind: "block", reason: "nothing is deleted here" }
      : { kind: "proceed" };
  },
};

/**
 * Compares an outcome with what must come of its step.
 *
 * @throws Error when it is another.
 */
export function checkOutcome(step: Step, outcome: Outcome | undefined): void {
  const said = Object.fromEntries(
    Object.keys(step.ends).map((name) => [name, outcome?.[name as keyof Outcome]]),
  );
  const item = outcome?.projections.responseItemJson ?? "";
  if (!isDeepStrictEqual(said, step.ends) || !item.includes(step.text)) {
    const seen = JSON.stringify(said);
    throw new Error(`${step.call.callId} (${step.title}): not as expected: ${seen}, ${item}`);
  }
}

function shellCall(callId: string, command: string): Step["call"] {
  return { callId, name: "shell", payload: functionPayload({ command }) };
}

function timeCall(callId: string, name: string, args: Record<string, string>): Step["call"] {
  return { callId, name, namespace: MCP_NAMESPACE, payload: functionPayload(args) };
}
