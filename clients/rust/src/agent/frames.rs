//! What the sidecar says: each frame to the part of the agent that it concerns.

use std::mem::take;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use prost::Message;

use super::core::{Core, State};
use crate::error::{Error, Refusal, SessionLost};
use crate::proto as pb;
use crate::proto::server_frame::Frame;
use crate::wire::plain_duration;

/// Refusals of a message that the server did not read.
const UNREAD_REASONS: [&str; 2] = ["SEQUENCE_OUT_OF_ORDER", "ACKNOWLEDGEMENT_OUT_OF_RANGE"];

/// What the agent's listeners are told, once the state is free again.
enum News {
    Drain(Duration),
    FrameError(Refusal),
}

impl Core {
    /// Takes one message. An error: both sides no longer agree, and the stream has to begin anew.
    pub(super) fn receive(self: &Arc<Self>, message: pb::ConnectResponse) -> Result<(), Error> {
        let mut news = Vec::new();
        let read = self.read_message(message, &mut news);
        let retired = take(&mut self.lock().retired);
        drop(retired);
        for one in news {
            self.tell(one);
        }
        read
    }

    fn read_message(
        self: &Arc<Self>,
        message: pb::ConnectResponse,
        news: &mut Vec<News>,
    ) -> Result<(), Error> {
        let mut state = self.lock();
        state.link.forget(message.acknowledged);
        let size = message.encoded_len();
        if !state.link.see(message.sequence, size).map_err(Refusal::unavailable)? {
            return Ok(());
        }
        if state.link.owes_acknowledgement() {
            self.wake.notify_one();
        }
        for frame in message.frames.into_iter().filter_map(|frame| frame.frame) {
            let Frame::OutputChunk(piece) = frame else {
                self.take(&mut state, frame, news)?;
                continue;
            };
            let violated =
                |text| SessionLost::new("PROTOCOL_VIOLATED", Some(Refusal::unknown(text)));
            let joined = state.link.join(&piece).map_err(violated)?;
            if let Some(frame) = joined.and_then(|frame| frame.frame) {
                self.take(&mut state, frame, news)?;
            }
        }
        Ok(())
    }

    fn take(
        self: &Arc<Self>,
        state: &mut State,
        frame: Frame,
        news: &mut Vec<News>,
    ) -> Result<(), Error> {
        match frame {
            Frame::InvokeHandler(frame) => self.invoke(state, frame),
            Frame::InvokeHook(frame) => self.ask_hooks(state, frame),
            Frame::AbortHandler(frame) => self.abort(state, frame),
            Frame::CallCompleted(frame) => self.completed(state, frame),
            Frame::CancelResult(frame) => state.cancel_result(frame),
            Frame::FrameError(frame) => return self.frame_error(state, &frame, news),
            Frame::Drain(frame) => {
                news.push(News::Drain(plain_duration(frame.time_left).unwrap_or_default()));
            }
            Frame::Welcome(_)
            | Frame::CallAccepted(_)
            | Frame::OutputChunk(_)
            | Frame::Heartbeat(_) => {}
        }
        Ok(())
    }

    /// Tells whom a frame error concerns. A message that came out of order was not read: it has
    /// to be sent again, which a new connection does.
    fn frame_error(
        &self,
        state: &mut State,
        frame: &pb::FrameError,
        news: &mut Vec<News>,
    ) -> Result<(), Error> {
        let refusal = Refusal::of_frame(frame);
        if frame.frame_index.is_none() && UNREAD_REASONS.contains(&refusal.reason.as_str()) {
            return Err(refusal.into());
        }
        let State { calls, link, .. } = state;
        let of_calls = calls.refuse(frame, &refusal, link);
        if of_calls {
            self.admit(state);
        }
        let of_results = self.refuse_results(state, frame, &refusal);
        let of_requests = state.refuse_requests(frame, &refusal);
        if !(of_calls || of_results || of_requests) {
            news.push(News::FrameError(refusal));
        }
        Ok(())
    }

    fn tell(&self, news: News) {
        match (news, &self.config.on_drain, &self.config.on_frame_error) {
            (News::Drain(time_left), Some(told), _) => listen(|| told(time_left)),
            (News::Drain(time_left), None, _) => {
                tracing::warn!(?time_left, "the sidecar shuts down");
            }
            (News::FrameError(refusal), _, Some(told)) => listen(|| told(refusal)),
            (News::FrameError(refusal), _, None) => tracing::warn!(%refusal, "a frame was refused"),
        }
    }
}

/// Calls a listener. Its panic is its own.
pub(super) fn listen(told: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(told)).is_err() {
        tracing::error!("a listener panicked");
    }
}
