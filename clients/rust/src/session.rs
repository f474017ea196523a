//! One conversation of an agent on the sidecar, without a stream.

use std::fmt;
use std::time::SystemTime;

use crate::call::{CallReference, ToolCall, ToolName};
use crate::cancel::{CancelTarget, CancelledCall};
use crate::client::Client;
use crate::enums::{CallPhase, LifecycleFinish, PayloadKind, RecordDisposition, View};
use crate::error::Error;
use crate::options::TurnOptions;
use crate::outcome::{CallDurations, Outcome, Projections, wire_views};
use crate::proto as pb;
use crate::recorder::{AttachRequest, Attachment};
use crate::session_info::SessionInfo;
use crate::wire::plain_time;

/// A session and its unary requests. They are refused with `SESSION_NOT_FOUND` when it is gone.
#[derive(Clone)]
pub struct Session {
    client: Client,
    session_id: String,
    resume_token: String,
}

impl fmt::Debug for Session {
    /// Leaves the token out.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Session").field("session_id", &self.session_id).finish_non_exhaustive()
    }
}

impl Session {
    pub(crate) fn new(client: Client, session_id: String, resume_token: String) -> Self {
        Self { client, session_id, resume_token }
    }

    /// The session's id.
    pub fn session_id(&self) -> &str {
        &self.session_id
    }

    /// What attaches an agent to the session; keep it secret. Empty: not known to who only named
    /// the session.
    pub fn resume_token(&self) -> &str {
        &self.resume_token
    }

    /// The session with the token that attaches to it.
    pub fn with_resume_token(mut self, resume_token: impl Into<String>) -> Self {
        self.resume_token = resume_token.into();
        self
    }

    /// Shows the session.
    pub async fn info(&self) -> Result<SessionInfo, Error> {
        let request = pb::GetSessionRequest { session_id: self.session_id.clone() };
        let read = self.client.answer(self.client.sessions().get_session(request).await)?;
        Ok(SessionInfo::read(read.session.unwrap_or_default()))
    }

    /// Ends the session and says how many open calls were aborted.
    pub async fn delete(&self) -> Result<u32, Error> {
        let request = pb::DeleteSessionRequest { session_id: self.session_id.clone() };
        let deleted = self.client.answer(self.client.sessions().delete_session(request).await)?;
        Ok(deleted.aborted_calls)
    }

    /// Ends a turn and says how many of its calls are still open; they go on.
    pub async fn end_turn(&self, turn_id: &str) -> Result<u32, Error> {
        let request =
            pb::EndTurnRequest { session_id: self.session_id.clone(), turn_id: turn_id.to_owned() };
        let ended = self.client.answer(self.client.sessions().end_turn(request).await)?;
        Ok(ended.open_calls)
    }

    /// Records that a call is attempted, for agents that run their tools themselves. The first
    /// record of a call stays.
    pub async fn record_tool_call(
        &self,
        call: &ToolCall,
        turn_options: TurnOptions,
    ) -> Result<RecordDisposition, Error> {
        let request = pb::RecordToolCallRequest {
            session_id: self.session_id.clone(),
            call: Some(call.wire()),
            turn_options: turn_options.wire(),
        };
        let recorded =
            self.client.answer(self.client.recorder().record_tool_call(request).await)?;
        Ok(RecordDisposition::from_wire(recorded.disposition))
    }

    /// Says which call's output carries the records of a cell. False: there was no room.
    pub async fn register_cell(
        &self,
        cell_id: &str,
        output_call: &CallReference,
    ) -> Result<bool, Error> {
        let request = pb::RegisterCellRequest {
            session_id: self.session_id.clone(),
            cell_id: cell_id.to_owned(),
            output_call_id: output_call.call_id.clone(),
            turn_id: output_call.turn_id.clone(),
        };
        let answer = self.client.answer(self.client.recorder().register_cell(request).await)?;
        Ok(answer.registered)
    }

    /// Attaches the records of what was attempted to the outputs of a prompt. Call it for each
    /// try of each model request.
    pub async fn attach(&self, request: AttachRequest) -> Result<Attachment, Error> {
        let request = request.wire(&self.session_id);
        let mut recorder = self.client.recorder();
        let attached = self.client.answer(recorder.attach_executed_tool_calls(request).await)?;
        Ok(Attachment::read(attached))
    }

    /// Shows one call: how it stands or ended, with these views as far as they were made then.
    /// None: all that were made.
    pub async fn get_tool_call(
        &self,
        call: &CallReference,
        views: Option<&[View]>,
    ) -> Result<ToolCallStatus, Error> {
        let request = pb::GetToolCallRequest {
            session_id: self.session_id.clone(),
            call: Some(call.wire()),
            views: wire_views(views),
        };
        let read = self.client.answer(self.client.runtime().get_tool_call(request).await)?;
        Ok(ToolCallStatus::read(read))
    }

    /// Lists the calls of the session, or of one turn, in the order of their dispatch: open ones,
    /// and ended ones as far as they are kept. An empty turn id: all.
    pub async fn list_tool_calls(&self, turn_id: &str) -> Result<Vec<ToolCallStatus>, Error> {
        let mut calls = Vec::new();
        let mut request = pb::ListToolCallsRequest {
            session_id: self.session_id.clone(),
            turn_id: turn_id.to_owned(),
            ..Default::default()
        };
        loop {
            let listed = self.client.runtime().list_tool_calls(request.clone()).await;
            let page = self.client.answer(listed)?;
            calls.extend(page.calls.into_iter().map(ToolCallStatus::read));
            if page.next_page_token.is_empty() {
                return Ok(calls);
            }
            request.page_token = page.next_page_token;
        }
    }

    /// Cancels calls, as an operator does. A call that has ended or never was is no error: the
    /// result says so.
    pub async fn cancel(&self, target: CancelTarget) -> Result<Vec<CancelledCall>, Error> {
        let request = pb::CancelToolCallRequest {
            session_id: self.session_id.clone(),
            target: Some(target.wire()),
        };
        let answer = self.client.answer(self.client.runtime().cancel_tool_call(request).await)?;
        Ok(answer.calls.into_iter().map(CancelledCall::read).collect())
    }
}

/// A call as an operator sees it: without its arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCallStatus {
    /// The call.
    pub call: CallReference,
    /// The tool as the model named it.
    pub tool_name: ToolName,
    /// The kind of payload.
    pub payload_kind: PayloadKind,
    /// The cell of a script's call. Empty: the model made it.
    pub cell_id: String,
    /// The position among all calls of the session, from 1.
    pub dispatch_order: u64,
    /// Where it stands.
    pub phase: CallPhase,
    /// How it ended. None: it is open.
    pub outcome: Option<Outcome>,
    /// What happened to it.
    pub lifecycle: LifecycleFinish,
    /// The handler had been started.
    pub handler_executed: bool,
    /// Its views, once it has ended and as far as they were asked for and are kept.
    pub projections: Projections,
    /// When it was dispatched.
    pub submit_time: SystemTime,
    /// Where its time went.
    pub durations: CallDurations,
}

impl ToolCallStatus {
    fn read(read: pb::GetToolCallResponse) -> Self {
        let status = read.call.unwrap_or_default();
        let ended = status.outcome.clone().unwrap_or_default();
        Self {
            call: CallReference::read(status.call),
            tool_name: ToolName::read(status.tool_name),
            payload_kind: PayloadKind::from_wire(status.payload_kind),
            cell_id: status.cell_id,
            dispatch_order: status.dispatch_order,
            phase: CallPhase::from_wire(status.phase),
            outcome: status.outcome.map(|outcome| Outcome::read(outcome.outcome)),
            lifecycle: LifecycleFinish::from_wire(ended.lifecycle),
            handler_executed: ended.handler_executed,
            projections: Projections::read(read.projections),
            submit_time: plain_time(status.submit_time),
            durations: CallDurations::read(status.durations),
        }
    }
}
