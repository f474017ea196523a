//! Keeps a session connected until it ends.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use super::core::Core;
use super::frames::listen;
use super::stream::Attachment;
use crate::error::{Error, Refusal, SessionLost};

/// These bound the waits between two tries to connect.
pub(super) const BACKOFF_BASE: Duration = Duration::from_millis(50);
pub(super) const BACKOFF_MAX: Duration = Duration::from_secs(2);

/// Refusals after which no try to resume can succeed.
const FINAL_REASONS: [&str; 13] = [
    "SESSION_NOT_FOUND",
    "SESSION_CLOSED",
    "SESSION_ATTACHED",
    "TAKEN_OVER",
    "RESUME_TOKEN_INVALID",
    "PROTOCOL_VERSION_UNSUPPORTED",
    "HELLO_REQUIRED",
    "DRAINING",
    "UNAUTHENTICATED",
    "UNIMPLEMENTED",
    "INVALID_FIELD",
    "MISSING_FIELD",
    "TOOL_LIMIT",
];

impl Core {
    /// Runs the session over as many connections as it takes.
    pub(super) async fn run(self: Arc<Self>, first: Attachment) {
        let mut attachment = first;
        let lost = loop {
            if let Some(told) = &self.config.on_connection {
                listen(|| told(attachment.began));
            }
            let grace = attachment.resume_grace;
            let ended = self.exchange(attachment).await;
            {
                let mut state = self.lock();
                state.farewell_heard = ended.is_ok();
                if state.detaching {
                    break SessionLost::detached();
                }
            }
            let cause = match ended {
                Ok(()) => Refusal::unavailable("the sidecar ended the stream").into(),
                Err(error) => error,
            };
            tracing::warn!(%cause, "the connection was lost");
            attachment = match self.reattach(cause, grace).await {
                Ok(attachment) => attachment,
                Err(lost) => break lost,
            };
        };
        self.lose(lost);
        self.ended.cancel();
    }

    /// Tries to resume until the grace is over. The error is why the session is lost.
    async fn reattach(&self, mut cause: Error, grace: Duration) -> Result<Attachment, SessionLost> {
        let deadline = Instant::now() + grace;
        let mut wait = BACKOFF_BASE;
        loop {
            let refusal = match cause {
                Error::SessionLost(lost) => return Err(lost),
                Error::Refused(refusal) => refusal,
                other => Refusal::unavailable(other.to_string()),
            };
            if FINAL_REASONS.contains(&refusal.reason.as_str()) {
                return Err(SessionLost::new(&refusal.reason.clone(), Some(refusal)));
            }
            let paused = timeout_at(deadline, sleep(wait.mul_f64(fastrand::f64()))).await;
            if paused.is_err() || Instant::now() >= deadline {
                return Err(SessionLost::new("RESUME_GRACE_OVER", Some(refusal)));
            }
            wait = (2 * wait).min(BACKOFF_MAX);
            cause = match timeout_at(deadline, self.attach()).await {
                Ok(Ok(attachment)) => return Ok(attachment),
                Ok(Err(error)) => error,
                Err(_) => refusal.into(),
            };
            if self.lock().detaching {
                return Err(SessionLost::detached());
            }
        }
    }
}
