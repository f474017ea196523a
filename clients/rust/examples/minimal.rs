//! A whole agent: one tool, two calls, and the next model request.

use serde::Deserialize;
use sidecall_client::{
    AgentConfig, AttachRequest, Client, Invocation, Payload, SpawnOptions, Tool, ToolCall,
    ToolError, spawn,
};

#[derive(Deserialize)]
struct Numbers {
    number: f64,
    by: f64,
}

/// A tool is an async function.
async fn divide(invocation: Invocation) -> Result<String, ToolError> {
    let Numbers { number, by } = invocation.arguments()?;
    if by == 0.0 {
        return Err(ToolError::respond_to_model("cannot divide by zero")); // the model reads this
    }
    Ok((number / by).to_string())
}

#[tokio::main]
async fn main() -> Result<(), sidecall_client::Error> {
    let sidecar = spawn(SpawnOptions::default()).await?;
    let config = AgentConfig::new().tool(Tool::new("divide", divide));
    let agent = Client::new(sidecar.endpoint())?.connect(config).await?;
    let turn = agent.turn("turn_1");
    let mut request = AttachRequest::new("request_2");
    for (call_id, by) in [("call_1", 4), ("call_2", 0)] {
        let arguments = format!(r#"{{"number": 10, "by": {by}}}"#); // what the model asked for
        let call = turn.dispatch(ToolCall::new(call_id, "divide", Payload::function(arguments)));
        request.outputs.push(call.call().prompt_output());
    }
    let items = turn.response_items().await?; // JSON, for the next request, in call order
    println!("{}", items.join("\n"));
    for attached in agent.attach(request).await?.outputs {
        // what was attempted, by output
        println!("{} {}", attached.output_index, attached.executed_tool_calls_json);
    }
    agent.close().await;
    sidecar.stop().await
}
