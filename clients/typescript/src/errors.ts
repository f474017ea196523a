/** Everything this library throws, and the two errors by which a handler fails on purpose. */
import { status } from "@grpc/grpc-js";
import type { AbortReason } from "./enums.js";
import { ErrorReason } from "./gen/sidecall/v1/errors.js";
import type { FrameError } from "./gen/sidecall/v1/runtime_stream.js";
import { readStatusDetails } from "./status-details.js";

/** A field that cannot be used. */
export interface FieldViolation {
  /** Its path in the request or frame. */
  field: string;
  /** What was expected. */
  description: string;
}

/** The root of the tree. */
export class SidecallError extends Error {
  override name = "SidecallError";
}

/** The sidecar refused a request, or one call that was dispatched; or it cannot be reached. */
export class RefusedError extends SidecallError {
  override name = "RefusedError";
  /** The reason's name (`SESSION_NOT_FOUND`); the status code's where the sidecar gave none. */
  readonly reason: string;
  /** The gRPC status code; undefined for a frame of the stream, which has none. */
  readonly code: number | undefined;
  /** The fields that cannot be used. */
  readonly fieldViolations: readonly FieldViolation[];
  /** How long to wait before another try, in milliseconds, where the sidecar says so. */
  readonly retryDelayMs: number | undefined;

  constructor(
    reason: string,
    message: string,
    more: {
      code?: number | undefined;
      fieldViolations?: readonly FieldViolation[];
      retryDelayMs?: number | undefined;
    } = {},
  ) {
    super(message);
    this.reason = reason;
    this.code = more.code;
    this.fieldViolations = more.fieldViolations ?? [];
    this.retryDelayMs = more.retryDelayMs;
  }
}

/**
 * The session is gone, and all its open calls with it; what their handlers did is not undone.
 * `cause` is what came last, if anything.
 */
export class SessionLostError extends SidecallError {
  override name = "SessionLostError";
  /**
   * Why: a reason of the sidecar (`SESSION_NOT_FOUND`), `SERVER_RESTARTED`, `RESUME_GRACE_OVER`
   * when it could not be reached in time, `DETACHED` after the agent left, `PROTOCOL_VIOLATED` or
   * `CLIENT_FAULT` for a defect of the server or of this library.
   */
  readonly reason: string;

  constructor(reason: string, options?: ErrorOptions) {
    const cause = options?.cause instanceof Error ? `: ${options.cause.message}` : "";
    super(`the session is lost (${reason})${cause}`, options);
    this.reason = reason;
  }
}

/** A call ended its turn with a fatal error. `throwIfFatal` makes it of an outcome. */
export class TurnFatalError extends SidecallError {
  override name = "TurnFatalError";
}

/** The sidecar could not be started. */
export class SpawnError extends SidecallError {
  override name = "SpawnError";
}

/** The reason of a handler's or hook's aborted signal. */
export class CallAbortedError extends SidecallError {
  override name = "CallAbortedError";

  constructor(
    /** Why the call was aborted. */
    readonly reason: AbortReason,
    /** The call waits until the handler has ended. */
    readonly waitForTeardown = false,
    /** How long it waits, in milliseconds. */
    readonly teardownTimeoutMs?: number | undefined,
  ) {
    super(`the call was aborted: ${reason}`);
  }
}

/** Thrown by a handler: a failure that the model may read and react to. */
export class RespondToModelError extends SidecallError {
  override name = "RespondToModelError";
}

/** Thrown by a handler: a failure that ends the turn. */
export class FatalError extends SidecallError {
  override name = "FatalError";
}

/** What of a failed rpc is read; `ServiceError` and the `StatusObject` of grpc-js have it. */
export interface RpcStatus {
  code: number;
  details: string;
  metadata: { get(key: string): (string | Buffer)[] };
}

/** The error of an rpc that failed. Anything that is not the status of an rpc stays as it is. */
export function errorOfStatus(error: unknown): unknown {
  if (!isRpcStatus(error)) {
    return error;
  }
  const details = readStatusDetails(error.metadata.get("grpc-status-details-bin")[0]);
  return new RefusedError(details.reason ?? status[error.code] ?? "UNKNOWN", error.details, {
    code: error.code,
    fieldViolations: details.fieldViolations,
    retryDelayMs: details.retryDelayMs,
  });
}

/** The error of a frame that was refused. */
export function errorOfFrame(frame: FrameError): RefusedError {
  const reason = (ErrorReason[frame.reason] ?? "ERROR_REASON_UNKNOWN").slice(
    "ERROR_REASON_".length,
  );
  return new RefusedError(reason, frame.message, { fieldViolations: frame.fieldViolations });
}

/** The text of whatever was thrown. */
export function textOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message || thrown.name : String(thrown);
}

function isRpcStatus(error: unknown): error is RpcStatus {
  return (
    typeof error === "object" &&
    error !== null &&
    "code" in error &&
    typeof error.code === "number" &&
    "details" in error &&
    "metadata" in error
  );
}
