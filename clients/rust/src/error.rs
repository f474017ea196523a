//! What can go wrong between an agent and its sidecar.

use std::error::Error as _;
use std::time::Duration;

use tonic::{Code, Status};
use tonic_types::StatusExt;

use crate::proto as pb;

/// What an operation of this crate fails with.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The sidecar refused a request or a call, or could not be reached.
    #[error(transparent)]
    Refused(Refusal),
    /// The session is gone, and all its open calls with it.
    #[error(transparent)]
    SessionLost(SessionLost),
    /// The endpoint cannot be used; nothing was asked of the sidecar.
    #[error("the endpoint {address} cannot be used: {message}")]
    Endpoint {
        /// The address as it was given.
        address: String,
        /// What is wrong with it.
        message: String,
    },
    /// A sidecar could not be started, or did not end well.
    #[error("the sidecar {executable} {message}")]
    Spawn {
        /// The program.
        executable: String,
        /// What happened, with its last words.
        message: String,
    },
}

impl Error {
    /// The name of the refusal or the loss: `TURN_ENDED`, say. Empty for all other errors.
    pub fn reason(&self) -> &str {
        match self {
            Self::Refused(refusal) => &refusal.reason,
            Self::SessionLost(lost) => &lost.reason,
            Self::Endpoint { .. } | Self::Spawn { .. } => "",
        }
    }
}

/// A field that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldViolation {
    /// Its path in the request or frame.
    pub field: String,
    /// What was expected.
    pub description: String,
}

/// A refusal by the sidecar: of a request, a frame, or one call that was dispatched.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{reason}: {}", self.text())]
pub struct Refusal {
    /// The gRPC status; [`Code::Unknown`] for a frame, which has none.
    pub code: Code,
    /// The name of the refusal (`SESSION_NOT_FOUND`, say); the name of the code where the sidecar
    /// gave none.
    pub reason: String,
    /// What is wrong and what to do.
    pub message: String,
    /// The fields that cannot be used.
    pub field_violations: Vec<FieldViolation>,
    /// How long to wait before another try. None: the sidecar names no time.
    pub retry_after: Option<Duration>,
}

impl Refusal {
    /// A refusal that this client makes in the sidecar's place.
    pub(crate) fn new(code: Code, reason: &str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason: reason.to_owned(),
            message: message.into(),
            field_violations: Vec::new(),
            retry_after: None,
        }
    }

    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        Self::new(Code::Unavailable, "UNAVAILABLE", message)
    }

    pub(crate) fn unknown(message: impl Into<String>) -> Self {
        Self::new(Code::Unknown, "UNKNOWN", message)
    }

    pub(crate) fn of_frame(frame: &pb::FrameError) -> Self {
        let reason = frame.reason().as_str_name();
        let reason = reason.trim_start_matches("ERROR_REASON_");
        Self {
            field_violations: frame
                .field_violations
                .iter()
                .map(|violation| FieldViolation {
                    field: violation.field.clone(),
                    description: violation.description.clone(),
                })
                .collect(),
            ..Self::new(Code::Unknown, reason, &frame.message)
        }
    }

    /// The message without the reason, which a status repeats in front.
    fn text(&self) -> &str {
        self.message
            .strip_prefix(&self.reason)
            .and_then(|rest| rest.strip_prefix(": "))
            .unwrap_or(&self.message)
    }
}

impl From<Status> for Refusal {
    fn from(status: Status) -> Self {
        let details = status.get_error_details();
        let code = match status.code() {
            // Not the server's word: the connection failed.
            Code::Unknown | Code::Cancelled if status.source().is_some() => Code::Unavailable,
            code => code,
        };
        let reason = match details.error_info() {
            Some(info) => info.reason.clone(),
            None => code_name(code),
        };
        let field_violations = details.bad_request().map_or_else(Vec::new, |bad| {
            bad.field_violations
                .iter()
                .map(|violation| FieldViolation {
                    field: violation.field.clone(),
                    description: violation.description.clone(),
                })
                .collect()
        });
        Self {
            field_violations,
            retry_after: details.retry_info().and_then(|info| info.retry_delay),
            ..Self::new(code, &reason, with_causes(&status))
        }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Status> for Error {
    fn from(status: Status) -> Self {
        Self::Refused(status.into())
    }
}

/// The code as the contract writes it: `NOT_FOUND`.
fn code_name(code: Code) -> String {
    let mut name = String::new();
    for letter in format!("{code:?}").chars() {
        if letter.is_uppercase() && !name.is_empty() && code != Code::Ok {
            name.push('_');
        }
        name.extend(letter.to_uppercase());
    }
    name
}

/// The message, and why a connection failed where that is the reason.
fn with_causes(status: &Status) -> String {
    let mut text = status.message().to_owned();
    let mut cause = status.source();
    while let Some(error) = cause {
        let said = error.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        cause = error.source();
    }
    text
}

/// The session is gone, and all its open calls with it: what their handlers did is not undone.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("session lost: {reason}{}", .cause.as_ref().map(|cause| format!(": {cause}")).unwrap_or_default())]
pub struct SessionLost {
    /// Why: a reason of the sidecar (`SESSION_NOT_FOUND`), `DETACHED` after
    /// [`Agent::detach`](crate::Agent::detach), `SERVER_RESTARTED`, `RESUME_GRACE_OVER` when it
    /// could not be reached in time, or `PROTOCOL_VIOLATED` by a server that does not keep to its
    /// own limits.
    pub reason: String,
    /// What came last, if anything.
    pub cause: Option<Refusal>,
}

impl SessionLost {
    pub(crate) fn new(reason: &str, cause: Option<Refusal>) -> Self {
        Self { reason: reason.to_owned(), cause }
    }

    /// The end of an agent that has left.
    pub(crate) fn detached() -> Self {
        Self::new("DETACHED", None)
    }
}

impl From<SessionLost> for Error {
    fn from(lost: SessionLost) -> Self {
        Self::SessionLost(lost)
    }
}

#[cfg(test)]
mod tests {
    use tonic_types::ErrorDetails;

    use super::*;

    #[test]
    fn a_status_is_read_with_its_details() {
        let mut details = ErrorDetails::with_error_info("TURN_ENDED", "sidecall", []);
        details.add_bad_request_violation("end_turn.turn_id", "is required");
        details.set_retry_info(Some(Duration::from_secs(2)));
        let code = Code::FailedPrecondition;
        let refusal = Refusal::from(Status::with_error_details(code, "TURN_ENDED: over", details));
        let violation = FieldViolation {
            field: "end_turn.turn_id".to_owned(),
            description: "is required".to_owned(),
        };
        assert_eq!((refusal.code, refusal.reason.as_str()), (code, "TURN_ENDED"));
        assert_eq!(refusal.field_violations, [violation]);
        assert_eq!(refusal.retry_after, Some(Duration::from_secs(2)));
        assert_eq!(refusal.to_string(), "TURN_ENDED: over");
        assert_eq!(Error::from(refusal).reason(), "TURN_ENDED");
    }

    #[test]
    fn a_status_without_details_has_its_code_as_reason() {
        for (code, reason) in [
            (Code::NotFound, "NOT_FOUND"),
            (Code::DeadlineExceeded, "DEADLINE_EXCEEDED"),
            (Code::Ok, "OK"),
        ] {
            let refusal = Refusal::from(Status::new(code, "text"));
            assert_eq!(refusal.to_string(), format!("{reason}: text"));
        }
    }

    #[test]
    fn a_connection_that_fails_is_not_the_servers_word() {
        let broken = std::io::Error::other("certificate unknown");
        let mut status = Status::unknown("transport error");
        status.set_source(std::sync::Arc::new(broken));
        let refusal = Refusal::from(status);
        assert_eq!(refusal.to_string(), "UNAVAILABLE: transport error: certificate unknown");
        assert_eq!(Refusal::from(Status::unknown("said so")).reason, "UNKNOWN");
    }
}
