//! What an agent knows, and how its parts reach it.

use std::collections::{BTreeMap, HashMap};
use std::mem::take;
use std::sync::{Mutex, MutexGuard, PoisonError};

use prost::bytes::Bytes;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::calls::Calls;
use super::config::AgentConfig;
use super::handlers::Execution;
use super::hooks::Question;
use super::link::{Link, Ticket};
use super::prompts::LastPrompt;
use super::requests::Request;
use super::stream::OpenStream;
use crate::call::ToolName;
use crate::client::Client;
use crate::enums::ToolMode;
use crate::error::{Error, SessionLost};
use crate::hook::Hook;
use crate::proto::client_frame::Frame;
use crate::tool::Tool;

/// An agent: shared by its handle, the task that keeps it connected, its handlers and its calls.
pub(super) struct Core {
    pub(super) client: Client,
    pub(super) transport: Box<dyn OpenStream>,
    pub(super) config: AgentConfig,
    /// There is something to write.
    pub(super) wake: Notify,
    /// Cancelled when the session is lost, or the agent has left it.
    pub(super) ended: CancellationToken,
    /// The handlers and hooks that run.
    pub(super) work: TaskTracker,
    state: Mutex<State>,
}

/// The tools of an agent by name.
pub(super) type Tools = BTreeMap<ToolName, Tool>;

#[derive(Default)]
pub(super) struct State {
    pub(super) link: Link,
    pub(super) session_id: String,
    pub(super) resume_token: String,
    pub(super) tool_mode: ToolMode,
    pub(super) server_instance_id: String,
    pub(super) tools: Tools,
    pub(super) hooks: Vec<Hook>,
    /// Tools that were replaced. They are dropped without the lock: they may hold the agent, whose
    /// drop takes it.
    pub(super) retired: Vec<Tools>,
    pub(super) calls: Calls,
    /// Handlers by invocation token, until their call has ended and they have returned.
    pub(super) running: HashMap<Bytes, Execution>,
    /// Hooks that were asked, by hook token, until their call has ended.
    pub(super) asked: HashMap<Bytes, Question>,
    /// Requests by the id of the cancel that answers them.
    pub(super) requests: HashMap<u64, Request>,
    pub(super) last_cancel_id: u64,
    pub(super) last_prompt: LastPrompt,
    pub(super) detaching: bool,
    /// The server ended the stream because the agent wished it.
    pub(super) farewell_heard: bool,
    pub(super) lost: Option<SessionLost>,
    /// Breaks the connection.
    pub(super) drop_stream: CancellationToken,
}

impl Core {
    pub(super) fn new(
        client: Client,
        transport: Box<dyn OpenStream>,
        mut config: AgentConfig,
    ) -> Self {
        let mut state = State { hooks: take(&mut config.hooks), ..State::default() };
        for tool in take(&mut config.tools) {
            state.tools.insert(tool.name.clone(), tool);
        }
        if let Some(session) = &config.session {
            state.session_id = session.session_id().to_owned();
            state.resume_token = session.resume_token().to_owned();
        }
        Self {
            client,
            transport,
            config,
            wake: Notify::new(),
            ended: CancellationToken::new(),
            work: TaskTracker::new(),
            state: Mutex::new(state),
        }
    }

    /// The state. Nothing that panics leaves it half changed.
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a frame whose order counts.
    pub(super) fn order(&self, state: &mut State, frame: Frame) -> Ticket {
        self.wake.notify_one();
        state.link.order(frame)
    }

    /// Queues what a handler or hook came to.
    pub(super) fn answer(&self, state: &mut State, frame: Frame) -> Ticket {
        self.wake.notify_one();
        state.link.answer(frame)
    }

    /// Ends everything that hangs on the session. Tools and hooks are given up, as they may hold
    /// the agent.
    pub(super) fn lose(&self, lost: SessionLost) {
        let mut state = self.lock();
        state.calls.fail_all(&Error::SessionLost(lost.clone()));
        state.lost = Some(lost);
        state.stop_work();
        state.link = Link::default();
        let unlocked = (take(&mut state.tools), take(&mut state.hooks), take(&mut state.requests));
        drop(state);
        drop(unlocked);
    }
}

impl State {
    /// Why nothing more can be asked of the session. None: it can.
    pub(super) fn gone(&self) -> Option<Error> {
        let detached = || self.detaching.then(SessionLost::detached);
        self.lost.clone().or_else(detached).map(Error::SessionLost)
    }
}
