//! An agent that is attached to a server whose test says every word of it.

use std::sync::Arc;
use std::time::Duration;

use prost::bytes::Bytes;
use tokio::sync::{Mutex, mpsc};
use tokio::time::timeout;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::Status;

use super::super::core::Core;
use super::super::reattach::BACKOFF_BASE;
use super::super::stream::{Channels, OpenStream, Opening};
use super::super::{Agent, AgentConfig, PendingCall};
use crate::call::{Payload, ToolCall};
use crate::client::Client;
use crate::invocation::Invocation;
use crate::proto as pb;
use crate::proto::client_frame::Frame as ClientFrame;
use crate::proto::server_frame::Frame;
use crate::tool::{Tool, ToolError};
use crate::wire::wire_duration;

pub(super) const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(10);
pub(super) const HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(30);
pub(super) const RESUME_GRACE: Duration = Duration::from_secs(60);

/// One connection, from the server's side.
pub(super) struct FakeStream {
    pub(super) first: pb::ConnectRequest,
    pub(super) sent: mpsc::Receiver<pb::ConnectRequest>,
    replies: mpsc::UnboundedSender<Result<pb::ConnectResponse, Status>>,
}

impl FakeStream {
    pub(super) fn say<const N: usize>(&self, sequence: u64, frames: [Frame; N]) {
        let frames = frames.map(|frame| pb::ServerFrame { frame: Some(frame) });
        let message = pb::ConnectResponse { sequence, acknowledged: 0, frames: frames.into() };
        let _ = self.replies.send(Ok(message)); // the client may be gone
    }

    /// Ends the stream.
    pub(super) fn fail(&self) {
        let _ = self.replies.send(Err(Status::unavailable("as the test wants"))); // as above
    }

    /// The client has given the stream up.
    pub(super) fn is_cut(&self) -> bool {
        self.replies.is_closed()
    }

    /// What the client sends next. None: nothing, however long one waits.
    pub(super) async fn next(&mut self) -> Option<pb::ConnectRequest> {
        timeout(Duration::from_millis(1), self.sent.recv()).await.ok().flatten()
    }

    /// The frames that the client sends next.
    pub(super) async fn frames(&mut self) -> Vec<ClientFrame> {
        let message = self.next().await.expect("the client says nothing");
        message.frames.into_iter().filter_map(|frame| frame.frame).collect()
    }
}

struct FakeServer(mpsc::UnboundedSender<FakeStream>);

impl OpenStream for FakeServer {
    fn open(&self, first: pb::ConnectRequest) -> Opening {
        let (outgoing, sent) = mpsc::channel(1024);
        let (replies, incoming) = mpsc::unbounded_channel();
        let opened = self.0.send(FakeStream { first, sent, replies });
        Box::pin(async move {
            opened.map_err(|_| Status::unavailable("the test is over"))?;
            let incoming = Box::pin(UnboundedReceiverStream::new(incoming));
            Ok(Channels { outgoing, incoming })
        })
    }
}

pub(super) struct Scene {
    pub(super) agent: Agent,
    pub(super) stream: FakeStream,
    pub(super) streams: mpsc::UnboundedReceiver<FakeStream>,
    /// Gets each invocation of the tool.
    pub(super) started: mpsc::UnboundedReceiver<Invocation>,
    /// What the tool returns, once for each.
    pub(super) texts: mpsc::UnboundedSender<String>,
}

impl Scene {
    pub(super) async fn start() -> Self {
        let (opened, mut streams) = mpsc::unbounded_channel();
        let (starting, started) = mpsc::unbounded_channel();
        let (texts, answers) = mpsc::unbounded_channel::<String>();
        let answers = Arc::new(Mutex::new(answers));
        let tool = Tool::new("tool", move |invocation: Invocation| {
            let (starting, answers) = (starting.clone(), Arc::clone(&answers));
            async move {
                let cancelled = invocation.cancelled.clone();
                let _ = starting.send(invocation); // the test may be over
                let mut answers = answers.lock().await;
                tokio::select! {
                    text = answers.recv() => text.ok_or(ToolError::fatal("the test is over")),
                    () = cancelled.cancelled() => Err(ToolError::fatal("told to stop")),
                }
            }
        });
        let config = AgentConfig::new().tool(tool.wait_for_teardown());
        let nobody = Client::new("127.0.0.1:1").unwrap();
        let core = Arc::new(Core::new(nobody, Box::new(FakeServer(opened)), config));
        let welcomed = async {
            let stream = streams.recv().await.unwrap();
            stream.say(0, [welcome(|_| {})]);
            stream
        };
        let (agent, stream) = tokio::join!(Agent::open(core), welcomed);
        Self { agent: agent.unwrap(), stream, streams, started, texts }
    }

    /// The client's next connection, which it makes at once, and what it says first.
    pub(super) async fn reconnected(&mut self, answer: Frame) -> pb::Hello {
        let next = timeout(2 * BACKOFF_BASE, self.streams.recv()).await;
        self.stream = next.expect("the client did not connect again").unwrap();
        self.stream.say(0, [answer]);
        let first = self.stream.first.clone();
        assert_eq!((first.sequence, first.frames.len()), (0, 1));
        match first.frames.into_iter().next().and_then(|frame| frame.frame) {
            Some(ClientFrame::Hello(hello)) => hello,
            other => panic!("a connection begins with {other:?}"),
        }
    }

    pub(super) fn dispatch(&self, call_id: &str) -> PendingCall {
        let call = ToolCall::new(call_id, "tool", Payload::function("{}"));
        self.agent.dispatch(call.in_turn("turn"))
    }

    /// How many handlers were started since this was last asked.
    pub(super) async fn count_started(&mut self) -> usize {
        assert!(self.stream.next().await.is_none(), "the client has something to say");
        let mut count = 0;
        while self.started.try_recv().is_ok() {
            count += 1;
        }
        count
    }
}

pub(super) fn welcome(change: impl FnOnce(&mut pb::Welcome)) -> Frame {
    let mut welcome = pb::Welcome {
        protocol_version: 1,
        session_id: "session".to_owned(),
        resume_token: "token".to_owned(),
        resume_outcome: pb::ResumeOutcome::New.into(),
        next_sequence: 1,
        server_instance_id: "instance".to_owned(),
        max_calls_in_flight: 8,
        max_bytes_in_flight: 1 << 20,
        max_message_bytes: 4096,
        max_chunk_bytes: 1024,
        max_frame_bytes: 64 << 10,
        heartbeat_interval: Some(wire_duration(HEARTBEAT_INTERVAL)),
        heartbeat_timeout: Some(wire_duration(HEARTBEAT_TIMEOUT)),
        resume_grace: Some(wire_duration(RESUME_GRACE)),
        ..pb::Welcome::default()
    };
    change(&mut welcome);
    Frame::Welcome(welcome)
}

pub(super) fn resumed(last_sequence_received: u64) -> Frame {
    welcome(|welcome| {
        welcome.resume_outcome = pb::ResumeOutcome::Resumed.into();
        welcome.last_sequence_received = last_sequence_received;
    })
}

pub(super) fn invoke(token: &str, call_id: &str) -> Frame {
    invoke_with(token, call_id, "{}")
}

pub(super) fn invoke_with(token: &str, call_id: &str, arguments: &str) -> Frame {
    let call = ToolCall::new(call_id, "tool", Payload::function(arguments)).in_turn("turn");
    Frame::InvokeHandler(pb::InvokeHandler {
        invocation_token: Bytes::from(token.to_owned()),
        call: Some(call.wire()),
        ..pb::InvokeHandler::default()
    })
}

pub(super) fn completes(call_id: &str) -> Frame {
    use pb::call_outcome::Outcome;
    let outcome = Outcome::Completed(pb::CompletedOutcome { success: true });
    Frame::CallCompleted(pb::CallCompleted {
        call: Some(pb::CallReference { turn_id: "turn".to_owned(), call_id: call_id.to_owned() }),
        outcome: Some(pb::CallOutcome { outcome: Some(outcome), ..pb::CallOutcome::default() }),
        ..pb::CallCompleted::default()
    })
}

pub(super) fn refuses(sequence: u64, index: Option<u32>, reason: pb::ErrorReason) -> Frame {
    Frame::FrameError(pb::FrameError {
        sequence,
        frame_index: index,
        reason: reason.into(),
        message: "no".to_owned(),
        ..pb::FrameError::default()
    })
}

pub(super) fn chunk(transfer_id: u64, size: usize, data: &[u8]) -> Frame {
    Frame::OutputChunk(pb::OutputChunk {
        transfer_id,
        size_bytes: size as u64,
        data: Bytes::copy_from_slice(data),
    })
}
