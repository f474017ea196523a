//! The unary requests that need no session.

use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;
use tonic::{Code, Response, Status};

use crate::endpoint::{Bearer, Endpoint};
use crate::error::{Error, Refusal};
use crate::options::SessionOptions;
use crate::proto as pb;
use crate::proto::projection_service_client::ProjectionServiceClient;
use crate::proto::recorder_service_client::RecorderServiceClient;
use crate::proto::runtime_service_client::RuntimeServiceClient;
use crate::proto::session_service_client::SessionServiceClient;
use crate::session::Session;
use crate::session_info::SessionInfo;

/// Bounds a message from the server; servers may be set to more than their default of 4 MiB.
const MAX_MESSAGE_BYTES: usize = 64 << 20;

pub(crate) type Transport = InterceptedService<Channel, Bearer>;

/// Talks to one sidecar. Cheap to clone: clones share a connection.
#[derive(Clone, Debug)]
pub struct Client {
    address: String,
    transport: Transport,
}

impl Client {
    /// A client. It connects as it is first used; an [`Error::Endpoint`] here is one of the
    /// configuration.
    pub fn new(endpoint: impl Into<Endpoint>) -> Result<Self, Error> {
        let endpoint = endpoint.into();
        let transport = InterceptedService::new(endpoint.channel()?, endpoint.bearer()?);
        Ok(Self { address: endpoint.address, transport })
    }

    pub(crate) fn sessions(&self) -> SessionServiceClient<Transport> {
        SessionServiceClient::new(self.transport.clone())
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
    }

    pub(crate) fn recorder(&self) -> RecorderServiceClient<Transport> {
        RecorderServiceClient::new(self.transport.clone())
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
    }

    pub(crate) fn runtime(&self) -> RuntimeServiceClient<Transport> {
        RuntimeServiceClient::new(self.transport.clone())
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
    }

    pub(crate) fn projection(&self) -> ProjectionServiceClient<Transport> {
        ProjectionServiceClient::new(self.transport.clone())
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
    }

    /// What the sidecar answered.
    pub(crate) fn answer<T>(&self, answered: Result<Response<T>, Status>) -> Result<T, Error> {
        Ok(answered.map_err(|status| self.refusal(status))?.into_inner())
    }

    /// Why a request failed. A sidecar that cannot be reached is named.
    pub(crate) fn refusal(&self, status: Status) -> Refusal {
        let mut refusal = Refusal::from(status);
        if refusal.code == Code::Unavailable && refusal.reason == "UNAVAILABLE" {
            refusal.message = format!("{} ({})", refusal.message, self.address);
        }
        refusal
    }

    /// Opens a session for an agent that runs its tools itself; [`Client::connect`] opens one by
    /// itself. An empty id lets the server choose. Refused with `SESSION_ALREADY_EXISTS`,
    /// `SESSION_LIMIT` or `DRAINING`.
    pub async fn create_session(
        &self,
        session_id: &str,
        options: &SessionOptions,
    ) -> Result<Session, Error> {
        let request = pb::CreateSessionRequest {
            session_id: session_id.to_owned(),
            options: Some(options.wire()),
        };
        let created = self.answer(self.sessions().create_session(request).await)?;
        let session_id = created.session.unwrap_or_default().session_id;
        Ok(Session::new(self.clone(), session_id, created.resume_token))
    }

    /// Names a session that exists. Nothing is asked of the server.
    pub fn session(&self, session_id: impl Into<String>) -> Session {
        Session::new(self.clone(), session_id.into(), String::new())
    }

    /// Lists the sessions that the caller may see, open and closed, in the order in which they
    /// were made.
    pub async fn list_sessions(&self) -> Result<Vec<SessionInfo>, Error> {
        let mut sessions = Vec::new();
        let mut request = pb::ListSessionsRequest::default();
        loop {
            let page = self.answer(self.sessions().list_sessions(request.clone()).await)?;
            sessions.extend(page.sessions.into_iter().map(SessionInfo::read));
            if page.next_page_token.is_empty() {
                return Ok(sessions);
            }
            request.page_token = page.next_page_token;
        }
    }
}
