//! What a sidecar says about itself.

use std::time::Duration;

use crate::client::Client;
use crate::error::Error;
use crate::proto as pb;
use crate::wire::plain_duration;

/// What a sidecar is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeInfo {
    /// Its version.
    pub server_version: String,
    /// Another one at each start of the server.
    pub server_instance_id: String,
    /// The versions of the stream that it speaks.
    pub protocol_versions: Vec<u32>,
    /// What it has beyond the protocol.
    pub features: Vec<String>,
    /// It takes no new sessions and calls.
    pub draining: bool,
    /// Calls are recorded where a session does not say.
    pub recorder_enabled_by_default: bool,
    /// What it takes at most.
    pub limits: RuntimeLimits,
}

/// What a sidecar takes at most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimeLimits {
    /// Sessions at a time.
    pub max_sessions: u32,
    /// Open calls of a session.
    pub max_calls_in_flight: u32,
    /// Bytes of payloads and results of a session's open calls.
    pub max_bytes_in_flight: u64,
    /// Bytes of one gRPC message.
    pub max_message_bytes: u64,
    /// Bytes of one dispatch, result or verdict.
    pub max_frame_bytes: u64,
    /// Tools and hooks of a session.
    pub max_declarations: u32,
    /// Ended calls of a session that can be read.
    pub max_retained_calls: u32,
    /// How long a lost agent may take to come back.
    pub resume_grace: Duration,
    /// How long a session may be idle.
    pub session_idle_timeout: Duration,
    /// How often each side says something.
    pub heartbeat_interval: Duration,
    /// How long the other side may be silent.
    pub heartbeat_timeout: Duration,
    /// The longest teardown a tool may ask for.
    pub max_teardown_timeout: Duration,
    /// The time of a hook that names none.
    pub default_hook_timeout: Duration,
}

impl RuntimeLimits {
    fn read(read: pb::RuntimeLimits) -> Self {
        let time = |read| plain_duration(read).unwrap_or_default();
        Self {
            max_sessions: read.max_sessions,
            max_calls_in_flight: read.max_calls_in_flight,
            max_bytes_in_flight: read.max_bytes_in_flight,
            max_message_bytes: read.max_message_bytes,
            max_frame_bytes: read.max_frame_bytes,
            max_declarations: read.max_declarations,
            max_retained_calls: read.max_retained_calls,
            resume_grace: time(read.resume_grace),
            session_idle_timeout: time(read.session_idle_timeout),
            heartbeat_interval: time(read.heartbeat_interval),
            heartbeat_timeout: time(read.heartbeat_timeout),
            max_teardown_timeout: time(read.max_teardown_timeout),
            default_hook_timeout: time(read.default_hook_timeout),
        }
    }
}

impl Client {
    /// Asks the sidecar about itself.
    pub async fn runtime_info(&self) -> Result<RuntimeInfo, Error> {
        let request = pb::GetRuntimeInfoRequest {};
        let read = self.answer(self.runtime().get_runtime_info(request).await)?;
        Ok(RuntimeInfo {
            server_version: read.server_version,
            server_instance_id: read.server_instance_id,
            protocol_versions: read.protocol_versions,
            features: read.features,
            draining: read.draining,
            recorder_enabled_by_default: read.recorder_enabled_by_default,
            limits: RuntimeLimits::read(read.limits.unwrap_or_default()),
        })
    }
}
