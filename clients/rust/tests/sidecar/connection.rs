//! Connections that break, sessions that are lost, and agents that leave.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use rustix::process::{Pid, Signal, kill_process};
use sidecall_client::{
    Agent, AgentConfig, CancelTarget, Client, Error, Invocation, Outcome, Refusal, ResumeOutcome,
    SessionOptions, SessionState, Sidecar, Tool, ToolError, ToolMode, ToolModeOptions, View,
};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::support::{
    call, connect, connect_to, mirror, next, own, puppet, result_of, saying, says, shared, soon,
    with_tools,
};

fn signal(sidecar: &Sidecar, signal: Signal) {
    let pid = Pid::from_raw(sidecar.process_id().unwrap().cast_signed()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// An agent's config that tells how each connection began.
fn watched(config: AgentConfig) -> (AgentConfig, UnboundedReceiver<ResumeOutcome>) {
    let (telling, began) = unbounded_channel();
    (config.on_connection(move |how| telling.send(how).unwrap_or_default()), began)
}

/// Why the session was lost.
fn lost<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    match result {
        Err(Error::SessionLost(lost)) => lost.reason,
        other => panic!("not a lost session but {other:?}"),
    }
}

#[tokio::test]
async fn a_broken_connection_is_resumed_and_nothing_is_lost() {
    let (tool, mut strings) = puppet("tool");
    let (config, mut began) = watched(with_tools([tool]));
    let attached = connect(config).await;
    let agent = &attached.agent;
    assert_eq!(next(&mut began).await, ResumeOutcome::New);
    let before = agent.dispatch(call("turn", "before", "tool"));
    next(&mut strings.started).await;
    agent.drop_connection();
    strings.say("answered while away");
    let meanwhile = agent.dispatch(call("turn", "while", "tool"));
    assert_eq!(next(&mut began).await, ResumeOutcome::Resumed);
    says(before, "answered while away").await;
    next(&mut strings.started).await;
    strings.say("and after");
    says(meanwhile, "and after").await;
    assert!(strings.started.is_empty(), "a handler ran twice");
}

#[tokio::test]
async fn many_breaks_lose_and_repeat_nothing() {
    const CALLS: usize = 300;
    let ran = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&ran);
    let tool = Tool::new("tool", move |_| {
        counter.fetch_add(1, Ordering::Relaxed);
        async { Ok::<_, ToolError>("x".repeat(5000)) }
    });
    let (config, mut began) = watched(with_tools([tool.parallel()]));
    let attached = connect(config).await;
    next(&mut began).await;
    let turn = attached.agent.turn("turn");
    for index in 0..CALLS {
        turn.dispatch(call("", &format!("call {index}"), "tool"));
        if index % 60 == 59 {
            attached.agent.drop_connection();
            assert_eq!(next(&mut began).await, ResumeOutcome::Resumed);
        }
    }
    let results = soon(turn.results()).await;
    for (index, result) in results.iter().enumerate() {
        let result = result.as_ref().unwrap();
        assert_eq!(result.outcome, Outcome::Completed { success: true });
        assert_eq!(result.dispatch_order, index as u64 + 1);
    }
    assert_eq!((results.len(), ran.load(Ordering::Relaxed)), (CALLS, CALLS));
}

#[tokio::test]
async fn a_sidecar_that_does_not_come_back_loses_the_session() {
    let (tool, mut strings) = puppet("tool");
    let sidecar = Arc::new(own(&["--resume-grace-seconds", "0.3"]).await);
    let attached = connect_to(Arc::clone(&sidecar), with_tools([tool.wait_for_teardown()])).await;
    let agent = &attached.agent;
    let pending = agent.dispatch(call("turn", "id", "tool"));
    next(&mut strings.started).await;
    signal(&sidecar, Signal::KILL);
    assert_eq!(lost(soon(pending).await), "RESUME_GRACE_OVER");
    let told = next(&mut strings.stopped).await;
    assert_eq!(told.reason, sidecall_client::AbortReason::SessionLost);
    strings.may_end.send(()).unwrap();
    assert_eq!(soon(agent.ended()).await.reason, "RESUME_GRACE_OVER");
    assert_eq!(lost(soon(agent.dispatch(call("turn", "late", "tool"))).await), "RESUME_GRACE_OVER");
    assert_eq!(lost(soon(agent.cancel(CancelTarget::All)).await), "RESUME_GRACE_OVER");
    assert_eq!(lost(soon(agent.turn("t").end()).await), "RESUME_GRACE_OVER");
    soon(agent.close()).await;
}

#[tokio::test]
async fn a_sidecar_that_starts_anew_knows_nothing_of_the_session() {
    let (tool, mut strings) = puppet("tool");
    let first = Arc::new(own(&[]).await);
    let attached = connect_to(Arc::clone(&first), with_tools([tool])).await;
    let pending = attached.agent.dispatch(call("turn", "id", "tool"));
    next(&mut strings.started).await;
    signal(&first, Signal::KILL);
    let socket = first.endpoint().address.trim_start_matches("unix://").to_owned();
    let second = own(&["--socket", &socket]).await;
    assert_eq!(lost(soon(pending).await), "SESSION_NOT_FOUND");
    second.stop().await.unwrap();
}

#[tokio::test]
async fn another_agent_takes_the_session_over_with_its_token() {
    let attached = connect(with_tools([saying("tool", "1")])).await;
    let session = attached.agent.session();
    let client = &attached.client;
    let nobody = client.session(session.session_id());
    let refused = client.connect(AgentConfig::new().session(nobody)).await.unwrap_err();
    assert!(matches!(refused, Error::Refused(Refusal { .. })), "{refused}");
    let config = with_tools([saying("tool", "2")]).session(session);
    let second = soon(client.connect(config)).await.unwrap();
    assert_eq!(soon(attached.agent.ended()).await.reason, "TAKEN_OVER");
    says(second.dispatch(call("turn", "id", "tool")), r#""output":"2""#).await;
}

#[tokio::test]
async fn an_agent_attaches_to_a_session_that_was_created_before() {
    let sidecar = shared().await;
    let client = Client::new(sidecar.endpoint()).unwrap();
    let options = SessionOptions {
        direct_views: Some(vec![View::Log]),
        tool_mode: ToolModeOptions {
            model_tool_mode: ToolMode::CodeMode,
            ..ToolModeOptions::default()
        },
        ..SessionOptions::default()
    };
    let session = client.create_session("", &options).await.unwrap();
    let config = with_tools([saying("tool", "hello")]).session(session.clone());
    let agent = client.connect(config).await.unwrap();
    assert_eq!(agent.session().session_id(), session.session_id());
    assert_eq!(agent.effective_tool_mode(), ToolMode::CodeMode);
    let views = result_of(agent.dispatch(call("turn", "id", "tool"))).await.projections;
    assert_eq!((views.log_preview.as_deref(), views.response_item_json), (Some("hello"), None));
}

#[tokio::test]
async fn detach_ends_calls_and_handlers_and_leaves_the_session() {
    let (tool, mut strings) = puppet("tool");
    let attached = connect(with_tools([tool.wait_for_teardown()])).await;
    let agent = &attached.agent;
    let pending = agent.dispatch(call("turn", "id", "tool"));
    next(&mut strings.started).await;
    strings.may_end.send(()).unwrap();
    soon(agent.detach()).await;
    assert!(!strings.ended.is_empty(), "the handler was not waited for");
    assert!(matches!(result_of(pending).await.outcome, Outcome::Aborted { .. }));
    assert_eq!(lost(soon(agent.dispatch(call("turn", "late", "tool"))).await), "DETACHED");
    let session = agent.session();
    let info = soon(session.info()).await.unwrap();
    assert_eq!((info.open_calls, info.terminal_calls), (0, 1));
    assert!(!matches!(info.state, SessionState::Closed | SessionState::Attached));
    soon(session.delete()).await.unwrap();
}

/// The session is closed, or gone already.
async fn closed(agent: &Agent) {
    match soon(agent.session().info()).await {
        Ok(info) => assert_eq!(info.state, SessionState::Closed),
        Err(gone) => assert_eq!(gone.reason(), "SESSION_NOT_FOUND"),
    }
}

#[tokio::test]
async fn close_ends_the_session() {
    let attached = connect(AgentConfig::new()).await;
    soon(attached.agent.close()).await;
    closed(&attached.agent).await;
    let sessions = soon(attached.client.list_sessions()).await.unwrap();
    let session = attached.agent.session();
    assert!(sessions.iter().any(|listed| listed.session_id == session.session_id()));
}

#[tokio::test]
async fn a_closing_agent_says_so_also_over_a_broken_connection() {
    let attached = connect(AgentConfig::new()).await;
    attached.agent.drop_connection();
    soon(attached.agent.close()).await;
    closed(&attached.agent).await;
}

#[tokio::test]
async fn a_draining_sidecar_refuses_new_calls_and_ends_open_ones() {
    let (tool, mut strings) = puppet("tool");
    let (telling, mut drains) = unbounded_channel();
    let sidecar = Arc::new(own(&[]).await);
    let config =
        with_tools([tool]).on_drain(move |time_left| telling.send(time_left).unwrap_or_default());
    let attached = connect_to(Arc::clone(&sidecar), config).await;
    let agent = &attached.agent;
    let open = agent.dispatch(call("turn", "open", "tool"));
    next(&mut strings.started).await;
    signal(&sidecar, Signal::TERM);
    assert!(!next(&mut drains).await.is_zero());
    let late = soon(agent.dispatch(call("turn", "late", "tool"))).await;
    assert_eq!(late.unwrap_err().reason(), "DRAINING");
    strings.say("in time");
    says(open, "in time").await;
    assert_eq!(soon(agent.ended()).await.reason, "DRAINING");
}

#[tokio::test]
async fn a_listener_that_panics_breaks_nothing() {
    let config = with_tools([mirror()]).on_connection(|_| panic!("oops"));
    let attached = connect(config).await;
    says(attached.agent.dispatch(call("turn", "id", "mirror")), "{}").await;
}

#[tokio::test]
async fn a_handler_may_use_and_hold_the_agent_that_runs_it() {
    let slot = Arc::new(OnceLock::<Agent>::new());
    let held = Arc::clone(&slot);
    let outer = Tool::new("outer", move |invocation: Invocation| {
        let held = Arc::clone(&held);
        async move {
            let agent = held.get().expect("it is connected");
            let inner = call(&invocation.call.turn_id, "inner", "inner").in_cell("cell");
            let result = agent.dispatch(inner).await?;
            Ok::<_, ToolError>(result.projections.code_mode_json.unwrap_or_default())
        }
    });
    let attached = connect(with_tools([outer.parallel(), saying("inner", "x").parallel()])).await;
    let agent = slot.get_or_init(|| attached.agent);
    says(agent.dispatch(call("turn", "id", "outer")), r#"\"x\""#).await;
    soon(agent.update_tools(vec![saying("outer", "")], Vec::new())).await.unwrap();
    soon(agent.close()).await;
    assert_eq!(Arc::strong_count(&slot), 1, "the agent holds itself");
}
