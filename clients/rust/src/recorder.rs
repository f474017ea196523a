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

/// A model request and the outputs of its prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AttachRequest {
    /// Names the model request. A retry has the same name; a new request needs a new one.
    pub sampling_request_id: String,
    /// The turn of the model request. Empty: not known.
    pub turn_id: String,
    /// All tool outputs of the prompt, in its order.
    pub outputs: Vec<PromptOutput>,
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
        }
    }
}

/// The records of one output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachedToolCalls {
    /// The position of the output in the request, from 0.
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
