//! The calls of one turn, and their outputs in call order.

use std::collections::HashSet;
use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use super::core::Core;
use super::pending::{DispatchOptions, PendingCall};
use crate::call::ToolCall;
use crate::cancel::{CancelTarget, CancelledCall};
use crate::error::Error;
use crate::outcome::CallResult;
use crate::proto as pb;
use crate::proto::client_frame::Frame;

/// Collects the calls of one turn and gives their outputs in the order in which the model made
/// them, whatever ended first. Dropping it cancels the calls that are still open, unless somebody
/// else holds them.
pub struct Turn {
    core: Arc<Core>,
    turn_id: String,
    calls: Mutex<Vec<PendingCall>>,
}

impl Turn {
    pub(super) fn new(core: Arc<Core>, turn_id: String) -> Self {
        Self { core, turn_id, calls: Mutex::default() }
    }

    /// The turn's id.
    pub fn turn_id(&self) -> &str {
        &self.turn_id
    }

    /// Submits a call of this turn, as [`Agent::dispatch`](crate::Agent::dispatch) does. What it
    /// gives may be dropped: the turn holds the call.
    pub fn dispatch(&self, call: ToolCall) -> PendingCall {
        self.dispatch_with(call, DispatchOptions::default())
    }

    /// Submits a call of this turn with options.
    pub fn dispatch_with(&self, call: ToolCall, options: DispatchOptions) -> PendingCall {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let pending = PendingCall::dispatch(&self.core, call.in_turn(&self.turn_id), options);
        calls.push(pending.clone());
        pending
    }

    /// The calls that were dispatched so far, in order.
    pub fn calls(&self) -> Vec<PendingCall> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until all calls that were dispatched so far have ended, and gives their results in
    /// the order of the calls, each call once.
    pub async fn results(&self) -> Vec<Result<CallResult, Error>> {
        let mut results = Vec::new();
        let mut given = HashSet::new();
        for pending in self.calls() {
            let result = pending.await;
            let again = result.as_ref().is_ok_and(|result| !given.insert(result.call.clone()));
            if !again {
                results.push(result);
            }
        }
        results
    }

    /// Waits as [`results`](Turn::results) does and gives the items for the model's next request,
    /// as JSON texts, in the order of the calls. Calls without such an item are left out: of
    /// scripts, fatal ones, and those that the sidecar refused. The error is the loss of the
    /// session.
    pub async fn response_items(&self) -> Result<Vec<String>, Error> {
        let mut items = Vec::new();
        for result in self.results().await {
            match result {
                Ok(result) => items.extend(result.projections.response_item_json),
                Err(Error::Refused(_)) => {}
                Err(lost) => return Err(lost),
            }
        }
        Ok(items)
    }

    /// Cancels all open calls of the turn, as [`Agent::cancel`](crate::Agent::cancel) does.
    pub fn cancel(&self) -> impl Future<Output = Result<Vec<CancelledCall>, Error>> + Send + use<> {
        self.core.cancel(CancelTarget::Turn(self.turn_id.clone()))
    }

    /// Ends the turn: it takes no new calls, and what it recorded and nothing took is dropped
    /// after the next attach. Open calls go on. The future waits until the sidecar has read it.
    pub fn end(&self) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let frame = Frame::EndTurn(pb::EndTurn { turn_id: self.turn_id.clone() });
        self.core.notify(&mut self.core.lock(), frame)
    }
}

impl fmt::Debug for Turn {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Turn").field("turn_id", &self.turn_id).finish_non_exhaustive()
    }
}
