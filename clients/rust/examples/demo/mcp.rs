//! The tools of an MCP server that others wrote.

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use rmcp::ServiceExt;
use rmcp::model::CallToolRequestParams;
use rmcp::service::{Peer, RoleClient, RunningService};
use rmcp::transport::TokioChildProcess;
use sidecall_client::{HookKind, Invocation, McpOutput, Tool, ToolError, ToolName};
use tokio::process::Command;

/// A server that was started, over stdio.
pub struct McpServer(RunningService<RoleClient, ()>);

impl McpServer {
    pub async fn start(program: &str, arguments: &[&str]) -> Result<Self, Box<dyn Error>> {
        let mut command = Command::new(program);
        command.args(arguments);
        Ok(Self(().serve(TokioChildProcess::new(command)?).await?))
    }

    /// Its tools, ready to be declared, in a namespace of their own.
    pub async fn tools(&self, namespace: &str) -> Result<Vec<Tool>, Box<dyn Error>> {
        let listed = self.0.list_all_tools().await?;
        let tool = |name: String| {
            let server = self.0.peer().clone();
            let full_name = ToolName::in_namespace(namespace, &name);
            let name: Arc<str> = name.into();
            Tool::new(full_name, move |invocation| call(server.clone(), name.clone(), invocation))
                .hook_kind(HookKind::Mcp)
                .parallel()
        };
        Ok(listed.into_iter().map(|listed| tool(listed.name.into_owned())).collect())
    }

    pub async fn stop(self) -> Result<(), Box<dyn Error>> {
        self.0.cancel().await?;
        Ok(())
    }
}

/// Calls a tool: the arguments go to the server as they are.
async fn call(
    server: Peer<RoleClient>,
    name: Arc<str>,
    invocation: Invocation,
) -> Result<McpOutput, ToolError> {
    let params = CallToolRequestParams::new(name.to_string());
    let params = params.with_arguments(invocation.arguments()?);
    let started = Instant::now();
    let called = server.call_tool(params).await;
    let result = called.map_err(|error| ToolError::respond_to_model(error.to_string()))?;
    Ok(McpOutput {
        result_json: serde_json::to_string(&result)?,
        tool_input_json: invocation.call.payload.text().to_owned(),
        wall_time: started.elapsed(),
        ..McpOutput::default()
    })
}
