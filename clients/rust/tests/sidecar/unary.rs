//! Requests without a stream.

use std::time::Duration;

use sidecall_client::{
    AbortReason, AbortedOutput, AgentConfig, ApplyPatchOutput, AttachRequest, CallReference,
    CellResult, CellStatus, Client, ContentItem, Error, ExecCommandOutput, FunctionOutput,
    ImageDetail, JsonOutput, McpOutput, McpRawOutput, OutlineEntry, Payload, PayloadKind,
    PromptBase, PromptOutput, RecordDisposition, SessionOptions, ToolCall, ToolCallSource,
    ToolError, ToolFailure, ToolMode, ToolModeOptions, ToolOutput, ToolSearchOutput,
    TruncationPolicy, TurnOptions, View,
};

use crate::support::{
    call, connect, contains, mirror, result_of, saying, shared, soon, with_tools,
};

#[tokio::test]
async fn a_sidecar_tells_about_itself() {
    let sidecar = shared().await;
    let info = Client::new(sidecar.endpoint()).unwrap().runtime_info().await.unwrap();
    assert_eq!(info.server_version, sidecar.version());
    assert!(!info.server_instance_id.is_empty() && !info.draining);
    assert!(info.limits.max_calls_in_flight > 0 && !info.limits.heartbeat_interval.is_zero());
}

#[tokio::test]
async fn an_agent_that_runs_its_tools_itself_can_use_the_recorder() {
    let sidecar = shared().await;
    let client = Client::new(sidecar.endpoint()).unwrap();
    let session = client.create_session("", &SessionOptions::default()).await.unwrap();
    let arguments = Payload::function(r#"{"big": 12345678901234567890123, "e": "é"}"#);
    let did = ToolCall::new("id", "tool", arguments).in_turn("turn");
    for disposition in [RecordDisposition::Recorded, RecordDisposition::Duplicate] {
        let recorded = session.record_tool_call(&did, TurnOptions::default()).await;
        assert_eq!(recorded.unwrap(), disposition);
    }
    let mut request = AttachRequest::new("request");
    request.outputs.push(did.prompt_output());
    let attached = session.attach(request).await.unwrap().outputs;
    assert_eq!(attached.len(), 1);
    let records = r#"[{"name":"tool","arguments":{"big":12345678901234567890123,"e":"é"}}]"#;
    assert_eq!(attached[0].executed_tool_calls_json, records);
    assert_eq!(session.end_turn("turn").await.unwrap(), 0);
    session.delete().await.unwrap();
    assert_eq!(session.info().await.unwrap_err().reason(), "SESSION_NOT_FOUND");
}

#[tokio::test]
async fn the_output_of_exec_carries_the_records_of_its_cell() {
    let options = SessionOptions {
        tool_mode: ToolModeOptions {
            model_tool_mode: ToolMode::CodeMode,
            ..ToolModeOptions::default()
        },
        ..SessionOptions::default()
    };
    let config = AgentConfig::new().tool(saying("nested", "x")).options(options);
    let attached = connect(config).await;
    let agent = &attached.agent;
    let exec = CallReference::new("turn", "exec");
    soon(agent.register_cell("cell", &exec)).await.unwrap();
    let mut nested = call("turn", "n", "nested");
    nested.source = ToolCallSource::CodeMode {
        cell_id: "cell".to_owned(),
        runtime_tool_call_id: "7".to_owned(),
    };
    let views = result_of(agent.dispatch(nested)).await.projections;
    assert_eq!((views.code_mode_json.as_deref(), views.response_item_json), (Some(r#""x""#), None));
    let mut request = AttachRequest::new("request");
    request.outputs.push(PromptOutput {
        kind: PayloadKind::Custom,
        call_id: Some(exec.call_id),
        turn_id: Some(exec.turn_id),
        item_id: None,
    });
    let carried = soon(agent.attach(request)).await.unwrap();
    assert!(carried.attached);
    assert_eq!(
        carried.outputs[0].executed_tool_calls_json,
        r#"[{"name":"nested","arguments":{}}]"#
    );
}

#[tokio::test]
async fn a_prompt_is_told_as_a_change_to_the_last_one_also_when_another_came_between() {
    let attached = connect(with_tools([mirror()])).await;
    let turn = attached.agent.turn("turn");
    let mut request = AttachRequest::new("request 1");
    for (number, call_id) in [(1, "a"), (2, "b"), (3, "c")] {
        request.sampling_request_id = format!("request {number}");
        let pending = turn.dispatch(call("", call_id, "mirror"));
        request.outputs.push(pending.call().prompt_output());
        result_of(pending).await;
        if number == 3 {
            let alone = AttachRequest::new("an operator's");
            attached.agent.session().attach(alone).await.unwrap();
        }
        let records = soon(attached.agent.attach(request.clone())).await.unwrap().outputs;
        let indexes: Vec<_> = records.iter().map(|one| one.output_index).collect();
        // What the operator's prompt left out lost its records: they go with their output.
        let expected = if number == 3 { vec![2] } else { (0..number).collect() };
        assert_eq!(indexes, expected);
    }
    let session = attached.agent.session();
    let base = Some(PromptBase { prompt_token: b"another".to_vec(), kept_outputs: 1 });
    let refused = session.attach(AttachRequest { base, ..AttachRequest::new("x") }).await;
    assert_eq!(refused.unwrap_err().reason(), "PROMPT_BASE_MISMATCH");
}

#[tokio::test]
async fn outputs_are_projected_without_a_session() {
    let sidecar = shared().await;
    let client = Client::new(sidecar.endpoint()).unwrap();
    let image =
        ContentItem::InputImage { image_url: "data:x".to_owned(), detail: ImageDetail::Low };
    let mcp = r#"{"content":[{"type":"text","text":"hi"}]}"#.to_owned();
    let outputs: [(ToolOutput, Option<&str>, &str); 9] = [
        ("hello".into(), None, r#""output":"hello""#),
        (
            FunctionOutput { content: vec![image], ..FunctionOutput::default() }.into(),
            None,
            r#"[{"type":"input_image","image_url":"data:x","detail":"low"}]"#,
        ),
        (
            JsonOutput { value_json: r#"{"n": 1.10}"#.to_owned(), success: None }.into(),
            None,
            r#"{\"n\":1.10}"#,
        ),
        (
            ApplyPatchOutput { text: "done".to_owned() }.into(),
            Some("instead"),
            r#""output":"instead""#,
        ),
        (
            ExecCommandOutput {
                output: b"bad \xff".to_vec(),
                exit_code: Some(3),
                hook_command: Some("make".to_owned()),
                wall_time: Duration::from_millis(1500),
                ..ExecCommandOutput::default()
            }
            .into(),
            None,
            "Wall time: 1.5000 seconds\\nProcess exited with code 3\\nOutput:\\nbad \u{fffd}",
        ),
        (
            McpOutput {
                result_json: mcp.clone(),
                wall_time: Duration::from_millis(250),
                truncation_policy: TruncationPolicy::Bytes(1000),
                ..McpOutput::default()
            }
            .into(),
            None,
            "Wall time: 0.2500 seconds\\nOutput:\\n",
        ),
        (McpRawOutput { result_json: mcp }.into(), None, r#""type":"mcp_tool_call_output""#),
        (AbortedOutput { message: "stopped".to_owned() }.into(), None, r#""output":"stopped""#),
        (
            ToolSearchOutput { tools_json: vec![r#"{"name":"t"}"#.to_owned()] }.into(),
            None,
            r#""tools":[{"name":"t"}]"#,
        ),
    ];
    for (output, feedback, part) in outputs {
        let output = output.with_external_context();
        let asked = call("turn", "id", "tool");
        let views = client.project_tool_output(&asked, output, feedback, None).await.unwrap();
        contains(&views.response_item_json.unwrap(), part);
        assert!(views.log_preview.is_some() && views.code_mode_json.is_some(), "{part}");
        assert!(views.response_item.is_some() && views.contains_external_context, "{part}");
    }
    let asked = call("turn", "id", "tool");
    let views = client.project_tool_output(&asked, "x", None, Some(&[View::Log])).await.unwrap();
    assert_eq!((views.log_preview.as_deref(), views.response_item_json), (Some("x"), None));
}

#[tokio::test]
async fn failures_are_projected_without_a_session() {
    let sidecar = shared().await;
    let client = Client::new(sidecar.endpoint()).unwrap();
    let aborted = ToolFailure::Aborted {
        reason: AbortReason::TimedOut,
        elapsed: Duration::from_millis(1500),
    };
    let failures: [(ToolFailure, &str, bool); 6] = [
        (ToolError::respond_to_model("no such file").into(), "no such file", false),
        (ToolError::fatal("over").into(), "over", true),
        (ToolError::Unhandled("x".to_owned()).into(), "tool task failed to receive: x", true),
        (ToolFailure::UnknownTool, "unsupported call: tool", false),
        (ToolFailure::PayloadMismatch, "tool tool invoked with incompatible payload", true),
        (aborted, "timed out after 1.5s", false),
    ];
    for (failure, message, ends_turn) in failures {
        let asked = call("turn", "id", "tool");
        let projected = client.project_tool_failure(&asked, failure).await.unwrap();
        assert_eq!((projected.message.as_str(), projected.ends_turn), (message, ends_turn));
        assert_eq!(projected.projections.response_item_json.is_none(), ends_turn, "{message}");
    }
    let script = call("turn", "id", "tool").in_cell("cell");
    let projected = client.project_tool_failure(&script, ToolError::fatal("over")).await.unwrap();
    assert_eq!(projected.script_error.as_deref(), Some("Fatal error: over"));
}

#[tokio::test]
async fn cells_texts_and_prompts_are_made_ready_without_a_session() {
    let sidecar = shared().await;
    let client = Client::new(sidecar.endpoint()).unwrap();
    let exec = ToolCall::new("id", "exec", Payload::custom("text(1)")).in_turn("turn");
    let cell = CellResult {
        content: vec![ContentItem::InputText("one".to_owned())],
        status: CellStatus::ScriptError("oops".to_owned()),
        wall_time: Duration::ZERO,
        max_output_tokens: None,
    };
    let views = client.project_cell_result(&exec, cell, None).await.unwrap();
    let item = views.response_item_json.unwrap();
    contains(&item, "oops");
    contains(&item, "one");

    let policy = TruncationPolicy::Tokens(1);
    let cut = client.truncate_text("example output", policy, false).await.unwrap();
    assert_eq!(cut, "ex…3 tokens truncated…ut");

    let normalized = client
        .normalize_prompt([
            OutlineEntry::call(PayloadKind::Function, "asked"),
            OutlineEntry::output(PayloadKind::Function, "never asked"),
        ])
        .await
        .unwrap();
    assert_eq!(normalized.orphan_entry_indexes, [1]);
    assert_eq!(normalized.missing_outputs.len(), 1);
    let missing = &normalized.missing_outputs[0];
    assert_eq!(missing.entry_index, 0);
    contains(&missing.response_item_json, r#""call_id":"asked","output":"aborted""#);
}

#[tokio::test]
async fn a_sidecar_that_is_not_there_is_named() {
    let client = Client::new("unix:///nowhere/s.sock").unwrap();
    let Error::Refused(refusal) = soon(client.connect(AgentConfig::new())).await.unwrap_err()
    else {
        panic!();
    };
    assert_eq!(refusal.reason, "UNAVAILABLE");
    contains(&refusal.message, "/nowhere/s.sock");
    contains(&refusal.message, "No such file");
}
