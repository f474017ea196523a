/** Tools: what an agent declares, and the functions that run them. */
import { keyOfName, type ToolCall, type ToolName, wireToolName } from "./call.js";
import { wireDuration } from "./durations.js";
import {
  type CancelMode,
  cancelModes,
  type HookKind,
  hookKinds,
  type PayloadKind,
  payloadKinds,
} from "./enums.js";
import { RespondToModelError, textOf } from "./errors.js";
import { ToolDeclaration } from "./gen/sidecall/v1/runtime_stream.js";
import type { ToolOutput } from "./output.js";

/** A call that the sidecar wants a handler to run. */
export class Invocation {
  constructor(
    /** The call, with the payload that a hook may have rewritten. */
    readonly call: ToolCall,
    /** A hook rewrote the payload. */
    readonly rewritten: boolean,
    /** The position of the call among all calls of the session, from 1. */
    readonly dispatchOrder: number,
    /** Aborts when the call is; its reason is a `CallAbortedError`. */
    readonly signal: AbortSignal,
  ) {}

  /**
   * The arguments of a function call, parsed; blank ones are an empty object. What they look
   * like is the model's business: check them before you trust the type.
   *
   * @throws RespondToModelError when they are not JSON: the model reads why, and may try again.
   */
  arguments<T = unknown>(): T {
    const text = this.call.payload.kind === "function" ? this.call.payload.arguments : "";
    try {
      return JSON.parse(text.trim() === "" ? "{}" : text) as T;
    } catch (error) {
      throw new RespondToModelError(`failed to parse function arguments: ${textOf(error)}`);
    }
  }
}

/**
 * Runs a tool. What it returns is the call's output; a text is an output of that text. A
 * `RespondToModelError` is read by the model, a `FatalError` ends the turn, and anything else
 * that is thrown is a defect of the tool (SPEC G7; see `AgentOptions.unhandledErrors`).
 *
 * After an abort the answer is dropped; only that the handler has ended counts.
 */
export type Handler = (
  invocation: Invocation,
) => ToolOutput | string | Promise<ToolOutput | string>;

/** A tool of the agent. */
export interface Tool extends ToolName {
  /** Runs it. */
  handler: Handler;
  /** What hooks see of its calls. Absent: the flat name and the parsed arguments. */
  hookKind?: HookKind | undefined;
  /** The payloads it takes. Absent: function and tool search. */
  payloadKinds?: readonly PayloadKind[] | undefined;
  /** It may run beside others that may; all others run alone. */
  supportsParallelCalls?: boolean | undefined;
  /** It is not shown to the model; runs alone. */
  hidden?: boolean | undefined;
  /** It cannot run yet; its calls wait until `Agent.updateTools` says that it can. */
  notReady?: boolean | undefined;
  /** What a cancel does. Absent: the call ends at once, the handler is told to stop. */
  cancelMode?: CancelMode | undefined;
  /** How long its teardown may take, in milliseconds. Absent: 10 s. */
  teardownTimeoutMs?: number | undefined;
  /** How long a call may take in all, in milliseconds. Absent: no limit. */
  callTimeoutMs?: number | undefined;
}

/** An agent's tools by name. */
export type ToolTable = ReadonlyMap<string, Tool>;

export function toolTable(tools: Iterable<Tool>): ToolTable {
  return new Map(Array.from(tools, (tool) => [keyOfName(tool), tool]));
}

/** The tools with some added or replaced, and some taken away. */
export function changedTools(
  tools: ToolTable,
  upsert: readonly Tool[],
  remove: readonly ToolName[],
): ToolTable {
  const gone = new Set(remove.map(keyOfName));
  const kept = [...tools.values()].filter((tool) => !gone.has(keyOfName(tool)));
  return toolTable([...kept, ...upsert]);
}

export function declareTool(tool: Tool): ToolDeclaration {
  return ToolDeclaration.create({
    toolName: wireToolName(tool),
    hookKind: hookKinds.wire(tool.hookKind),
    payloadKinds: tool.payloadKinds?.map((kind) => payloadKinds.wire(kind)) ?? [],
    supportsParallelCalls: tool.supportsParallelCalls ?? false,
    hidden: tool.hidden ?? false,
    notReady: tool.notReady ?? false,
    cancelMode: cancelModes.wire(tool.cancelMode),
    teardownTimeout: wireDuration(tool.teardownTimeoutMs),
    callTimeout: wireDuration(tool.callTimeoutMs),
  });
}
