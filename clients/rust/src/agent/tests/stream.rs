//! Resuming, acknowledging, heartbeats, pieces and refusals, word by word.

use std::time::Duration;

use prost::Message;
use tokio::time::Instant;

use super::super::link::ACKNOWLEDGE_AFTER_MESSAGES;
use super::super::reattach::BACKOFF_MAX;
use super::scene::{
    HEARTBEAT_INTERVAL, HEARTBEAT_TIMEOUT, RESUME_GRACE, Scene, chunk, completes, invoke,
    invoke_with, refuses, resumed, welcome,
};
use crate::cancel::CancelTarget;
use crate::error::Error;
use crate::proto as pb;
use crate::proto::ErrorReason;
use crate::proto::client_frame::Frame as ClientFrame;
use crate::proto::server_frame::Frame;

#[tokio::test(start_paused = true)]
async fn frames_that_are_ready_together_travel_together() {
    let mut scene = Scene::start().await;
    let _alone = scene.dispatch("alone");
    let message = scene.stream.next().await.unwrap();
    assert_eq!((message.sequence, message.frames.len()), (1, 1));
    scene.stream.fail();
    let _three = ["a", "b", "c"].map(|call_id| scene.dispatch(call_id));
    scene.reconnected(resumed(1)).await;
    let message = scene.stream.next().await.unwrap();
    assert_eq!((message.sequence, message.frames.len()), (2, 3));
}

#[tokio::test(start_paused = true)]
async fn unacknowledged_messages_are_sent_again_with_their_sequences() {
    let mut scene = Scene::start().await;
    let mut calls = Vec::new();
    for call_id in ["a", "b", "c"] {
        calls.push(scene.dispatch(call_id));
        scene.stream.next().await.unwrap();
    }
    scene.stream.fail();
    let hello = scene.reconnected(resumed(1)).await;
    assert_eq!((hello.session_id.as_str(), hello.resume_token.as_str()), ("session", "token"));
    for sequence in [2, 3] {
        assert_eq!(scene.stream.next().await.unwrap().sequence, sequence);
    }
    assert_eq!(scene.stream.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_was_seen_is_dropped() {
    let mut scene = Scene::start().await;
    scene.stream.say(1, [invoke("one", "id")]);
    scene.stream.say(1, [invoke("another", "id")]);
    assert_eq!(scene.count_started().await, 1);
    scene.stream.fail();
    assert_eq!(scene.reconnected(resumed(0)).await.last_sequence_received, 1);
    scene.stream.say(1, [invoke("one", "id")]);
    assert_eq!(scene.count_started().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_missing_message_begins_the_connection_anew() {
    let mut scene = Scene::start().await;
    scene.stream.say(1, [invoke("one", "1")]);
    scene.stream.say(3, [invoke("three", "3")]);
    assert_eq!(scene.reconnected(resumed(0)).await.last_sequence_received, 1);
    scene.stream.say(2, [invoke("two", "2")]);
    scene.stream.say(3, [invoke("three", "3")]);
    assert_eq!(scene.count_started().await, 3);
}

#[tokio::test(start_paused = true)]
async fn after_a_gap_what_is_known_is_dropped() {
    let mut scene = Scene::start().await;
    let (ended, open) = (scene.dispatch("ended"), scene.dispatch("open"));
    scene.stream.next().await.unwrap();
    scene.stream.say(1, [completes("ended"), invoke("known", "open")]);
    assert_eq!(scene.count_started().await, 1);
    scene.stream.fail();
    let gap = welcome(|welcome| {
        welcome.resume_outcome = pb::ResumeOutcome::Gap.into();
        welcome.last_sequence_received = 2;
        welcome.next_sequence = 10;
    });
    scene.reconnected(gap).await;
    let torn = Frame::AbortHandler(pb::AbortHandler {
        token: "never seen".into(),
        wait_for_teardown: true,
        ..pb::AbortHandler::default()
    });
    scene.stream.say(10, [completes("ended"), invoke("known", "open"), torn]);
    let message = scene.stream.next().await.unwrap();
    let torn_down = pb::TeardownComplete { invocation_token: "never seen".into() };
    assert_eq!(message.frames[0].frame, Some(ClientFrame::TeardownComplete(torn_down)));
    assert_eq!(message.acknowledged, 10);
    assert_eq!(scene.count_started().await, 0);
    ended.await.unwrap();
    scene.texts.send("done".to_owned()).unwrap();
    match &scene.stream.frames().await[..] {
        [ClientFrame::HandlerResult(result)] => assert_eq!(result.invocation_token, "known"),
        other => panic!("the handler's answer went as {other:?}"),
    }
    scene.stream.say(11, [completes("open")]);
    open.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn large_frames_of_the_server_are_put_together() {
    let mut scene = Scene::start().await;
    let large = invoke_with("large", "large", &"x".repeat(2500));
    let whole = pb::ServerFrame { frame: Some(large) }.encode_to_vec();
    for (index, piece) in whole.chunks(1000).enumerate() {
        let small = invoke(&index.to_string(), "small");
        scene.stream.say(index as u64 + 1, [chunk(7, whole.len(), piece), small]);
    }
    assert_eq!(scene.stream.next().await, None);
    let mut sizes = Vec::new();
    while let Ok(invocation) = scene.started.try_recv() {
        sizes.push(invocation.call.payload.text().len());
    }
    sizes.sort_unstable();
    assert_eq!(sizes, [2, 2, 2, 2500]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_breaks_its_own_limits_loses_the_session() {
    for (name, frame) in [
        ("a frame above the limit", chunk(1, (64 << 10) + 1, b"x")),
        ("more than was said", chunk(1, 1, b"xx")),
        ("not a frame", chunk(1, 1, b"\xff")),
    ] {
        let scene = Scene::start().await;
        scene.stream.say(1, [frame]);
        assert_eq!(scene.agent.ended().await.reason, "PROTOCOL_VIOLATED", "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_idle_client_says_that_it_is_there() {
    let mut scene = Scene::start().await;
    scene.stream.say(1, [invoke("token", "id")]);
    let mut said = Instant::now();
    for round in 0..3 {
        let beat = scene.stream.sent.recv().await.unwrap();
        assert_eq!(said.elapsed(), HEARTBEAT_INTERVAL);
        assert_eq!((beat.sequence, beat.acknowledged), (0, 1));
        assert_eq!(beat.frames[0].frame, Some(ClientFrame::Heartbeat(pb::Heartbeat {})));
        scene.stream.say(0, [Frame::Heartbeat(pb::Heartbeat {})]);
        said = Instant::now();
        if round == 1 {
            tokio::time::sleep(HEARTBEAT_INTERVAL / 2).await; // of the test's own clock
            drop(scene.dispatch("something to say"));
            scene.stream.sent.recv().await.unwrap();
            said = Instant::now();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_is_dead_and_the_client_connects_again() {
    let mut scene = Scene::start().await;
    let began = Instant::now();
    tokio::time::sleep(HEARTBEAT_TIMEOUT / 2).await; // of the test's own clock
    scene.stream.say(0, [Frame::Heartbeat(pb::Heartbeat {})]);
    let next = scene.streams.recv().await.unwrap();
    let waited = began.elapsed();
    let most = HEARTBEAT_TIMEOUT * 3 / 2 + Duration::from_millis(50);
    assert!((HEARTBEAT_TIMEOUT * 3 / 2..=most).contains(&waited), "{waited:?}");
    assert!(scene.stream.is_cut() && !next.is_cut());
}

#[tokio::test(start_paused = true)]
async fn messages_are_acknowledged_without_a_word_to_say() {
    let mut scene = Scene::start().await;
    let last = ACKNOWLEDGE_AFTER_MESSAGES as u64;
    for sequence in 1..=last {
        assert_eq!(scene.stream.next().await, None, "before message {sequence}");
        scene.stream.say(sequence, [completes("unknown")]);
    }
    let message = scene.stream.next().await.unwrap();
    assert_eq!((message.sequence, message.acknowledged), (0, last));
    assert!(message.frames.is_empty());
}

#[tokio::test(start_paused = true)]
async fn calls_beyond_the_credits_wait_for_others_to_end() {
    let mut scene = Scene::start().await;
    let calls: Vec<_> = (0..10).map(|index| scene.dispatch(&format!("{index}"))).collect();
    assert_eq!(scene.stream.frames().await.len(), 8);
    assert_eq!(scene.stream.next().await, None);
    scene.stream.say(1, [completes("3")]);
    assert_eq!(scene.stream.frames().await.len(), 1);
    scene.stream.say(2, [refuses(1, Some(0), ErrorReason::InvalidField)]);
    assert_eq!(scene.stream.frames().await.len(), 1);
    assert_eq!(calls.iter().filter(|pending| pending.result().is_some()).count(), 2);
    scene.stream.say(3, [completes("8"), completes("9")]);
    assert_eq!(scene.stream.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn bytes_beyond_the_credits_wait_too_and_what_is_larger_than_all_goes_alone() {
    let mut scene = Scene::start().await;
    scene.stream.fail();
    scene.reconnected(welcome(|welcome| welcome.max_bytes_in_flight = 250)).await;
    assert_eq!(scene.stream.next().await, None, "before the welcome is read");
    let dispatch = |call_id: &str, size| {
        let payload = crate::Payload::function("x".repeat(size));
        scene.agent.dispatch(crate::ToolCall::new(call_id, "tool", payload).in_turn("turn"))
    };
    let sent = |frames: Vec<ClientFrame>| match &frames[..] {
        [ClientFrame::DispatchCall(sent)] => sent.call.clone().unwrap().call_id,
        other => panic!("{other:?}"),
    };
    let _calls = [dispatch("large", 500), dispatch("a", 100), dispatch("b", 60), dispatch("c", 60)];
    assert_eq!(sent(scene.stream.frames().await), "large");
    assert_eq!(scene.stream.next().await, None);
    scene.stream.say(1, [completes("large")]);
    assert_eq!(scene.stream.frames().await.len(), 2, "a and b");
    assert_eq!(scene.stream.next().await, None);
    scene.stream.say(2, [completes("a")]);
    assert_eq!(sent(scene.stream.frames().await), "c");
}

#[tokio::test(start_paused = true)]
async fn a_message_that_was_not_read_is_sent_again() {
    let mut scene = Scene::start().await;
    let pending = scene.dispatch("id");
    let sent = scene.stream.next().await.unwrap();
    scene.stream.say(1, [refuses(sent.sequence, None, ErrorReason::SequenceOutOfOrder)]);
    scene.reconnected(resumed(0)).await;
    let again = scene.stream.next().await.unwrap();
    assert_eq!((again.sequence, again.frames), (sent.sequence, sent.frames));
    assert_eq!(pending.result(), None);
}

#[tokio::test(start_paused = true)]
async fn a_whole_message_that_was_refused_refuses_its_calls() {
    let mut scene = Scene::start().await;
    let pending = scene.dispatch("id");
    scene.stream.next().await.unwrap();
    scene.stream.say(1, [refuses(1, None, ErrorReason::MessageTooLarge)]);
    assert_eq!(pending.await.unwrap_err().reason(), "MESSAGE_TOO_LARGE");
}

#[tokio::test(start_paused = true)]
async fn a_refused_result_still_ends_its_call() {
    let mut scene = Scene::start().await;
    let _pending = scene.dispatch("id");
    scene.stream.next().await.unwrap();
    scene.stream.say(1, [invoke("token", "id")]);
    scene.texts.send("unusable".to_owned()).unwrap();
    let sent = scene.stream.next().await.unwrap();
    let mismatch = refuses(sent.sequence, Some(0), ErrorReason::OutputMismatch);
    scene.stream.say(2, [mismatch]);
    let anew = scene.stream.next().await.unwrap();
    let Some(ClientFrame::HandlerResult(result)) = &anew.frames[0].frame else { panic!() };
    assert_eq!(result.invocation_token, "token");
    let unhandled = pb::UnhandledError { message: "OUTPUT_MISMATCH: no".into() };
    assert_eq!(result.result, Some(pb::handler_result::Result::UnhandledError(unhandled)));
    // A second refusal is not answered: it could go on for ever.
    scene.stream.say(3, [refuses(anew.sequence, Some(0), ErrorReason::OutputMismatch)]);
    assert_eq!(scene.stream.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_refused_request_is_its_callers_to_hear() {
    let mut scene = Scene::start().await;
    let cancelled = scene.agent.cancel(CancelTarget::Turn("turn".to_owned()));
    let sequence = scene.stream.next().await.unwrap().sequence;
    scene.stream.say(1, [refuses(sequence, Some(0), ErrorReason::InvalidField)]);
    assert_eq!(cancelled.await.unwrap_err().reason(), "INVALID_FIELD");

    let ended = scene.agent.end_turn("");
    let sequence = scene.stream.next().await.unwrap().sequence;
    scene.stream.say(2, [refuses(sequence, Some(0), ErrorReason::MissingField)]);
    assert_eq!(ended.await.unwrap_err().reason(), "MISSING_FIELD");
}

#[tokio::test(start_paused = true)]
async fn tools_are_as_they_were_after_an_update_that_was_refused() {
    let mut scene = Scene::start().await;
    let updated = scene.agent.update_tools(Vec::new(), vec!["tool".into()]);
    let sequence = scene.stream.next().await.unwrap().sequence;
    scene.stream.say(1, [refuses(sequence, Some(0), ErrorReason::InvalidField)]);
    assert_eq!(updated.await.unwrap_err().reason(), "INVALID_FIELD");
    scene.stream.say(2, [invoke("token", "id")]);
    assert_eq!(scene.count_started().await, 1);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_last_handle_cancels_a_call_and_an_ended_one_needs_no_cancel() {
    let mut scene = Scene::start().await;
    let (pending, ended) = (scene.dispatch("id"), scene.dispatch("ended"));
    let clone = pending.clone();
    scene.stream.next().await.unwrap();
    scene.stream.say(1, [completes("ended")]);
    assert_eq!(scene.stream.next().await, None);
    drop((pending, ended));
    assert_eq!(scene.stream.next().await, None, "somebody holds it");
    drop(clone);
    let frames = scene.stream.frames().await;
    let [ClientFrame::CancelCalls(cancel)] = &frames[..] else { panic!("{frames:?}") };
    let calls = CancelTarget::Calls(vec![crate::CallReference::new("turn", "id")]);
    assert_eq!(cancel.target, Some(calls.wire()));
}

#[tokio::test(start_paused = true)]
async fn the_client_tries_until_the_grace_is_over() {
    let mut scene = Scene::start().await;
    let pending = scene.dispatch("id");
    let began = Instant::now();
    scene.stream.fail();
    let mut tries = 0;
    loop {
        tokio::select! {
            stream = scene.streams.recv() => {
                tries += 1;
                stream.unwrap().fail();
            }
            lost = scene.agent.ended() => {
                assert_eq!(lost.reason, "RESUME_GRACE_OVER");
                break;
            }
        }
    }
    assert_eq!(began.elapsed(), RESUME_GRACE);
    let least = RESUME_GRACE.as_secs() / BACKOFF_MAX.as_secs();
    assert!((least..10 * least).contains(&tries), "{tries} tries");
    assert!(matches!(pending.await, Err(Error::SessionLost(_))));
}

#[tokio::test(start_paused = true)]
async fn another_start_of_the_server_loses_the_session() {
    let mut scene = Scene::start().await;
    scene.stream.fail();
    let another = welcome(|welcome| welcome.server_instance_id = "another".to_owned());
    scene.reconnected(another).await;
    assert_eq!(scene.agent.ended().await.reason, "SERVER_RESTARTED");
}

#[tokio::test(start_paused = true)]
async fn dropping_the_agent_closes_it() {
    let mut scene = Scene::start().await;
    drop(scene.agent);
    let frames = scene.stream.frames().await;
    assert_eq!(frames, [ClientFrame::Detach(pb::Detach { close_session: true })]);
}
