//! One conversation of an agent on the sidecar, without a stream.

use std::collections::BTreeMap;
use std::fmt;
use std::time::SystemTime;

use crate::call::{CallReference, ToolCall, ToolName};
use crate::client::Client;
use crate::enums::{
    CallPhase, CancelDisposition, LifecycleFinish, PayloadKind, RecordDisposition, SessionState,
    ToolMode, View,
};
use crate::error::Error;
use crate::options::TurnOptions;
use crate::outcome::{CallDurations, Outcome, Projections, wire_views};
use crate::proto as pb;
use crate::recorder::{AttachRequest, Attachment};
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

/// How a session stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionInfo {
    /// The session's id.
    pub session_id: String,
    /// Where it stands in its life.
    pub state: SessionState,
    /// The tool mode in effect.
    pub effective_tool_mode: ToolMode,
    /// When it was opened.
    pub create_time: SystemTime,
    /// Calls without an outcome.
    pub open_calls: u32,
    /// Calls that ended since the session began.
    pub terminal_calls: u64,
    /// Content from outside has marked the session.
    pub external_context_marked: bool,
    /// Bytes that the recorder holds.
    pub held_bytes: u64,
    /// What the recorder lost, by cause, where it lost anything.
    pub recorder_losses: BTreeMap<&'static str, u64>,
    /// Hooks that came to nothing usable.
    pub hooks_failed_open: u64,
    /// Answers that came after their call's end.
    pub late_results: u64,
}

impl SessionInfo {
    pub(crate) fn read(read: pb::Session) -> Self {
        Self {
            session_id: read.session_id,
            state: SessionState::from_wire(read.state),
            effective_tool_mode: ToolMode::from_wire(read.effective_tool_mode),
            create_time: plain_time(read.create_time),
            open_calls: read.open_calls,
            terminal_calls: read.terminal_calls,
            external_context_marked: read.external_context_marked,
            held_bytes: read.recorder_sizes.unwrap_or_default().held_bytes,
            recorder_losses: losses(read.recorder_losses.unwrap_or_default()),
            hooks_failed_open: read.hooks_failed_open,
            late_results: read.late_results,
        }
    }
}

fn losses(read: pb::RecorderLosses) -> BTreeMap<&'static str, u64> {
    BTreeMap::from([
        ("direct_marked", read.direct_marked),
        ("direct_dropped", read.direct_dropped),
        ("nested_marked", read.nested_marked),
        ("nested_dropped", read.nested_dropped),
        ("cell_refused", read.cell_refused),
        ("mapping_refused", read.mapping_refused),
        ("mapping_overwritten", read.mapping_overwritten),
        ("arguments_truncated", read.arguments_truncated),
        ("budget_truncated", read.budget_truncated),
        ("budget_omitted", read.budget_omitted),
        ("retained_pruned", read.retained_pruned),
        ("ended_turn_dropped", read.ended_turn_dropped),
        ("memory_marked", read.memory_marked),
    ])
    .into_iter()
    .filter(|(_, count)| *count > 0)
    .collect()
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

/// Which calls to cancel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CancelTarget {
    /// These.
    Calls(Vec<CallReference>),
    /// All open calls of a turn.
    Turn(String),
    /// All open calls.
    All,
}

impl CancelTarget {
    /// The target holds the call.
    pub(crate) fn holds(&self, call: &CallReference) -> bool {
        match self {
            Self::Calls(calls) => calls.contains(call),
            Self::Turn(turn_id) => *turn_id == call.turn_id,
            Self::All => true,
        }
    }

    pub(crate) fn wire(&self) -> pb::CancelTarget {
        use pb::cancel_target::Target;
        pb::CancelTarget {
            target: Some(match self {
                Self::Calls(calls) => Target::Calls(pb::CallReferences {
                    calls: calls.iter().map(CallReference::wire).collect(),
                }),
                Self::Turn(turn_id) => Target::TurnId(turn_id.clone()),
                Self::All => Target::All(pb::AllCalls {}),
            }),
        }
    }
}

/// A call and what a cancel did to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CancelledCall {
    /// The call.
    pub call: CallReference,
    /// What was done.
    pub disposition: CancelDisposition,
}

impl CancelledCall {
    pub(crate) fn read(read: pb::CancelledCall) -> Self {
        Self {
            call: CallReference::read(read.call),
            disposition: CancelDisposition::from_wire(read.disposition),
        }
    }
}
