//! How an agent leaves its session.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::core::Core;
use crate::proto as pb;
use crate::proto::client_frame::Frame;
use crate::session::Session;

/// How long a sidecar may take to hear a farewell.
const DETACH_TIMEOUT: Duration = Duration::from_secs(5);

impl Core {
    /// Says farewell. The future waits until all has ended.
    pub(super) fn leave(
        self: &Arc<Self>,
        close_session: bool,
    ) -> impl Future<Output = ()> + Send + use<> {
        self.say_farewell(close_session);
        let core = Arc::clone(self);
        async move {
            if timeout(DETACH_TIMEOUT, core.ended.cancelled()).await.is_err() {
                core.drop_connection();
                core.ended.cancelled().await;
            }
            if close_session && core.unheard() {
                // The connection broke on the way out: it is said once more, on another one.
                // Where that fails too the sidecar ends the session when its grace is over.
                let _ = timeout(DETACH_TIMEOUT, core.session().delete()).await;
            }
            core.work.close();
            core.work.wait().await;
        }
    }

    fn say_farewell(&self, close_session: bool) {
        let mut state = self.lock();
        if state.gone().is_none() {
            state.detaching = true;
            state.link.farewell(Frame::Detach(pb::Detach { close_session }));
            self.wake.notify_one();
        }
    }

    /// The agent left, and the sidecar may not know it.
    fn unheard(&self) -> bool {
        let state = self.lock();
        state.detaching && !state.farewell_heard
    }

    pub(super) fn drop_connection(&self) {
        self.lock().drop_stream.cancel();
    }

    pub(super) fn session(&self) -> Session {
        let state = self.lock();
        let (session_id, resume_token) = (state.session_id.clone(), state.resume_token.clone());
        Session::new(self.client.clone(), session_id, resume_token)
    }
}
