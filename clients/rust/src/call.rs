//! What a model asked for: calls, before anything ran.

use std::fmt;

use prost::bytes::Bytes;

use crate::enums::PayloadKind;
use crate::proto as pb;
use crate::recorder::PromptOutput;

/// Names a tool. A tool without a namespace differs from one in the empty namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ToolName {
    /// The name inside its namespace. At most 8 KiB.
    pub name: String,
    /// The namespace, which stands in front of the name, without a separator, wherever the name
    /// is shown. At most 8 KiB.
    pub namespace: Option<String>,
}

impl ToolName {
    /// The name of a tool in a namespace.
    pub fn in_namespace(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { name: name.into(), namespace: Some(namespace.into()) }
    }

    pub(crate) fn wire(&self) -> pb::ToolName {
        pb::ToolName { name: self.name.clone(), namespace: self.namespace.clone() }
    }

    pub(crate) fn read(read: Option<pb::ToolName>) -> Self {
        let read = read.unwrap_or_default();
        Self { name: read.name, namespace: read.namespace }
    }
}

impl From<&str> for ToolName {
    fn from(name: &str) -> Self {
        Self { name: name.to_owned(), namespace: None }
    }
}

impl From<String> for ToolName {
    fn from(name: String) -> Self {
        Self { name, namespace: None }
    }
}

impl fmt::Display for ToolName {
    /// Writes the flat name.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.namespace.as_deref().unwrap_or_default())?;
        out.write_str(&self.name)
    }
}

/// What a tool is called with, exactly as the model wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Payload {
    /// A function call.
    Function {
        /// The text of the arguments: JSON, if the model kept to it.
        arguments: String,
    },
    /// A free-form call.
    Custom {
        /// The text.
        input: String,
    },
    /// A search among tools.
    ToolSearch {
        /// What to search for.
        query: String,
        /// Most results wanted. None: the tool's own default.
        limit: Option<u64>,
    },
}

impl Payload {
    /// The payload of a function call.
    pub fn function(arguments: impl Into<String>) -> Self {
        Self::Function { arguments: arguments.into() }
    }

    /// The payload of a free-form call.
    pub fn custom(input: impl Into<String>) -> Self {
        Self::Custom { input: input.into() }
    }

    /// The payload of a search among tools.
    pub fn tool_search(query: impl Into<String>, limit: Option<u64>) -> Self {
        Self::ToolSearch { query: query.into(), limit }
    }

    /// The shape of the payload.
    pub fn kind(&self) -> PayloadKind {
        match self {
            Self::Function { .. } => PayloadKind::Function,
            Self::Custom { .. } => PayloadKind::Custom,
            Self::ToolSearch { .. } => PayloadKind::ToolSearch,
        }
    }

    /// The arguments, the input or the query.
    pub fn text(&self) -> &str {
        match self {
            Self::Function { arguments: text }
            | Self::Custom { input: text }
            | Self::ToolSearch { query: text, .. } => text,
        }
    }

    fn wire(&self) -> pb::ToolPayload {
        use pb::tool_payload::Payload as Wire;
        let text = |text: &String| Bytes::from(text.clone());
        pb::ToolPayload {
            payload: Some(match self {
                Self::Function { arguments } => {
                    Wire::Function(pb::FunctionPayload { arguments: text(arguments) })
                }
                Self::Custom { input } => Wire::Custom(pb::CustomPayload { input: text(input) }),
                Self::ToolSearch { query, limit } => {
                    Wire::ToolSearch(pb::ToolSearchPayload { query: query.clone(), limit: *limit })
                }
            }),
        }
    }

    fn read(read: Option<pb::ToolPayload>) -> Self {
        use pb::tool_payload::Payload as Wire;
        match read.and_then(|read| read.payload) {
            Some(Wire::Custom(custom)) => Self::custom(text(&custom.input)),
            Some(Wire::ToolSearch(search)) => Self::tool_search(search.query, search.limit),
            Some(Wire::Function(function)) => Self::function(text(&function.arguments)),
            None => Self::function(""),
        }
    }
}

/// Text that the contract promises to be UTF-8.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Identifies a call of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallReference {
    /// The turn.
    pub turn_id: String,
    /// The provider's id of the call; it may come again in another turn.
    pub call_id: String,
}

impl CallReference {
    /// The reference of a call in a turn.
    pub fn new(turn_id: impl Into<String>, call_id: impl Into<String>) -> Self {
        Self { turn_id: turn_id.into(), call_id: call_id.into() }
    }

    pub(crate) fn wire(&self) -> pb::CallReference {
        pb::CallReference { turn_id: self.turn_id.clone(), call_id: self.call_id.clone() }
    }

    pub(crate) fn read(read: Option<pb::CallReference>) -> Self {
        let read = read.unwrap_or_default();
        Self { turn_id: read.turn_id, call_id: read.call_id }
    }
}

/// Who made a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolCallSource {
    /// The model itself.
    #[default]
    Direct,
    /// A plain-text message of the model, in which the call was found.
    DirectPlaintextMessage,
    /// A script in a code-mode cell: the result goes to the script.
    CodeMode {
        /// The cell in which the script runs.
        cell_id: String,
        /// The script runtime's own id for this call. Only carried along.
        runtime_tool_call_id: String,
    },
}

/// One call of a tool, as the model asked for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// The provider's id of the call. At most 512 bytes.
    pub call_id: String,
    /// The turn, at most 512 bytes. A call that is dispatched must have one.
    pub turn_id: String,
    /// The tool as the model named it; it need not exist.
    pub tool_name: ToolName,
    /// What the tool is called with.
    pub payload: Payload,
    /// Who made the call.
    pub source: ToolCallSource,
}

impl ToolCall {
    /// A call of the model. [`Turn::dispatch`](crate::Turn::dispatch) gives it its turn.
    pub fn new(
        call_id: impl Into<String>,
        tool_name: impl Into<ToolName>,
        payload: Payload,
    ) -> Self {
        Self {
            call_id: call_id.into(),
            turn_id: String::new(),
            tool_name: tool_name.into(),
            payload,
            source: ToolCallSource::Direct,
        }
    }

    /// The call in a turn.
    pub fn in_turn(mut self, turn_id: impl Into<String>) -> Self {
        self.turn_id = turn_id.into();
        self
    }

    /// The call as a script in a code-mode cell made it.
    pub fn in_cell(mut self, cell_id: impl Into<String>) -> Self {
        self.source = ToolCallSource::CodeMode {
            cell_id: cell_id.into(),
            runtime_tool_call_id: String::new(),
        };
        self
    }

    /// The reference of the call.
    pub fn reference(&self) -> CallReference {
        CallReference::new(&self.turn_id, &self.call_id)
    }

    /// How the call's output stands in a prompt, for [`Agent::attach`](crate::Agent::attach).
    pub fn prompt_output(&self) -> PromptOutput {
        PromptOutput {
            kind: self.payload.kind(),
            call_id: Some(self.call_id.clone()),
            turn_id: Some(self.turn_id.clone()),
            item_id: None,
        }
    }

    pub(crate) fn wire(&self) -> pb::ToolCall {
        use pb::tool_call_source::Source;
        let source = match &self.source {
            ToolCallSource::Direct => None,
            ToolCallSource::DirectPlaintextMessage => {
                Some(Source::DirectPlaintextMessage(pb::DirectPlaintextMessageSource {}))
            }
            ToolCallSource::CodeMode { cell_id, runtime_tool_call_id } => {
                Some(Source::CodeMode(pb::CodeModeSource {
                    cell_id: cell_id.clone(),
                    runtime_tool_call_id: runtime_tool_call_id.clone(),
                }))
            }
        };
        pb::ToolCall {
            call_id: self.call_id.clone(),
            turn_id: self.turn_id.clone(),
            tool_name: Some(self.tool_name.wire()),
            payload: Some(self.payload.wire()),
            source: source.map(|source| pb::ToolCallSource { source: Some(source) }),
        }
    }

    pub(crate) fn read(read: Option<pb::ToolCall>) -> Self {
        use pb::tool_call_source::Source;
        let read = read.unwrap_or_default();
        let source = match read.source.and_then(|said| said.source) {
            Some(Source::CodeMode(cell)) => ToolCallSource::CodeMode {
                cell_id: cell.cell_id,
                runtime_tool_call_id: cell.runtime_tool_call_id,
            },
            Some(Source::DirectPlaintextMessage(_)) => ToolCallSource::DirectPlaintextMessage,
            Some(Source::Direct(_)) | None => ToolCallSource::Direct,
        };
        Self {
            call_id: read.call_id,
            turn_id: read.turn_id,
            tool_name: ToolName::read(read.tool_name),
            payload: Payload::read(read.payload),
            source,
        }
    }
}
