//! What handlers return.

use std::time::Duration;

use prost::bytes::Bytes;

use crate::call::text;
use crate::enums::ImageDetail;
use crate::proto as pb;
use crate::wire::wire_duration;

/// How much of a text is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TruncationPolicy {
    /// Bytes of UTF-8.
    Bytes(u64),
    /// Tokens, estimated as four bytes each.
    Tokens(u64),
}

impl Default for TruncationPolicy {
    /// 10,000 tokens.
    fn default() -> Self {
        Self::Tokens(10_000)
    }
}

impl TruncationPolicy {
    pub(crate) fn wire(self) -> pb::TruncationPolicy {
        use pb::truncation_policy::Policy;
        pb::TruncationPolicy {
            policy: Some(match self {
                Self::Bytes(limit) => Policy::Bytes(limit),
                Self::Tokens(limit) => Policy::Tokens(limit),
            }),
        }
    }
}

/// One piece of content.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ContentItem {
    /// Text for the model.
    InputText(String),
    /// An image for the model.
    InputImage {
        /// A URL or a data URL.
        image_url: String,
        /// How closely to look at it.
        detail: ImageDetail,
    },
    /// Sound for the model: a URL or a data URL.
    InputAudio(String),
    /// Content that only the model's provider can read.
    EncryptedContent(String),
}

impl ContentItem {
    pub(crate) fn wire(self) -> pb::ContentItem {
        use pb::content_item::Item;
        pb::ContentItem {
            item: Some(match self {
                Self::InputText(text) => Item::InputText(pb::InputText { text: text.into() }),
                Self::InputImage { image_url, detail } => Item::InputImage(pb::InputImage {
                    image_url: image_url.into(),
                    detail: detail.wire(),
                }),
                Self::InputAudio(audio_url) => {
                    Item::InputAudio(pb::InputAudio { audio_url: audio_url.into() })
                }
                Self::EncryptedContent(encrypted) => {
                    let encrypted_content = encrypted.into();
                    Item::EncryptedContent(pb::EncryptedContent { encrypted_content })
                }
            }),
        }
    }

    pub(crate) fn read(read: pb::ContentItem) -> Option<Self> {
        use pb::content_item::Item;
        Some(match read.item? {
            Item::InputText(item) => Self::InputText(text(&item.text)),
            Item::InputImage(item) => Self::InputImage {
                detail: ImageDetail::from_wire(item.detail),
                image_url: text(&item.image_url),
            },
            Item::InputAudio(item) => Self::InputAudio(text(&item.audio_url)),
            Item::EncryptedContent(item) => Self::EncryptedContent(text(&item.encrypted_content)),
        })
    }
}

/// What a handler returns: one of the output types of this crate, or a plain text.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutput(pub(crate) pb::ToolOutput);

impl ToolOutput {
    /// Marks the output as content from outside, a web page say. It marks the session where the
    /// session says so.
    pub fn with_external_context(mut self) -> Self {
        self.0.contains_external_context = true;
        self
    }

    fn of(output: pb::tool_output::Output) -> Self {
        Self(pb::ToolOutput { output: Some(output), contains_external_context: false })
    }
}

impl From<&str> for ToolOutput {
    fn from(text: &str) -> Self {
        FunctionOutput::text(text).into()
    }
}

impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        FunctionOutput::text(text).into()
    }
}

/// The output of an ordinary tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionOutput {
    /// What the model reads. Exactly one text becomes a plain text.
    pub content: Vec<ContentItem>,
    /// Whether the tool succeeded. None: not said, a success in the log.
    pub success: Option<bool>,
    /// What a post hook gets in place of the model's text, as JSON text. None: that text.
    pub post_tool_use_response_json: Option<String>,
}

impl FunctionOutput {
    /// An ordinary output that is one text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![ContentItem::InputText(text.into())], ..Self::default() }
    }
}

impl From<FunctionOutput> for ToolOutput {
    fn from(output: FunctionOutput) -> Self {
        Self::of(pb::tool_output::Output::Function(pb::FunctionOutput {
            content: output.content.into_iter().map(ContentItem::wire).collect(),
            success: output.success,
            post_tool_use_response_json: output.post_tool_use_response_json.map(Bytes::from),
        }))
    }
}

/// The output of a tool that answers with a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JsonOutput {
    /// The value as JSON text. Number text and key order stay.
    pub value_json: String,
    /// Whether the tool succeeded. None: not said, a success in the log.
    pub success: Option<bool>,
}

impl From<JsonOutput> for ToolOutput {
    fn from(output: JsonOutput) -> Self {
        Self::of(pb::tool_output::Output::Json(pb::JsonOutput {
            value_json: output.value_json.into(),
            success: output.success,
        }))
    }
}

/// The result of a call to an MCP server, shown to the model with its wall time and truncated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct McpOutput {
    /// The CallToolResult as JSON text.
    pub result_json: String,
    /// What the server was called with, as JSON text; what a post hook gets. Empty: `{}`.
    pub tool_input_json: String,
    /// How long the call took.
    pub wall_time: Duration,
    /// The model takes images in original detail.
    pub original_image_detail_supported: bool,
    /// The model's policy.
    pub truncation_policy: TruncationPolicy,
}

impl From<McpOutput> for ToolOutput {
    fn from(output: McpOutput) -> Self {
        Self::of(pb::tool_output::Output::Mcp(pb::McpOutput {
            result_json: output.result_json.into(),
            tool_input_json: output.tool_input_json.into(),
            wall_time: Some(wire_duration(output.wall_time)),
            original_image_detail_supported: output.original_image_detail_supported,
            truncation_policy: Some(output.truncation_policy.wire()),
        }))
    }
}

/// The result of a call to an MCP server, passed on as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct McpRawOutput {
    /// The CallToolResult as JSON text.
    pub result_json: String,
}

impl From<McpRawOutput> for ToolOutput {
    fn from(output: McpRawOutput) -> Self {
        let result_json = output.result_json.into();
        Self::of(pb::tool_output::Output::McpRaw(pb::McpRawOutput { result_json }))
    }
}

/// The result of a tool search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolSearchOutput {
    /// The tools found, each as JSON text.
    pub tools_json: Vec<String>,
}

impl From<ToolSearchOutput> for ToolOutput {
    fn from(output: ToolSearchOutput) -> Self {
        let tools_json = output.tools_json.into_iter().map(Bytes::from).collect();
        Self::of(pb::tool_output::Output::ToolSearch(pb::ToolSearchOutput { tools_json }))
    }
}

/// The output of the patch tool: always a success.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApplyPatchOutput {
    /// What was done.
    pub text: String,
}

impl From<ApplyPatchOutput> for ToolOutput {
    fn from(output: ApplyPatchOutput) -> Self {
        let text = output.text.into();
        Self::of(pb::tool_output::Output::ApplyPatch(pb::ApplyPatchOutput { text }))
    }
}

/// The output of a call that the agent cancelled by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AbortedOutput {
    /// What the model reads.
    pub message: String,
}

impl From<AbortedOutput> for ToolOutput {
    fn from(output: AbortedOutput) -> Self {
        let message = output.message.into();
        Self::of(pb::tool_output::Output::Aborted(pb::AbortedOutput { message }))
    }
}

/// The output of a command. [`HeadTailBuffer`](crate::HeadTailBuffer) collects one within bounds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExecCommandOutput {
    /// What the command wrote: any bytes.
    pub output: Vec<u8>,
    /// The call the hook speaks about. Empty: the call's own id.
    pub event_call_id: String,
    /// Names this piece of a running command's output. Empty: none.
    pub chunk_id: String,
    /// How long the command was waited for.
    pub wall_time: Duration,
    /// The model's policy.
    pub truncation_policy: TruncationPolicy,
    /// The most that the model asked for. None: 10,000 for the model, no limit for scripts.
    pub max_output_tokens: Option<u64>,
    /// The session id of a command that still runs. None: it has ended.
    pub process_id: Option<i64>,
    /// None where it is not known, or the command still runs.
    pub exit_code: Option<i32>,
    /// Tokens of the output before anything was dropped. None: as the output is.
    pub original_token_count: Option<u64>,
    /// Bytes that the collection dropped from the middle.
    pub output_omitted_bytes: u64,
    /// The command as hooks see it. None: no hook speaks about this output.
    pub hook_command: Option<String>,
}

impl From<ExecCommandOutput> for ToolOutput {
    fn from(output: ExecCommandOutput) -> Self {
        let omitted = output.output_omitted_bytes;
        Self::of(pb::tool_output::Output::ExecCommand(pb::ExecCommandOutput {
            output: output.output.into(),
            event_call_id: output.event_call_id,
            chunk_id: output.chunk_id,
            wall_time: Some(wire_duration(output.wall_time)),
            truncation_policy: Some(output.truncation_policy.wire()),
            max_output_tokens: output.max_output_tokens,
            process_id: output.process_id,
            exit_code: output.exit_code,
            original_token_count: output.original_token_count,
            output_omitted_bytes: (omitted > 0).then_some(omitted),
            hook_command: output.hook_command.map(Bytes::from),
        }))
    }
}
