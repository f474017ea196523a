/** The model's next request. */
import { isDeepStrictEqual } from "node:util";
import type { Attachment, Outcome } from "@sidecall/client";
import { type Step, TURN_ID } from "./script.js";

/** An item of a request, as far as the demo reads it. */
export interface Item {
  call_id: string;
  output: unknown;
  internal_chat_message_metadata_passthrough: {
    turn_id: string;
    executed_tool_calls?: { name: string; arguments: unknown }[];
  };
}

/** The outputs in call order, each with its records, put in as the sidecar gave them. */
export function nextRequest(
  outcomes: readonly Outcome[],
  attachments: readonly Attachment[],
): string {
  const records = new Map(attachments.map((it) => [it.outputIndex, it.executedToolCallsJson]));
  const items = outcomes.map(({ call, projections }, index) => {
    const item = projections.responseItemJson ?? "";
    if (!item.endsWith("}")) {
      throw new Error(`${call.callId} has no response item`);
    }
    const record = records.get(index);
    const said = [
      `"turn_id":${JSON.stringify(call.turnId)}`,
      ...(record === undefined ? [] : [`"executed_tool_calls":${record}`]),
    ];
    const metadata = `"internal_chat_message_metadata_passthrough":{${said.join()}}`;
    return `${item.slice(0, -1)},${metadata}}`;
  });
  return `{"model":"example","input":[${items.join()}]}`;
}

/**
 * Reads the request: all outputs must be there, in call order, and each must carry its one record.
 *
 * @throws Error when anything is off.
 */
export function checkRequest(request: string, steps: readonly Step[]): Item[] {
  const { input } = JSON.parse(request) as { input: Item[] };
  if (input.length !== steps.length) {
    throw new Error(`the request has ${input.length} outputs, not ${steps.length}`);
  }
  for (const [index, { call }] of steps.entries()) {
    const item = input[index];
    const metadata = item?.internal_chat_message_metadata_passthrough;
    if (item?.call_id !== call.callId || metadata?.turn_id !== TURN_ID) {
      throw new Error(`output ${index} is of ${item?.call_id}, not ${call.callId}`);
    }
    const asked = call.payload.kind === "function" ? JSON.parse(call.payload.arguments) : undefined;
    const expected = [{ name: recordName(call), arguments: asked }];
    if (!isDeepStrictEqual(metadata.executed_tool_calls, expected)) {
      const records = JSON.stringify(metadata.executed_tool_calls);
      throw new Error(`${call.callId} carries the records ${records}`);
    }
  }
  return input;
}

function recordName({ namespace, name }: Step["call"]): string {
  return `${namespace ?? ""}${name}`;
}
