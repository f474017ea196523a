/** Attaching the records of what was attempted to the outputs of a prompt. */
import { payloadKinds } from "./enums.js";
import {
  AttachExecutedToolCallsRequest,
  type AttachExecutedToolCallsResponse,
  ExecutedToolCallFormat,
} from "./gen/sidecall/v1/recorder_service.js";
import type { PromptOutput } from "./outcome.js";

/** A model request and the outputs of its prompt. */
export interface AttachRequest {
  /** Names the model request. A retry has the same name; a new request needs a new one. */
  samplingRequestId: string;
  /** The turn of the model request. Absent: not known. */
  turnId?: string | undefined;
  /** All tool outputs of the prompt, in its order, without anything else. */
  outputs: readonly PromptOutput[];
}

/** What goes to the key `executed_tool_calls` of an output's metadata. */
export interface Attachment {
  /** The position of the output in the request, from 0. */
  outputIndex: number;
  /** A JSON array. */
  executedToolCallsJson: string;
  /** Bytes the records add to the item on the wire, keys included. */
  metadataBytes: number;
}

export function wireAttachRequest(
  sessionId: string,
  request: AttachRequest,
): AttachExecutedToolCallsRequest {
  return AttachExecutedToolCallsRequest.create({
    sessionId,
    samplingRequestId: request.samplingRequestId,
    turnId: request.turnId ?? "",
    formats: [ExecutedToolCallFormat.EXECUTED_TOOL_CALL_FORMAT_JSON],
    outputs: request.outputs.map(({ kind, callId, turnId, itemId }) => ({
      kind: payloadKinds.wire(kind),
      callId,
      turnId,
      itemId,
    })),
  });
}

export function readAttachments(read: AttachExecutedToolCallsResponse): Attachment[] {
  return read.outputs.map(({ outputIndex, executedToolCallsJson, metadataBytes }) => ({
    outputIndex,
    executedToolCallsJson: executedToolCallsJson?.toString() ?? "[]",
    metadataBytes: Number(metadataBytes),
  }));
}
