/** What a prompt needs before it can be sent. */
import { type PayloadKind, payloadKinds } from "./enums.js";
import {
  NormalizePromptRequest,
  type NormalizePromptResponse,
} from "./gen/sidecall/v1/runtime_service.js";

/** A call or an output in a prompt. Everything else is left out. */
export interface OutlineEntry {
  type: "call" | "output";
  /** The kind of the call, or of the call that the output answers. */
  kind: PayloadKind;
  callId: string;
  /** A tool search that the provider ran itself: it stands alone. */
  serverExecuted?: boolean | undefined;
}

/** An output for a call that has none. */
export interface MissingOutput {
  /** The position of the call in the outline, from 0; the output goes right after it. */
  entryIndex: number;
  responseItemJson: string;
}

/** What has to be put in and taken out. */
export interface NormalizedPrompt {
  missingOutputs: readonly MissingOutput[];
  /** Positions of outputs that answer no call. */
  orphanEntryIndexes: readonly number[];
}

export function wireOutline(entries: readonly OutlineEntry[]): NormalizePromptRequest {
  return NormalizePromptRequest.create({
    entries: entries.map(({ type, kind, callId, serverExecuted = false }) => ({
      entry: { $case: type, value: { kind: payloadKinds.wire(kind), callId, serverExecuted } },
    })),
  });
}

export function readNormalizedPrompt(read: NormalizePromptResponse): NormalizedPrompt {
  return {
    missingOutputs: read.missingOutputs.map(({ entryIndex, responseItemJson }) => ({
      entryIndex,
      responseItemJson: responseItemJson.toString(),
    })),
    orphanEntryIndexes: read.orphanEntryIndexes,
  };
}
