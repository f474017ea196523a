//! How calls end, and the views that are made of it.

use std::time::Duration;

use crate::call::{CallReference, text};
use crate::enums::{AbortProgress, AbortReason, LifecycleFinish, TeardownState, View};
use crate::output::ContentItem;
use crate::proto as pb;
use crate::wire::plain_duration;

/// How a call ended. A call has exactly one result.
#[derive(Clone, Debug, PartialEq)]
pub struct CallResult {
    /// The call.
    pub call: CallReference,
    /// The position of the call among all calls of the session, from 1.
    pub dispatch_order: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// What happened to the call.
    pub lifecycle: LifecycleFinish,
    /// The handler had been started.
    pub handler_executed: bool,
    /// The views that were asked for.
    pub projections: Projections,
    /// Texts of the hooks for the conversation: developer messages, in order, before the output.
    pub additional_contexts: Vec<String>,
    /// Where the call's time went.
    pub durations: CallDurations,
}

impl CallResult {
    pub(crate) fn read(read: pb::CallCompleted) -> Self {
        let ended = read.outcome.unwrap_or_default();
        Self {
            call: CallReference::read(read.call),
            dispatch_order: read.dispatch_order,
            lifecycle: LifecycleFinish::from_wire(ended.lifecycle),
            handler_executed: ended.handler_executed,
            outcome: Outcome::read(ended.outcome),
            projections: Projections::read(read.projections),
            additional_contexts: read.additional_contexts,
            durations: CallDurations::read(read.durations),
        }
    }
}

/// The end of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Outcome {
    /// The handler returned an output.
    Completed {
        /// The call counts as a success.
        success: bool,
    },
    /// The call failed with a text that the model, or the script, may read.
    ModelFailure {
        /// The text.
        message: String,
    },
    /// The call failed in a way that ends its turn. The model reads nothing of it.
    Fatal {
        /// The text, for the agent's user.
        message: String,
    },
    /// The call was aborted.
    Aborted {
        /// Why.
        reason: AbortReason,
        /// How far it got.
        progress: AbortProgress,
        /// What became of its teardown.
        teardown: TeardownState,
        /// The text that the model or the script reads.
        message: String,
    },
}

impl Outcome {
    /// The text of a failure or an abort. Empty: the call completed.
    pub fn message(&self) -> &str {
        match self {
            Self::Completed { .. } => "",
            Self::ModelFailure { message }
            | Self::Fatal { message }
            | Self::Aborted { message, .. } => message,
        }
    }

    pub(crate) fn read(read: Option<pb::call_outcome::Outcome>) -> Self {
        use pb::call_outcome::Outcome as Wire;
        match read {
            Some(Wire::Completed(ended)) => Self::Completed { success: ended.success },
            Some(Wire::ModelFailure(ended)) => Self::ModelFailure { message: ended.message },
            Some(Wire::Fatal(ended)) => Self::Fatal { message: ended.message },
            Some(Wire::Aborted(ended)) => Self::Aborted {
                reason: AbortReason::from_wire(ended.reason),
                progress: AbortProgress::from_wire(ended.progress),
                teardown: TeardownState::from_wire(ended.teardown),
                message: ended.message,
            },
            None => Self::Fatal { message: "an outcome that this client does not know".to_owned() },
        }
    }
}

/// Measured by the sidecar. None: that part never happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallDurations {
    /// From submission to the start of the handler.
    pub dispatch: Option<Duration>,
    /// From the start of the handler to its answer.
    pub handler: Option<Duration>,
    /// From submission to the end.
    pub total: Option<Duration>,
}

impl CallDurations {
    pub(crate) fn read(read: Option<pb::CallDurations>) -> Self {
        let read = read.unwrap_or_default();
        Self {
            dispatch: plain_duration(read.dispatch),
            handler: plain_duration(read.handler),
            total: plain_duration(read.total),
        }
    }
}

/// The views of an output. One that was not asked for or does not exist is None.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Projections {
    /// A bounded text for the log.
    pub log_preview: Option<String>,
    /// What the model reads.
    pub response_item: Option<ResponseItem>,
    /// The same as JSON text, to be put into a request as it is.
    pub response_item_json: Option<String>,
    /// What a post hook gets.
    pub hook: Option<HookPayload>,
    /// What a script reads, as JSON text.
    pub code_mode_json: Option<String>,
    /// The call counts as a success in the log.
    pub success_for_logging: bool,
    /// The success the response item carries. None: not said.
    pub response_success: Option<bool>,
    /// The output holds content from outside.
    pub contains_external_context: bool,
}

impl Projections {
    pub(crate) fn read(read: Option<pb::ToolOutputProjections>) -> Self {
        let read = read.unwrap_or_default();
        Self {
            log_preview: read.log.map(|log| log.preview),
            response_item: read.response_item.and_then(ResponseItem::read),
            response_item_json: read.response_item_json.map(|json| text(&json)),
            hook: read.hook.map(HookPayload::read),
            code_mode_json: read.code_mode_json.map(|json| text(&json)),
            success_for_logging: read.success_for_logging,
            response_success: read.response_success,
            contains_external_context: read.contains_external_context,
        }
    }
}

/// Views to be asked for. None: those of the session, or all.
pub(crate) fn wire_views(selected: Option<&[View]>) -> Option<pb::ViewSelection> {
    selected
        .map(|views| pb::ViewSelection { views: views.iter().map(|view| view.wire()).collect() })
}

/// What a hook gets to see of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookPayload {
    /// The name that hooks match on.
    pub tool_name: String,
    /// Other names that hooks may match on.
    pub matcher_aliases: Vec<String>,
    /// The id that hooks see.
    pub tool_use_id: String,
    /// What the tool is or was called with, as JSON text.
    pub tool_input_json: String,
    /// What the tool answered, as JSON text. None: the handler has not run.
    pub tool_response_json: Option<String>,
}

impl HookPayload {
    pub(crate) fn read(read: pb::HookPayload) -> Self {
        Self {
            tool_name: read.tool_name,
            matcher_aliases: read.matcher_aliases,
            tool_use_id: read.tool_use_id,
            tool_input_json: text(&read.tool_input_json),
            tool_response_json: read.tool_response_json.map(|json| text(&json)),
        }
    }
}

/// The body of a function or custom output.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutputBody {
    /// Plain text.
    Text(String),
    /// A list of items.
    Items(Vec<ContentItem>),
}

impl OutputBody {
    fn read(read: Option<pb::OutputBody>) -> Self {
        use pb::output_body::Body;
        match read.and_then(|read| read.body) {
            Some(Body::Items(items)) => {
                Self::Items(items.items.into_iter().filter_map(ContentItem::read).collect())
            }
            Some(Body::Text(body)) => Self::Text(text(&body)),
            None => Self::Text(String::new()),
        }
    }
}

/// An item of the model's next request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResponseItem {
    /// The output of a function call.
    FunctionCallOutput {
        /// The call that it answers.
        call_id: String,
        /// What the model reads.
        output: OutputBody,
        /// Whether the tool succeeded. None: not said.
        success: Option<bool>,
    },
    /// The output of a custom tool call.
    CustomToolCallOutput {
        /// The call that it answers.
        call_id: String,
        /// What the model reads.
        output: OutputBody,
        /// Whether the tool succeeded. None: not said.
        success: Option<bool>,
    },
    /// The output of a tool search.
    ToolSearchOutput {
        /// The call that it answers.
        call_id: String,
        /// The tools found, each as JSON text.
        tools_json: Vec<String>,
    },
    /// The output of an MCP call, as the server gave it.
    McpToolCallOutput {
        /// The call that it answers.
        call_id: String,
        /// The CallToolResult, as JSON text.
        output_json: String,
    },
}

impl ResponseItem {
    pub(crate) fn read(read: pb::ResponseItem) -> Option<Self> {
        use pb::response_item::Item;
        Some(match read.item? {
            Item::FunctionCallOutput(item) => Self::FunctionCallOutput {
                call_id: item.call_id,
                output: OutputBody::read(item.output),
                success: item.success,
            },
            Item::CustomToolCallOutput(item) => Self::CustomToolCallOutput {
                call_id: item.call_id,
                output: OutputBody::read(item.output),
                success: item.success,
            },
            Item::ToolSearchOutput(item) => Self::ToolSearchOutput {
                call_id: item.call_id,
                tools_json: item.tools_json.iter().map(|json| text(json)).collect(),
            },
            Item::McpToolCallOutput(item) => Self::McpToolCallOutput {
                call_id: item.call_id,
                output_json: text(&item.output_json),
            },
        })
    }
}
