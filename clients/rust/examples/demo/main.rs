//! An agent with real tools: it starts a sidecar, plays a scripted turn of a model, and makes the
//! model's next request. It fails where anything is not as it must be.

mod mcp;
mod report;
mod request;
mod script;
mod shell;

use std::env;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use sidecall_client::{
    Agent, AgentConfig, AttachRequest, CallResult, Client, SpawnOptions, Turn, spawn,
};

use mcp::McpServer;
use script::{RUNS_LONG, Step, TURN_ID};
use shell::Shell;

/// Holds the path of mcp-server-time.
const MCP_SERVER_VARIABLE: &str = "MCP_SERVER_TIME";
/// Bounds the whole demo.
const TIME_LIMIT: Duration = Duration::from_secs(30);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    tokio::time::timeout(TIME_LIMIT, demo()).await?
}

/// Brings up the MCP server and the sidecar, and lets the agent act between them.
async fn demo() -> Result<(), Box<dyn Error>> {
    let program = env::var(MCP_SERVER_VARIABLE).unwrap_or("mcp-server-time".to_owned());
    let server =
        McpServer::start(&program, &["--local-timezone", "UTC"]).await.map_err(|error| {
            format!("{program}: {error} (say where mcp-server-time is with {MCP_SERVER_VARIABLE})")
        })?;
    let shell = Arc::new(Shell::default());
    let config = AgentConfig::new()
        .name("demo-rust")
        .tool(Arc::clone(&shell).tool())
        .tools(server.tools(script::MCP_NAMESPACE).await?)
        .hook(script::guard());
    let sidecar = spawn(SpawnOptions::default()).await?;
    let agent = Client::new(sidecar.endpoint())?.connect(config).await?;
    act(&agent, &shell).await?;
    agent.close().await;
    sidecar.stop().await?;
    server.stop().await
}

/// Plays the turn and makes the next request.
async fn act(agent: &Agent, shell: &Shell) -> Result<(), Box<dyn Error>> {
    let steps = script::steps();
    println!("The model asks for {} calls in one turn.\n", steps.len());
    let turn = agent.turn(TURN_ID);
    for step in &steps {
        play(&turn, step, shell).await?;
    }
    let results: Vec<CallResult> = turn.results().await.into_iter().collect::<Result<_, _>>()?;
    for (step, result) in steps.iter().zip(&results) {
        report::call(step, result);
        step.check(result)?;
    }
    if !shell.was_killed(RUNS_LONG) {
        return Err(format!("the process of {RUNS_LONG} was not ended").into());
    }
    let mut attach = AttachRequest::new("request_2");
    attach.turn_id = TURN_ID.to_owned();
    attach.outputs = turn.calls().iter().map(|pending| pending.call().prompt_output()).collect();
    let request = request::next(&results, &agent.attach(attach).await?.outputs)?;
    let items = request::check(&request, &steps)?;
    println!("\nThe next model request ({} bytes) says, each with its record:\n", request.len());
    report::request(&items);
    turn.end().await?;
    println!("\nAll as expected.");
    Ok(())
}

/// Dispatches one call, cancels it if it is the one that runs long, and waits for its end unless
/// it runs beside the next.
async fn play(turn: &Turn, step: &Step, shell: &Shell) -> Result<(), Box<dyn Error>> {
    let mut pending = turn.dispatch(step.call.clone());
    if step.call.call_id == RUNS_LONG {
        tokio::select! {
            () = shell.runs(RUNS_LONG) => pending.cancel(),
            ended = &mut pending => return Err(format!("{RUNS_LONG} ended early: {ended:?}").into()),
        }
    }
    if !step.beside {
        pending.await?;
    }
    Ok(())
}
