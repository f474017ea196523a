//! Tools: ordinary async functions, and what is declared of them.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::call::ToolName;
use crate::enums::{CancelMode, HookKind, PayloadKind};
use crate::invocation::Invocation;
use crate::output::ToolOutput;
use crate::proto as pb;
use crate::wire::wire_duration;

type Handling = Pin<Box<dyn Future<Output = Result<ToolOutput, ToolError>> + Send>>;

/// What a handler fails with. `?` makes one of any error: a defect of the tool.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolError {
    /// The model reads the text, and may react to it.
    RespondToModel(String),
    /// The turn ends; the agent's user gets to know the text.
    Fatal(String),
    /// A defect of the tool. It ends the turn too, but see
    /// [`Tool::respond_to_errors`](crate::Tool::respond_to_errors).
    Unhandled(String),
}

impl ToolError {
    /// A failure that the model may read.
    pub fn respond_to_model(message: impl Into<String>) -> Self {
        Self::RespondToModel(message.into())
    }

    /// A failure that ends the turn.
    pub fn fatal(message: impl Into<String>) -> Self {
        Self::Fatal(message.into())
    }
}

impl<E: std::error::Error> From<E> for ToolError {
    fn from(error: E) -> Self {
        Self::Unhandled(error.to_string())
    }
}

/// A tool of the agent. It runs alone, unless it is [`parallel`](Tool::parallel).
#[derive(Clone)]
pub struct Tool {
    pub(crate) name: ToolName,
    pub(crate) waits_for_teardown: bool,
    pub(crate) responds_to_errors: bool,
    handler: Arc<dyn Fn(Invocation) -> Handling + Send + Sync>,
    parallel: bool,
    hidden: bool,
    not_ready: bool,
    payload_kinds: Vec<PayloadKind>,
    hook_kind: HookKind,
    teardown_timeout: Option<Duration>,
    call_timeout: Option<Duration>,
}

impl Tool {
    /// A tool and the async function that runs it. What the function returns is:
    ///
    /// - an output, or a text: the call's output;
    /// - [`ToolError::RespondToModel`]: a failure that the model reads;
    /// - [`ToolError::Fatal`]: a failure that ends the turn;
    /// - any other error, or a panic: a defect of the tool, which ends the turn too (but see
    ///   [`respond_to_errors`](Tool::respond_to_errors)).
    ///
    /// When its call is aborted [`Invocation::cancelled`] says so, and the function is dropped
    /// (but see [`wait_for_teardown`](Tool::wait_for_teardown)).
    pub fn new<F, R, O, E>(name: impl Into<ToolName>, handler: F) -> Self
    where
        F: Fn(Invocation) -> R + Send + Sync + 'static,
        R: Future<Output = Result<O, E>> + Send + 'static,
        O: Into<ToolOutput>,
        E: Into<ToolError>,
    {
        Self {
            name: name.into(),
            waits_for_teardown: false,
            responds_to_errors: false,
            handler: Arc::new(move |invocation| {
                let handling = handler(invocation);
                Box::pin(async move { handling.await.map(Into::into).map_err(Into::into) })
            }),
            parallel: false,
            hidden: false,
            not_ready: false,
            payload_kinds: Vec::new(),
            hook_kind: HookKind::Default,
            teardown_timeout: None,
            call_timeout: None,
        }
    }

    /// It may run beside others that may.
    pub fn parallel(mut self) -> Self {
        self.parallel = true;
        self
    }

    /// It is not shown to the model; it runs alone.
    pub fn hidden(mut self) -> Self {
        self.hidden = true;
        self
    }

    /// It cannot run yet; its calls wait until [`Agent::update_tools`](crate::Agent::update_tools)
    /// says that it can.
    pub fn not_ready(mut self) -> Self {
        self.not_ready = true;
        self
    }

    /// The kinds of payloads that it takes, in place of function and tool search.
    pub fn payload_kinds(mut self, kinds: impl IntoIterator<Item = PayloadKind>) -> Self {
        self.payload_kinds = kinds.into_iter().collect();
        self
    }

    /// What hooks see of its calls.
    pub fn hook_kind(mut self, kind: HookKind) -> Self {
        self.hook_kind = kind;
        self
    }

    /// An aborted call ends only when the handler has returned, or its time is over. The handler
    /// is not dropped; [`Invocation::cancelled`] is how it hears of the abort.
    pub fn wait_for_teardown(mut self) -> Self {
        self.waits_for_teardown = true;
        self
    }

    /// How long that may take, in place of 10 s. At most the server's limit.
    pub fn teardown_timeout(mut self, timeout: Duration) -> Self {
        self.teardown_timeout = Some(timeout);
        self
    }

    /// How long a call may take in all. Without it there is no limit.
    pub fn call_timeout(mut self, timeout: Duration) -> Self {
        self.call_timeout = Some(timeout);
        self
    }

    /// Lets the model read every error of the handler, and a panic's text.
    pub fn respond_to_errors(mut self) -> Self {
        self.responds_to_errors = true;
        self
    }

    pub(crate) fn handle(&self, invocation: Invocation) -> Handling {
        (self.handler)(invocation)
    }

    pub(crate) fn wire(&self) -> pb::ToolDeclaration {
        let mode =
            if self.waits_for_teardown { CancelMode::WaitForTeardown } else { CancelMode::Abort };
        pb::ToolDeclaration {
            tool_name: Some(self.name.wire()),
            hook_kind: self.hook_kind.wire(),
            payload_kinds: self.payload_kinds.iter().map(|kind| kind.wire()).collect(),
            supports_parallel_calls: self.parallel,
            hidden: self.hidden,
            not_ready: self.not_ready,
            cancel_mode: mode.wire(),
            teardown_timeout: self.teardown_timeout.map(wire_duration),
            call_timeout: self.call_timeout.map(wire_duration),
        }
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Tool").field("name", &self.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_error_becomes_a_defect_of_the_tool() {
        let read = || -> Result<i32, ToolError> { Ok("x".parse::<i32>()?) };
        let defect = ToolError::Unhandled("invalid digit found in string".to_owned());
        assert_eq!(read(), Err(defect));
    }
}
