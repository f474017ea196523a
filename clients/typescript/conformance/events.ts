/** What the suite reads: one event per line of stdout. */
import {
  type CallReference,
  type CancelledCall,
  type Outcome,
  RefusedError,
  SessionLostError,
} from "../src/index.js";

/** Writes an event. Fields that are undefined are left out. */
export function say(event: string, fields: object = {}): void {
  process.stdout.write(`${JSON.stringify({ event, ...fields })}\n`);
}

/** The ids of a call. */
export function keyFields({ turnId, callId }: CallReference) {
  return { turn_id: turnId, call_id: callId };
}

/** What went wrong. */
export function errorFields(error: unknown) {
  return {
    reason:
      error instanceof SessionLostError
        ? "SESSION_LOST"
        : error instanceof RefusedError
          ? error.reason
          : "",
    message: error instanceof Error ? error.message : String(error),
    field_violations: error instanceof RefusedError ? error.fieldViolations : [],
  };
}

export function cancelledFields({ disposition, ...call }: CancelledCall) {
  return { ...keyFields(call), disposition };
}

/** How a call ended. */
export function outcomeFields(outcome: Outcome) {
  return {
    ...keyFields(outcome.call),
    dispatch_order: outcome.dispatchOrder,
    lifecycle: outcome.lifecycle,
    handler_executed: outcome.handlerExecuted,
    additional_contexts: outcome.additionalContexts,
    ...endingFields(outcome),
    response_item_json: outcome.projections.responseItemJson,
    code_mode_json: outcome.projections.codeModeJson,
    log_preview: outcome.projections.logPreview,
  };
}

function endingFields(outcome: Outcome) {
  switch (outcome.kind) {
    case "completed":
      return { outcome: outcome.kind, success: outcome.success };
    case "aborted": {
      const { kind, message, reason, progress, teardown } = outcome;
      return { outcome: kind, message, reason, progress, teardown };
    }
    default:
      return { outcome: outcome.kind, message: outcome.message };
  }
}
