/** The suite's commands, and what the client takes for them. */
import {
  type CallReference,
  type CancelMode,
  type CancelTarget,
  FatalError,
  type HookKind,
  type HookPoint,
  type PayloadKind,
  type PostHookBlock,
  type PromptOutput,
  RespondToModelError,
  type SessionOptions,
  type Tool,
  type ToolCall,
  type ToolMode,
  type ToolName,
  type ToolOutput,
  type ToolPayload,
  type Verdict,
  type View,
} from "../src/index.js";

/** The truncation policy of a command's output. */
const EXEC_POLICY = { tokens: 10_000 };

/** One line of stdin; `do` says which fields count. */
export interface Command extends CallKey {
  do: string;
  endpoint: string;
  options?: OptionFields;
  tools?: ToolFields[];
  hooks?: HookFields[];
  call: CallFields;
  views?: View[];
  timeout_ms?: number;
  result: ResultFields;
  point: "pre" | "post";
  verdict?: VerdictFields | null;
  contexts?: string[];
  calls?: CallKey[];
  upsert?: ToolFields[];
  remove?: ToolName[];
  cell_id: string;
  sampling_request_id: string;
  outputs: OutputFields[];
  close?: boolean;
}

export interface CallKey {
  turn_id: string;
  call_id: string;
}

interface OptionFields {
  post_hook_block?: PostHookBlock;
  model_tool_mode?: ToolMode;
  recorder_enabled?: boolean;
  mark_external_context?: boolean;
}

export interface ToolFields extends ToolName {
  parallel?: boolean;
  cancel_mode?: CancelMode;
  teardown_timeout_ms?: number;
  call_timeout_ms?: number;
  payload_kinds?: PayloadKind[];
  hook_kind?: HookKind;
  not_ready?: boolean;
}

export interface HookFields {
  point: "pre" | "post";
  matchers?: string[];
  timeout_ms?: number;
}

interface CallFields extends CallKey, ToolName {
  kind?: PayloadKind;
  arguments?: string;
  input?: string;
  query?: string;
  limit?: number;
  cell_id?: string;
}

interface ResultFields {
  text?: string;
  repeat?: number;
  success?: boolean;
  json?: string;
  mcp_raw?: string;
  exec?: string;
  exit_code?: number;
  hook_command?: string;
  external_context?: boolean;
  respond_to_model?: string;
  fatal?: string;
  raise?: string;
}

interface VerdictFields {
  rewrite?: string;
  block?: string;
  feedback?: string;
  raise?: string;
}

interface OutputFields extends Partial<CallKey> {
  kind: PayloadKind;
  item_id?: string;
}

/** The points by their short names. */
export const HOOK_POINTS: Record<HookFields["point"], HookPoint> = {
  pre: "pre_tool_use",
  post: "post_tool_use",
};

export function referenceOf(key: CallKey): CallReference {
  return { turnId: key.turn_id, callId: key.call_id };
}

export function optionsOf(fields: OptionFields): SessionOptions {
  return {
    postHookBlock: fields.post_hook_block,
    toolMode: { modelToolMode: fields.model_tool_mode },
    recorderEnabled: fields.recorder_enabled,
    markExternalContext: fields.mark_external_context,
  };
}

/** A tool without its handler. */
export function toolOf(fields: ToolFields): Omit<Tool, "handler"> {
  return {
    name: fields.name,
    namespace: fields.namespace,
    supportsParallelCalls: fields.parallel,
    cancelMode: fields.cancel_mode,
    teardownTimeoutMs: fields.teardown_timeout_ms,
    callTimeoutMs: fields.call_timeout_ms,
    payloadKinds: fields.payload_kinds,
    hookKind: fields.hook_kind,
    notReady: fields.not_ready,
  };
}

export function callOf(fields: CallFields): ToolCall {
  return {
    ...referenceOf(fields),
    name: fields.name,
    namespace: fields.namespace,
    payload: payloadOf(fields),
    source: fields.cell_id ? { kind: "code_mode", cellId: fields.cell_id } : undefined,
  };
}

function payloadOf(fields: CallFields): ToolPayload {
  switch (fields.kind) {
    case "custom":
      return { kind: "custom", input: fields.input ?? "" };
    case "tool_search":
      return { kind: "tool_search", query: fields.query ?? "", limit: fields.limit };
    default:
      return { kind: "function", arguments: fields.arguments ?? "" };
  }
}

export function targetOf(command: Command): CancelTarget {
  if (command.calls !== undefined) {
    return { calls: command.calls.map(referenceOf) };
  }
  return command.turn_id === undefined ? { all: true } : { turnId: command.turn_id };
}

export function promptOutputOf(fields: OutputFields): PromptOutput {
  return {
    kind: fields.kind,
    callId: fields.call_id,
    turnId: fields.turn_id,
    itemId: fields.item_id,
  };
}

/** What the handler returns, or throws. */
export function outputOf(result: ResultFields): ToolOutput {
  const containsExternalContext = result.external_context;
  if (result.respond_to_model !== undefined) {
    throw new RespondToModelError(result.respond_to_model);
  }
  if (result.fatal !== undefined) {
    throw new FatalError(result.fatal);
  }
  if (result.raise !== undefined) {
    throw new Error(result.raise);
  }
  if (result.json !== undefined) {
    const { success } = result;
    return { kind: "json", valueJson: result.json, success, containsExternalContext };
  }
  if (result.mcp_raw !== undefined) {
    return { kind: "mcp_raw", resultJson: result.mcp_raw, containsExternalContext };
  }
  if (result.exec !== undefined) {
    return {
      kind: "exec_command",
      output: Buffer.from(result.exec),
      exitCode: result.exit_code,
      hookCommand: result.hook_command,
      truncationPolicy: EXEC_POLICY,
      containsExternalContext,
    };
  }
  if (result.text !== undefined) {
    return {
      kind: "function",
      content: result.text.repeat(result.repeat ?? 1),
      success: result.success,
      containsExternalContext,
    };
  }
  throw new Error("the answer has no result");
}

/** What the hook answers, or throws. */
export function verdictOf({ verdict, contexts }: Command): Verdict {
  const additionalContexts = contexts ?? [];
  if (verdict?.raise !== undefined) {
    throw new Error(verdict.raise);
  }
  if (verdict?.rewrite !== undefined) {
    return { kind: "rewrite", inputJson: verdict.rewrite, additionalContexts };
  }
  if (verdict?.block !== undefined) {
    return { kind: "block", reason: verdict.block, additionalContexts };
  }
  if (verdict?.feedback !== undefined) {
    return { kind: "feedback", message: verdict.feedback, additionalContexts };
  }
  return { kind: "proceed", additionalContexts };
}
