//! Hooks: async functions that are asked before or after a tool runs.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::call::CallReference;
use crate::enums::HookPoint;
use crate::outcome::HookPayload;
use crate::proto as pb;
use crate::wire::wire_duration;

/// What a hook gets to see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookInput {
    /// The call.
    pub call: CallReference,
    /// Where in the call the hook runs.
    pub point: HookPoint,
    /// What hooks see of the call.
    pub payload: HookPayload,
}

/// What a hook says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    pub(crate) decision: Decision,
    pub(crate) additional_contexts: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Decision {
    #[default]
    Proceed,
    Rewrite(String),
    Block(String),
    Feedback(String),
}

impl Verdict {
    /// The call goes on unchanged.
    pub fn proceed() -> Self {
        Self::of(Decision::Proceed)
    }

    /// The call goes on with other arguments: JSON text of any type. Pre hooks only.
    pub fn rewrite(input_json: impl Into<String>) -> Self {
        Self::of(Decision::Rewrite(input_json.into()))
    }

    /// The call stops. Before the handler it fails with the reason, which must not be blank.
    /// After it the session's [`PostHookBlock`](crate::PostHookBlock) decides; a blank reason
    /// becomes a default text.
    pub fn block(reason: impl Into<String>) -> Self {
        Self::of(Decision::Block(reason.into()))
    }

    /// The model reads this in place of the output. Post hooks only.
    pub fn feedback(message: impl Into<String>) -> Self {
        Self::of(Decision::Feedback(message.into()))
    }

    /// Adds a text for the conversation. It comes back with the result, also of a call that was
    /// blocked.
    pub fn with_context(mut self, text: impl Into<String>) -> Self {
        self.additional_contexts.push(text.into());
        self
    }

    fn of(decision: Decision) -> Self {
        Self { decision, additional_contexts: Vec::new() }
    }
}

type Asking = Pin<Box<dyn Future<Output = Result<Verdict, String>> + Send>>;

/// A hook of the agent. An error, a panic, a timeout or a verdict that its point cannot use
/// leaves the call as it is.
#[derive(Clone)]
pub struct Hook {
    pub(crate) timeout: Option<Duration>,
    point: HookPoint,
    matchers: Vec<String>,
    function: Arc<dyn Fn(HookInput) -> Asking + Send + Sync>,
}

impl Hook {
    /// A hook and the async function that is asked. The function is dropped when its call ends,
    /// or its time is over.
    pub fn new<F, R, E>(point: HookPoint, function: F) -> Self
    where
        F: Fn(HookInput) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Verdict, E>> + Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>>,
    {
        Self {
            timeout: None,
            point,
            matchers: Vec::new(),
            function: Arc::new(move |input| {
                let asking = function(input);
                Box::pin(async move { asking.await.map_err(|error| error.into().to_string()) })
            }),
        }
    }

    /// The tool names or aliases that it wants, in place of all.
    pub fn matchers<T: Into<String>>(mut self, matchers: impl IntoIterator<Item = T>) -> Self {
        self.matchers = matchers.into_iter().map(Into::into).collect();
        self
    }

    /// How long it may take, in place of the server's default.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    pub(crate) fn ask(&self, input: HookInput) -> Asking {
        (self.function)(input)
    }

    pub(crate) fn matches(&self, input: &HookInput) -> bool {
        let payload = &input.payload;
        let wanted = |name: &String| self.matchers.contains(name);
        self.point == input.point
            && (self.matchers.is_empty()
                || wanted(&payload.tool_name)
                || payload.matcher_aliases.iter().any(wanted))
    }

    pub(crate) fn wire(&self) -> pb::HookDeclaration {
        pb::HookDeclaration {
            point: self.point.wire(),
            matchers: self.matchers.clone(),
            timeout: self.timeout.map(wire_duration),
        }
    }
}

impl fmt::Debug for Hook {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Hook")
            .field("point", &self.point)
            .field("matchers", &self.matchers)
            .finish_non_exhaustive()
    }
}
