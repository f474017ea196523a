//! A call that a handler is to run, and why it was told to stop.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use crate::call::{Payload, ToolCall};
use crate::enums::AbortReason;
use crate::tool::ToolError;

/// Why a handler was told to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abort {
    /// Why the call was aborted.
    pub reason: AbortReason,
    /// The call waits until the handler has returned.
    pub wait_for_teardown: bool,
    /// How long it waits.
    pub teardown_timeout: Duration,
}

/// A call that the sidecar wants a handler to run.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// The call, with the payload that a hook may have rewritten.
    pub call: ToolCall,
    /// A hook rewrote the payload.
    pub rewritten: bool,
    /// The position of the call among all calls of the session, from 1.
    pub dispatch_order: u64,
    /// Cancelled when the call is aborted; [`Invocation::abort`] then says why.
    ///
    /// A handler that goes on regardless is dropped at its next `await`, unless its tool
    /// [waits for the teardown](crate::Tool::wait_for_teardown).
    pub cancelled: CancellationToken,
    pub(crate) abort: Arc<OnceLock<Abort>>,
}

impl Invocation {
    /// Why the call was aborted. None: it was not.
    pub fn abort(&self) -> Option<Abort> {
        self.abort.get().copied()
    }

    /// Reads the arguments of a function call; blank ones are an empty object.
    ///
    /// The error can be returned from the handler as it is: the model reads it, and may try again.
    pub fn arguments<T: DeserializeOwned>(&self) -> Result<T, ToolError> {
        let Payload::Function { arguments } = &self.call.payload else {
            let name = &self.call.tool_name;
            return Err(ToolError::respond_to_model(format!(
                "tool {name} takes function arguments"
            )));
        };
        let json = if arguments.trim().is_empty() { "{}" } else { arguments };
        serde_json::from_str(json).map_err(|error| {
            ToolError::respond_to_model(format!("failed to parse function arguments: {error}"))
        })
    }
}
