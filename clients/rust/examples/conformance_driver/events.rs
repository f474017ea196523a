//! The client's values, as events for the suite.

use std::io::Write;

use serde_json::{Map, Value, json};
use sidecall_client::{
    AttachedToolCalls, Attachment, CallReference, CallResult, CancelledCall, Error, FieldViolation,
    Outcome, Payload, Refusal,
};

/// Writes one event, a whole line at once.
pub fn say(kind: &str, fields: Value) {
    let mut line = Map::from_iter([("event".to_owned(), kind.into())]);
    if let Value::Object(fields) = fields {
        line.extend(fields);
    }
    let mut stdout = std::io::stdout().lock();
    if writeln!(stdout, "{}", Value::Object(line)).and_then(|()| stdout.flush()).is_err() {
        std::process::exit(1); // nobody reads any more
    }
}

/// A command that could not be carried out.
pub fn fail(message: impl ToString) {
    say("error", json!({"reason": "", "message": message.to_string(), "field_violations": []}));
}

/// What the sidecar refused.
pub fn refused(refusal: &Refusal) -> Value {
    let violation =
        |one: &FieldViolation| json!({"field": one.field, "description": one.description});
    json!({
        "reason": refusal.reason,
        "message": refusal.message,
        "field_violations": refusal.field_violations.iter().map(violation).collect::<Vec<_>>(),
    })
}

/// What the client failed with.
pub fn error(error: &Error) -> Value {
    match error {
        Error::Refused(refusal) => refused(refusal),
        Error::SessionLost(lost) => json!({
            "reason": "SESSION_LOST", "message": lost.to_string(), "field_violations": [],
        }),
        other => json!({"reason": "", "message": other.to_string(), "field_violations": []}),
    }
}

/// Both values, the fields of the second among those of the first.
pub fn with(mut fields: Value, more: Value) -> Value {
    if let (Value::Object(fields), Value::Object(more)) = (&mut fields, more) {
        fields.extend(more);
    }
    fields
}

pub fn ids(call: &CallReference) -> Value {
    json!({"turn_id": call.turn_id, "call_id": call.call_id})
}

pub fn payload(payload: &Payload) -> Value {
    match payload {
        Payload::Custom { input } => json!({"kind": "custom", "input": input}),
        Payload::ToolSearch { query, limit } => given(json!({
            "kind": "tool_search", "query": query, "limit": limit,
        })),
        other => json!({"kind": "function", "arguments": other.text()}),
    }
}

pub fn cancelled(calls: &[CancelledCall]) -> Value {
    let one = |one: &CancelledCall| {
        with(ids(&one.call), json!({"disposition": one.disposition.to_string()}))
    };
    json!({"calls": calls.iter().map(one).collect::<Vec<_>>()})
}

pub fn attached(attachment: &Attachment) -> Value {
    let output = |one: &AttachedToolCalls| {
        json!({
            "index": one.output_index,
            "json": one.executed_tool_calls_json,
            "metadata_bytes": one.metadata_bytes,
        })
    };
    json!({
        "attached": attachment.attached,
        "outputs": attachment.outputs.iter().map(output).collect::<Vec<_>>(),
    })
}

pub fn completed(result: &CallResult) -> Value {
    let views = &result.projections;
    let fields = with(ids(&result.call), outcome(&result.outcome));
    let fields = with(
        fields,
        json!({
            "dispatch_order": result.dispatch_order,
            "lifecycle": name(result.lifecycle),
            "handler_executed": result.handler_executed,
            "additional_contexts": result.additional_contexts,
        }),
    );
    let views = json!({
        "response_item_json": views.response_item_json,
        "code_mode_json": views.code_mode_json,
        "log_preview": views.log_preview,
    });
    with(fields, given(views))
}

fn outcome(outcome: &Outcome) -> Value {
    match outcome {
        Outcome::Completed { success } => json!({"outcome": "completed", "success": success}),
        Outcome::ModelFailure { message } => {
            json!({"outcome": "model_failure", "message": message})
        }
        Outcome::Aborted { reason, progress, teardown, message } => json!({
            "outcome": "aborted", "message": message, "reason": name(reason),
            "progress": name(progress), "teardown": name(teardown),
        }),
        other => json!({"outcome": "fatal", "message": other.message()}),
    }
}

/// The name of an enum's value; what is not said is `none`.
fn name(value: impl ToString) -> String {
    let name = value.to_string();
    if name == "unspecified" { "none".to_owned() } else { name }
}

/// The fields that say something.
pub fn given(mut fields: Value) -> Value {
    if let Value::Object(fields) = &mut fields {
        fields.retain(|_, value| !value.is_null());
    }
    fields
}
