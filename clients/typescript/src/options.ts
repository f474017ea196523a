/** What sessions and turns say about themselves. */
import {
  type PostHookBlock,
  postHookBlocks,
  type ToolMode,
  toolModes,
  type View,
  views,
} from "./enums.js";
import type * as wire from "./gen/sidecall/v1/session_service.js";
import type { ViewSelection } from "./gen/sidecall/v1/tool_output.js";

/** Which tool mode an agent asks for; the sidecar decides (SPEC I5). */
export interface ToolModeOptions {
  /** The model's own mode. Absent: the features decide. */
  modelToolMode?: ToolMode | undefined;
  /** The code mode feature is on. */
  codeModeFeature?: boolean | undefined;
  /** The code-mode-only feature is on; wins over the code mode feature. */
  codeModeOnlyFeature?: boolean | undefined;
  /** Whether the provider has code mode. Absent: it has. */
  codeModeAvailable?: boolean | undefined;
  /** Code mode stays on even where it is not available. */
  codeModeFallbackDisabled?: boolean | undefined;
}

/** What a session says about itself as it opens. What is absent is left to the server. */
export interface SessionOptions {
  /** Whether calls are recorded. */
  recorderEnabled?: boolean | undefined;
  toolMode?: ToolModeOptions | undefined;
  /** What a post hook's block does. */
  postHookBlock?: PostHookBlock | undefined;
  /** Whether external context marks the session. Absent: it does not. */
  markExternalContext?: boolean | undefined;
  /** The views that come with a direct call. Absent: the response item as JSON. */
  directViews?: readonly View[] | undefined;
  /** The views that come with a nested call. Absent: the code-mode view. */
  nestedViews?: readonly View[] | undefined;
  /** A name for people, at most 512 bytes. */
  displayName?: string | undefined;
}

/** What one turn says differently from its session. */
export interface TurnOptions {
  /** Whether the turn's calls are recorded. Absent: as the session. */
  recorderEnabled?: boolean | undefined;
  /** The turn's tool mode. Absent: as the session. */
  toolMode?: ToolModeOptions | undefined;
}

export function wireSessionOptions(options: SessionOptions): wire.SessionOptions {
  return {
    recorderEnabled: options.recorderEnabled,
    toolMode: wireToolMode(options.toolMode),
    postHookBlock: postHookBlocks.wire(options.postHookBlock),
    markExternalContext: options.markExternalContext,
    directViews: wireViews(options.directViews),
    nestedViews: wireViews(options.nestedViews),
    displayName: options.displayName ?? "",
  };
}

export function wireTurnOptions(options: TurnOptions | undefined): wire.TurnOptions | undefined {
  return (
    options && {
      recorderEnabled: options.recorderEnabled,
      toolMode: wireToolMode(options.toolMode),
    }
  );
}

export function wireViews(selected: readonly View[] | undefined): ViewSelection | undefined {
  return selected && { views: selected.map((view) => views.wire(view)) };
}

function wireToolMode(options: ToolModeOptions | undefined): wire.ToolModeOptions | undefined {
  return (
    options && {
      modelToolMode: toolModes.wire(options.modelToolMode),
      codeModeFeature: options.codeModeFeature ?? false,
      codeModeOnlyFeature: options.codeModeOnlyFeature ?? false,
      codeModeAvailable: options.codeModeAvailable,
      codeModeFallbackDisabled: options.codeModeFallbackDisabled ?? false,
    }
  );
}
