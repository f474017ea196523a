//! Calls, turns and tools.

use std::sync::{Arc, Mutex};

use sidecall_client::{Invocation, Outcome, Payload, Tool, ToolCall, ToolError, ToolName};

use crate::support::{
    call, connect, connect_to, contains, failing, next, own, puppet, result_of, saying, says, soon,
    with_tools,
};

#[tokio::test]
async fn a_turn_gives_items_in_call_order_whatever_ends_first() {
    let (slow, mut slow_strings) = puppet("slow");
    let (fast, fast_strings) = puppet("fast");
    let attached = connect(with_tools([slow.parallel(), fast.parallel()])).await;
    let turn = attached.agent.turn("turn");
    turn.dispatch(call("", "first", "slow"));
    let second = turn.dispatch(call("", "second", "fast"));
    next(&mut slow_strings.started).await;
    fast_strings.say("the second");
    result_of(second).await;
    slow_strings.say("the first");

    let items = soon(turn.response_items()).await.unwrap();
    assert_eq!(items.len(), 2);
    contains(&items[0], r#""call_id":"first","output":"the first""#);
    contains(&items[1], r#""call_id":"second","output":"the second""#);
    soon(turn.end()).await.unwrap();
    let late = soon(turn.dispatch(call("", "third", "fast"))).await;
    assert_eq!(late.unwrap_err().reason(), "TURN_ENDED");
    assert_eq!(soon(turn.response_items()).await.unwrap(), items, "a refused call has no item");
}

#[tokio::test]
async fn what_a_handler_fails_with_decides_who_hears_of_it() {
    let defect = || ToolError::Unhandled("index out of range".to_owned());
    let panics = Tool::new("panic", |invocation: Invocation| async move {
        if invocation.dispatch_order > 0 {
            panic!("oops");
        }
        Ok::<_, ToolError>("never")
    });
    let question_mark = Tool::new("question mark", |invocation: Invocation| async move {
        let number: i32 = invocation.call.payload.text().parse()?;
        Ok::<_, ToolError>(number.to_string())
    });
    let attached = connect(with_tools([
        failing("readable", ToolError::respond_to_model("no such file: x")),
        failing("fatal", ToolError::fatal("the disk is full")),
        failing("defect", defect()),
        failing("soft", defect()).respond_to_errors(),
        panics,
        question_mark,
    ]))
    .await;
    let model = |message: &str| Outcome::ModelFailure { message: message.to_owned() };
    let fatal = |message: &str| Outcome::Fatal { message: message.to_owned() };
    for (tool, outcome) in [
        ("readable", model("no such file: x")),
        ("fatal", fatal("the disk is full")),
        ("defect", fatal("tool task failed to receive: index out of range")),
        ("soft", model("index out of range")),
        ("panic", fatal("tool task failed to receive: panic: oops")),
        ("question mark", fatal("tool task failed to receive: invalid digit found in string")),
        ("nobody", model("unsupported call: nobody")),
    ] {
        let result = result_of(attached.agent.dispatch(call(tool, "id", tool))).await;
        assert_eq!(result.outcome, outcome, "{tool}");
    }
}

#[tokio::test]
async fn a_call_that_cannot_be_taken_is_refused_with_its_fields() {
    let attached = connect(with_tools([saying("echo", "hello")])).await;
    let good = attached.agent.dispatch(call("turn", "good", "echo"));
    let refused = soon(attached.agent.dispatch(call("turn", "", "echo"))).await.unwrap_err();
    let sidecall_client::Error::Refused(refusal) = refused else { panic!("{refused}") };
    assert_eq!(refusal.reason, "MISSING_FIELD");
    assert_eq!(refusal.field_violations.len(), 1);
    assert!(refusal.field_violations[0].field.ends_with("call_id"), "{refusal:?}");
    says(good, "hello").await;
}

#[tokio::test]
async fn the_same_call_again_runs_once_and_ends_alike() {
    let (echo, mut strings) = puppet("echo");
    let attached = connect(with_tools([echo])).await;
    let agent = &attached.agent;
    let first = agent.dispatch(call("turn", "id", "echo"));
    let again = agent.dispatch(call("turn", "id", "echo"));
    next(&mut strings.started).await;
    strings.say("once");
    says(first.clone(), "once").await;
    let late = agent.dispatch(call("turn", "id", "echo"));
    for pending in [first, again, late] {
        says(pending, "once").await;
    }
    assert!(strings.started.is_empty(), "the handler ran again");
}

#[tokio::test]
async fn another_call_under_the_same_ids_is_refused_and_harms_nothing() {
    let (echo, mut strings) = puppet("echo");
    let attached = connect(with_tools([echo])).await;
    let first = attached.agent.dispatch(call("turn", "id", "echo"));
    next(&mut strings.started).await;
    let other = ToolCall::new("id", "echo", Payload::function(r#"{"other":true}"#));
    let refused = soon(attached.agent.dispatch(other.in_turn("turn"))).await;
    assert_eq!(refused.unwrap_err().reason(), "CALL_ID_CONFLICT");
    strings.say("done");
    says(first, "done").await;
}

#[tokio::test]
async fn calls_beyond_the_credits_wait_in_order() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let ran = Arc::clone(&order);
    let count = Tool::new("count", move |invocation: Invocation| {
        ran.lock().unwrap().push(invocation.call.call_id);
        async { Ok::<_, ToolError>("ok") }
    });
    let sidecar = own(&["--max-calls-in-flight", "2"]).await;
    let attached = connect_to(Arc::new(sidecar), with_tools([count])).await;
    let turn = attached.agent.turn("turn");
    let call_ids: Vec<_> = ('a'..='i').map(String::from).collect();
    for call_id in &call_ids {
        turn.dispatch(call("", call_id, "count"));
    }
    let results = soon(turn.results()).await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    assert_eq!(results.len(), call_ids.len());
    assert_eq!(*order.lock().unwrap(), call_ids);
}

#[tokio::test]
async fn a_namespace_that_is_empty_is_not_none() {
    let names = [
        (ToolName::from("t"), "none"),
        (ToolName::in_namespace("", "t"), "empty"),
        (ToolName::in_namespace("mcp__x", "t"), "named"),
    ];
    let tool = |(name, text): (ToolName, &'static str)| {
        Tool::new(name, move |_| async move { Ok::<_, ToolError>(text) })
    };
    let attached = connect(with_tools(names.clone().map(tool))).await;
    for (name, text) in names {
        let asked = ToolCall::new(text, name, Payload::function("")).in_turn("turn");
        says(attached.agent.dispatch(asked), &format!(r#""output":"{text}""#)).await;
    }
}

#[tokio::test]
async fn tools_come_and_go() {
    let later = || saying("later", "now it can");
    let attached = connect(with_tools([later().not_ready(), saying("gone", "")])).await;
    let agent = &attached.agent;
    let waits = agent.dispatch(call("turn", "waits", "later"));
    soon(agent.update_tools(vec![later()], vec!["gone".into()])).await.unwrap();
    says(waits, "now it can").await;
    let gone = result_of(agent.dispatch(call("turn", "gone", "gone"))).await;
    assert_eq!(gone.outcome.message(), "unsupported call: gone");
    let unusable = saying(&"x".repeat(8193), "");
    let refused = soon(agent.update_tools(vec![unusable], vec!["later".into()])).await.unwrap_err();
    assert_eq!(refused.reason(), "INVALID_FIELD");
    says(agent.dispatch(call("turn", "still there", "later")), "now it can").await;
}

#[tokio::test]
async fn arguments_that_are_not_what_the_tool_takes_are_the_models_to_read() {
    let adds = Tool::new("add", |invocation: Invocation| async move {
        let numbers: Vec<i64> = invocation.arguments()?;
        Ok::<_, ToolError>(numbers.iter().sum::<i64>().to_string())
    });
    let attached = connect(with_tools([adds])).await;
    let asked = |call_id: &str, arguments: &str| {
        ToolCall::new(call_id, "add", Payload::function(arguments)).in_turn("turn")
    };
    says(attached.agent.dispatch(asked("good", "[1, 2]")), r#""output":"3""#).await;
    for (call_id, arguments) in
        [("not JSON", "[1, "), ("not numbers", r#"{"a": 1}"#), ("blank", " ")]
    {
        let result = result_of(attached.agent.dispatch(asked(call_id, arguments))).await;
        let Outcome::ModelFailure { message } = result.outcome else { panic!("{result:?}") };
        contains(&message, "failed to parse function arguments: ");
    }
    let search = ToolCall::new("search", "add", Payload::tool_search("x", None)).in_turn("turn");
    let result = result_of(attached.agent.dispatch(search)).await;
    assert_eq!(result.outcome.message(), "tool add takes function arguments");
}
