//! Sidecars, agents and tools for tests. Nothing here is waited for in a test that passes.

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::sync::{Arc, LazyLock, Weak};
use std::time::Duration;

use sidecall_client::{
    Abort, Agent, AgentConfig, CallResult, Client, EXECUTABLE_VARIABLE, Invocation, Outcome,
    Payload, PendingCall, Sidecar, SpawnOptions, Tool, ToolCall, ToolError, spawn,
};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Mutex, mpsc};
use tokio::time::timeout;

/// Bounds what a test waits for.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// The server that the tests run against.
pub fn executable() -> OsString {
    let said = env::var_os(EXECUTABLE_VARIABLE).filter(|said| !said.is_empty());
    said.unwrap_or_else(|| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/bin/sidecall");
        assert!(path.exists(), "no sidecar to test against; run `make setup`");
        path.into()
    })
}

/// Starts a sidecar for one test.
pub async fn own(arguments: &[&str]) -> Sidecar {
    let arguments = arguments.iter().map(OsString::from).collect();
    let options = SpawnOptions { executable: executable(), arguments, ..SpawnOptions::default() };
    spawn(options).await.unwrap()
}

/// Outlives the runtimes of the tests, as the shared sidecar does.
static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap());
static SHARED: Mutex<Weak<Sidecar>> = Mutex::const_new(Weak::new());

/// A sidecar for all tests that need nothing special of it, while any of them runs.
pub async fn shared() -> Arc<Sidecar> {
    let mut shared = SHARED.lock().await;
    if let Some(sidecar) = shared.upgrade() {
        return sidecar;
    }
    let sidecar = Arc::new(RUNTIME.spawn(own(&[])).await.unwrap());
    *shared = Arc::downgrade(&sidecar);
    sidecar
}

/// An agent, and the sidecar that it needs.
pub struct Attached {
    pub agent: Agent,
    pub client: Client,
    _sidecar: Arc<Sidecar>,
}

/// Attaches an agent to the shared sidecar.
pub async fn connect(config: AgentConfig) -> Attached {
    connect_to(shared().await, config).await
}

pub async fn connect_to(sidecar: Arc<Sidecar>, config: AgentConfig) -> Attached {
    let client = Client::new(sidecar.endpoint()).unwrap();
    let agent = client.connect(config).await.unwrap();
    Attached { agent, client, _sidecar: sidecar }
}

pub fn with_tools(tools: impl IntoIterator<Item = Tool>) -> AgentConfig {
    AgentConfig::new().tools(tools)
}

/// Ends a test that waits for what never comes.
pub async fn soon<T>(awaited: impl Future<Output = T>) -> T {
    timeout(PATIENCE, awaited).await.expect("it never came")
}

/// The next letter.
pub async fn next<T>(letters: &mut UnboundedReceiver<T>) -> T {
    soon(letters.recv()).await.expect("nobody writes any more")
}

/// The result of a call that was not refused.
pub async fn result_of(pending: PendingCall) -> CallResult {
    soon(pending).await.unwrap()
}

/// Fails unless the call completed with this in its response item.
pub async fn says(pending: PendingCall, part: &str) {
    let result = result_of(pending).await;
    assert!(matches!(result.outcome, Outcome::Completed { .. }), "{:?}", result.outcome);
    contains(&result.projections.response_item_json.unwrap(), part);
}

#[track_caller]
pub fn contains(text: &str, part: &str) {
    assert!(text.contains(part), "{text} does not contain {part:?}");
}

/// A function call without arguments.
pub fn call(turn_id: &str, call_id: &str, tool: &str) -> ToolCall {
    ToolCall::new(call_id, tool, Payload::function("{}")).in_turn(turn_id)
}

/// A tool that answers with a text.
pub fn saying(name: &str, text: &str) -> Tool {
    let text = text.to_owned();
    Tool::new(name, move |_| {
        let text = text.clone();
        async { Ok::<_, ToolError>(text) }
    })
}

/// A tool that answers with its arguments.
pub fn mirror() -> Tool {
    Tool::new("mirror", |invocation: Invocation| async move {
        Ok::<_, ToolError>(invocation.call.payload.text().to_owned())
    })
}

/// A tool that fails.
pub fn failing(name: &str, error: ToolError) -> Tool {
    Tool::new(name, move |_| {
        let error = error.clone();
        async { Err::<String, _>(error) }
    })
}

/// The strings of a tool whose test decides when it returns what.
pub struct Puppet {
    /// Gets each invocation.
    pub started: UnboundedReceiver<Invocation>,
    /// What it returns, once for each.
    pub texts: UnboundedSender<String>,
    /// Gets why it was told to stop.
    pub stopped: UnboundedReceiver<Abort>,
    /// Lets a stopped handler return.
    pub may_end: UnboundedSender<()>,
    /// Closed when no handler runs that was told to stop.
    pub ended: UnboundedReceiver<()>,
}

impl Puppet {
    pub fn say(&self, text: &str) {
        self.texts.send(text.to_owned()).unwrap();
    }
}

pub fn puppet(name: &str) -> (Tool, Puppet) {
    let (starting, started) = unbounded_channel();
    let (texts, answers) = unbounded_channel::<String>();
    let (stopping, stopped) = unbounded_channel();
    let (may_end, permits) = unbounded_channel::<()>();
    let (ending, ended) = unbounded_channel();
    let (answers, permits) = (Arc::new(Mutex::new(answers)), Arc::new(Mutex::new(permits)));
    let tool = Tool::new(name, move |invocation: Invocation| {
        let (answers, permits) = (Arc::clone(&answers), Arc::clone(&permits));
        let (starting, stopping) = (starting.clone(), stopping.clone());
        let end = Farewell(ending.clone());
        async move {
            let cancelled = invocation.cancelled.clone();
            let _ = starting.send(invocation.clone()); // the test may be over
            tokio::select! {
                text = async { answers.lock().await.recv().await } => {
                    return text.ok_or(ToolError::fatal("the test is over"));
                }
                () = cancelled.cancelled() => {}
            }
            let _ = stopping.send(invocation.abort().expect("it was told why")); // as above
            permits.lock().await.recv().await;
            drop(end);
            Err(ToolError::fatal("told to stop"))
        }
    });
    (tool, Puppet { started, texts, stopped, may_end, ended })
}

/// Says that its handler has returned or was dropped.
struct Farewell(mpsc::UnboundedSender<()>);

impl Drop for Farewell {
    fn drop(&mut self) {
        let _ = self.0.send(()); // the test may be over
    }
}
