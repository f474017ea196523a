/** What a handler returns. */
import { wireDuration } from "./durations.js";
import { type ImageDetail, imageDetails } from "./enums.js";
import * as wire from "./gen/sidecall/v1/tool_output.js";

/** How much of a text is kept. Tokens are estimated as four bytes each. */
export type TruncationPolicy = { bytes: bigint | number } | { tokens: bigint | number };

/** One piece of content for the model. */
export type ContentItem =
  | { type: "input_text"; text: string }
  /** A URL or a data URL. */
  | { type: "input_image"; imageUrl: string; detail?: ImageDetail | undefined }
  | { type: "input_audio"; audioUrl: string }
  /** Content that only the model's provider can read. */
  | { type: "encrypted_content"; encryptedContent: string };

/** What every output may say. */
interface OutputBase {
  /** It holds content from outside (a web page, say): marks the session where that is on. */
  containsExternalContext?: boolean | undefined;
}

/** The output of an ordinary tool. */
export interface FunctionOutput extends OutputBase {
  kind: "function";
  /** What the model reads. Exactly one text item becomes a plain text. */
  content: string | readonly ContentItem[];
  /** Whether the tool succeeded. Absent: not said, a success in the log. */
  success?: boolean | undefined;
  /** What a post hook gets in place of the model's text, as JSON text. */
  postToolUseResponseJson?: string | undefined;
}

/** The output of a tool that answers with a value. */
export interface JsonOutput extends OutputBase {
  kind: "json";
  /** The value as JSON text: number text and key order stay. */
  valueJson: string;
  /** Whether the tool succeeded. Absent: not said, a success in the log. */
  success?: boolean | undefined;
}

/** The result of a call to an MCP server, shown with its wall time and truncated. */
export interface McpOutput extends OutputBase {
  kind: "mcp";
  /** The CallToolResult as JSON text. */
  resultJson: string;
  /** What the server was called with, as JSON text; what a post hook gets. Absent: `{}`. */
  toolInputJson?: string | undefined;
  /** How long the call took, in milliseconds. */
  wallTimeMs?: number | undefined;
  /** The model takes images in original detail. */
  originalImageDetailSupported?: boolean | undefined;
  /** The model's policy; an MCP output may use 1.2 times its budget. */
  truncationPolicy: TruncationPolicy;
}

/** The result of a call to an MCP server, passed on as it is. */
export interface McpRawOutput extends OutputBase {
  kind: "mcp_raw";
  /** The CallToolResult as JSON text. */
  resultJson: string;
}

/** The result of a tool search. */
export interface ToolSearchOutput extends OutputBase {
  kind: "tool_search";
  /** The tools found, each as JSON text. */
  toolsJson: readonly string[];
}

/** The output of the patch tool: always a success. */
export interface ApplyPatchOutput extends OutputBase {
  kind: "apply_patch";
  text: string;
}

/** The output of a call that the agent cancelled by itself. */
export interface AbortedOutput extends OutputBase {
  kind: "aborted";
  message: string;
}

/** The output of a command. `HeadTailBuffer` collects one within bounds. */
export interface ExecCommandOutput extends OutputBase {
  kind: "exec_command";
  /** What the command wrote: any bytes. */
  output: Uint8Array;
  /** The call the hook speaks about. Absent: the call's own id. */
  eventCallId?: string | undefined;
  /** Names this piece of a running command's output. */
  chunkId?: string | undefined;
  /** How long the command was waited for, in milliseconds. */
  wallTimeMs?: number | undefined;
  /** The model's policy. */
  truncationPolicy: TruncationPolicy;
  /** Most tokens the model asked for. Absent: 10,000 for the model, no limit for scripts. */
  maxOutputTokens?: bigint | number | undefined;
  /** The session id of a command that still runs. Absent: it has ended. */
  processId?: bigint | number | undefined;
  /** Absent: not known, or still running. */
  exitCode?: number | undefined;
  /** Tokens of the output before anything was dropped. */
  originalTokenCount?: bigint | number | undefined;
  /** Bytes that the collection dropped from the middle. */
  outputOmittedBytes?: bigint | number | undefined;
  /** The command as hooks see it. Absent: no hook speaks about this output. */
  hookCommand?: string | undefined;
}

/** What a handler returned. */
export type ToolOutput =
  | FunctionOutput
  | JsonOutput
  | McpOutput
  | McpRawOutput
  | ToolSearchOutput
  | ApplyPatchOutput
  | AbortedOutput
  | ExecCommandOutput;

/** The message of an output; a bare text is a function output. */
export function wireOutput(output: ToolOutput | string): wire.ToolOutput {
  if (typeof output === "string") {
    return wireOutput({ kind: "function", content: output });
  }
  return wire.ToolOutput.create({
    output: outputCase(output),
    containsExternalContext: output.containsExternalContext ?? false,
  });
}

function outputCase(output: ToolOutput): NonNullable<wire.ToolOutput["output"]> {
  switch (output.kind) {
    case "function":
      return {
        $case: "function",
        value: {
          content: contentOf(output.content).map(wireContentItem),
          success: output.success,
          postToolUseResponseJson: optionalBytes(output.postToolUseResponseJson),
        },
      };
    case "json":
      return {
        $case: "json",
        value: { valueJson: Buffer.from(output.valueJson), success: output.success },
      };
    case "mcp":
      return {
        $case: "mcp",
        value: {
          resultJson: Buffer.from(output.resultJson),
          toolInputJson: Buffer.from(output.toolInputJson ?? ""),
          wallTime: wireDuration(output.wallTimeMs),
          originalImageDetailSupported: output.originalImageDetailSupported ?? false,
          truncationPolicy: wirePolicy(output.truncationPolicy),
        },
      };
    case "mcp_raw":
      return { $case: "mcpRaw", value: { resultJson: Buffer.from(output.resultJson) } };
    case "tool_search":
      return {
        $case: "toolSearch",
        value: { toolsJson: output.toolsJson.map((tool) => Buffer.from(tool)) },
      };
    case "apply_patch":
      return { $case: "applyPatch", value: { text: Buffer.from(output.text) } };
    case "aborted":
      return { $case: "aborted", value: { message: Buffer.from(output.message) } };
    case "exec_command":
      return { $case: "execCommand", value: execCommand(output) };
  }
}

function execCommand(output: ExecCommandOutput): wire.ExecCommandOutput {
  return {
    output: Buffer.from(output.output),
    eventCallId: output.eventCallId ?? "",
    chunkId: output.chunkId ?? "",
    wallTime: wireDuration(output.wallTimeMs),
    truncationPolicy: wirePolicy(output.truncationPolicy),
    maxOutputTokens: optionalInteger(output.maxOutputTokens),
    processId: optionalInteger(output.processId),
    exitCode: output.exitCode,
    originalTokenCount: optionalInteger(output.originalTokenCount),
    outputOmittedBytes: optionalInteger(output.outputOmittedBytes),
    hookCommand: optionalBytes(output.hookCommand),
  };
}

function contentOf(content: string | readonly ContentItem[]): readonly ContentItem[] {
  return typeof content === "string" ? [{ type: "input_text", text: content }] : content;
}

function wireContentItem(item: ContentItem): wire.ContentItem {
  switch (item.type) {
    case "input_text":
      return { item: { $case: "inputText", value: { text: Buffer.from(item.text) } } };
    case "input_image":
      return {
        item: {
          $case: "inputImage",
          value: {
            imageUrl: Buffer.from(item.imageUrl),
            detail: imageDetails.wire(item.detail),
          },
        },
      };
    case "input_audio":
      return { item: { $case: "inputAudio", value: { audioUrl: Buffer.from(item.audioUrl) } } };
    case "encrypted_content":
      return {
        item: {
          $case: "encryptedContent",
          value: { encryptedContent: Buffer.from(item.encryptedContent) },
        },
      };
  }
}

/** The plain form of an item of a response item's body. */
export function readContentItem(read: wire.ContentItem): ContentItem {
  switch (read.item?.$case) {
    case "inputImage": {
      const { imageUrl, detail } = read.item.value;
      return {
        type: "input_image",
        imageUrl: imageUrl.toString(),
        ...(detail !== 0 && { detail: imageDetails.plain(detail) }),
      };
    }
    case "inputAudio":
      return { type: "input_audio", audioUrl: read.item.value.audioUrl.toString() };
    case "encryptedContent":
      return {
        type: "encrypted_content",
        encryptedContent: read.item.value.encryptedContent.toString(),
      };
    default:
      return { type: "input_text", text: read.item?.value.text.toString() ?? "" };
  }
}

export function wirePolicy(policy: TruncationPolicy): wire.TruncationPolicy {
  return {
    policy:
      "tokens" in policy
        ? { $case: "tokens", value: BigInt(policy.tokens) }
        : { $case: "bytes", value: BigInt(policy.bytes) },
  };
}

function optionalInteger(value: bigint | number | undefined): bigint | undefined {
  return value === undefined ? undefined : BigInt(value);
}

function optionalBytes(text: string | undefined): Buffer | undefined {
  return text === undefined ? undefined : Buffer.from(text);
}
