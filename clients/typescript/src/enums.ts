/**
 * The plain names of the contract's enums: the value's name without its prefix, in small letters.
 */
import * as callOutcome from "./gen/sidecall/v1/call_outcome.js";
import * as stream from "./gen/sidecall/v1/runtime_stream.js";
import * as sessions from "./gen/sidecall/v1/session_service.js";
import * as toolCall from "./gen/sidecall/v1/tool_call.js";
import * as toolOutput from "./gen/sidecall/v1/tool_output.js";

/** The shape in which a model calls a tool. */
export type PayloadKind = "function" | "custom" | "tool_search";
/** How tools are offered to the model. */
export type ToolMode = "direct" | "code_mode" | "code_mode_only";
/** A view that can be made of an outcome. */
export type View = "log" | "response_item" | "response_item_json" | "hook" | "code_mode";
/** How closely a model looks at an image. */
export type ImageDetail = "auto" | "low" | "high" | "original";
/** What hooks see of a tool's calls. */
export type HookKind = "default" | "shell" | "apply_patch" | "mcp" | "none";
/** Where in a call a hook runs: before the handler, or after it succeeded. */
export type HookPoint = "pre_tool_use" | "post_tool_use";
/** What a cancel does: end the call at once, or when its handler has torn down. */
export type CancelMode = "abort" | "wait_for_teardown";
/** Why a call was aborted. */
export type AbortReason = "cancelled" | "timed_out" | "session_lost" | "drained" | "turn_fatal";
/** How far an aborted call had got. */
export type AbortProgress = "not_started" | "handler_interrupted" | "handler_finished" | "unknown";
/** What became of the teardown of an aborted call. */
export type TeardownState = "none" | "done" | "timed_out" | "unknown";
/** What happened to a call; `none`: it never started. */
export type LifecycleFinish = "none" | "completed" | "blocked" | "failed" | "aborted";
/** What a cancel did to a call. */
export type CancelDisposition = "accepted" | "already_terminal" | "unknown";
/** What a post hook's block does. */
export type PostHookBlock = "replace_output" | "reject_result";
/** The life of a session. */
export type SessionState = "open" | "attached" | "detached" | "closed";
/** Where a call stands. */
export type CallPhase =
  | "waiting_for_readiness"
  | "queued"
  | "pre_hook"
  | "handler"
  | "post_hook"
  | "teardown"
  | "terminal";
/** How an attachment to a session began. */
export type ResumeOutcome = "new" | "resumed" | "gap";
/** What became of the record of a call. */
export type RecordDisposition =
  | "recorded"
  | "marked"
  | "dropped"
  | "skipped"
  | "disabled"
  | "duplicate";

/** One enum in both spellings. */
class EnumNames<Plain extends string> {
  readonly #generated: Record<string, string | number>;
  readonly #prefix: string;
  readonly #unspecified: Plain;

  constructor(generated: object, prefix: string, unspecified: Plain) {
    this.#generated = generated as Record<string, string | number>;
    this.#prefix = prefix;
    this.#unspecified = unspecified;
  }

  /** The plain name of a value; the one for "not said" where the value is 0 or not known. */
  plain(value: number): Plain {
    const name = this.#generated[value];
    if (value === 0 || typeof name !== "string") {
      return this.#unspecified;
    }
    return name.slice(this.#prefix.length).toLowerCase() as Plain;
  }

  /** The value of a name; 0 where it is not said. A wrong name gives a value the server refuses. */
  wire(name: Plain | undefined): number {
    if (name === undefined) {
      return 0;
    }
    const value = this.#generated[this.#prefix + name.toUpperCase()];
    return typeof value === "number" ? value : -1;
  }
}

export const payloadKinds = new EnumNames<PayloadKind>(
  toolCall.PayloadKind,
  "PAYLOAD_KIND_",
  "function",
);
export const toolModes = new EnumNames<ToolMode>(toolCall.ToolMode, "TOOL_MODE_", "direct");
export const views = new EnumNames<View>(toolOutput.View, "VIEW_", "response_item_json");
export const imageDetails = new EnumNames<ImageDetail>(
  toolOutput.ImageDetail,
  "IMAGE_DETAIL_",
  "auto",
);
export const hookKinds = new EnumNames<HookKind>(stream.HookKind, "HOOK_KIND_", "default");
export const hookPoints = new EnumNames<HookPoint>(stream.HookPoint, "HOOK_POINT_", "pre_tool_use");
export const cancelModes = new EnumNames<CancelMode>(stream.CancelMode, "CANCEL_MODE_", "abort");
export const abortReasons = new EnumNames<AbortReason>(
  callOutcome.AbortReason,
  "ABORT_REASON_",
  "cancelled",
);
export const abortProgresses = new EnumNames<AbortProgress>(
  callOutcome.AbortProgress,
  "ABORT_PROGRESS_",
  "unknown",
);
export const teardownStates = new EnumNames<TeardownState>(
  callOutcome.TeardownState,
  "TEARDOWN_STATE_",
  "none",
);
export const lifecycleFinishes = new EnumNames<LifecycleFinish>(
  callOutcome.LifecycleFinish,
  "LIFECYCLE_FINISH_",
  "none",
);
export const cancelDispositions = new EnumNames<CancelDisposition>(
  stream.CancelDisposition,
  "CANCEL_DISPOSITION_",
  "unknown",
);
export const postHookBlocks = new EnumNames<PostHookBlock>(
  sessions.PostHookBlock,
  "POST_HOOK_BLOCK_",
  "replace_output",
);
export const sessionStates = new EnumNames<SessionState>(
  sessions.SessionState,
  "SESSION_STATE_",
  "open",
);
export const callPhases = new EnumNames<CallPhase>(callOutcome.CallPhase, "CALL_PHASE_", "queued");
export const resumeOutcomes = new EnumNames<ResumeOutcome>(
  stream.ResumeOutcome,
  "RESUME_OUTCOME_",
  "new",
);
export const recordDispositions = new EnumNames<RecordDisposition>(
  sessions.RecordDisposition,
  "RECORD_DISPOSITION_",
  "recorded",
);
