//! What travels together, in which pieces, and whom a frame error concerns.

use prost::Message;
use prost::bytes::Bytes;

use super::super::link::Link;
use crate::call::{Payload, ToolCall};
use crate::output::ToolOutput;
use crate::proto as pb;
use crate::proto::client_frame::Frame;

const CHUNK_BYTES: u64 = 1000;
const MESSAGE_BYTES: u64 = 2500;

fn welcome() -> pb::Welcome {
    pb::Welcome {
        max_chunk_bytes: CHUNK_BYTES,
        max_message_bytes: MESSAGE_BYTES,
        ..pb::Welcome::default()
    }
}

fn new_link() -> Link {
    let mut link = Link::default();
    link.resume(&welcome());
    link
}

fn dispatch(call_id: &str, size: usize) -> Frame {
    let call = ToolCall::new(call_id, "", Payload::function("x".repeat(size)));
    Frame::DispatchCall(pb::DispatchCall { call: Some(call.wire()), ..Default::default() })
}

fn result(token: &str, size: usize) -> Frame {
    let output = ToolOutput::from("x".repeat(size)).0;
    Frame::HandlerResult(pb::HandlerResult {
        invocation_token: Bytes::from(token.to_owned()),
        result: Some(pb::handler_result::Result::Output(output)),
    })
}

/// Names the frames of all messages that wait, one text per message.
fn drain(link: &mut Link) -> Vec<String> {
    let mut messages = Vec::new();
    while let Some(message) = link.take() {
        assert!(message.encoded_len() as u64 <= MESSAGE_BYTES);
        let name = |frame: pb::ClientFrame| match frame.frame.unwrap() {
            Frame::DispatchCall(dispatch) => dispatch.call.unwrap().call_id,
            Frame::HandlerResult(result) => {
                String::from_utf8(result.invocation_token.to_vec()).unwrap()
            }
            Frame::OutputChunk(_) => "piece".to_owned(),
            Frame::Detach(_) => "detach".to_owned(),
            other => panic!("{other:?}"),
        };
        messages.push(message.frames.into_iter().map(name).collect::<Vec<_>>().join(" "));
    }
    messages
}

/// A case: what it shows, what is queued, and the messages that this makes.
type Case = (&'static str, fn(&mut Link), &'static [&'static str]);

#[test]
fn what_travels_together() {
    let table: &[Case] = &[
        (
            "answers go before orders",
            |link| {
                link.order(dispatch("call", 10));
                link.answer(result("result", 10));
            },
            &["result call"],
        ),
        (
            "a message is about as large as a piece",
            |link| {
                for call_id in ["a", "b", "c"] {
                    link.order(dispatch(call_id, 400));
                }
            },
            &["a b", "c"],
        ),
        (
            "a large answer holds up nothing",
            |link| {
                link.answer(result("large", 2500));
                link.order(dispatch("call", 10));
                link.answer(result("small", 10));
            },
            &["small call piece", "piece", "piece"],
        ),
        (
            "orders keep their order",
            |link| {
                link.order(dispatch("large", 1500));
                link.order(dispatch("behind", 10));
            },
            &["piece", "piece behind"],
        ),
        (
            "answers overtake large orders",
            |link| {
                link.order(dispatch("large", 1500));
                link.answer(result("small", 10));
            },
            &["small piece", "piece"],
        ),
        (
            "the farewell is the last word",
            |link| {
                link.farewell(Frame::Detach(pb::Detach::default()));
                link.answer(result("large", 1500));
                link.order(dispatch("call", 10));
            },
            &["call piece", "piece", "detach"],
        ),
    ];
    for (name, queue, messages) in table {
        let mut link = new_link();
        queue(&mut link);
        assert_eq!(drain(&mut link), *messages, "{name}");
    }
}

#[test]
fn pieces_make_the_frame_again() {
    let mut link = new_link();
    let frame = pb::ClientFrame { frame: Some(result("large", 5000)) };
    link.answer(result("large", 5000));
    let mut joined = Vec::new();
    while let Some(message) = link.take() {
        let Some(Frame::OutputChunk(piece)) = &message.frames[0].frame else { panic!() };
        assert_eq!(piece.transfer_id, 1);
        assert_eq!(piece.size_bytes, frame.encoded_len() as u64);
        assert!(piece.data.len() as u64 <= CHUNK_BYTES);
        joined.extend_from_slice(&piece.data);
    }
    assert_eq!(pb::ClientFrame::decode(joined.as_slice()), Ok(frame));
}

#[test]
fn a_frame_error_finds_what_it_is_about() {
    let mut link = new_link();
    let first = link.order(dispatch("a", 10));
    let second = link.order(dispatch("b", 10));
    let large = link.order(dispatch("c", 1500));
    let about = |sequence, frame_index| pb::FrameError {
        sequence,
        frame_index,
        ..pb::FrameError::default()
    };
    assert!(!link.concerns(&about(0, None), first), "nothing was sent yet");
    drain(&mut link);
    let table = [
        ("the first frame", about(1, Some(0)), [true, false, false]),
        ("the second frame", about(1, Some(1)), [false, true, false]),
        ("the last piece", about(2, Some(0)), [false, false, true]),
        ("a whole message", about(2, None), [false, false, true]),
        ("another message", about(9, Some(0)), [false, false, false]),
        ("an uncounted message", about(0, None), [false, false, false]),
    ];
    for (name, error, concerned) in table {
        let found = [first, second, large].map(|ticket| link.concerns(&error, ticket));
        assert_eq!(found, concerned, "{name}");
    }
    link.discard(first);
    assert!(!link.concerns(&about(1, Some(0)), first), "nobody asks any more");
}

#[test]
fn what_is_not_acknowledged_is_sent_again_on_the_next_connection() {
    let mut link = new_link();
    for call_id in ["a", "b", "c"] {
        link.order(dispatch(call_id, 900));
    }
    assert_eq!(drain(&mut link), ["a", "b", "c"]);
    link.forget(1);
    link.order(dispatch("d", 10));
    let resume = pb::ResumeOutcome::Resumed.into();
    link.resume(&pb::Welcome { last_sequence_received: 2, resume_outcome: resume, ..welcome() });
    assert_eq!(drain(&mut link), ["c", "d"]);
    link.forget(4);
    assert!(link.idle());
}

#[test]
fn a_new_client_of_an_old_session_goes_on_with_its_sequence() {
    let mut link = Link::default();
    link.resume(&pb::Welcome {
        last_sequence_received: 41,
        next_sequence: 8,
        resume_outcome: pb::ResumeOutcome::Gap.into(),
        ..welcome()
    });
    link.order(dispatch("a", 10));
    let message = link.take().unwrap();
    assert_eq!((message.sequence, message.acknowledged), (42, 7));
    assert!(!link.idle());
    link.forget(42);
    assert!(link.idle());
}
