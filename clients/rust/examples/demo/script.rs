//! The turn that the model plays, and what must come of it.

use serde::Deserialize;
use serde_json::{Value, json};
use sidecall_client::{
    AbortProgress, AbortReason, CallResult, Hook, HookInput, HookPoint, LifecycleFinish, Outcome,
    Payload, TeardownState, ToolCall, ToolName, Verdict,
};

pub const TURN_ID: &str = "turn_1";
pub const MCP_NAMESPACE: &str = "mcp__time__";
/// The call that is cancelled once it runs.
pub const RUNS_LONG: &str = "call_5";

/// How a call must end.
#[derive(Debug, PartialEq)]
pub enum End {
    Success,
    ModelFailure(LifecycleFinish),
    TornDown,
}

/// One call of the model, and what must come of it.
pub struct Step {
    pub title: &'static str,
    pub call: ToolCall,
    /// The next step is dispatched without waiting for this one.
    pub beside: bool,
    end: End,
    /// What the model must read, among other things.
    text: &'static str,
}

impl Step {
    /// Says what is off about a result.
    pub fn check(&self, result: &CallResult) -> Result<(), String> {
        let item = result.projections.response_item_json.as_deref().unwrap_or_default();
        if end(result).as_ref() == Some(&self.end) && item.contains(self.text) {
            return Ok(());
        }
        let (call_id, title) = (&self.call.call_id, self.title);
        Err(format!("{call_id} ({title}): not as expected: {result:?}"))
    }
}

/// How the call ended, where that is one of the ends that are expected.
fn end(result: &CallResult) -> Option<End> {
    match (&result.outcome, result.lifecycle) {
        (Outcome::Completed { success: true }, LifecycleFinish::Completed) => Some(End::Success),
        (Outcome::ModelFailure { .. }, lifecycle) => Some(End::ModelFailure(lifecycle)),
        (
            Outcome::Aborted {
                reason: AbortReason::Cancelled,
                progress: AbortProgress::HandlerInterrupted,
                teardown: TeardownState::Done,
                ..
            },
            LifecycleFinish::Aborted,
        ) => Some(End::TornDown),
        _ => None,
    }
}

/// The script.
pub fn steps() -> Vec<Step> {
    let step = |title, call, end, text| Step { title, call, beside: false, end, text };
    vec![
        step(
            "a command that succeeds",
            shell("call_1", r"printf 'hello from bash\n'"),
            End::Success,
            "hello from bash",
        ),
        step(
            "a command that fails",
            shell("call_2", "echo broken >&2; exit 3"),
            End::Success,
            "Process exited with code 3",
        ),
        Step {
            beside: true,
            ..step(
                "MCP, in parallel: the time",
                time("call_3", "get_current_time", json!({"timezone": "Europe/Berlin"})),
                End::Success,
                "Europe/Berlin",
            )
        },
        step(
            "MCP, in parallel: a conversion",
            time(
                "call_4",
                "convert_time",
                json!({
                    "source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo",
                }),
            ),
            End::Success,
            "21:00",
        ),
        step(
            "a command that is cancelled",
            shell(RUNS_LONG, "echo it runs; sleep 600"),
            End::TornDown,
            "aborted by user",
        ),
        step(
            "a command that a hook blocks",
            shell("call_6", "rm -rf build"),
            End::ModelFailure(LifecycleFinish::Blocked),
            "Command blocked by PreToolUse hook: nothing is deleted here.",
        ),
        step(
            "a tool that nobody has",
            function("call_7", "browse", json!({"url": "https://example.org"})),
            End::ModelFailure(LifecycleFinish::Unspecified),
            "unsupported call: browse",
        ),
    ]
}

fn shell(call_id: &str, command: &str) -> ToolCall {
    function(call_id, "shell", json!({"command": command}))
}

fn time(call_id: &str, tool: &str, arguments: Value) -> ToolCall {
    function(call_id, ToolName::in_namespace(MCP_NAMESPACE, tool), arguments)
}

fn function(call_id: &str, tool: impl Into<ToolName>, arguments: Value) -> ToolCall {
    ToolCall::new(call_id, tool, Payload::function(arguments.to_string()))
}

#[derive(Deserialize)]
struct Bash {
    command: String,
}

/// The hook that deletes nothing.
pub fn guard() -> Hook {
    let guard = |input: HookInput| async move {
        let Bash { command } = serde_json::from_str(&input.payload.tool_input_json)?;
        Ok::<_, serde_json::Error>(if command.contains("rm -rf") {
            Verdict::block("nothing is deleted here")
        } else {
            Verdict::proceed()
        })
    };
    Hook::new(HookPoint::PreToolUse, guard).matchers(["Bash"])
}
