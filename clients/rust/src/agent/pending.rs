//! A call on its way.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio_util::sync::WaitForCancellationFutureOwned;

use super::calls::Slot;
use super::core::Core;
use crate::call::ToolCall;
use crate::enums::View;
use crate::error::{Error, SessionLost};
use crate::options::TurnOptions;
use crate::outcome::{CallResult, wire_views};
use crate::proto as pb;
use crate::wire::wire_duration;

/// What one dispatch says beside its call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DispatchOptions {
    /// The views of the outcome. None: those of the session.
    pub views: Option<Vec<View>>,
    /// How long the call may take in all. None: as its tool says.
    pub timeout: Option<Duration>,
    /// What the call's turn says differently from its session.
    pub turn_options: TurnOptions,
    /// The caller's W3C trace context. Empty: none.
    pub traceparent: String,
}

impl DispatchOptions {
    pub(super) fn frame(self, call: &ToolCall) -> pb::DispatchCall {
        pb::DispatchCall {
            call: Some(call.wire()),
            turn_options: self.turn_options.wire(),
            views: wire_views(self.views.as_deref()),
            timeout: self.timeout.map(wire_duration),
            traceparent: self.traceparent,
        }
    }
}

/// A call that was dispatched: a future of its one result.
///
/// Clones are handles of the same call, and each can be awaited. A [`Turn`](crate::Turn) holds
/// one. When the last handle is dropped before the call has ended, the call is cancelled.
///
/// It fails with [`Error::Refused`] when the sidecar refused the call (`TURN_ENDED`,
/// `CALL_ID_CONFLICT`, `INVALID_FIELD`, …), or with [`Error::SessionLost`].
pub struct PendingCall {
    handle: Arc<Handle>,
    ended: Pin<Box<WaitForCancellationFutureOwned>>,
}

struct Handle {
    core: Arc<Core>,
    slot: Arc<Slot>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.core.cancel_call(&self.slot);
    }
}

impl PendingCall {
    pub(super) fn dispatch(core: &Arc<Core>, call: ToolCall, options: DispatchOptions) -> Self {
        let frame = options.frame(&call);
        let slot = Slot::new(call);
        core.dispatch(&slot, frame);
        Self::of(Arc::new(Handle { core: Arc::clone(core), slot }))
    }

    fn of(handle: Arc<Handle>) -> Self {
        let ended = Box::pin(handle.slot.ended.clone().cancelled_owned());
        Self { handle, ended }
    }

    /// The call as it was dispatched.
    pub fn call(&self) -> &ToolCall {
        &self.handle.slot.call
    }

    /// The result, if the call has ended.
    pub fn result(&self) -> Option<Result<CallResult, Error>> {
        self.handle.slot.result().cloned()
    }

    /// Asks for the call's end and returns at once. The call still ends with its result: aborted,
    /// or what was already on its way.
    pub fn cancel(&self) {
        self.handle.core.cancel_call(&self.handle.slot);
    }
}

impl Future for PendingCall {
    type Output = Result<CallResult, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        ready!(self.ended.as_mut().poll(context));
        Poll::Ready(self.result().unwrap_or_else(|| Err(SessionLost::detached().into())))
    }
}

impl Clone for PendingCall {
    fn clone(&self) -> Self {
        Self::of(Arc::clone(&self.handle))
    }
}

impl std::fmt::Debug for PendingCall {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("PendingCall")
            .field("call", &self.call().reference())
            .field("ended", &self.handle.slot.result().is_some())
            .finish_non_exhaustive()
    }
}
