//! What sessions and turns say about themselves.

use crate::enums::{PostHookBlock, ToolMode, View};
use crate::outcome::wire_views;
use crate::proto as pb;

/// Which tool mode an agent asks for; the sidecar decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ToolModeOptions {
    /// The model's own mode. Unspecified: the features decide.
    pub model_tool_mode: ToolMode,
    /// The code mode feature is on.
    pub code_mode_feature: bool,
    /// The code-mode-only feature is on; wins over the code mode feature.
    pub code_mode_only_feature: bool,
    /// Whether the provider has code mode. None: it has.
    pub code_mode_available: Option<bool>,
    /// Code mode stays on even where it is not available.
    pub code_mode_fallback_disabled: bool,
}

impl ToolModeOptions {
    fn wire(self) -> pb::ToolModeOptions {
        pb::ToolModeOptions {
            model_tool_mode: self.model_tool_mode.wire(),
            code_mode_feature: self.code_mode_feature,
            code_mode_only_feature: self.code_mode_only_feature,
            code_mode_available: self.code_mode_available,
            code_mode_fallback_disabled: self.code_mode_fallback_disabled,
        }
    }
}

/// What a session says about itself as it opens. The default leaves all to the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionOptions {
    /// Whether calls are recorded. None: the server's default.
    pub recorder_enabled: Option<bool>,
    /// The tool mode asked for.
    pub tool_mode: ToolModeOptions,
    /// What a post hook's block does.
    pub post_hook_block: PostHookBlock,
    /// Whether external context marks the session. None: it does not.
    pub mark_external_context: Option<bool>,
    /// The views that come with a direct call. None: the response item as JSON.
    pub direct_views: Option<Vec<View>>,
    /// The views that come with a script's call. None: the code-mode view.
    pub nested_views: Option<Vec<View>>,
    /// A name for people. At most 512 bytes.
    pub display_name: String,
}

impl SessionOptions {
    pub(crate) fn wire(&self) -> pb::SessionOptions {
        pb::SessionOptions {
            recorder_enabled: self.recorder_enabled,
            tool_mode: Some(self.tool_mode.wire()),
            post_hook_block: self.post_hook_block.wire(),
            mark_external_context: self.mark_external_context,
            direct_views: wire_views(self.direct_views.as_deref()),
            nested_views: wire_views(self.nested_views.as_deref()),
            display_name: self.display_name.clone(),
        }
    }
}

/// What one turn says differently from its session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TurnOptions {
    /// Whether the turn's calls are recorded. None: as the session.
    pub recorder_enabled: Option<bool>,
    /// The turn's tool mode. None: as the session.
    pub tool_mode: Option<ToolModeOptions>,
}

impl TurnOptions {
    pub(crate) fn wire(self) -> Option<pb::TurnOptions> {
        (self != Self::default()).then(|| pb::TurnOptions {
            recorder_enabled: self.recorder_enabled,
            tool_mode: self.tool_mode.map(ToolModeOptions::wire),
        })
    }
}
