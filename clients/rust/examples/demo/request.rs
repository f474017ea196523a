//! The model's next request: the outputs in call order, each with the records of what was
//! attempted.

use serde::Deserialize;
use serde_json::Value;
use sidecall_client::{AttachedToolCalls, CallResult};

use crate::script::{Step, TURN_ID};

/// Makes the request. Items and records are put in as the sidecar gave them.
pub fn next(results: &[CallResult], attached: &[AttachedToolCalls]) -> Result<String, String> {
    let mut items = Vec::new();
    for (index, result) in results.iter().enumerate() {
        let item = result.projections.response_item_json.as_deref().unwrap_or_default();
        let open = item.strip_suffix('}');
        let open = open.ok_or_else(|| format!("{} has no response item", result.call.call_id))?;
        let turn_id = Value::from(result.call.turn_id.as_str());
        let records = attached.iter().find(|records| records.output_index == index);
        let records = records.map_or_else(String::new, |records| {
            format!(r#","executed_tool_calls":{}"#, records.executed_tool_calls_json)
        });
        items.push(format!(
            r#"{open},"internal_chat_message_metadata_passthrough":{{"turn_id":{turn_id}{records}}}}}"#
        ));
    }
    Ok(format!(r#"{{"model":"example","input":[{}]}}"#, items.join(",")))
}

/// What the demo checks of an item of the request.
#[derive(Debug, Deserialize)]
pub struct Item {
    pub call_id: String,
    pub output: Value,
    #[serde(rename = "internal_chat_message_metadata_passthrough")]
    pub metadata: Metadata,
}

#[derive(Debug, Deserialize)]
pub struct Metadata {
    turn_id: String,
    #[serde(default)]
    pub executed_tool_calls: Vec<Record>,
}

#[derive(Debug, Deserialize)]
pub struct Record {
    pub name: String,
    pub arguments: Value,
}

#[derive(Deserialize)]
struct Request {
    input: Vec<Item>,
}

/// Reads the request and says what is off about it: all outputs must be there, in call order, and
/// each must carry its one record.
pub fn check(request: &str, steps: &[Step]) -> Result<Vec<Item>, String> {
    let Request { input } = serde_json::from_str(request).map_err(|error| error.to_string())?;
    if input.len() != steps.len() {
        return Err(format!("the request has {} outputs, not {}", input.len(), steps.len()));
    }
    for (item, step) in input.iter().zip(steps) {
        let asked = &step.call;
        if item.call_id != asked.call_id || item.metadata.turn_id != TURN_ID {
            return Err(format!("{} stands where {} is next", item.call_id, asked.call_id));
        }
        let arguments = serde_json::from_str::<Value>(asked.payload.text());
        match &item.metadata.executed_tool_calls[..] {
            [Record { name, arguments: of }]
                if *name == asked.tool_name.to_string()
                    && arguments.is_ok_and(|all| all == *of) => {}
            records => return Err(format!("{} carries the records {records:?}", item.call_id)),
        }
    }
    Ok(input)
}

#[cfg(test)]
mod tests {
    use sidecall_client::{CallDurations, LifecycleFinish, Outcome, Projections};

    use super::*;
    use crate::script::steps;

    #[test]
    fn a_request_that_lacks_something_is_found() {
        let step = &steps()[..1];
        let item = r#"{"type":"function_call_output","call_id":"call_1","output":"x"}"#;
        let result = CallResult {
            call: step[0].call.clone().in_turn(TURN_ID).reference(),
            dispatch_order: 1,
            outcome: Outcome::Completed { success: true },
            lifecycle: LifecycleFinish::Completed,
            handler_executed: true,
            projections: Projections {
                response_item_json: Some(item.to_owned()),
                ..Projections::default()
            },
            additional_contexts: Vec::new(),
            durations: CallDurations::default(),
        };
        let records = |json: String| AttachedToolCalls {
            output_index: 0,
            executed_tool_calls_json: json,
            metadata_bytes: 0,
        };
        let arguments = step[0].call.payload.text();
        let found = |attached: &[AttachedToolCalls]| {
            let request = next(std::slice::from_ref(&result), attached).unwrap();
            check(&request, step).map(drop)
        };
        let record = format!(r#"{{"name":"shell","arguments":{arguments}}}"#);
        assert_eq!(found(&[records(format!("[{record}]"))]), Ok(()));
        assert_eq!(found(&[]), Err("call_1 carries the records []".to_owned()));
        assert!(found(&[records(format!("[{record},{record}]"))]).is_err());
        let another = format!(r#"[{{"name":"other","arguments":{arguments}}}]"#);
        assert!(found(&[records(another)]).is_err());
        let otherwise = r#"[{"name":"shell","arguments":{}}]"#.to_owned();
        assert!(found(&[records(otherwise)]).is_err());
    }
}
