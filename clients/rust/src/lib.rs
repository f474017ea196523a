//! The client of sidecall, the sidecar that runs the tool calls of an agent: it orders them, asks
//! hooks, cancels, records what was attempted, and makes what the model reads. The tools and
//! hooks stay ordinary async functions in the agent's own process.
//!
//! An agent makes a [`Client`] of a sidecar (or starts one with [`spawn`]), connects with its
//! [`Tool`]s and [`Hook`]s, and dispatches what the model asked for:
//!
//! ```no_run
//! # use sidecall_client::*;
//! # async fn act(tool: Tool) -> Result<(), Error> {
//! let client = Client::new(Endpoint::default())?;
//! let agent = client.connect(AgentConfig::new().tool(tool)).await?;
//! let turn = agent.turn("turn_1");
//! turn.dispatch(ToolCall::new("call_1", "echo", Payload::function(r#"{"text": "hello"}"#)));
//! let items = turn.response_items().await?;
//! # Ok(()) }
//! ```
//!
//! The connection looks after itself: it resumes after a loss, sends again what was not
//! acknowledged, and keeps to the limits that the sidecar grants. It runs on tokio.

mod agent;
mod call;
mod cancel;
mod client;
mod endpoint;
mod enums;
mod error;
mod head_tail;
mod hook;
mod invocation;
mod options;
mod outcome;
mod output;
mod projection;
mod prompt;
mod proto;
mod recorder;
mod runtime_info;
mod session;
mod session_info;
mod spawn;
mod tool;
mod verdicts;
mod wire;

pub use agent::{Agent, AgentConfig, DispatchOptions, PendingCall, Turn};
pub use call::{CallReference, Payload, ToolCall, ToolCallSource, ToolName};
pub use cancel::{CancelTarget, CancelledCall};
pub use client::Client;
#[cfg(feature = "tls")]
pub use endpoint::Tls;
pub use endpoint::{ENDPOINT_VARIABLE, Endpoint, TOKEN_VARIABLE, default_address};
pub use enums::{
    AbortProgress, AbortReason, CallPhase, CancelDisposition, CancelMode, HookKind, HookPoint,
    ImageDetail, LifecycleFinish, PayloadKind, PostHookBlock, RecordDisposition, ResumeOutcome,
    SessionState, TeardownState, ToolMode, UnknownName, View,
};
pub use error::{Error, FieldViolation, Refusal, SessionLost};
pub use head_tail::{COLLECTION_BUFFER_BYTES, HeadTailBuffer};
pub use hook::{Hook, HookInput, Verdict};
pub use invocation::{Abort, Invocation};
pub use options::{SessionOptions, ToolModeOptions, TurnOptions};
pub use outcome::{
    CallDurations, CallResult, HookPayload, Outcome, OutputBody, Projections, ResponseItem,
};
pub use output::{
    AbortedOutput, ApplyPatchOutput, ContentItem, ExecCommandOutput, FunctionOutput, JsonOutput,
    McpOutput, McpRawOutput, ToolOutput, ToolSearchOutput, TruncationPolicy,
};
pub use projection::{CellResult, CellStatus, ProjectedFailure, ToolFailure};
pub use prompt::{MissingOutput, NormalizedPrompt, OutlineEntry};
pub use recorder::{AttachRequest, AttachedToolCalls, Attachment, PromptBase, PromptOutput};
pub use runtime_info::{RuntimeInfo, RuntimeLimits};
pub use session::{Session, ToolCallStatus};
pub use session_info::SessionInfo;
pub use spawn::{EXECUTABLE_VARIABLE, Sidecar, SpawnOptions, spawn};
pub use tokio_util::sync::CancellationToken;
pub use tonic::Code;
pub use tool::{Tool, ToolError};

/// Compiles what the README shows.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
