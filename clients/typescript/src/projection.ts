/** Failures of calls that an agent arbitrates by itself, and what they show. */
import { wireDuration } from "./durations.js";
import { type AbortReason, abortReasons } from "./enums.js";
import type {
  ProjectToolFailureRequest,
  ProjectToolFailureResponse,
} from "./gen/sidecall/v1/projection_service.js";
import { type Projections, readProjections } from "./outcome.js";

/** How a call failed. */
export type ToolFailure =
  /** An error that the model may read. */
  | { kind: "respond_to_model"; message: string }
  /** An error that ends the turn. */
  | { kind: "fatal"; message: string }
  /** The handler broke; what it said at the end. */
  | { kind: "unhandled"; message: string }
  | { kind: "unknown_tool" }
  | { kind: "payload_mismatch" }
  /** It was cancelled, so long after its submission. */
  | { kind: "aborted"; reason: AbortReason; elapsedMs?: number | undefined };

/** What the caller of a failed call gets to see. */
export interface ProjectedFailure {
  message: string;
  /** A direct call's fatal error: the turn ends, and there are no views. */
  endsTurn: boolean;
  /** The text of the exception that a script gets. */
  scriptError?: string;
  /** What answers a direct call. */
  projections: Projections;
}

export function wireFailure(
  failure: ToolFailure,
): NonNullable<ProjectToolFailureRequest["failure"]> {
  switch (failure.kind) {
    case "respond_to_model":
      return { $case: "respondToModel", value: Buffer.from(failure.message) };
    case "fatal":
      return { $case: "fatal", value: Buffer.from(failure.message) };
    case "unhandled":
      return { $case: "unhandled", value: Buffer.from(failure.message) };
    case "unknown_tool":
      return { $case: "unknownTool", value: {} };
    case "payload_mismatch":
      return { $case: "payloadMismatch", value: {} };
    case "aborted":
      return {
        $case: "aborted",
        value: {
          reason: abortReasons.wire(failure.reason),
          elapsed: wireDuration(failure.elapsedMs),
        },
      };
  }
}

export function readProjectedFailure(read: ProjectToolFailureResponse): ProjectedFailure {
  return {
    message: read.message,
    endsTurn: read.endsTurn,
    ...(read.scriptError !== undefined && { scriptError: read.scriptError }),
    projections: readProjections(read.projections),
  };
}
