//! One stream of the session: how it is opened, read and written, and how it ends.

use std::convert::Infallible;
use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt};
use tokio_util::sync::CancellationToken;
use tonic::Status;

use super::core::Core;
use crate::client::Client;
use crate::enums::{ResumeOutcome, ToolMode};
use crate::error::{Error, Refusal, SessionLost};
use crate::proto as pb;
use crate::proto::client_frame::Frame;
use crate::proto::server_frame::Frame as ServerFrame;
use crate::wire::plain_duration;

const PROTOCOL_VERSION: u32 = 1;
const CLIENT_NAME: &str = "sidecall-rust";
/// How long a server may take to answer a Hello.
pub(super) const WELCOME_TIMEOUT: Duration = Duration::from_secs(10);
/// Used where the server names no times.
const DEFAULT_HEARTBEAT_INTERVAL: Duration = Duration::from_secs(15);
const DEFAULT_HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(45);

type Incoming = Pin<Box<dyn Stream<Item = Result<pb::ConnectResponse, Status>> + Send>>;
pub(super) type Opening = Pin<Box<dyn Future<Output = Result<Channels, Status>> + Send>>;

/// Both directions of a stream. Dropping them ends it as a broken connection would.
pub(super) struct Channels {
    pub(super) outgoing: mpsc::Sender<pb::ConnectRequest>,
    pub(super) incoming: Incoming,
}

/// Opens streams.
pub(super) trait OpenStream: Send + Sync {
    /// Opens a stream that begins with this message.
    fn open(&self, hello: pb::ConnectRequest) -> Opening;
}

impl OpenStream for Client {
    fn open(&self, hello: pb::ConnectRequest) -> Opening {
        let mut runtime = self.runtime();
        Box::pin(async move {
            let (outgoing, messages) = mpsc::channel(1);
            let _ = outgoing.try_send(hello); // there is room for one
            let answer = runtime.connect(ReceiverStream::new(messages)).await?;
            Ok(Channels { outgoing, incoming: Box::pin(answer.into_inner()) })
        })
    }
}

/// A stream that the server has welcomed.
pub(super) struct Attachment {
    channels: Channels,
    /// What came along with the welcome.
    first: pb::ConnectResponse,
    dropped: CancellationToken,
    heartbeat_interval: Duration,
    heartbeat_timeout: Duration,
    pub(super) resume_grace: Duration,
    pub(super) began: ResumeOutcome,
}

impl Core {
    /// Opens a stream and waits for its welcome.
    pub(super) async fn attach(&self) -> Result<Attachment, Error> {
        let greeting = timeout(WELCOME_TIMEOUT, self.greet()).await;
        greeting.unwrap_or_else(|_| {
            let seconds = WELCOME_TIMEOUT.as_secs();
            let message = format!("the sidecar did not answer Hello within {seconds} s");
            Err(Refusal::unavailable(message).into())
        })
    }

    async fn greet(&self) -> Result<Attachment, Error> {
        let hello = self.hello();
        let refused = |status| self.client.refusal(status);
        let mut channels = self.transport.open(hello).await.map_err(refused)?;
        let mut first = match channels.incoming.next().await {
            Some(message) => message.map_err(refused)?,
            None => return Err(Refusal::unavailable("the stream ended before Welcome").into()),
        };
        let welcome = match first.frames.first_mut().and_then(|frame| frame.frame.take()) {
            Some(ServerFrame::Welcome(welcome)) => welcome,
            _ => return Err(Refusal::unavailable("the server did not begin with Welcome").into()),
        };
        let time = |said: Option<_>, absent| {
            plain_duration(said).filter(|said| !said.is_zero()).unwrap_or(absent)
        };
        let dropped = CancellationToken::new();
        Ok(Attachment {
            began: self.welcomed(&welcome, &dropped)?,
            channels,
            first,
            dropped,
            heartbeat_interval: time(welcome.heartbeat_interval, DEFAULT_HEARTBEAT_INTERVAL),
            heartbeat_timeout: time(welcome.heartbeat_timeout, DEFAULT_HEARTBEAT_TIMEOUT),
            resume_grace: time(welcome.resume_grace, Duration::ZERO),
        })
    }

    fn hello(&self) -> pb::ConnectRequest {
        let mut state = self.lock();
        let hello = pb::Hello {
            protocol_versions: vec![PROTOCOL_VERSION],
            session_id: state.session_id.clone(),
            resume_token: state.resume_token.clone(),
            last_sequence_received: state.link.last_seen(),
            options: Some(self.config.options.wire()),
            tools: state.tools.values().map(|tool| tool.wire()).collect(),
            hooks: state.hooks.iter().map(|hook| hook.wire()).collect(),
            client_name: format!("{CLIENT_NAME} {}", self.config.name).trim().to_owned(),
        };
        state.link.unnumbered(Some(Frame::Hello(hello)))
    }

    /// Takes what the server grants. Another start of the server knows nothing of the session,
    /// even where it knows its id.
    fn welcomed(
        &self,
        welcome: &pb::Welcome,
        dropped: &CancellationToken,
    ) -> Result<ResumeOutcome, SessionLost> {
        let mut state = self.lock();
        let again = !state.server_instance_id.is_empty();
        if again && state.server_instance_id != welcome.server_instance_id {
            return Err(SessionLost::new("SERVER_RESTARTED", None));
        }
        state.server_instance_id.clone_from(&welcome.server_instance_id);
        state.session_id.clone_from(&welcome.session_id);
        state.resume_token.clone_from(&welcome.resume_token);
        state.tool_mode = ToolMode::from_wire(welcome.effective_tool_mode);
        state.calls.max_calls = welcome.max_calls_in_flight as usize;
        state.calls.max_bytes = welcome.max_bytes_in_flight;
        state.link.resume(welcome);
        state.drop_stream = dropped.clone();
        self.admit(&mut state);
        Ok(match ResumeOutcome::from_wire(welcome.resume_outcome) {
            // Nothing had been said before, so nothing was lost.
            ResumeOutcome::New if again => ResumeOutcome::Resumed,
            outcome => outcome,
        })
    }

    /// Reads and writes one stream until it ends. Ok: the server ended it well.
    pub(super) async fn exchange(self: &Arc<Self>, attachment: Attachment) -> Result<(), Error> {
        let Channels { outgoing, incoming } = attachment.channels;
        tokio::select! {
            ended = self.read(incoming, attachment.first, attachment.heartbeat_timeout) => ended,
            () = attachment.dropped.cancelled() => {
                Err(Refusal::unavailable("the connection was dropped on purpose").into())
            }
            never = self.write(&outgoing, attachment.heartbeat_interval) => match never {},
        }
    }

    async fn read(
        self: &Arc<Self>,
        mut incoming: Incoming,
        mut message: pb::ConnectResponse,
        silence: Duration,
    ) -> Result<(), Error> {
        loop {
            self.receive(message)?;
            message = match timeout(silence, incoming.next()).await {
                Ok(Some(message)) => message.map_err(|status| self.client.refusal(status))?,
                Ok(None) => return Ok(()),
                Err(_) => {
                    let message = "nothing was heard from the sidecar for too long";
                    return Err(Refusal::unavailable(message).into());
                }
            };
        }
    }

    /// Writes what waits, and a heartbeat when nothing was written for so long. That a stream has
    /// ended is what its reader notices.
    async fn write(
        &self,
        outgoing: &mpsc::Sender<pb::ConnectRequest>,
        heartbeat_interval: Duration,
    ) -> Infallible {
        let mut idle = Instant::now() + heartbeat_interval;
        loop {
            let message = match self.next_message() {
                Some(message) => message,
                None => tokio::select! {
                    biased;
                    () = self.wake.notified() => {
                        yield_now().await; // what gets ready beside it goes together with it
                        continue;
                    }
                    () = sleep_until(idle) => {
                        self.lock().link.unnumbered(Some(Frame::Heartbeat(pb::Heartbeat {})))
                    }
                },
            };
            if outgoing.send(message).await.is_err() {
                return pending().await;
            }
            idle = Instant::now() + heartbeat_interval;
        }
    }

    fn next_message(&self) -> Option<pb::ConnectRequest> {
        let link = &mut self.lock().link;
        link.take().or_else(|| link.owes_acknowledgement().then(|| link.unnumbered(None)))
    }
}
