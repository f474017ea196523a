/** How a call ended, and the views of it. */
import { type CallReference, readReference, type ToolCall } from "./call.js";
import { milliseconds } from "./durations.js";
import {
  type AbortProgress,
  type AbortReason,
  abortProgresses,
  abortReasons,
  type HookPoint,
  type LifecycleFinish,
  lifecycleFinishes,
  type PayloadKind,
  type TeardownState,
  teardownStates,
} from "./enums.js";
import { TurnFatalError } from "./errors.js";
import type * as outcomes from "./gen/sidecall/v1/call_outcome.js";
import type { CallCompleted } from "./gen/sidecall/v1/runtime_stream.js";
import type * as output from "./gen/sidecall/v1/tool_output.js";
import { type ContentItem, readContentItem } from "./output.js";

/** Where a call's time went, in milliseconds; undefined: that part never happened. */
export interface CallDurations {
  /** From submission to the start of the handler. */
  dispatchMs: number | undefined;
  /** From the start of the handler to its answer. */
  handlerMs: number | undefined;
  /** From submission to the end. */
  totalMs: number | undefined;
}

/** What a hook gets to see of a call. */
export interface HookPayload {
  /** The name that hooks match on. */
  toolName: string;
  /** Other names that hooks may match on. */
  matcherAliases: readonly string[];
  /** The id that hooks see. */
  toolUseId: string;
  /** What the tool is or was called with, as JSON text. */
  toolInputJson: string;
  /** What the tool answered, as JSON text. Absent before the handler ran. */
  toolResponseJson?: string;
}

/** What the model reads: an item of its next request. */
export type ResponseItem =
  | {
      type: "function_call_output" | "custom_tool_call_output";
      callId: string;
      /** A plain text, or items. */
      output: string | readonly ContentItem[];
      /** Whether the tool succeeded. Absent: not said. */
      success?: boolean;
    }
  /** The tools found, each as JSON text. */
  | { type: "tool_search_output"; callId: string; toolsJson: readonly string[] }
  /** The CallToolResult as JSON text. */
  | { type: "mcp_tool_call_output"; callId: string; outputJson: string };

/** The views of one output. One that was not asked for, or does not exist, is absent. */
export interface Projections {
  /** For the log: at most 2 KiB and 64 lines. */
  logPreview?: string;
  /** For the model. */
  responseItem?: ResponseItem;
  /** For the model, as JSON text that can be put into a request as it is. */
  responseItemJson?: string;
  /** For a post hook. */
  hook?: HookPayload;
  /** For a script: JSON text. */
  codeModeJson?: string;
  /** The call counts as a success in the log. */
  successForLogging: boolean;
  /** The success the response item carries. Absent: not said. */
  responseSuccess?: boolean;
  /** The output holds content from outside. */
  containsExternalContext: boolean;
}

/** What every outcome says. */
export interface CallEnd {
  /** The call as it was dispatched. */
  call: ToolCall;
  /** The position of the call among all calls of the session, from 1. */
  dispatchOrder: number;
  /** What happened to the call. It proves nothing about what the model was told. */
  lifecycle: LifecycleFinish;
  /** The handler had been started. */
  handlerExecuted: boolean;
  /** The views that were asked for. */
  projections: Projections;
  /** Texts of hooks for the conversation: developer messages, in order, before the output. */
  additionalContexts: readonly string[];
  durations: CallDurations;
}

/** The four ways in which a call ends. */
export type Ending =
  /** The handler returned an output. */
  | { kind: "completed"; success: boolean }
  /** It failed with a text that the model, or the script, may read. */
  | { kind: "model_failure"; message: string }
  /** It failed and ends its turn; the model reads nothing of it. */
  | { kind: "fatal"; message: string }
  /** It was aborted; the message is what the model or the script reads. */
  | {
      kind: "aborted";
      message: string;
      reason: AbortReason;
      progress: AbortProgress;
      teardown: TeardownState;
    };

/** The one outcome of a call. */
export type Outcome = CallEnd & Ending;

/**
 * Gives a fatal outcome as an error; all others stay what they are.
 *
 * @throws TurnFatalError when the outcome is fatal.
 */
export function throwIfFatal<T extends Outcome>(outcome: T): Exclude<T, { kind: "fatal" }> {
  if (outcome.kind === "fatal") {
    throw new TurnFatalError(outcome.message);
  }
  return outcome as Exclude<T, { kind: "fatal" }>;
}

/** A tool's output in a prompt, without its content. */
export interface PromptOutput {
  /** The kind of call that it answers. */
  kind: PayloadKind;
  /** The id of that call. Absent: an output without id carries no records. */
  callId?: string | undefined;
  /** The turn of that call. Absent: not known. */
  turnId?: string | undefined;
  /** Unique among all outputs of the session. Give it for all outputs or for none. */
  itemId?: string | undefined;
}

/** How the output of a call stands in the outline of a prompt. */
export function promptOutput(call: ToolCall): PromptOutput {
  return { kind: call.payload.kind, callId: call.callId, turnId: call.turnId };
}

/** What a hook is asked, without the signal. */
export interface HookQuestion {
  call: CallReference;
  point: HookPoint;
  payload: HookPayload;
}

export function readOutcome(call: ToolCall, read: CallCompleted): Outcome {
  return {
    call,
    dispatchOrder: Number(read.dispatchOrder),
    ...readLifecycle(read.outcome),
    projections: readProjections(read.projections),
    additionalContexts: read.additionalContexts,
    durations: readDurations(read.durations),
    ...readEnding(read.outcome),
  };
}

export function readLifecycle(read: outcomes.CallOutcome | undefined) {
  return {
    lifecycle: lifecycleFinishes.plain(read?.lifecycle ?? 0),
    handlerExecuted: read?.handlerExecuted ?? false,
  };
}

export function readEnding(read: outcomes.CallOutcome | undefined): Ending {
  const ending = read?.outcome;
  switch (ending?.$case) {
    case "modelFailure":
      return { kind: "model_failure", message: ending.value.message };
    case "fatal":
      return { kind: "fatal", message: ending.value.message };
    case "aborted":
      return {
        kind: "aborted",
        message: ending.value.message,
        reason: abortReasons.plain(ending.value.reason),
        progress: abortProgresses.plain(ending.value.progress),
        teardown: teardownStates.plain(ending.value.teardown),
      };
    default:
      return { kind: "completed", success: ending?.value.success ?? false };
  }
}

export function readDurations(read: outcomes.CallDurations | undefined): CallDurations {
  return {
    dispatchMs: milliseconds(read?.dispatch),
    handlerMs: milliseconds(read?.handler),
    totalMs: milliseconds(read?.total),
  };
}

export function readProjections(read: output.ToolOutputProjections | undefined): Projections {
  const responseItem = readResponseItem(read?.responseItem);
  return {
    ...(read?.log && { logPreview: read.log.preview }),
    ...(responseItem && { responseItem }),
    ...(read?.responseItemJson && { responseItemJson: read.responseItemJson.toString() }),
    ...(read?.hook && { hook: readHookPayload(read.hook) }),
    ...(read?.codeModeJson && { codeModeJson: read.codeModeJson.toString() }),
    successForLogging: read?.successForLogging ?? false,
    ...(read?.responseSuccess !== undefined && { responseSuccess: read.responseSuccess }),
    containsExternalContext: read?.containsExternalContext ?? false,
  };
}

export function readHookPayload(read: output.HookPayload | undefined): HookPayload {
  return {
    toolName: read?.toolName ?? "",
    matcherAliases: read?.matcherAliases ?? [],
    toolUseId: read?.toolUseId ?? "",
    toolInputJson: read?.toolInputJson.toString() ?? "",
    ...(read?.toolResponseJson && { toolResponseJson: read.toolResponseJson.toString() }),
  };
}

export function readQuestion(
  call: outcomes.CallReference | undefined,
  point: HookPoint,
  payload: output.HookPayload | undefined,
): HookQuestion {
  return { call: readReference(call), point, payload: readHookPayload(payload) };
}

function readResponseItem(read: output.ResponseItem | undefined): ResponseItem | undefined {
  switch (read?.item?.$case) {
    case "functionCallOutput":
      return bodyItem("function_call_output", read.item.value);
    case "customToolCallOutput":
      return bodyItem("custom_tool_call_output", read.item.value);
    case "toolSearchOutput":
      return {
        type: "tool_search_output",
        callId: read.item.value.callId,
        toolsJson: read.item.value.toolsJson.map(String),
      };
    case "mcpToolCallOutput":
      return {
        type: "mcp_tool_call_output",
        callId: read.item.value.callId,
        outputJson: read.item.value.outputJson.toString(),
      };
    default:
      return undefined;
  }
}

function bodyItem(
  type: "function_call_output" | "custom_tool_call_output",
  read: output.FunctionCallOutputItem | output.CustomToolCallOutputItem,
): ResponseItem {
  const body = read.output?.body;
  return {
    type,
    callId: read.callId,
    output:
      body?.$case === "items"
        ? body.value.items.map(readContentItem)
        : (body?.value.toString() ?? ""),
    ...(read.success !== undefined && { success: read.success }),
  };
}
