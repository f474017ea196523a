//! Runs the benchmark's cycle through the Rust client; `tests/bench/clients/__init__.py` says how
//! it is told what to do.

use std::error::Error;
use std::io::stdin;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use serde::{Deserialize, Serialize};
use sidecall_client::{Agent, AgentConfig, Client, Outcome, Payload, Tool, ToolCall, ToolError};
use tokio::task::JoinSet;

type Failure = Box<dyn Error + Send + Sync>;

#[derive(Deserialize)]
struct Line {
    endpoint: String,
    arguments: String,
    output: String,
    in_flight: u32,
    turn_calls: u32,
    warm_up_calls: u32,
    seconds: f64,
}

#[derive(Clone, Copy, Default, Serialize)]
struct Counts {
    seconds: f64,
    calls: u32,
    #[serde(skip)]
    began: Option<Instant>,
}

/// The calls of one line.
struct Cycle {
    line: Line,
    counts: Mutex<Counts>,
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    for text in stdin().lines() {
        let line = serde_json::from_str(&text?)?;
        let cycle = Arc::new(Cycle { line, counts: Mutex::default() });
        println!("{}", serde_json::to_string(&run(&cycle).await?)?);
    }
    Ok(())
}

async fn run(cycle: &Arc<Cycle>) -> Result<Counts, Failure> {
    let output = cycle.line.output.clone();
    let work = Tool::new("work", move |_| {
        let output = output.clone();
        async move { Ok::<_, ToolError>(output) }
    });
    let client = Client::new(cycle.line.endpoint.as_str())?;
    let agent = Arc::new(client.connect(AgentConfig::new().tool(work.parallel())).await?);
    let mut loops = JoinSet::new();
    for number in 0..cycle.line.in_flight {
        loops.spawn(go_on(Arc::clone(cycle), Arc::clone(&agent), number));
    }
    while let Some(ended) = loops.join_next().await {
        ended??;
    }
    agent.close().await;
    Ok(*cycle.counts.lock().expect("nobody panics with it"))
}

async fn go_on(cycle: Arc<Cycle>, agent: Arc<Agent>, number: u32) -> Result<(), Failure> {
    for turn in 0.. {
        let turn_id = format!("turn_{number}_{turn}");
        for call in 0..cycle.line.turn_calls {
            let payload = Payload::function(cycle.line.arguments.as_str());
            let call = ToolCall::new(format!("call_{call}"), "work", payload);
            let result = agent.dispatch(call.in_turn(turn_id.as_str())).await?;
            if !matches!(result.outcome, Outcome::Completed { .. }) {
                return Err(result.outcome.message().into());
            }
            if cycle.over() {
                return Ok(());
            }
        }
        agent.end_turn(&turn_id).await?;
    }
    unreachable!("turns do not end")
}

impl Cycle {
    /// Counts a call; whether the time is up.
    fn over(&self) -> bool {
        let mut counts = self.counts.lock().expect("nobody panics with it");
        if counts.seconds >= self.line.seconds {
            return true;
        }
        counts.calls += 1;
        if let Some(began) = counts.began {
            counts.seconds = began.elapsed().as_secs_f64();
        } else if counts.calls == self.line.warm_up_calls {
            *counts = Counts { began: Some(Instant::now()), ..Counts::default() };
            println!("\"running\"");
        }
        counts.seconds >= self.line.seconds
    }
}
