//! The outputs of a prompt, and the records of what was attempted.

use crate::call::text;
use crate::enums::PayloadKind;
use crate::proto as pb;

/// A tool's output in a prompt, without its content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptOutput {
    /// The kind of call that it answers.
    pub kind: PayloadKind,
    /// The id of that call. None: an output without id carries no records.
    pub call_id: Option<String>,
    /// The turn of that call. None: not known.
    pub turn_id: Option<String>,
    /// An id that is unique among all outputs of the session. Give it for all outputs or for none.
    pub item_id: Option<String>,
}

/// The session's last prompt, of which the first outputs stay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptBase {
    /// The prompt: what the answer to its attachment said. Refused with `PROMPT_BASE_MISMATCH`
    /// when it is not the session's last one: describe the whole prompt then.
    pub prompt_token: Vec<u8>,
    /// How many of its first outputs stay as they were.
    pub kept_outputs: usize,
}

/// A model request and the outputs of its prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttachRequest {
    /// Names the model request. A retry has the same name; a new request needs a new one.
    pub sampling_request_id: String,
    /// The turn of the model request. Empty: not known.
    pub turn_id: String,
    /// All tool outputs of the prompt, in its order. With a base only those after the ones that
    /// stay.
    pub outputs: Vec<PromptOutput>,
    /// What the prompt goes on from. None: it is described as a whole.
    pub base: Option<PromptBase>,
}

impl AttachRequest {
    /// A request without outputs yet.
    pub fn new(sampling_request_id: impl Into<String>) -> Self {
        Self { sampling_request_id: sampling_request_id.into(), ..Self::default() }
    }

    pub(crate) fn wire(self, session_id: &str) -> pb::AttachExecutedToolCallsRequest {
        pb::AttachExecutedToolCallsRequest {
            session_id: session_id.to_owned(),
            sampling_request_id: self.sampling_request_id,
            turn_id: self.turn_id,
            formats: vec![pb::ExecutedToolCallFormat::Json.into()],
            outputs: self
                .outputs
                .into_iter()
                .map(|output| pb::PromptOutput {
                    kind: output.kind.wire(),
                    call_id: output.call_id,
                    turn_id: output.turn_id,
                    item_id: output.item_id,
                })
                .collect(),
            base: self.base.map(|base| pb::PromptBase {
                prompt_token: base.prompt_token.into(),
                kept_outputs: base.kept_outputs as u32,
            }),
        }
    }
}

/// The records of a prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attachment {
    /// Anything is attached.
    pub attached: bool,
    /// Only the outputs that carry records, in order.
    pub outputs: Vec<AttachedToolCalls>,
    /// Names the prompt, as the base of the session's next one. Opaque.
    pub prompt_token: Vec<u8>,
}

impl Attachment {
    pub(crate) fn read(read: pb::AttachExecutedToolCallsResponse) -> Self {
        Self {
            attached: read.attached,
            outputs: read.outputs.into_iter().map(AttachedToolCalls::read).collect(),
            prompt_token: read.prompt_token.into(),
        }
    }
}

/// The records of one output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachedToolCalls {
    /// The position of the output in the prompt, from 0; outputs that stayed count.
    pub output_index: usize,
    /// A JSON array: the value of the key `executed_tool_calls` of the output's metadata.
    pub executed_tool_calls_json: String,
    /// Bytes that the records add to the item on the wire, keys included.
    pub metadata_bytes: u64,
}

impl AttachedToolCalls {
    pub(crate) fn read(read: pb::AttachedToolCalls) -> Self {
        Self {
            output_index: read.output_index as usize,
            executed_tool_calls_json: text(&read.executed_tool_calls_json.unwrap_or_default()),
            metadata_bytes: read.metadata_bytes,
        }
    }
}
