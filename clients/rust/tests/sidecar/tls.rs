//! What a sidecar asks of clients that are not on this machine.

use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use sidecall_client::{Client, Endpoint, Error, RuntimeInfo, Tls};
use tempfile::TempDir;

use crate::endpoint::listening;
use crate::support::soon;

#[tokio::test]
async fn mutual_tls_with_a_bearer_token() {
    let files = Authority::new();
    let path = |name: &str| files.path(name).to_str().unwrap().to_owned();
    let sidecar = listening(&[
        "--tls-certificate",
        &path("server.pem"),
        "--tls-key",
        &path("server.key"),
        "--tls-client-ca",
        &path("ca.pem"),
        "--bearer-token-file",
        &path("tokens"),
    ])
    .await;
    let info = async |tls: Tls, token: &str| -> Result<RuntimeInfo, Error> {
        let address = format!("tls://{}", sidecar.1);
        let endpoint = Endpoint { tls, token: token.to_owned(), ..Endpoint::from(address) };
        soon(Client::new(endpoint)?.runtime_info()).await
    };
    info(files.tls(), "secret").await.unwrap();
    assert_eq!(info(files.tls(), "wrong").await.unwrap_err().reason(), "UNAUTHENTICATED");
    let of_the_system = Tls { ca_certificate: String::new(), ..files.tls() };
    let untrusted = info(of_the_system, "secret").await.unwrap_err();
    assert_eq!(untrusted.reason(), "UNAVAILABLE", "a server that nobody vouches for was trusted");
    let anonymous = Tls { client_certificate: String::new(), ..files.tls() };
    assert_eq!(info(anonymous, "secret").await.unwrap_err().reason(), "UNAVAILABLE");
    sidecar.stop().await;
}

/// What a certificate for this machine says, whose owner has a name of its own.
fn params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

/// A certificate authority with a server's and a client's certificate.
struct Authority(TempDir);

impl Authority {
    fn new() -> Self {
        let made = Self(tempfile::tempdir().unwrap());
        let mut root = params("authority");
        root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(root, KeyPair::generate().unwrap()).unwrap();
        made.write("ca.pem", &authority.pem());
        for name in ["server", "client"] {
            let key = KeyPair::generate().unwrap();
            let certificate = params(name).signed_by(&key, &authority).unwrap();
            made.write(&format!("{name}.pem"), &certificate.pem());
            made.write(&format!("{name}.key"), &key.serialize_pem());
        }
        made.write("tokens", "secret\n");
        made
    }

    fn tls(&self) -> Tls {
        let read = |name: &str| std::fs::read_to_string(self.path(name)).unwrap();
        Tls {
            ca_certificate: read("ca.pem"),
            client_certificate: read("client.pem"),
            client_key: read("client.key"),
            server_name: "localhost".to_owned(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file that only its owner may read.
    fn write(&self, name: &str, text: &str) {
        use std::fs::{Permissions, set_permissions, write};
        use std::os::unix::fs::PermissionsExt;
        let path: &Path = &self.path(name);
        write(path, text).unwrap();
        set_permissions(path, Permissions::from_mode(0o600)).unwrap();
    }
}
