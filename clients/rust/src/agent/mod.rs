//! An agent on the stream: declares tools, dispatches calls, survives lost connections.
//!
//! One task keeps the connection ([`reattach`], [`stream`]); what comes in is read by [`frames`],
//! what goes out is ordered by [`link`]. [`calls`] are the agent's, [`handlers`] and [`hooks`]
//! what the sidecar asks for.

mod calls;
mod config;
mod core;
mod farewell;
mod frames;
mod handlers;
mod hooks;
mod link;
mod pending;
mod prompts;
mod reattach;
mod requests;
mod stream;
mod turn;

#[cfg(test)]
mod tests;

use std::fmt;
use std::future::Future;
use std::mem::replace;
use std::sync::Arc;

use self::core::Core;
use crate::call::{CallReference, ToolCall, ToolName};
use crate::cancel::{CancelTarget, CancelledCall};
use crate::client::Client;
use crate::enums::ToolMode;
use crate::error::{Error, SessionLost};
use crate::hook::Hook;
use crate::proto as pb;
use crate::proto::client_frame::Frame;
use crate::recorder::{AttachRequest, Attachment};
use crate::session::Session;
use crate::tool::Tool;

pub use self::config::AgentConfig;
pub use self::pending::{DispatchOptions, PendingCall};
pub use self::turn::Turn;

impl Client {
    /// Attaches an agent: it opens a session, or takes over the one that the config names, and
    /// returns when the sidecar has welcomed it.
    pub async fn connect(&self, config: AgentConfig) -> Result<Agent, Error> {
        let core = Arc::new(Core::new(self.clone(), Box::new(self.clone()), config));
        Agent::open(core).await
    }
}

/// A session with the tools and hooks of this process attached to it. It keeps the connection
/// until it is closed or detached, or until the session is lost.
///
/// What sends something sends it when it is called; the future that it gives only waits for the
/// answer. Dropping the agent closes it, without waiting.
pub struct Agent {
    core: Arc<Core>,
}

impl Agent {
    async fn open(core: Arc<Core>) -> Result<Self, Error> {
        let attachment = core.attach().await?;
        tokio::spawn(Arc::clone(&core).run(attachment));
        Ok(Self { core })
    }

    /// The unary requests of the agent's session.
    pub fn session(&self) -> Session {
        self.core.session()
    }

    /// The tool mode in effect.
    pub fn effective_tool_mode(&self) -> ToolMode {
        self.core.lock().tool_mode
    }

    /// Submits a call. Calls are sent in the order of their dispatch; beyond the limits that the
    /// sidecar grants they wait here until others have ended.
    ///
    /// The same call again runs nothing: it ends as the first one does or did.
    #[must_use = "dropping a pending call cancels it"]
    pub fn dispatch(&self, call: ToolCall) -> PendingCall {
        self.dispatch_with(call, DispatchOptions::default())
    }

    /// Submits a call with options.
    #[must_use = "dropping a pending call cancels it"]
    pub fn dispatch_with(&self, call: ToolCall, options: DispatchOptions) -> PendingCall {
        PendingCall::dispatch(&self.core, call, options)
    }

    /// Begins to collect a turn. Nothing is asked of the sidecar.
    pub fn turn(&self, turn_id: impl Into<String>) -> Turn {
        Turn::new(Arc::clone(&self.core), turn_id.into())
    }

    /// Cancels calls of this session. A call that has ended or never was is no error: the result
    /// says so. Handlers are told through their invocations.
    pub fn cancel(
        &self,
        target: CancelTarget,
    ) -> impl Future<Output = Result<Vec<CancelledCall>, Error>> + Send + use<> {
        self.core.cancel(target)
    }

    /// Adds and replaces tools by name, and takes some away. Calls that run are not touched;
    /// calls that wait for a tool go on as it changes. The future waits until the sidecar has
    /// read it.
    pub fn update_tools(
        &self,
        upsert: Vec<Tool>,
        remove: Vec<ToolName>,
    ) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        self.core.update_tools(upsert, remove)
    }

    /// Puts hooks in place of those declared before. The future waits until the sidecar has read
    /// it.
    pub fn update_hooks(
        &self,
        hooks: Vec<Hook>,
    ) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let declared = pb::HookDeclarations { hooks: hooks.iter().map(Hook::wire).collect() };
        let update = pb::UpdateTools { hooks: Some(declared), ..Default::default() };
        let mut state = self.core.lock();
        let before = replace(&mut state.hooks, hooks);
        let read = self.core.notify(&mut state, Frame::UpdateTools(update));
        drop(state);
        drop(before); // without the lock: they may hold an agent
        read
    }

    /// Says which call's output carries the records of a code-mode cell: `exec`'s as soon as the
    /// cell has started and before its first nested call, `wait`'s after the cell answered it.
    /// The future waits until the sidecar has read it.
    pub fn register_cell(
        &self,
        cell_id: &str,
        output_call: &CallReference,
    ) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let (cell_id, output_call) = (cell_id.to_owned(), Some(output_call.wire()));
        let frame = Frame::RegisterCell(pb::RegisterCell { cell_id, output_call });
        self.core.notify(&mut self.core.lock(), frame)
    }

    /// Ends a turn: it takes no new calls; open ones go on. The future waits until the sidecar
    /// has read it.
    pub fn end_turn(
        &self,
        turn_id: &str,
    ) -> impl Future<Output = Result<(), Error>> + Send + use<> {
        let frame = Frame::EndTurn(pb::EndTurn { turn_id: turn_id.to_owned() });
        self.core.notify(&mut self.core.lock(), frame)
    }

    /// Attaches records to the outputs of a prompt, as [`Session::attach`] does, after everything
    /// that was said on the stream before. Give all outputs each time: what the last prompt began
    /// with is not sent again.
    pub fn attach(
        &self,
        request: AttachRequest,
    ) -> impl Future<Output = Result<Attachment, Error>> + Send + use<> {
        self.core.attach_records(request)
    }

    /// Breaks the connection, as a fault of the network would; the agent resumes by itself. It is
    /// there to prove that.
    pub fn drop_connection(&self) {
        self.core.drop_connection();
    }

    /// Waits until the session is lost, or the agent has left it, and says why.
    pub async fn ended(&self) -> SessionLost {
        self.core.ended.cancelled().await;
        self.core.lock().lost.clone().unwrap_or_else(SessionLost::detached)
    }

    /// Leaves the session: what waits is sent, open calls are aborted here and there, handlers
    /// are told to stop and are waited for. The session stays for unary requests.
    ///
    /// Only a handler whose tool waits for its teardown can take long; a timeout around the
    /// future bounds that.
    pub fn detach(&self) -> impl Future<Output = ()> + Send + use<> {
        self.core.leave(false)
    }

    /// Leaves and ends the session. See [`Agent::detach`].
    pub fn close(&self) -> impl Future<Output = ()> + Send + use<> {
        self.core.leave(true)
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        drop(self.core.leave(true));
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Agent").field("session", &self.session()).finish_non_exhaustive()
    }
}
