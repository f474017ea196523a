//! What is too large for one message, or for any.

use sidecall_client::{Outcome, Payload, ToolCall};

use crate::support::{call, connect, contains, mirror, result_of, saying, soon, with_tools};

#[tokio::test]
async fn large_arguments_and_outputs_go_in_pieces() {
    const LETTERS: usize = 3 << 20;
    let attached = connect(with_tools([mirror()])).await;
    let arguments = Payload::function("é".repeat(LETTERS));
    let asked = ToolCall::new("large", "mirror", arguments).in_turn("turn");
    let result = result_of(attached.agent.dispatch(asked)).await;
    let item = result.projections.response_item_json.unwrap();
    assert_eq!(item.matches('é').count(), LETTERS);
}

#[tokio::test]
async fn what_is_above_the_limit_is_refused_or_ends_its_call() {
    const TOO_LARGE: usize = 40 << 20;
    let huge = saying("huge", &"x".repeat(TOO_LARGE));
    let attached = connect(with_tools([huge, mirror()])).await;
    let result = result_of(attached.agent.dispatch(call("turn", "huge", "huge"))).await;
    let Outcome::Fatal { message } = result.outcome else { panic!("{:?}", result.outcome) };
    contains(&message, "MESSAGE_TOO_LARGE");
    let arguments = Payload::function("x".repeat(TOO_LARGE));
    let asked = ToolCall::new("too large", "mirror", arguments).in_turn("another turn");
    let refused = soon(attached.agent.dispatch(asked)).await;
    assert_eq!(refused.unwrap_err().reason(), "MESSAGE_TOO_LARGE");
}
