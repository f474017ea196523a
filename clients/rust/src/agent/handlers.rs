//! The handlers that run: started, told to stop, and their answers sent.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use prost::Message;
use prost::bytes::Bytes;
use tokio_util::sync::CancellationToken;

use super::calls::too_large;
use super::core::{Core, State};
use super::link::Ticket;
use crate::call::{CallReference, ToolCall};
use crate::enums::AbortReason;
use crate::error::Refusal;
use crate::invocation::{Abort, Invocation};
use crate::proto as pb;
use crate::proto::client_frame::Frame;
use crate::proto::handler_result::Result as Answer;
use crate::tool::{Tool, ToolError};
use crate::wire::plain_duration;

/// A handler that was started.
pub(super) struct Execution {
    call: CallReference,
    /// What the handler sees; it may cancel that itself.
    cancelled: CancellationToken,
    /// What drops the handler, after it has seen the other.
    dropped: CancellationToken,
    abort: Arc<OnceLock<Abort>>,
    returned: bool,
    /// The call has its result.
    call_ended: bool,
    /// The frame of its answer.
    ticket: Option<Ticket>,
    /// The answer was refused and another one was sent.
    answered_anew: bool,
}

impl Execution {
    /// Tells the handler to stop; the first reason stays.
    fn stop(&self, abort: Abort) {
        let _ = self.abort.set(abort); // a later reason changes nothing
        self.cancelled.cancel();
        self.dropped.cancel();
    }
}

impl Core {
    /// Starts the handler of a call. An invocation that is known is not started again.
    pub(super) fn invoke(self: &Arc<Self>, state: &mut State, frame: pb::InvokeHandler) {
        let token = frame.invocation_token;
        if state.running.contains_key(&token) {
            return;
        }
        let invocation = Invocation {
            call: ToolCall::read(frame.call),
            rewritten: frame.rewritten,
            dispatch_order: frame.dispatch_order,
            cancelled: CancellationToken::new(),
            abort: Arc::default(),
        };
        let execution = Execution {
            call: invocation.call.reference(),
            cancelled: invocation.cancelled.clone(),
            dropped: CancellationToken::new(),
            abort: Arc::clone(&invocation.abort),
            returned: false,
            call_ended: false,
            ticket: None,
            answered_anew: false,
        };
        let dropped = execution.dropped.clone();
        state.running.insert(token.clone(), execution);
        let tool = state.tools.get(&invocation.call.tool_name).cloned();
        let core = Arc::clone(self);
        self.work.spawn(async move {
            let answer = handle(tool, invocation, dropped).await;
            core.returned(&token, answer);
        });
    }

    /// Answers for a handler that has returned: with its result, or after an abort that waits for
    /// it with the end of the teardown, else not at all.
    fn returned(&self, token: &Bytes, answer: Answer) {
        let mut state = self.lock();
        let Some(execution) = state.running.get_mut(token) else { return };
        execution.returned = true;
        if execution.call_ended {
            state.forget_execution(token);
            return;
        }
        match execution.abort.get() {
            None => self.send_result(&mut state, token, answer),
            Some(abort) if abort.wait_for_teardown => self.torn_down(&mut state, token.clone()),
            Some(_) => {}
        }
    }

    fn torn_down(&self, state: &mut State, invocation_token: Bytes) {
        let complete = pb::TeardownComplete { invocation_token };
        let ticket = self.answer(state, Frame::TeardownComplete(complete));
        state.link.discard(ticket);
    }

    fn send_result(&self, state: &mut State, token: &Bytes, answer: Answer) {
        let mut result =
            pb::HandlerResult { invocation_token: token.clone(), result: Some(answer) };
        if let Some(most) = state.link.max_frame_bytes().filter(|most| result.encoded_len() > *most)
        {
            result.result = Some(unhandled(too_large(result.encoded_len(), most).to_string()));
        }
        let size = result.encoded_len();
        let ticket = self.answer(state, Frame::HandlerResult(result));
        let State { running, calls, link, .. } = state;
        if let Some(execution) = running.get_mut(token) {
            calls.hold_result(&execution.call, size);
            if let Some(before) = execution.ticket.replace(ticket) {
                link.discard(before);
            }
        }
    }

    /// Tells a handler or hook to stop.
    pub(super) fn abort(&self, state: &mut State, frame: pb::AbortHandler) {
        if let Some(question) = state.asked.get(&frame.token) {
            question.cancel();
            return;
        }
        match state.running.get(&frame.token) {
            Some(execution) if execution.returned => {}
            Some(execution) => execution.stop(Abort {
                reason: AbortReason::from_wire(frame.reason),
                wait_for_teardown: frame.wait_for_teardown,
                teardown_timeout: plain_duration(frame.teardown_timeout).unwrap_or_default(),
            }),
            // Told anew after a gap: nothing of it runs here.
            None if frame.wait_for_teardown => self.torn_down(state, frame.token),
            None => {}
        }
    }

    /// Answers anew for handlers whose result the sidecar refused, so that their calls end.
    /// False: the frame error concerns no result.
    pub(super) fn refuse_results(
        &self,
        state: &mut State,
        error: &pb::FrameError,
        refusal: &Refusal,
    ) -> bool {
        let State { running, link, .. } = &mut *state;
        let concerned: Vec<(Bytes, bool)> = running
            .iter_mut()
            .filter(|(_, one)| one.ticket.is_some_and(|ticket| link.concerns(error, ticket)))
            .map(|(token, one)| (token.clone(), std::mem::replace(&mut one.answered_anew, true)))
            .collect();
        for (token, answered_anew) in &concerned {
            tracing::error!(%refusal, "the result of a handler was refused");
            if !answered_anew {
                self.send_result(state, token, unhandled(refusal.to_string()));
            }
        }
        !concerned.is_empty()
    }
}

impl State {
    /// Forgets the handlers and hooks of a call that has its result, as soon as they have
    /// returned.
    pub(super) fn call_ended(&mut self, call: &CallReference) {
        self.asked.retain(|_, question| {
            let ended = question.call == *call;
            if ended {
                question.cancel();
            }
            !ended
        });
        let mut over = Vec::new();
        for (token, execution) in self.running.iter_mut().filter(|(_, one)| one.call == *call) {
            execution.call_ended = true;
            if execution.returned {
                over.push(token.clone());
            } else {
                execution.stop(plain_abort(AbortReason::Cancelled));
            }
        }
        over.iter().for_each(|token| self.forget_execution(token));
    }

    fn forget_execution(&mut self, token: &Bytes) {
        if let Some(ticket) = self.running.remove(token).and_then(|execution| execution.ticket) {
            self.link.discard(ticket);
        }
    }

    /// Tells all handlers and hooks to stop; their answers are not wanted any more.
    pub(super) fn stop_work(&mut self) {
        for (_, execution) in self.running.drain() {
            execution.stop(plain_abort(AbortReason::SessionLost));
        }
        for (_, question) in self.asked.drain() {
            question.cancel();
        }
    }
}

fn plain_abort(reason: AbortReason) -> Abort {
    Abort { reason, wait_for_teardown: false, teardown_timeout: Duration::ZERO }
}

/// Runs a handler and reads what it came to. One that does not stop when it is told to is
/// dropped, unless its tool waits for the teardown.
async fn handle(tool: Option<Tool>, invocation: Invocation, dropped: CancellationToken) -> Answer {
    let Some(tool) = tool else {
        let name = invocation.call.tool_name;
        return unhandled(format!("this agent has no handler for the tool {name}"));
    };
    let handling = caught(async { tool.handle(invocation).await });
    let returned = tokio::select! {
        biased; // a handler that stops by itself is not dropped
        returned = handling => returned,
        () = dropped.cancelled(), if !tool.waits_for_teardown => return unhandled("the handler was dropped".to_owned()),
    };
    match returned {
        Ok(Ok(output)) => Answer::Output(output.0),
        Ok(Err(error)) => failure(&tool, error),
        Err(panic) => {
            tracing::error!(tool = %tool.name, panic, "a handler panicked");
            failure(&tool, ToolError::Unhandled(format!("panic: {panic}")))
        }
    }
}

fn failure(tool: &Tool, error: ToolError) -> Answer {
    let to_model =
        |message: String| Answer::RespondToModel(pb::RespondToModel { message: message.into() });
    match error {
        ToolError::RespondToModel(message) => to_model(message),
        ToolError::Fatal(message) => Answer::Fatal(pb::Fatal { message: message.into() }),
        ToolError::Unhandled(message) if tool.responds_to_errors => to_model(message),
        ToolError::Unhandled(message) => unhandled(message),
    }
}

fn unhandled(message: String) -> Answer {
    Answer::UnhandledError(pb::UnhandledError { message: message.into() })
}

/// Waits for work of the user's. An error: it panicked, with this text.
pub(super) async fn caught<T>(work: impl Future<Output = T>) -> Result<T, String> {
    let mut work = pin!(work);
    poll_fn(|context| {
        catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context)))
            .map_or_else(|panic| Err(panic_text(&*panic)).into(), |polled| polled.map(Ok))
    })
    .await
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_else(|| "of an unknown kind".to_owned())
}
