/** The client of sidecall, the tool-call sidecar for AI agents. */
export { Agent, type AgentOptions, type DetachOptions } from "./agent.js";
export {
  type CallReference,
  functionPayload,
  type ToolCall,
  type ToolCallSource,
  type ToolName,
  type ToolPayload,
} from "./call.js";
export { type KeptCall, type RequestOptions, SidecallClient } from "./client.js";
export { COLLECTION_BUFFER_BYTES, HeadTailBuffer } from "./collection.js";
export {
  defaultAddress,
  ENDPOINT_VARIABLE,
  type EndpointOptions,
  TOKEN_VARIABLE,
} from "./endpoint.js";
export type {
  AbortProgress,
  AbortReason,
  CallPhase,
  CancelDisposition,
  CancelMode,
  HookKind,
  HookPoint,
  ImageDetail,
  LifecycleFinish,
  PayloadKind,
  PostHookBlock,
  RecordDisposition,
  ResumeOutcome,
  SessionState,
  TeardownState,
  ToolMode,
  View,
} from "./enums.js";
export {
  CallAbortedError,
  FatalError,
  type FieldViolation,
  RefusedError,
  RespondToModelError,
  SessionLostError,
  SidecallError,
  SpawnError,
  TurnFatalError,
} from "./errors.js";
export type { Hook, HookInput, Verdict } from "./hook.js";
export type { SessionOptions, ToolModeOptions, TurnOptions } from "./options.js";
export {
  type CallDurations,
  type CallEnd,
  type Ending,
  type HookPayload,
  type HookQuestion,
  type Outcome,
  type Projections,
  type PromptOutput,
  promptOutput,
  type ResponseItem,
  throwIfFatal,
} from "./outcome.js";
export type {
  AbortedOutput,
  ApplyPatchOutput,
  ContentItem,
  ExecCommandOutput,
  FunctionOutput,
  JsonOutput,
  McpOutput,
  McpRawOutput,
  ToolOutput,
  ToolSearchOutput,
  TruncationPolicy,
} from "./output.js";
export type { DispatchOptions, PendingCall } from "./pending.js";
export type { ProjectedFailure, ToolFailure } from "./projection.js";
export type { MissingOutput, NormalizedPrompt, OutlineEntry } from "./prompt.js";
export type { Attachment, AttachRequest } from "./recorder.js";
export type { RuntimeInfo } from "./runtime-info.js";
export type { CallStatus, CancelledCall, CancelTarget, Session } from "./session.js";
export type { SessionKey } from "./session-stream.js";
export {
  BINARY_VARIABLE,
  Sidecar,
  type SidecarExit,
  type SpawnOptions,
  spawn,
} from "./spawn.js";
export type { Handler, Invocation, Tool } from "./tool.js";
export type { Turn } from "./turn.js";
export type { UnhandledErrors } from "./work.js";
