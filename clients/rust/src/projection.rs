//! Views and texts without a session: nothing is recorded, kept or run.

use std::time::Duration;

use crate::call::{ToolCall, text};
use crate::client::Client;
use crate::enums::{AbortReason, View};
use crate::error::Error;
use crate::outcome::{Projections, wire_views};
use crate::output::{ContentItem, ToolOutput, TruncationPolicy};
use crate::proto as pb;
use crate::tool::ToolError;
use crate::wire::wire_duration;

/// What a call failed with, for [`Client::project_tool_failure`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolFailure {
    /// The handler failed.
    Handler(ToolError),
    /// No tool has the call's name.
    UnknownTool,
    /// The tool does not take the call's kind of payload.
    PayloadMismatch,
    /// The call was cancelled.
    Aborted {
        /// Why.
        reason: AbortReason,
        /// From submission to the cancel.
        elapsed: Duration,
    },
}

impl From<ToolError> for ToolFailure {
    fn from(error: ToolError) -> Self {
        Self::Handler(error)
    }
}

impl ToolFailure {
    fn wire(self) -> pb::project_tool_failure_request::Failure {
        use pb::project_tool_failure_request::Failure;
        match self {
            Self::Handler(ToolError::RespondToModel(message)) => {
                Failure::RespondToModel(message.into())
            }
            Self::Handler(ToolError::Fatal(message)) => Failure::Fatal(message.into()),
            Self::Handler(ToolError::Unhandled(message)) => Failure::Unhandled(message.into()),
            Self::UnknownTool => Failure::UnknownTool(pb::UnknownTool {}),
            Self::PayloadMismatch => Failure::PayloadMismatch(pb::PayloadMismatch {}),
            Self::Aborted { reason, elapsed } => Failure::Aborted(pb::AbortedCall {
                reason: reason.wire(),
                elapsed: Some(wire_duration(elapsed)),
            }),
        }
    }
}

/// What the caller gets to see of a call that failed.
#[derive(Clone, Debug, PartialEq)]
pub struct ProjectedFailure {
    /// The error's text.
    pub message: String,
    /// The turn ends: there are no views.
    pub ends_turn: bool,
    /// The text of the exception that a script gets. None: a direct call.
    pub script_error: Option<String>,
    /// For the model, where it may read of the failure.
    pub projections: Projections,
}

/// How a code-mode cell stands, for [`Client::project_cell_result`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CellStatus {
    /// It still runs, under this cell id.
    Running(String),
    /// It was terminated.
    Terminated,
    /// It ended well.
    Completed,
    /// It ended with this error.
    ScriptError(String),
}

/// What a code-mode cell gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellResult {
    /// What the script put out, in order.
    pub content: Vec<ContentItem>,
    /// How the cell stands.
    pub status: CellStatus,
    /// How long it was waited for.
    pub wall_time: Duration,
    /// Most tokens of output. None: 10,000.
    pub max_output_tokens: Option<u64>,
}

impl CellStatus {
    fn wire(self) -> pb::project_cell_result_request::Status {
        use pb::project_cell_result_request::Status;
        match self {
            Self::Running(cell_id) => Status::RunningCellId(cell_id),
            Self::Terminated => Status::Terminated(pb::CellTerminated {}),
            Self::Completed => Status::Completed(pb::CellCompleted {}),
            Self::ScriptError(message) => Status::ScriptError(message.into()),
        }
    }
}

impl Client {
    /// Makes the views of one output. A feedback takes the place of the output for the model
    /// only. No views given: all of them.
    pub async fn project_tool_output(
        &self,
        call: &ToolCall,
        output: impl Into<ToolOutput>,
        feedback: Option<&str>,
        views: Option<&[View]>,
    ) -> Result<Projections, Error> {
        let request = pb::ProjectToolOutputRequest {
            call: Some(call.wire()),
            output: Some(output.into().0),
            feedback: feedback.map(|text| text.to_owned().into()),
            views: wire_views(views),
        };
        let projected = self.answer(self.projection().project_tool_output(request).await)?;
        Ok(Projections::read(projected.projections))
    }

    /// Makes what the caller sees of a failed call.
    pub async fn project_tool_failure(
        &self,
        call: &ToolCall,
        failure: impl Into<ToolFailure>,
    ) -> Result<ProjectedFailure, Error> {
        let request = pb::ProjectToolFailureRequest {
            call: Some(call.wire()),
            failure: Some(failure.into().wire()),
        };
        let projected = self.answer(self.projection().project_tool_failure(request).await)?;
        Ok(ProjectedFailure {
            message: projected.message,
            ends_turn: projected.ends_turn,
            script_error: projected.script_error,
            projections: Projections::read(projected.projections),
        })
    }

    /// Makes the views of an `exec` or `wait` call out of what its cell gave. No views given: all
    /// of them.
    pub async fn project_cell_result(
        &self,
        call: &ToolCall,
        result: CellResult,
        views: Option<&[View]>,
    ) -> Result<Projections, Error> {
        let request = pb::ProjectCellResultRequest {
            call: Some(call.wire()),
            content: result.content.into_iter().map(ContentItem::wire).collect(),
            status: Some(result.status.wire()),
            wall_time: Some(wire_duration(result.wall_time)),
            max_output_tokens: result.max_output_tokens,
            views: wire_views(views),
        };
        let projected = self.answer(self.projection().project_cell_result(request).await)?;
        Ok(Projections::read(projected.projections))
    }

    /// Cuts the middle out of a text, as outputs are cut for the model. Formatted: with a warning
    /// and the original size in front of a text that was cut.
    pub async fn truncate_text(
        &self,
        said: impl Into<Vec<u8>>,
        policy: TruncationPolicy,
        formatted: bool,
    ) -> Result<String, Error> {
        let request = pb::TruncateTextRequest {
            text: said.into().into(),
            policy: Some(policy.wire()),
            formatted,
        };
        let cut = self.answer(self.projection().truncate_text(request).await)?;
        Ok(text(&cut.text))
    }
}
