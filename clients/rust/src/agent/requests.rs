//! Requests on the stream: cancels, and frames that have no answer of their own.

use std::future::Future;
use std::mem::replace;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::core::{Core, State, Tools};
use super::link::Ticket;
use crate::call::ToolName;
use crate::cancel::{CancelTarget, CancelledCall};
use crate::enums::CancelDisposition;
use crate::error::{Error, Refusal, SessionLost};
use crate::proto as pb;
use crate::proto::client_frame::Frame;
use crate::tool::Tool;

type Answer = Result<Vec<CancelledCall>, Error>;

/// What is asked: a frame that has no answer, a cancel, or both.
#[derive(Default)]
struct Asked {
    frame: Option<Frame>,
    target: Option<CancelTarget>,
    /// Calls that were still waiting here.
    local: Vec<CancelledCall>,
    /// The tools as they were, for an update that is refused.
    tools_before: Option<Tools>,
}

/// Waits for a CancelResult. The server answers in order, so that the result of a cancel of no
/// calls says that it has read everything that was sent before.
pub(super) struct Request {
    /// The cancel, and the frame before it that the request is about.
    tickets: Vec<Ticket>,
    local: Vec<CancelledCall>,
    tools_before: Option<Tools>,
    reply: oneshot::Sender<Answer>,
}

impl Core {
    /// Cancels calls. The frame is sent now; the future only waits for the answer.
    pub(super) fn cancel(
        self: &Arc<Self>,
        mut target: CancelTarget,
    ) -> impl Future<Output = Answer> + Send + use<> {
        let mut state = self.lock();
        let local = state.calls.cancel_waiting(&target);
        if let CancelTarget::Calls(calls) = &mut target {
            calls.retain(|call| !local.contains(call));
        }
        let accepted = |call| CancelledCall { call, disposition: CancelDisposition::Accepted };
        let local = local.into_iter().map(accepted).collect();
        let asked = Asked { target: Some(target), local, ..Asked::default() };
        self.request(&mut state, asked)
    }

    /// Sends a frame that has no answer. The future waits until the server has read it.
    pub(super) fn notify(
        self: &Arc<Self>,
        state: &mut State,
        frame: Frame,
    ) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let read = self.request(state, Asked { frame: Some(frame), ..Asked::default() });
        async move { read.await.map(drop) }
    }

    /// Waits until the server has read what was sent.
    pub(super) fn barrier(
        self: &Arc<Self>,
    ) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let read = self.request(&mut self.lock(), Asked::default());
        async move { read.await.map(drop) }
    }

    /// Changes tools, there and here. The future waits until the server has read it.
    pub(super) fn update_tools(
        self: &Arc<Self>,
        upsert: Vec<Tool>,
        remove: Vec<ToolName>,
    ) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let update = pb::UpdateTools {
            upsert: upsert.iter().map(Tool::wire).collect(),
            remove: remove.iter().map(ToolName::wire).collect(),
            hooks: None,
        };
        let mut state = self.lock();
        let before = state.tools.clone();
        state.tools.extend(upsert.into_iter().map(|tool| (tool.name.clone(), tool)));
        state.tools.retain(|name, _| !remove.contains(name));
        let asked = Asked {
            frame: Some(Frame::UpdateTools(update)),
            tools_before: Some(before),
            ..Asked::default()
        };
        let read = self.request(&mut state, asked);
        async move { read.await.map(drop) }
    }

    fn request(
        self: &Arc<Self>,
        state: &mut State,
        asked: Asked,
    ) -> impl Future<Output = Answer> + Send + use<> {
        let Asked { frame, target, local, tools_before } = asked;
        let (reply, answer) = oneshot::channel();
        if let Some(gone) = state.gone() {
            let _ = reply.send(Err(gone)); // its receiver is here
        } else {
            let frame = frame.map(|frame| self.order(state, frame));
            let nothing = || CancelTarget::Calls(Vec::new());
            let cancel = self.send_cancel(state, &target.unwrap_or_else(nothing));
            let tickets = frame.into_iter().chain([cancel]).collect();
            let request = Request { tickets, local, tools_before, reply };
            state.requests.insert(state.last_cancel_id, request);
        }
        let core = Arc::clone(self);
        async move { answer.await.unwrap_or_else(|_| Err(core.why_ended())) }
    }

    pub(super) fn send_cancel(&self, state: &mut State, target: &CancelTarget) -> Ticket {
        state.last_cancel_id += 1;
        let (cancel_id, target) = (state.last_cancel_id, Some(target.wire()));
        self.order(state, Frame::CancelCalls(pb::CancelCalls { cancel_id, target }))
    }

    /// Cancels one call; nobody waits for the answer.
    pub(super) fn cancel_silently(&self, state: &mut State, target: &CancelTarget) {
        let ticket = self.send_cancel(state, target);
        state.link.discard(ticket);
    }

    fn why_ended(&self) -> Error {
        let lost = self.lock().lost.clone();
        Error::SessionLost(lost.unwrap_or_else(SessionLost::detached))
    }
}

impl State {
    pub(super) fn cancel_result(&mut self, frame: pb::CancelResult) {
        let Some(mut request) = self.requests.remove(&frame.cancel_id) else { return };
        self.retired.extend(request.tools_before);
        request.tickets.iter().for_each(|ticket| self.link.discard(*ticket));
        let mut calls: Vec<_> = frame.calls.into_iter().map(CancelledCall::read).collect();
        calls.append(&mut request.local);
        let _ = request.reply.send(Ok(calls)); // nobody has to wait for it
    }

    /// Fails the requests that the frame error concerns. False: it concerns none.
    pub(super) fn refuse_requests(&mut self, error: &pb::FrameError, refusal: &Refusal) -> bool {
        let concerned: Vec<u64> = self
            .requests
            .iter()
            .filter(|(_, request)| {
                request.tickets.iter().any(|ticket| self.link.concerns(error, *ticket))
            })
            .map(|(id, _)| *id)
            .collect();
        for id in &concerned {
            if let Some(request) = self.requests.remove(id) {
                request.tickets.iter().for_each(|ticket| self.link.discard(*ticket));
                if let Some(before) = request.tools_before {
                    self.retired.push(replace(&mut self.tools, before));
                }
                let _ = request.reply.send(Err(refusal.clone().into())); // as above
            }
        }
        !concerned.is_empty()
    }
}
