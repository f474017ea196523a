//! Drives the Rust client for the conformance suite (tests/conformance/DRIVER.md): JSON commands
//! on stdin, one per line; JSON events on stdout, one per line. The suite plays the model and the
//! handlers: a handler or hook that is asked says so, and waits for the suite's answer.

mod commands;
mod events;
mod mailboxes;

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use sidecall_client::{
    Agent, AgentConfig, AttachRequest, CallReference, CancelMode, Client, DispatchOptions, Error,
    Hook, HookInput, HookPoint, Invocation, PendingCall, ResumeOutcome, Tool, ToolError,
    ToolOutput, Turn, UnknownName, Verdict,
};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::oneshot;
use tokio_util::task::TaskTracker;

use commands::{Answer, Command, Connect, Said, milliseconds, parsed};
use events::{fail, say};
use mailboxes::Mailboxes;

/// How long a detach may take after the end of stdin.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(5);

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let mut driver = Driver::default();
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        match serde_json::from_str(&line) {
            Ok(command) => driver.carry_out(command).await,
            Err(error) => fail(format!("not a command: {error}")),
        }
    }
    driver.leaving.close();
    // Handlers that nobody will answer any more are not waited for.
    let _ = tokio::time::timeout(LEAVE_TIMEOUT, driver.leaving.wait()).await;
    std::process::exit(0);
}

/// The suite's answers, by the call and what was asked.
#[derive(Default)]
struct Answers {
    results: Mailboxes<Answer>,
    verdicts: Mailboxes<Said>,
    teardowns: Mailboxes<()>,
}

#[derive(Default)]
struct Driver {
    answers: Arc<Answers>,
    agent: Option<Agent>,
    turns: HashMap<String, Arc<Turn>>,
    leaving: TaskTracker,
}

impl Driver {
    /// Carries a command out. What sends does so before it returns, so that commands take effect
    /// in their order; what waits for the sidecar does so beside the next commands.
    async fn carry_out(&mut self, command: Command) {
        let done = match command {
            Command::Connect(command) => self.connect(command).await,
            Command::Answer { turn_id, call_id, result } => {
                self.answers.results.put(key(&turn_id, &call_id), result);
                Ok(())
            }
            Command::Verdict { turn_id, call_id, point, said } => {
                self.answers.verdicts.put(point + &key(&turn_id, &call_id), said);
                Ok(())
            }
            Command::TornDown { turn_id, call_id } => {
                self.answers.teardowns.put(key(&turn_id, &call_id), ());
                Ok(())
            }
            command => self.ask(command),
        };
        if let Err(unknown) = done {
            fail(unknown);
        }
    }

    async fn connect(&mut self, command: Connect) -> Result<(), UnknownName> {
        let (began, first) = oneshot::channel();
        let began = Mutex::new(Some(began));
        let mut config = AgentConfig::new()
            .name("conformance")
            .options(command.options.options()?)
            .on_frame_error(|refusal| say("error", events::refused(&refusal)))
            .on_connection(move |how| match began.lock().unwrap().take() {
                Some(began) => drop(began.send(how)),
                None => say("reconnected", json!({"resume": how.to_string()})),
            });
        for tool in command.tools {
            config = config.tool(self.tool(tool)?);
        }
        for hook in command.hooks {
            config = config.hook(self.hook(hook));
        }
        let connected = async { Client::new(command.endpoint)?.connect(config).await };
        match connected.await {
            Ok(agent) => {
                say(
                    "connected",
                    json!({
                        "session_id": agent.session().session_id(),
                        "resume": first.await.unwrap_or(ResumeOutcome::Unspecified).to_string(),
                        "effective_tool_mode": agent.effective_tool_mode().to_string(),
                    }),
                );
                self.agent = Some(agent);
            }
            Err(error) => say("error", events::error(&error)),
        }
        Ok(())
    }

    /// Carries out what needs an agent.
    fn ask(&mut self, command: Command) -> Result<(), UnknownName> {
        let Some(agent) = &self.agent else {
            fail("a command came before connect");
            return Ok(());
        };
        match command {
            Command::Dispatch { call, views, timeout_ms } => {
                let call = call.call()?;
                let views = views.map(|names| names.iter().map(|name| name.parse()).collect());
                let options = DispatchOptions {
                    views: views.transpose()?,
                    timeout: timeout_ms.map(milliseconds),
                    ..DispatchOptions::default()
                };
                let turn_id = call.turn_id.clone();
                let turn = self
                    .turns
                    .entry(turn_id)
                    .or_insert_with_key(|turn_id| Arc::new(agent.turn(turn_id)));
                tokio::spawn(completed(turn.dispatch_with(call, options)));
            }
            Command::Cancel(target) => {
                beside(agent.cancel(target.into()), "cancel_result", |calls| {
                    events::cancelled(&calls)
                });
            }
            Command::Drop => agent.drop_connection(),
            Command::UpdateTools { upsert, remove } => {
                let upsert: Result<Vec<_>, _> =
                    upsert.into_iter().map(|tool| self.tool(tool)).collect();
                let remove = remove.into_iter().map(Into::into).collect();
                beside(agent.update_tools(upsert?, remove), "updated", |()| json!({}));
            }
            Command::RegisterCell { cell_id, turn_id, call_id } => {
                let output = CallReference::new(turn_id, call_id);
                beside(agent.register_cell(&cell_id, &output), "registered", |()| json!({}));
            }
            Command::EndTurn { turn_id } => {
                beside(agent.end_turn(&turn_id), "turn_ended", |()| json!({}));
            }
            Command::Outputs { turn_id } => {
                let turn = self.turns.get(&turn_id).cloned();
                let items = async move {
                    match turn {
                        Some(turn) => turn.response_items().await,
                        None => Ok(Vec::new()),
                    }
                };
                beside(items, "outputs", |items| json!({"response_items": items}));
            }
            Command::Attach { sampling_request_id, turn_id, outputs } => {
                let outputs: Result<Vec<_>, _> =
                    outputs.into_iter().map(commands::Output::output).collect();
                let request = AttachRequest {
                    turn_id,
                    outputs: outputs?,
                    ..AttachRequest::new(sampling_request_id)
                };
                beside(agent.attach(request), "attached", |attachment| {
                    events::attached(&attachment)
                });
            }
            Command::Detach { close: true } => self.leave(agent.close()),
            Command::Detach { close: false } => self.leave(agent.detach()),
            _ => unreachable!("answers need no agent"),
        }
        Ok(())
    }

    fn leave(&self, left: impl Future<Output = ()> + Send + 'static) {
        self.leaving.spawn(async {
            left.await;
            say("detached", json!({}));
        });
    }

    fn tool(&self, said: commands::Tool) -> Result<Tool, UnknownName> {
        let answers = Arc::clone(&self.answers);
        let kinds: Result<Vec<_>, _> = said.payload_kinds.iter().map(|kind| kind.parse()).collect();
        let mut tool =
            Tool::new(said.name, move |invocation| handle(Arc::clone(&answers), invocation))
                .payload_kinds(kinds?)
                .hook_kind(parsed(said.hook_kind)?);
        if said.parallel {
            tool = tool.parallel();
        }
        if said.not_ready {
            tool = tool.not_ready();
        }
        if parsed::<CancelMode>(said.cancel_mode)? == CancelMode::WaitForTeardown {
            tool = tool.wait_for_teardown();
        }
        if let Some(count) = said.teardown_timeout_ms {
            tool = tool.teardown_timeout(milliseconds(count));
        }
        if let Some(count) = said.call_timeout_ms {
            tool = tool.call_timeout(milliseconds(count));
        }
        Ok(tool)
    }

    fn hook(&self, said: commands::Hook) -> Hook {
        let answers = Arc::clone(&self.answers);
        let name = said.point;
        let point = match name.as_str() {
            "pre" => HookPoint::PreToolUse,
            "post" => HookPoint::PostToolUse,
            _ => HookPoint::Unspecified,
        };
        let hook = Hook::new(point, move |input| ask(Arc::clone(&answers), name.clone(), input))
            .matchers(said.matchers);
        match said.timeout_ms {
            Some(count) => hook.timeout(milliseconds(count)),
            None => hook,
        }
    }
}

fn key(turn_id: &str, call_id: &str) -> String {
    format!("{turn_id}/{call_id}")
}

/// Waits beside the next commands, and says what came of it.
fn beside<T: 'static>(
    work: impl Future<Output = Result<T, Error>> + Send + 'static,
    event: &'static str,
    fields: impl FnOnce(T) -> serde_json::Value + Send + 'static,
) {
    tokio::spawn(async move {
        match work.await {
            Ok(value) => say(event, fields(value)),
            Err(error) => say("error", events::error(&error)),
        }
    });
}

async fn completed(mut pending: PendingCall) {
    match (&mut pending).await {
        Ok(result) => say("completed", events::completed(&result)),
        Err(error) => {
            let ids = events::ids(&pending.call().reference());
            say("refused", events::with(events::error(&error), ids));
        }
    }
}

async fn handle(answers: Arc<Answers>, invocation: Invocation) -> Result<ToolOutput, ToolError> {
    let call = &invocation.call;
    let ids = events::ids(&call.reference());
    let key = key(&call.turn_id, &call.call_id);
    say(
        "handler_started",
        events::with(
            ids.clone(),
            json!({
                "name": call.tool_name.name,
                "payload": events::payload(&call.payload),
                "rewritten": invocation.rewritten,
            }),
        ),
    );
    tokio::select! {
        answer = answers.results.take(key.clone()) => return answer.answer(),
        () = invocation.cancelled.cancelled() => say("handler_cancelled", ids),
    }
    if invocation.abort().is_some_and(|abort| abort.wait_for_teardown) {
        answers.teardowns.take(key).await;
    }
    Err(ToolError::fatal("the handler was told to stop"))
}

async fn ask(answers: Arc<Answers>, point: String, input: HookInput) -> Result<Verdict, String> {
    let asked = json!({
        "point": point,
        "tool_name": input.payload.tool_name,
        "tool_input_json": input.payload.tool_input_json,
        "tool_response_json": input.payload.tool_response_json,
    });
    say("hook_started", events::with(events::ids(&input.call), events::given(asked)));
    answers.verdicts.take(point + &key(&input.call.turn_id, &input.call.call_id)).await.verdict()
}
