//! What people read of the demo, in lines of limited width.

use serde_json::Value;
use sidecall_client::{CallResult, LifecycleFinish, Outcome};

use crate::request::Item;
use crate::script::Step;

/// How wide a line may be.
const WIDTH: usize = 80;

/// Prints what became of a call.
pub fn call(step: &Step, result: &CallResult) {
    let took = result.durations.total.unwrap_or_default().as_millis();
    print(&format!("{}  {:<60} {took:>5} ms", step.call.call_id, step.title));
    print(&format!("        asked      {} {}", step.call.tool_name, step.call.payload.text()));
    print(&format!("        outcome    {}", outcome(&result.outcome)));
    print(&format!("        lifecycle  {}", lifecycle(result.lifecycle)));
    let item = result.projections.response_item_json.as_deref().unwrap_or_default();
    let item: Value = serde_json::from_str(item).unwrap_or_default();
    print(&format!("        the model  {}", one_line(&item["output"])));
}

fn outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Completed { success } => format!("completed, success {success}"),
        Outcome::ModelFailure { .. } => "model_failure".to_owned(),
        Outcome::Aborted { reason, progress, teardown, .. } => {
            format!("aborted: {reason}, {progress}, teardown {teardown}")
        }
        other => format!("fatal: {}", other.message()),
    }
}

fn lifecycle(lifecycle: LifecycleFinish) -> String {
    match lifecycle {
        LifecycleFinish::Unspecified => "none".to_owned(),
        said => said.to_string(),
    }
}

/// Prints a request, shortened.
pub fn request(items: &[Item]) {
    for item in items {
        print(&format!("{}  {}", item.call_id, one_line(&item.output)));
        for record in &item.metadata.executed_tool_calls {
            print(&format!("        record  {} {}", record.name, record.arguments));
        }
    }
}

/// An output on one line: its text where it is one, else its JSON.
fn one_line(output: &Value) -> String {
    match output {
        Value::Null => "(nothing)".to_owned(),
        Value::String(text) => text.trim().replace('\n', " ⏎ "),
        other => other.to_string(),
    }
}

/// Prints a line, cut to the width.
fn print(line: &str) {
    if line.chars().count() > WIDTH {
        println!("{}…", line.chars().take(WIDTH - 1).collect::<String>());
    } else {
        println!("{line}");
    }
}
