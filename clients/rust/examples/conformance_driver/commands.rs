//! Commands of the suite, as the client's values.

use std::time::Duration;

use serde::Deserialize;
use sidecall_client::{
    CallReference, CancelTarget, ExecCommandOutput, FunctionOutput, JsonOutput, McpRawOutput,
    Payload, PayloadKind, PromptOutput, SessionOptions, ToolCall, ToolError, ToolModeOptions,
    ToolName, ToolOutput, UnknownName, Verdict,
};

/// One line of stdin.
#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Command {
    Connect(Connect),
    Dispatch {
        call: Call,
        views: Option<Vec<String>>,
        timeout_ms: Option<u64>,
    },
    Answer {
        turn_id: String,
        call_id: String,
        result: Answer,
    },
    Verdict {
        turn_id: String,
        call_id: String,
        point: String,
        #[serde(flatten)]
        said: Said,
    },
    TornDown {
        turn_id: String,
        call_id: String,
    },
    Cancel(Cancel),
    Drop,
    UpdateTools {
        #[serde(default)]
        upsert: Vec<Tool>,
        #[serde(default)]
        remove: Vec<Name>,
    },
    RegisterCell {
        cell_id: String,
        turn_id: String,
        call_id: String,
    },
    EndTurn {
        turn_id: String,
    },
    Outputs {
        turn_id: String,
    },
    Attach {
        sampling_request_id: String,
        #[serde(default)]
        turn_id: String,
        outputs: Vec<Output>,
    },
    Detach {
        #[serde(default)]
        close: bool,
    },
}

#[derive(Deserialize)]
pub struct Connect {
    pub endpoint: String,
    #[serde(default)]
    pub options: Options,
    #[serde(default)]
    pub tools: Vec<Tool>,
    #[serde(default)]
    pub hooks: Vec<Hook>,
}

#[derive(Default, Deserialize)]
pub struct Options {
    post_hook_block: Option<String>,
    model_tool_mode: Option<String>,
    recorder_enabled: Option<bool>,
    mark_external_context: Option<bool>,
}

impl Options {
    pub fn options(self) -> Result<SessionOptions, UnknownName> {
        let model_tool_mode = parsed(self.model_tool_mode)?;
        Ok(SessionOptions {
            recorder_enabled: self.recorder_enabled,
            tool_mode: ToolModeOptions { model_tool_mode, ..ToolModeOptions::default() },
            post_hook_block: parsed(self.post_hook_block)?,
            mark_external_context: self.mark_external_context,
            ..SessionOptions::default()
        })
    }
}

/// The value with this name; the default one where nothing is said.
pub fn parsed<T: Default + std::str::FromStr>(name: Option<String>) -> Result<T, T::Err> {
    name.map_or_else(|| Ok(T::default()), |name| name.parse())
}

#[derive(Deserialize)]
pub struct Name {
    name: String,
    namespace: Option<String>,
}

impl From<Name> for ToolName {
    fn from(said: Name) -> Self {
        Self { name: said.name, namespace: said.namespace }
    }
}

#[derive(Deserialize)]
pub struct Tool {
    #[serde(flatten)]
    pub name: Name,
    #[serde(default)]
    pub parallel: bool,
    pub cancel_mode: Option<String>,
    pub teardown_timeout_ms: Option<u64>,
    pub call_timeout_ms: Option<u64>,
    #[serde(default)]
    pub payload_kinds: Vec<String>,
    pub hook_kind: Option<String>,
    #[serde(default)]
    pub not_ready: bool,
}

#[derive(Deserialize)]
pub struct Hook {
    pub point: String,
    #[serde(default)]
    pub matchers: Vec<String>,
    pub timeout_ms: Option<u64>,
}

#[derive(Deserialize)]
pub struct Call {
    call_id: String,
    turn_id: String,
    #[serde(flatten)]
    name: Name,
    kind: Option<String>,
    #[serde(default)]
    arguments: String,
    #[serde(default)]
    input: String,
    #[serde(default)]
    query: String,
    limit: Option<u64>,
    cell_id: Option<String>,
}

impl Call {
    pub fn call(self) -> Result<ToolCall, UnknownName> {
        let payload = match parsed(self.kind)? {
            PayloadKind::Custom => Payload::custom(self.input),
            PayloadKind::ToolSearch => Payload::tool_search(self.query, self.limit),
            _ => Payload::function(self.arguments),
        };
        let call = ToolCall::new(self.call_id, self.name, payload).in_turn(self.turn_id);
        Ok(match self.cell_id {
            Some(cell_id) => call.in_cell(cell_id),
            None => call,
        })
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
pub enum Cancel {
    Calls {
        calls: Vec<Key>,
    },
    Turn {
        turn_id: String,
    },
    All {
        #[allow(dead_code)]
        all: bool,
    },
}

#[derive(Deserialize)]
pub struct Key {
    turn_id: String,
    call_id: String,
}

impl From<Cancel> for CancelTarget {
    fn from(said: Cancel) -> Self {
        match said {
            Cancel::Calls { calls } => Self::Calls(
                calls.into_iter().map(|key| CallReference::new(key.turn_id, key.call_id)).collect(),
            ),
            Cancel::Turn { turn_id } => Self::Turn(turn_id),
            Cancel::All { .. } => Self::All,
        }
    }
}

#[derive(Deserialize)]
pub struct Output {
    kind: String,
    call_id: Option<String>,
    turn_id: Option<String>,
    item_id: Option<String>,
}

impl Output {
    pub fn output(self) -> Result<PromptOutput, UnknownName> {
        Ok(PromptOutput {
            kind: self.kind.parse()?,
            call_id: self.call_id,
            turn_id: self.turn_id,
            item_id: self.item_id,
        })
    }
}

/// What a handler comes to.
#[derive(Deserialize)]
pub struct Answer {
    #[serde(flatten)]
    kind: AnswerKind,
    #[serde(default)]
    external_context: bool,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum AnswerKind {
    RespondToModel { respond_to_model: String },
    Fatal { fatal: String },
    Raise { raise: String },
    Json { json: String, success: Option<bool> },
    McpRaw { mcp_raw: String },
    Exec { exec: String, exit_code: Option<i32>, hook_command: Option<String> },
    Text { text: String, repeat: Option<usize>, success: Option<bool> },
}

impl Answer {
    pub fn answer(self) -> Result<ToolOutput, ToolError> {
        let output: ToolOutput = match self.kind {
            AnswerKind::RespondToModel { respond_to_model } => {
                return Err(ToolError::respond_to_model(respond_to_model));
            }
            AnswerKind::Fatal { fatal } => return Err(ToolError::fatal(fatal)),
            AnswerKind::Raise { raise } => return Err(std::io::Error::other(raise).into()),
            AnswerKind::Json { json, success } => JsonOutput { value_json: json, success }.into(),
            AnswerKind::McpRaw { mcp_raw } => McpRawOutput { result_json: mcp_raw }.into(),
            AnswerKind::Exec { exec, exit_code, hook_command } => ExecCommandOutput {
                output: exec.into_bytes(),
                exit_code,
                hook_command,
                ..ExecCommandOutput::default()
            }
            .into(),
            AnswerKind::Text { text, repeat, success } => {
                FunctionOutput { success, ..FunctionOutput::text(text.repeat(repeat.unwrap_or(1))) }
                    .into()
            }
        };
        Ok(if self.external_context { output.with_external_context() } else { output })
    }
}

/// What a hook comes to.
#[derive(Deserialize)]
pub struct Said {
    verdict: Option<VerdictKind>,
    #[serde(default)]
    contexts: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum VerdictKind {
    Rewrite(String),
    Block(String),
    Feedback(String),
    Raise(String),
}

impl Said {
    pub fn verdict(self) -> Result<Verdict, String> {
        let verdict = match self.verdict {
            None => Verdict::proceed(),
            Some(VerdictKind::Rewrite(json)) => Verdict::rewrite(json),
            Some(VerdictKind::Block(reason)) => Verdict::block(reason),
            Some(VerdictKind::Feedback(message)) => Verdict::feedback(message),
            Some(VerdictKind::Raise(message)) => return Err(message),
        };
        Ok(self.contexts.into_iter().fold(verdict, Verdict::with_context))
    }
}

pub fn milliseconds(count: u64) -> Duration {
    Duration::from_millis(count)
}
