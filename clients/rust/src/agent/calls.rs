//! The calls of an agent that are open or wait, and the credits that they hold.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, OnceLock};

use prost::Message;
use tokio_util::sync::CancellationToken;
use tonic::Code;

use super::core::{Core, State};
use super::link::{Link, Ticket};
use crate::call::{CallReference, ToolCall};
use crate::cancel::CancelTarget;
use crate::error::{Error, Refusal};
use crate::outcome::CallResult;
use crate::proto as pb;
use crate::proto::client_frame::Frame;

/// A call, and its result once it has ended.
pub(super) struct Slot {
    pub(super) call: ToolCall,
    result: OnceLock<Result<CallResult, Error>>,
    /// Cancelled, once, when the result is there.
    pub(super) ended: CancellationToken,
}

impl Slot {
    pub(super) fn new(call: ToolCall) -> Arc<Self> {
        Arc::new(Self { call, result: OnceLock::new(), ended: CancellationToken::new() })
    }

    pub(super) fn result(&self) -> Option<&Result<CallResult, Error>> {
        self.result.get()
    }

    fn finish(&self, result: Result<CallResult, Error>) {
        if self.result.set(result).is_ok() {
            self.ended.cancel();
        }
    }
}

/// A call that has not been sent.
struct Waiting {
    slot: Arc<Slot>,
    frame: pb::DispatchCall,
    size: usize,
    /// A cancel has to follow the dispatch, so that the call gets an outcome that the model reads.
    cancelled: bool,
}

/// A call that holds credits.
struct Open {
    slot: Arc<Slot>,
    ticket: Ticket,
    /// Bytes of its dispatch and of its handler's result.
    size: usize,
}

#[derive(Default)]
pub(super) struct Calls {
    /// Credits. 0: the server says none.
    pub(super) max_calls: usize,
    /// Credits. 0: the server says none.
    pub(super) max_bytes: u64,
    waiting: VecDeque<Waiting>,
    open: HashMap<CallReference, Vec<Open>>,
    open_calls: usize,
    open_bytes: u64,
}

impl Core {
    /// Submits a call; beyond the credits it waits.
    pub(super) fn dispatch(&self, slot: &Arc<Slot>, frame: pb::DispatchCall) {
        let size = frame.encoded_len();
        let mut state = self.lock();
        if let Some(gone) = state.gone() {
            slot.finish(Err(gone));
        } else if let Some(most) = state.link.max_frame_bytes().filter(|most| size > *most) {
            slot.finish(Err(too_large(size, most).into()));
        } else {
            let waiting = Waiting { slot: Arc::clone(slot), frame, size, cancelled: false };
            state.calls.waiting.push_back(waiting);
            self.admit(&mut state);
        }
    }

    /// Sends the calls that the credits allow, in order.
    pub(super) fn admit(&self, state: &mut State) {
        while let Some(Waiting { slot, frame, size, cancelled }) = state.calls.next() {
            let reference = slot.call.reference();
            let ticket = self.order(state, Frame::DispatchCall(frame));
            state.calls.hold(reference.clone(), Open { slot, ticket, size });
            if cancelled {
                self.cancel_silently(state, &CancelTarget::Calls(vec![reference]));
            }
        }
    }

    /// Asks for the end of a call that is cancelled, or that nobody waits for any more. Nothing is
    /// asked for one that has ended.
    pub(super) fn cancel_call(&self, slot: &Arc<Slot>) {
        let mut state = self.lock();
        let calls = &mut state.calls;
        if let Some(waiting) = calls.waiting.iter_mut().find(|one| Arc::ptr_eq(&one.slot, slot)) {
            waiting.cancelled = true;
        } else if calls.holds(slot) {
            let target = CancelTarget::Calls(vec![slot.call.reference()]);
            self.cancel_silently(&mut state, &target);
        }
    }

    pub(super) fn completed(&self, state: &mut State, frame: pb::CallCompleted) {
        let result = CallResult::read(frame);
        let reference = result.call.clone();
        state.calls.complete(result, &mut state.link);
        state.call_ended(&reference);
        self.admit(state);
    }
}

impl Calls {
    /// The next call that the credits allow. A call that is larger than all the credits goes
    /// alone, for the sidecar to refuse.
    fn next(&mut self) -> Option<Waiting> {
        let size = self.waiting.front()?.size as u64;
        let calls = self.max_calls > 0 && self.open_calls >= self.max_calls;
        let bytes = self.max_bytes > 0 && self.open_bytes + size > self.max_bytes;
        if self.open_calls > 0 && (calls || bytes) {
            return None;
        }
        self.waiting.pop_front()
    }

    fn hold(&mut self, reference: CallReference, open: Open) {
        self.open_calls += 1;
        self.open_bytes += open.size as u64;
        self.open.entry(reference).or_default().push(open);
    }

    fn holds(&self, slot: &Arc<Slot>) -> bool {
        self.open
            .get(&slot.call.reference())
            .is_some_and(|open| open.iter().any(|one| Arc::ptr_eq(&one.slot, slot)))
    }

    /// Notes that a call's result holds credits too.
    pub(super) fn hold_result(&mut self, reference: &CallReference, size: usize) {
        if let Some(open) = self.open.get_mut(reference).and_then(|open| open.first_mut()) {
            open.size += size;
            self.open_bytes += size as u64;
        }
    }

    /// Ends a call with its result. A dispatch of the same ids with another call is about to be
    /// refused instead.
    fn complete(&mut self, result: CallResult, link: &mut Link) {
        let Some(open) = self.open.remove(&result.call) else { return };
        let first = Arc::clone(&open[0].slot);
        let (ended, others): (Vec<_>, Vec<_>) =
            open.into_iter().partition(|one| one.slot.call == first.call);
        for one in ended {
            self.end(one, Ok(result.clone()), link);
        }
        if !others.is_empty() {
            self.open.insert(result.call, others);
        }
    }

    /// Ends the dispatches that the frame error concerns. False: it concerns none.
    pub(super) fn refuse(
        &mut self,
        error: &pb::FrameError,
        refusal: &Refusal,
        link: &mut Link,
    ) -> bool {
        let mut refused = Vec::new();
        for open in self.open.values_mut() {
            refused.extend(open.extract_if(.., |one| link.concerns(error, one.ticket)));
        }
        self.open.retain(|_, open| !open.is_empty());
        let found = !refused.is_empty();
        for one in refused {
            self.end(one, Err(refusal.clone().into()), link);
        }
        found
    }

    /// Gives a call's credits back and tells who waits for it.
    fn end(&mut self, open: Open, result: Result<CallResult, Error>, link: &mut Link) {
        self.open_calls -= 1;
        self.open_bytes -= open.size as u64;
        link.discard(open.ticket);
        open.slot.finish(result);
    }

    /// Marks the calls of the target that have not been sent. Names them.
    pub(super) fn cancel_waiting(&mut self, target: &CancelTarget) -> Vec<CallReference> {
        let mut marked = Vec::new();
        for waiting in &mut self.waiting {
            let reference = waiting.slot.call.reference();
            if target.holds(&reference) && !self.open.contains_key(&reference) {
                waiting.cancelled = true;
                marked.push(reference);
            }
        }
        marked
    }

    /// Ends all calls that are open or wait.
    pub(super) fn fail_all(&mut self, error: &Error) {
        for open in self.open.drain().flat_map(|(_, open)| open) {
            open.slot.finish(Err(error.clone()));
        }
        for waiting in self.waiting.drain(..) {
            waiting.slot.finish(Err(error.clone()));
        }
        self.open_calls = 0;
        self.open_bytes = 0;
    }
}

pub(super) fn too_large(size: usize, most: usize) -> Refusal {
    let message =
        format!("a frame of {size} bytes is above the server's limit of {most}; send less");
    Refusal::new(Code::ResourceExhausted, "MESSAGE_TOO_LARGE", message)
}
