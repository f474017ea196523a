/** Coming back to a session after its connection was lost. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Connection } from "./connection.js";
import { RefusedError, SessionLostError, SidecallError } from "./errors.js";

/** The first and the longest wait between two tries, in milliseconds. */
const BACKOFF_BASE_MS = 50;
const BACKOFF_MAX_MS = 2000;

/** Refusals after which no further try can succeed. */
const FINAL_REASONS: ReadonlySet<string> = new Set([
  "DRAINING",
  "HELLO_REQUIRED",
  "INVALID_FIELD",
  "MISSING_FIELD",
  "PROTOCOL_VERSION_UNSUPPORTED",
  "RESUME_TOKEN_INVALID",
  "SESSION_ATTACHED",
  "SESSION_CLOSED",
  "SESSION_NOT_FOUND",
  "TAKEN_OVER",
  "TOOL_LIMIT",
  "UNAUTHENTICATED",
  "UNIMPLEMENTED",
]);

/**
 * Tries to resume, at growing random intervals, until the grace is over.
 *
 * @param cause why the last connection ended.
 * @param graceMs how long the server waits for the agent.
 * @param signal gives up.
 * @throws SessionLostError when the session cannot be resumed any more.
 */
export async function reattach(
  open: () => Connection,
  cause: unknown,
  graceMs: number,
  signal: AbortSignal,
): Promise<Connection> {
  const deadline = performance.now() + graceMs;
  let last = cause;
  for (let backoffMs = BACKOFF_BASE_MS; ; backoffMs = Math.min(2 * backoffMs, BACKOFF_MAX_MS)) {
    throwIfFinal(last);
    const pauseMs = Math.random() * backoffMs;
    if (performance.now() + pauseMs > deadline) {
      throw new SessionLostError("RESUME_GRACE_OVER", { cause: last });
    }
    await sleep(pauseMs, undefined, { signal }).catch(() => {
      throw new SessionLostError("DETACHED", { cause: last });
    });
    const connection = open();
    try {
      await connection.opened;
      return connection;
    } catch (error) {
      last = error;
    }
  }
}

function throwIfFinal(error: unknown): void {
  if (error instanceof SessionLostError) {
    throw error;
  }
  if (error !== undefined && !(error instanceof SidecallError)) {
    throw new SessionLostError("CLIENT_FAULT", { cause: error }); // what was read is half done
  }
  if (error instanceof RefusedError && FINAL_REASONS.has(error.reason)) {
    throw new SessionLostError(error.reason, { cause: error });
  }
}
