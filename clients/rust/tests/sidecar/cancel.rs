//! Calls that are cancelled, wherever they are.

use std::sync::Arc;
use std::time::Duration;

use sidecall_client::{
    AbortProgress, AbortReason, CallPhase, CallReference, CancelDisposition, CancelTarget,
    DispatchOptions, Outcome, TeardownState, ToolError, ToolName,
};

use crate::support::{
    call, connect, connect_to, failing, next, own, puppet, result_of, says, soon, with_tools,
};

/// What an abort says, without its text.
fn abort(outcome: Outcome) -> (AbortReason, AbortProgress, TeardownState) {
    match outcome {
        Outcome::Aborted { reason, progress, teardown, .. } => (reason, progress, teardown),
        other => panic!("not aborted but {other:?}"),
    }
}

#[tokio::test]
async fn a_cancelled_call_ends_at_once_and_its_handler_is_told_and_dropped() {
    let (tool, mut strings) = puppet("tool");
    let attached = connect(with_tools([tool])).await;
    let pending = attached.agent.dispatch(call("turn", "id", "tool"));
    next(&mut strings.started).await;
    let cancelled = soon(attached.agent.cancel(CancelTarget::Turn("turn".to_owned()))).await;
    let cancelled = cancelled.unwrap();
    assert_eq!(cancelled.len(), 1);
    assert_eq!(cancelled[0].disposition, CancelDisposition::Accepted);
    let interrupted = AbortProgress::HandlerInterrupted;
    assert_eq!(
        abort(result_of(pending).await.outcome),
        (AbortReason::Cancelled, interrupted, TeardownState::Unspecified)
    );
    assert_eq!(next(&mut strings.stopped).await.reason, AbortReason::Cancelled);
    next(&mut strings.ended).await; // though it waits for a permit

    let calls = ["id", "never"].map(|call_id| CallReference::new("turn", call_id)).to_vec();
    let again = soon(attached.agent.cancel(CancelTarget::Calls(calls))).await.unwrap();
    let dispositions: Vec<_> = again.iter().map(|one| one.disposition).collect();
    assert_eq!(dispositions, [CancelDisposition::AlreadyTerminal, CancelDisposition::Unknown]);
}

#[tokio::test]
async fn dropping_a_pending_call_cancels_it() {
    let (tool, mut strings) = puppet("tool");
    let attached = connect(with_tools([tool])).await;
    let pending = attached.agent.dispatch(call("turn", "id", "tool"));
    next(&mut strings.started).await;
    drop(pending);
    assert_eq!(next(&mut strings.stopped).await.reason, AbortReason::Cancelled);
    let again = attached.agent.dispatch(call("turn", "id", "tool"));
    assert_eq!(abort(result_of(again).await.outcome).0, AbortReason::Cancelled);
}

#[tokio::test]
async fn a_call_with_teardown_ends_when_its_handler_has() {
    let (tool, mut strings) = puppet("tool");
    let attached = connect(with_tools([tool.wait_for_teardown()])).await;
    let pending = attached.agent.dispatch(call("turn", "id", "tool"));
    next(&mut strings.started).await;
    pending.cancel();
    let told = next(&mut strings.stopped).await;
    assert!(told.wait_for_teardown && told.teardown_timeout > Duration::ZERO);
    assert_eq!(pending.result(), None, "it ended before it was torn down");
    strings.may_end.send(()).unwrap();
    let (_, _, teardown) = abort(result_of(pending).await.outcome);
    assert_eq!(teardown, TeardownState::Done);
}

#[tokio::test]
async fn a_teardown_has_its_time() {
    let (tool, mut strings) = puppet("tool");
    let tool = tool.wait_for_teardown().teardown_timeout(Duration::from_millis(20));
    let attached = connect(with_tools([tool])).await;
    let pending = attached.agent.dispatch(call("turn", "id", "tool"));
    next(&mut strings.started).await;
    pending.cancel();
    let (_, _, teardown) = abort(result_of(pending).await.outcome);
    assert_eq!(teardown, TeardownState::TimedOut);
    strings.may_end.send(()).unwrap();
    next(&mut strings.ended).await;
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_aborted() {
    let (tool, mut strings) = puppet("tool");
    let attached = connect(with_tools([tool])).await;
    let options =
        DispatchOptions { timeout: Some(Duration::from_millis(20)), ..DispatchOptions::default() };
    let pending = attached.agent.dispatch_with(call("turn", "id", "tool"), options);
    assert_eq!(abort(result_of(pending).await.outcome).0, AbortReason::TimedOut);
    assert_eq!(next(&mut strings.stopped).await.reason, AbortReason::TimedOut);
}

#[tokio::test]
async fn a_call_that_is_cancelled_in_the_queue_never_starts() {
    let (tool, mut strings) = puppet("tool");
    let attached = connect(with_tools([tool])).await;
    let runs = attached.agent.dispatch(call("turn", "runs", "tool"));
    let queued = attached.agent.dispatch(call("turn", "queued", "tool"));
    next(&mut strings.started).await;
    queued.cancel();
    assert_eq!(abort(result_of(queued).await.outcome).1, AbortProgress::NotStarted);
    strings.say("done");
    says(runs, "done").await;
    assert!(strings.started.is_empty(), "the cancelled call started");
}

#[tokio::test]
async fn a_call_that_is_cancelled_before_it_is_sent_never_starts() {
    let (tool, mut strings) = puppet("tool");
    let sidecar = own(&["--max-calls-in-flight", "1"]).await;
    let attached = connect_to(Arc::new(sidecar), with_tools([tool])).await;
    let runs = attached.agent.dispatch(call("turn", "runs", "tool"));
    let one = attached.agent.dispatch(call("turn", "one", "tool"));
    let two = attached.agent.dispatch(call("turn", "two", "tool"));
    next(&mut strings.started).await;
    one.cancel();
    let target = CancelTarget::Calls(vec![two.call().reference()]);
    let cancelled = soon(attached.agent.cancel(target)).await.unwrap();
    assert_eq!(cancelled.len(), 1);
    assert_eq!(cancelled[0].disposition, CancelDisposition::Accepted);
    strings.say("done");
    says(runs, "done").await;
    for pending in [one, two] {
        assert_eq!(abort(result_of(pending).await.outcome).1, AbortProgress::NotStarted);
    }
    assert!(strings.started.is_empty(), "a cancelled call started");
}

#[tokio::test]
async fn a_fatal_call_aborts_the_others_of_its_turn() {
    let (tool, mut strings) = puppet("tool");
    let fatal = failing("fatal", ToolError::fatal("over")).parallel();
    let attached = connect(with_tools([tool.parallel(), fatal])).await;
    let other = attached.agent.dispatch(call("turn", "other", "tool"));
    let elsewhere = attached.agent.dispatch(call("turn 2", "elsewhere", "tool"));
    next(&mut strings.started).await;
    next(&mut strings.started).await;
    let over = attached.agent.dispatch(call("turn", "fatal", "fatal"));
    assert_eq!(abort(result_of(other).await.outcome).0, AbortReason::TurnFatal);
    result_of(over).await;
    strings.say("done");
    says(elsewhere, "done").await;
}

#[tokio::test]
async fn an_operator_can_cancel_without_the_stream() {
    let (tool, mut strings) = puppet("tool");
    let attached = connect(with_tools([tool])).await;
    let pending = attached.agent.dispatch(call("turn", "id", "tool"));
    next(&mut strings.started).await;
    let operator = attached.client.session(attached.agent.session().session_id());
    let calls = soon(operator.list_tool_calls("turn")).await.unwrap();
    assert_eq!(calls.len(), 1);
    assert_eq!((calls[0].phase, &calls[0].outcome), (CallPhase::Handler, &None));
    assert_eq!(calls[0].tool_name, ToolName::from("tool"));
    let cancelled = soon(operator.cancel(CancelTarget::All)).await.unwrap();
    assert_eq!(cancelled.len(), 1);
    let reference = pending.call().reference();
    abort(result_of(pending).await.outcome);
    let ended = soon(operator.get_tool_call(&reference, None)).await.unwrap();
    abort(ended.outcome.unwrap());
    assert_eq!(ended.phase, CallPhase::Terminal);
    assert!(ended.projections.response_item_json.is_some());
}
