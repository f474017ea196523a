/** What a person reads of the turn, at most 80 columns wide. */
import type { Outcome } from "@sidecall/client";
import type { Item } from "./request.js";
import type { Step } from "./script.js";

const WIDTH = 80;

/** Prints what became of a call. */
export function reportCall(step: Step, outcome: Outcome | undefined): void {
  const tookMs = Math.round(outcome?.durations.totalMs ?? 0);
  const { callId, namespace = "", name, payload } = step.call;
  const asked = payload.kind === "function" ? payload.arguments : "";
  print(`${callId}  ${step.title.padEnd(60)} ${String(tookMs).padStart(5)} ms`);
  print(`        asked      ${namespace}${name} ${asked}`);
  print(`        outcome    ${outcome === undefined ? "none" : outcomeText(outcome)}`);
  print(`        lifecycle  ${outcome?.lifecycle}`);
  const item = outcome?.projections.responseItemJson ?? '{"output":"(nothing)"}';
  print(`        the model  ${oneLine(JSON.parse(item).output)}`);
}

/** Prints a request, shortened. */
export function reportRequest(items: readonly Item[]): void {
  for (const item of items) {
    const [record] = item.internal_chat_message_metadata_passthrough.executed_tool_calls ?? [];
    print(`${item.call_id}  ${oneLine(item.output)}`);
    print(`        record  ${record?.name} ${JSON.stringify(record?.arguments)}`);
  }
}

function outcomeText(outcome: Outcome): string {
  switch (outcome.kind) {
    case "completed":
      return `completed, success ${outcome.success}`;
    case "aborted":
      return `aborted: ${outcome.reason}, ${outcome.progress}, teardown ${outcome.teardown}`;
    default:
      return outcome.kind;
  }
}

/** An output on one line: its text where it is one, else its JSON. */
function oneLine(output: unknown): string {
  const text = typeof output === "string" ? output : JSON.stringify(output);
  return text.trim().replaceAll("\n", " ⏎ ");
}

function print(line: string): void {
  const letters = Array.from(line);
  console.log(letters.length > WIDTH ? `${letters.slice(0, WIDTH - 1).join("")}…` : line);
}
