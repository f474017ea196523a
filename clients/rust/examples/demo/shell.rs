//! A tool that runs commands with bash.

use std::collections::{HashMap, HashSet};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use serde::Deserialize;
use sidecall_client::{ExecCommandOutput, HeadTailBuffer, HookKind, Invocation, Tool, ToolError};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, Command};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// How long a command may take to end after it was asked to.
const KILL_AFTER: Duration = Duration::from_secs(3);

#[derive(Deserialize)]
struct Arguments {
    command: String,
}

#[derive(Default)]
pub struct Shell {
    /// Says, by call id, when the command has written something.
    wrote: Mutex<HashMap<String, CancellationToken>>,
    /// The calls whose process a cancel has ended.
    killed: Mutex<HashSet<String>>,
}

impl Shell {
    pub fn tool(self: Arc<Self>) -> Tool {
        let run = move |invocation| {
            let shell = Arc::clone(&self);
            async move { shell.run(invocation).await }
        };
        Tool::new("shell", run).hook_kind(HookKind::Shell).wait_for_teardown()
    }

    /// Waits until the command of a call has written something.
    pub async fn runs(&self, call_id: &str) {
        self.signal(call_id).cancelled().await;
    }

    fn signal(&self, call_id: &str) -> CancellationToken {
        self.wrote.lock().unwrap().entry(call_id.to_owned()).or_default().clone()
    }

    /// The process of a call was ended by a cancel.
    pub fn was_killed(&self, call_id: &str) -> bool {
        self.killed.lock().unwrap().contains(call_id)
    }

    async fn run(&self, invocation: Invocation) -> Result<ExecCommandOutput, ToolError> {
        let Arguments { command } = invocation.arguments()?;
        let call_id = &invocation.call.call_id;
        let started = Instant::now();
        let mut child = Command::new("bash")
            .args(["-c", &format!("exec 2>&1\n{command}")])
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| ToolError::respond_to_model(format!("bash did not start: {error}")))?;
        let mut collected = HeadTailBuffer::default();
        let status = tokio::select! {
            status = finish(&mut child, &mut collected, self.signal(call_id)) => status?,
            () = invocation.cancelled.cancelled() => {
                end(&mut child).await?;
                self.killed.lock().unwrap().insert(call_id.clone());
                return Err(ToolError::fatal("torn down: the process is gone"));
            }
        };
        Ok(ExecCommandOutput {
            wall_time: started.elapsed(),
            exit_code: status.code(),
            hook_command: Some(command),
            ..collected.output()
        })
    }
}

/// Collects what the command writes, and waits for its end.
async fn finish(
    child: &mut Child,
    collected: &mut HeadTailBuffer,
    wrote: CancellationToken,
) -> std::io::Result<std::process::ExitStatus> {
    if let Some(mut stdout) = child.stdout.take() {
        let mut buffer = [0; 8192];
        while let count @ 1.. = stdout.read(&mut buffer).await? {
            collected.push(&buffer[..count]);
            wrote.cancel();
        }
    }
    child.wait().await
}

/// Ends the command and all that it started.
async fn end(child: &mut Child) -> std::io::Result<()> {
    if let Some(group) = child.id().and_then(|id| Pid::from_raw(id.cast_signed())) {
        kill_process_group(group, Signal::TERM)?;
    }
    match timeout(KILL_AFTER, child.wait()).await {
        Ok(ended) => ended.map(drop),
        Err(_) => child.kill().await,
    }
}
