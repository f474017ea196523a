//! Hooks: what they see, what they say, and that they break nothing.

use std::time::Duration;

use sidecall_client::{
    AgentConfig, CallReference, CallResult, Hook, HookInput, HookKind, HookPoint, LifecycleFinish,
    Outcome, Payload, PayloadKind, PostHookBlock, SessionOptions, Tool, ToolCall, ToolError,
    Verdict,
};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::support::{call, connect, contains, mirror, next, result_of, soon};

/// A hook that always says the same.
fn hook(point: HookPoint, verdict: Verdict) -> Hook {
    Hook::new(point, move |_| {
        let verdict = verdict.clone();
        async { Ok::<_, String>(verdict) }
    })
}

/// Lets one call go through the hooks.
async fn call_with<const N: usize>(hooks: [Hook; N]) -> CallResult {
    let attached = connect(AgentConfig::new().tool(mirror()).hooks(hooks)).await;
    result_of(attached.agent.dispatch(call("turn", "id", "mirror"))).await
}

#[tokio::test]
async fn a_pre_hook_blocks_with_a_reason_and_its_contexts_stay() {
    let result = call_with([
        hook(HookPoint::PreToolUse, Verdict::rewrite("1").with_context("first")),
        hook(
            HookPoint::PreToolUse,
            Verdict::block("not here").with_context("second").with_context("third"),
        ),
    ])
    .await;
    let message = "Tool call blocked by PreToolUse hook: not here. Tool: mirror".to_owned();
    assert_eq!(result.outcome, Outcome::ModelFailure { message });
    assert_eq!(result.lifecycle, LifecycleFinish::Blocked);
    assert!(!result.handler_executed);
    assert_eq!(result.additional_contexts, ["first", "second", "third"]);
}

#[tokio::test]
async fn a_pre_hook_rewrites_the_arguments() {
    let result = call_with([hook(HookPoint::PreToolUse, Verdict::rewrite(r#"{"n":1.10}"#))]).await;
    contains(&result.projections.response_item_json.unwrap(), r#"{\"n\":1.10}"#);
}

#[tokio::test]
async fn a_hook_that_fails_leaves_the_call_as_it_is() {
    let panics = Hook::new(HookPoint::PostToolUse, |input: HookInput| async move {
        if input.point == HookPoint::PostToolUse {
            panic!("oops");
        }
        Ok::<_, String>(Verdict::proceed())
    });
    let fails = Hook::new(HookPoint::PreToolUse, |_| async { Err::<Verdict, _>("broken") });
    let attached = connect(AgentConfig::new().tool(mirror()).hook(fails).hook(panics)).await;
    let result = result_of(attached.agent.dispatch(call("turn", "id", "mirror"))).await;
    assert_eq!(result.outcome, Outcome::Completed { success: true });
    let info = soon(attached.agent.session().info()).await.unwrap();
    assert_eq!(info.hooks_failed_open, 2);
}

#[tokio::test]
async fn a_hook_that_takes_too_long_is_dropped() {
    struct Dropped(UnboundedSender<()>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.send(()).unwrap();
        }
    }
    let (telling, mut told) = unbounded_channel();
    let endless = Hook::new(HookPoint::PreToolUse, move |_| {
        let dropped = Dropped(telling.clone());
        async {
            std::future::pending::<()>().await;
            drop(dropped);
            Ok::<_, String>(Verdict::block("never"))
        }
    });
    let result = call_with([endless.timeout(Duration::from_millis(20))]).await;
    assert_eq!(result.outcome, Outcome::Completed { success: true });
    next(&mut told).await;
}

#[tokio::test]
async fn a_post_hook_sees_the_output_and_speaks_in_its_place() {
    let (seeing, mut seen) = unbounded_channel();
    let sees = Hook::new(HookPoint::PostToolUse, move |input| {
        seeing.send(input).unwrap();
        async { Ok::<_, String>(Verdict::feedback("withheld")) }
    });
    let more = hook(HookPoint::PostToolUse, Verdict::feedback("and more"));
    let result = call_with([sees.matchers(["mirror"]), more]).await;
    let input = next(&mut seen).await;
    assert_eq!(input.call, CallReference::new("turn", "id"));
    assert_eq!(input.payload.tool_input_json, "{}");
    assert_eq!(input.payload.tool_response_json.as_deref(), Some(r#""{}""#));
    contains(&result.projections.response_item_json.unwrap(), r#""withheld\n\nand more""#);
    assert_eq!(result.outcome, Outcome::Completed { success: true });
}

#[tokio::test]
async fn a_post_hooks_block_may_reject_the_result() {
    let options = SessionOptions {
        post_hook_block: PostHookBlock::RejectResult,
        ..SessionOptions::default()
    };
    let blocks = ["one", "two"].map(|reason| hook(HookPoint::PostToolUse, Verdict::block(reason)));
    let config = AgentConfig::new().tool(mirror()).hooks(blocks).options(options);
    let attached = connect(config).await;
    let result = result_of(attached.agent.dispatch(call("turn", "id", "mirror"))).await;
    assert_eq!(result.outcome, Outcome::ModelFailure { message: "one\n\ntwo".to_owned() });
}

#[tokio::test]
async fn hooks_match_names_and_aliases_and_can_be_replaced() {
    let (asking, mut asked) = unbounded_channel();
    let counting = |matcher: &'static str| {
        let asking = asking.clone();
        let counts = Hook::new(HookPoint::PreToolUse, move |_| {
            asking.send(matcher).unwrap();
            async { Ok::<_, String>(Verdict::proceed()) }
        });
        counts.matchers([matcher])
    };
    let patch = Tool::new("apply_patch", |_| async { Ok::<_, ToolError>("done") })
        .hook_kind(HookKind::ApplyPatch)
        .payload_kinds([PayloadKind::Custom]);
    let config = AgentConfig::new().tool(patch).hook(counting("Write")).hook(counting("Bash"));
    let attached = connect(config).await;
    for matcher in ["Write", "apply_patch"] {
        if matcher == "apply_patch" {
            soon(attached.agent.update_hooks(vec![counting(matcher)])).await.unwrap();
        }
        let patch = ToolCall::new(matcher, "apply_patch", Payload::custom("*** Begin Patch"));
        result_of(attached.agent.dispatch(patch.in_turn("turn"))).await;
        assert_eq!(next(&mut asked).await, matcher);
        assert!(asked.is_empty());
    }
}
