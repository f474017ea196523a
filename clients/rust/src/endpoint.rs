//! Where the sidecar is, and what it takes to talk to it.

use std::env;
use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::transport::{Channel, Endpoint as Target, Uri};
use tonic::{Request, Status};

use crate::error::Error;

/// The environment variable that holds the address of the sidecar.
pub const ENDPOINT_VARIABLE: &str = "SIDECALL_ENDPOINT";
/// The environment variable that holds a bearer token.
pub const TOKEN_VARIABLE: &str = "SIDECALL_TOKEN";

/// How long a connection may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// What a path keeps as it is in an address.
const QUOTED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Where this user's sidecar listens when nobody says otherwise.
pub fn default_address() -> String {
    default_address_in(env::var_os("XDG_RUNTIME_DIR"))
}

fn default_address_in(runtime_folder: Option<OsString>) -> String {
    let folder = match runtime_folder.map(PathBuf::from) {
        Some(folder) if folder.is_absolute() => folder.join("sidecall"),
        _ => {
            let user = rustix::process::geteuid().as_raw();
            env::temp_dir().join(format!("sidecall-{user}"))
        }
    };
    let socket = folder.join("sidecall.sock");
    format!("unix://{}", percent_encode(socket.as_os_str().as_bytes(), QUOTED))
}

/// A sidecar's address and what it takes to talk to it.
///
/// `Endpoint::default()` is what the environment says; an endpoint made of a text has the
/// environment's token.
#[derive(Clone)]
pub struct Endpoint {
    /// `unix:///path/to.sock`, `host:port` or `tcp://host:port` (plain; for the loopback
    /// interface only), or `tls://host:port`. Empty: `SIDECALL_ENDPOINT`, and
    /// [`default_address`] where that is empty too.
    pub address: String,
    /// A bearer token. Empty: none.
    pub token: String,
    /// The files of TLS, for `tls://` addresses.
    #[cfg(feature = "tls")]
    pub tls: Tls,
}

/// What TLS needs, as PEM texts. The default trusts the system's authorities.
#[cfg(feature = "tls")]
#[derive(Clone, Default)]
pub struct Tls {
    /// The authority that signed the server. Empty: the system's.
    pub ca_certificate: String,
    /// The client's certificate chain, for mutual TLS. Empty: none.
    pub client_certificate: String,
    /// Its key.
    pub client_key: String,
    /// The name that the server's certificate must have. Empty: the host of the address.
    pub server_name: String,
}

impl fmt::Debug for Endpoint {
    /// Leaves the secrets out.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Endpoint").field("address", &self.address).finish_non_exhaustive()
    }
}

#[cfg(feature = "tls")]
impl fmt::Debug for Tls {
    /// Leaves the secrets out.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Tls").field("server_name", &self.server_name).finish_non_exhaustive()
    }
}

impl Default for Endpoint {
    fn default() -> Self {
        Self::from("")
    }
}

impl From<&str> for Endpoint {
    fn from(address: &str) -> Self {
        Self::find(address, |name| env::var(name).unwrap_or_default())
    }
}

impl From<String> for Endpoint {
    fn from(address: String) -> Self {
        Self::from(address.as_str())
    }
}

impl Endpoint {
    /// The endpoint that is given, else the one that the environment names, else the default.
    fn find(address: &str, variable: impl Fn(&str) -> String) -> Self {
        let said = [address.to_owned(), variable(ENDPOINT_VARIABLE)];
        Self {
            address: said.into_iter().find(|said| !said.is_empty()).unwrap_or_else(default_address),
            token: variable(TOKEN_VARIABLE),
            #[cfg(feature = "tls")]
            tls: Tls::default(),
        }
    }

    /// A channel that connects as it is first used, so that an error is one of the endpoint.
    pub(crate) fn channel(&self) -> Result<Channel, Error> {
        let unusable = |message: String| Error::Endpoint { address: self.address.clone(), message };
        let target = self.target().map_err(|error| unusable(error.to_string()))?;
        Ok(target.connect_timeout(CONNECT_TIMEOUT).connect_lazy())
    }

    fn target(&self) -> Result<Target, Box<dyn std::error::Error>> {
        if let Some(path) = self.address.strip_prefix("unix:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            let socket = OsString::from_vec(percent_decode_str(path).collect());
            let socket = socket.into_string().map_err(|_| "the path must be UTF-8")?;
            return Ok(Target::from_shared(format!("unix:{socket}"))?
                .origin(Uri::from_static("http://localhost")));
        }
        if let Some(authority) = self.address.strip_prefix("tls://") {
            return self.tls_target(authority);
        }
        let authority = self.address.strip_prefix("tcp://").unwrap_or(&self.address);
        target_of("http", authority)
    }

    #[cfg(feature = "tls")]
    fn tls_target(&self, authority: &str) -> Result<Target, Box<dyn std::error::Error>> {
        use tonic::transport::{Certificate, ClientTlsConfig, Identity};

        let Tls { ca_certificate, client_certificate, client_key, server_name } = &self.tls;
        let mut config = ClientTlsConfig::new();
        config = match ca_certificate.as_str() {
            "" => config.with_native_roots(),
            authority => config.ca_certificate(Certificate::from_pem(authority)),
        };
        if !client_certificate.is_empty() {
            config = config.identity(Identity::from_pem(client_certificate, client_key));
        }
        if !server_name.is_empty() {
            config = config.domain_name(server_name);
        }
        Ok(target_of("https", authority)?.tls_config(config)?)
    }

    #[cfg(not(feature = "tls"))]
    fn tls_target(&self, _authority: &str) -> Result<Target, Box<dyn std::error::Error>> {
        Err("this client was built without the feature `tls`".into())
    }

    /// What every rpc carries.
    pub(crate) fn bearer(&self) -> Result<Bearer, Error> {
        if self.token.is_empty() {
            return Ok(Bearer(None));
        }
        let mut header: MetadataValue<Ascii> =
            format!("Bearer {}", self.token).parse().map_err(|_| Error::Endpoint {
                address: self.address.clone(),
                message: "the token holds letters that no header can".to_owned(),
            })?;
        header.set_sensitive(true);
        Ok(Bearer(Some(header)))
    }
}

fn target_of(scheme: &str, authority: &str) -> Result<Target, Box<dyn std::error::Error>> {
    let uri = format!("{scheme}://{authority}").parse::<Uri>()?;
    if uri.port().is_none() {
        return Err("it must be unix:///path, host:port, tcp://host:port or tls://host:port".into());
    }
    Ok(Target::from(uri))
}

/// A token that goes with every rpc, also without TLS: a unix socket is private, and a server
/// refuses tokens on other plain sockets by itself.
#[derive(Clone)]
pub(crate) struct Bearer(Option<MetadataValue<Ascii>>);

impl Interceptor for Bearer {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        if let Some(header) = &self.0 {
            request.metadata_mut().insert("authorization", header.clone());
        }
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_says_what_is_left_open() {
        let environment = |name: &str| match name {
            ENDPOINT_VARIABLE => "unix:///run/there.sock".to_owned(),
            TOKEN_VARIABLE => "secret".to_owned(),
            other => panic!("{other}"),
        };
        let found = Endpoint::find("", environment);
        assert_eq!(
            (found.address.as_str(), found.token.as_str()),
            ("unix:///run/there.sock", "secret")
        );
        let given = Endpoint::find("localhost:1", environment);
        assert_eq!((given.address.as_str(), given.token.as_str()), ("localhost:1", "secret"));
        let nothing = Endpoint::find("", |_| String::new());
        assert_eq!((nothing.address, nothing.token), (default_address(), String::new()));
    }

    #[test]
    fn the_default_address_is_the_users_socket() {
        let given = default_address_in(Some("/run/with space".into()));
        assert_eq!(given, "unix:///run/with%20space/sidecall/sidecall.sock");
        for nothing in [None, Some("".into()), Some("relative".into())] {
            let user = rustix::process::geteuid().as_raw();
            let address = default_address_in(nothing);
            assert!(address.ends_with(&format!("/sidecall-{user}/sidecall.sock")), "{address}");
        }
    }

    #[tokio::test]
    async fn an_address_is_usable_or_says_what_is_wrong() {
        for address in ["unix:///a%20b/s.sock", "localhost:1", "tcp://[::1]:1"] {
            assert!(Endpoint::from(address).channel().is_ok(), "{address}");
        }
        let secure = Endpoint::from("tls://host:443").channel();
        assert_eq!(secure.is_ok(), cfg!(feature = "tls"));
        for address in ["localhost", "http://localhost:1", "tls://host", "a b:1", "unix:///%ff"] {
            let error = Endpoint::from(address).channel().unwrap_err();
            assert!(matches!(error, Error::Endpoint { .. }), "{address}");
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let mut endpoint = Endpoint::from("localhost:1");
        endpoint.token = "secret".to_owned();
        assert!(!format!("{endpoint:?}").contains("secret"));
    }
}
