//! What a prompt needs before it can be sent.

use crate::call::text;
use crate::client::Client;
use crate::enums::PayloadKind;
use crate::error::Error;
use crate::outcome::ResponseItem;
use crate::proto as pb;

/// A call or an output in the outline of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutlineEntry {
    /// The entry is an output; otherwise it is a call of the model.
    pub is_output: bool,
    /// The kind of the call, or of the call that the output answers.
    pub kind: PayloadKind,
    /// The id of that call.
    pub call_id: String,
    /// The provider ran it itself.
    pub server_executed: bool,
}

impl OutlineEntry {
    /// A call of the model.
    pub fn call(kind: PayloadKind, call_id: impl Into<String>) -> Self {
        Self { is_output: false, kind, call_id: call_id.into(), server_executed: false }
    }

    /// An output.
    pub fn output(kind: PayloadKind, call_id: impl Into<String>) -> Self {
        Self { is_output: true, ..Self::call(kind, call_id) }
    }

    fn wire(self) -> pb::OutlineEntry {
        use pb::outline_entry::Entry;
        let Self { is_output, kind, call_id, server_executed } = self;
        let kind = kind.wire();
        pb::OutlineEntry {
            entry: Some(if is_output {
                Entry::Output(pb::OutlineOutput { kind, call_id, server_executed })
            } else {
                Entry::Call(pb::OutlineCall { kind, call_id, server_executed })
            }),
        }
    }
}

/// What a prompt needs before it can be sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NormalizedPrompt {
    /// Outputs to be put in, in order.
    pub missing_outputs: Vec<MissingOutput>,
    /// The positions of outputs to be taken out.
    pub orphan_entry_indexes: Vec<usize>,
}

/// An output for a call that has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingOutput {
    /// The position of the call, from 0; the output goes right after it.
    pub entry_index: usize,
    /// The output.
    pub response_item: Option<ResponseItem>,
    /// The same as JSON text, ready for a request.
    pub response_item_json: String,
}

impl Client {
    /// Tells which calls of a prompt lack an output and which outputs lack a call.
    pub async fn normalize_prompt(
        &self,
        entries: impl IntoIterator<Item = OutlineEntry>,
    ) -> Result<NormalizedPrompt, Error> {
        let entries = entries.into_iter().map(OutlineEntry::wire).collect();
        let request = pb::NormalizePromptRequest { entries };
        let read = self.answer(self.runtime().normalize_prompt(request).await)?;
        let missing = read.missing_outputs.into_iter().map(|missing| MissingOutput {
            entry_index: missing.entry_index as usize,
            response_item: missing.response_item.and_then(ResponseItem::read),
            response_item_json: text(&missing.response_item_json),
        });
        let orphans = read.orphan_entry_indexes.into_iter().map(|index| index as usize);
        Ok(NormalizedPrompt {
            missing_outputs: missing.collect(),
            orphan_entry_indexes: orphans.collect(),
        })
    }
}
