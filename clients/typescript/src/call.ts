/** What a model asked for: tool names, payloads, calls. */
import type * as outcome from "./gen/sidecall/v1/call_outcome.js";
import * as wire from "./gen/sidecall/v1/tool_call.js";

/** A tool's name. An absent and an empty namespace differ. */
export interface ToolName {
  /** The name inside its namespace. */
  name: string;
  /** Stands in front of the name, without a separator, wherever the name is shown. */
  namespace?: string | undefined;
}

/** What a tool is called with: texts exactly as the model wrote them. */
export type ToolPayload =
  | {
      kind: "function";
      /** JSON text, if the model kept to it. */
      arguments: string;
    }
  | { kind: "custom"; input: string }
  | {
      kind: "tool_search";
      query: string;
      /** Most results wanted. Absent: the tool's own default. */
      limit?: number | undefined;
    };

/** Who made the call. */
export type ToolCallSource =
  | { kind: "direct" }
  /** Found in a plain-text message of the model. */
  | { kind: "direct_plaintext_message" }
  /** A script in a code-mode cell; its result goes to the script. */
  | { kind: "code_mode"; cellId: string; runtimeToolCallId?: string | undefined };

/** Identifies a call of a session; a call id may come again in another turn. */
export interface CallReference {
  turnId: string;
  callId: string;
}

/** One call of a tool. */
export interface ToolCall extends CallReference, ToolName {
  /** What the tool is called with. */
  payload: ToolPayload;
  /** Who made the call. Absent: the model, directly. */
  source?: ToolCallSource | undefined;
}

/** The payload of a function call: a text as it is, anything else as its JSON. */
export function functionPayload(args: unknown): ToolPayload & { kind: "function" } {
  return {
    kind: "function",
    arguments: typeof args === "string" ? args : JSON.stringify(args),
  };
}

/** A reference as a key of a map. */
export function keyOf(call: CallReference): string {
  return JSON.stringify([call.turnId, call.callId]);
}

/** A tool name as a key of a map. */
export function keyOfName(name: ToolName): string {
  return JSON.stringify([name.namespace ?? null, name.name]);
}

export function wireReference(call: CallReference): outcome.CallReference {
  return { turnId: call.turnId, callId: call.callId };
}

export function readReference(read: outcome.CallReference | undefined): CallReference {
  return { turnId: read?.turnId ?? "", callId: read?.callId ?? "" };
}

export function wireToolName(name: ToolName): wire.ToolName {
  return { name: name.name, namespace: name.namespace };
}

export function readToolName(read: wire.ToolName | undefined): ToolName {
  const name = read?.name ?? "";
  return read?.namespace === undefined ? { name } : { name, namespace: read.namespace };
}

export function wireCall(call: ToolCall): wire.ToolCall {
  return wire.ToolCall.create({
    callId: call.callId,
    turnId: call.turnId,
    toolName: wireToolName(call),
    payload: { payload: wirePayload(call.payload) },
    ...(call.source && { source: { source: wireSource(call.source) } }),
  });
}

export function readCall(read: wire.ToolCall | undefined): ToolCall {
  const source = readSource(read?.source);
  return {
    callId: read?.callId ?? "",
    turnId: read?.turnId ?? "",
    ...readToolName(read?.toolName),
    payload: readPayload(read?.payload),
    ...(source && { source }),
  };
}

function wirePayload(payload: ToolPayload): wire.ToolPayload["payload"] {
  switch (payload.kind) {
    case "function":
      return { $case: "function", value: { arguments: Buffer.from(payload.arguments) } };
    case "custom":
      return { $case: "custom", value: { input: Buffer.from(payload.input) } };
    case "tool_search":
      return {
        $case: "toolSearch",
        value: {
          query: payload.query,
          limit: payload.limit === undefined ? undefined : BigInt(payload.limit),
        },
      };
  }
}

function readPayload(read: wire.ToolPayload | undefined): ToolPayload {
  switch (read?.payload?.$case) {
    case "custom":
      return { kind: "custom", input: read.payload.value.input.toString() };
    case "toolSearch": {
      const { query, limit } = read.payload.value;
      return { kind: "tool_search", query, ...(limit !== undefined && { limit: Number(limit) }) };
    }
    default:
      return { kind: "function", arguments: read?.payload?.value.arguments.toString() ?? "" };
  }
}

function wireSource(source: ToolCallSource): wire.ToolCallSource["source"] {
  switch (source.kind) {
    case "direct":
      return { $case: "direct", value: {} };
    case "direct_plaintext_message":
      return { $case: "directPlaintextMessage", value: {} };
    case "code_mode":
      return {
        $case: "codeMode",
        value: { cellId: source.cellId, runtimeToolCallId: source.runtimeToolCallId ?? "" },
      };
  }
}

function readSource(read: wire.ToolCallSource | undefined): ToolCallSource | undefined {
  switch (read?.source?.$case) {
    case "codeMode":
      return { kind: "code_mode", ...read.source.value };
    case "directPlaintextMessage":
      return { kind: "direct_plaintext_message" };
    case "direct":
      return { kind: "direct" };
    default:
      return undefined;
  }
}
