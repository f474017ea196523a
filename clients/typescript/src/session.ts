/** Sessions and their calls, as an operator sees them. */
import {
  type CallReference,
  readReference,
  readToolName,
  type ToolName,
  wireReference,
} from "./call.js";
import {
  type CallPhase,
  type CancelDisposition,
  callPhases,
  cancelDispositions,
  type LifecycleFinish,
  type PayloadKind,
  payloadKinds,
  type SessionState,
  sessionStates,
  type ToolMode,
  toolModes,
} from "./enums.js";
import type * as outcomes from "./gen/sidecall/v1/call_outcome.js";
import type * as stream from "./gen/sidecall/v1/runtime_stream.js";
import type * as wire from "./gen/sidecall/v1/session_service.js";
import {
  type CallDurations,
  type Ending,
  readDurations,
  readEnding,
  readLifecycle,
} from "./outcome.js";

/** How a session stands. */
export interface Session {
  sessionId: string;
  state: SessionState;
  /** The tool mode in effect. */
  effectiveToolMode: ToolMode;
  createTime: Date | undefined;
  /** Calls without an outcome. */
  openCalls: number;
  /** Calls that have ended since the session began. */
  terminalCalls: number;
  /** Content from outside has marked the session. */
  externalContextMarked: boolean;
  /** Bytes of all records that the recorder holds. */
  heldRecordBytes: number;
  /** What the recorder lost since the session began, by cause, where it lost anything. */
  recorderLosses: Readonly<Record<string, number>>;
  /** Hooks that failed open. */
  hooksFailedOpen: number;
  /** Results that came after their call's end, and were dropped. */
  lateResults: number;
}

/** A call, without its arguments and output. */
export interface CallStatus extends CallReference, ToolName {
  payloadKind: PayloadKind;
  /** The cell of a script's call. Absent: the model made it. */
  cellId?: string;
  /** The position of the call among all calls of the session, from 1. */
  dispatchOrder: number;
  phase: CallPhase;
  /** How it ended. Absent while it is open. */
  ending?: Ending & { lifecycle: LifecycleFinish; handlerExecuted: boolean };
  submitTime: Date | undefined;
  durations: CallDurations;
}

/** Which calls to cancel: these, a turn's open ones, or all open ones. */
export type CancelTarget = { calls: readonly CallReference[] } | { turnId: string } | { all: true };

/** A call and what a cancel did to it. */
export interface CancelledCall extends CallReference {
  disposition: CancelDisposition;
}

export function wireTarget(target: CancelTarget): stream.CancelTarget {
  if ("all" in target) {
    return { target: { $case: "all", value: {} } };
  }
  return {
    target:
      "turnId" in target
        ? { $case: "turnId", value: target.turnId }
        : { $case: "calls", value: { calls: target.calls.map(wireReference) } },
  };
}

export function readCancelled(read: readonly stream.CancelledCall[]): CancelledCall[] {
  return read.map(({ call, disposition }) => ({
    ...readReference(call),
    disposition: cancelDispositions.plain(disposition),
  }));
}

export function readSession(read: wire.Session | undefined): Session {
  return {
    sessionId: read?.sessionId ?? "",
    state: sessionStates.plain(read?.state ?? 0),
    effectiveToolMode: toolModes.plain(read?.effectiveToolMode ?? 0),
    createTime: read?.createTime,
    openCalls: read?.openCalls ?? 0,
    terminalCalls: Number(read?.terminalCalls ?? 0n),
    externalContextMarked: read?.externalContextMarked ?? false,
    heldRecordBytes: Number(read?.recorderSizes?.heldBytes ?? 0n),
    recorderLosses: Object.fromEntries(
      Object.entries(read?.recorderLosses ?? {})
        .filter(([, count]) => count > 0n)
        .map(([cause, count]) => [cause, Number(count)]),
    ),
    hooksFailedOpen: Number(read?.hooksFailedOpen ?? 0n),
    lateResults: Number(read?.lateResults ?? 0n),
  };
}

export function readCallStatus(read: outcomes.ToolCallStatus | undefined): CallStatus {
  return {
    ...readReference(read?.call),
    ...readToolName(read?.toolName),
    payloadKind: payloadKinds.plain(read?.payloadKind ?? 0),
    ...(read?.cellId && { cellId: read.cellId }),
    dispatchOrder: Number(read?.dispatchOrder ?? 0n),
    phase: callPhases.plain(read?.phase ?? 0),
    ...(read?.outcome && {
      ending: { ...readEnding(read.outcome), ...readLifecycle(read.outcome) },
    }),
    submitTime: read?.submitTime,
    durations: readDurations(read?.durations),
  };
}
