//! What an agent brings along.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::enums::ResumeOutcome;
use crate::error::Refusal;
use crate::hook::Hook;
use crate::options::SessionOptions;
use crate::session::Session;
use crate::tool::Tool;

type Listener<T> = Option<Arc<dyn Fn(T) + Send + Sync>>;

/// The tools and hooks of an agent, and how it attaches to its session.
#[derive(Clone, Default)]
pub struct AgentConfig {
    pub(super) tools: Vec<Tool>,
    pub(super) hooks: Vec<Hook>,
    pub(super) options: SessionOptions,
    pub(super) session: Option<Session>,
    pub(super) name: String,
    pub(super) on_connection: Listener<ResumeOutcome>,
    pub(super) on_drain: Listener<Duration>,
    pub(super) on_frame_error: Listener<Refusal>,
}

impl AgentConfig {
    /// An agent without tools and hooks, for a new session.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool. Handlers run side by side, as the sidecar asks for them.
    pub fn tool(mut self, tool: Tool) -> Self {
        self.tools.push(tool);
        self
    }

    /// Adds tools.
    pub fn tools(mut self, tools: impl IntoIterator<Item = Tool>) -> Self {
        self.tools.extend(tools);
        self
    }

    /// Adds a hook. The order in which hooks are added is the order in which their answers count.
    pub fn hook(mut self, hook: Hook) -> Self {
        self.hooks.push(hook);
        self
    }

    /// Adds hooks.
    pub fn hooks(mut self, hooks: impl IntoIterator<Item = Hook>) -> Self {
        self.hooks.extend(hooks);
        self
    }

    /// The options of the session, where it is a new one.
    pub fn options(mut self, options: SessionOptions) -> Self {
        self.options = options;
        self
    }

    /// Attaches to a session that was created before, by its id and resume token, in place of a
    /// new one.
    pub fn session(mut self, session: Session) -> Self {
        self.session = Some(session);
        self
    }

    /// The agent's name and version, for people.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Is told how each attachment to the session began. It must not block.
    pub fn on_connection(mut self, told: impl Fn(ResumeOutcome) + Send + Sync + 'static) -> Self {
        self.on_connection = Some(Arc::new(told));
        self
    }

    /// Is told that the sidecar shuts down, and how long open calls may go on; new ones are
    /// refused with `DRAINING`. It must not block. Without it the log says so.
    pub fn on_drain(mut self, told: impl Fn(Duration) + Send + Sync + 'static) -> Self {
        self.on_drain = Some(Arc::new(told));
        self
    }

    /// Is told of refusals that concern no call and no request. It must not block. Without it the
    /// log says so.
    pub fn on_frame_error(mut self, told: impl Fn(Refusal) + Send + Sync + 'static) -> Self {
        self.on_frame_error = Some(Arc::new(told));
        self
    }
}

impl fmt::Debug for AgentConfig {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("AgentConfig")
            .field("name", &self.name)
            .field("tools", &self.tools)
            .field("hooks", &self.hooks)
            .finish_non_exhaustive()
    }
}
