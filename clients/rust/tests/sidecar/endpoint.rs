//! Where a sidecar may listen, and what it asks of its clients.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustix::process::{Pid, Signal, kill_process};
use sidecall_client::{Client, Endpoint, Error, RuntimeInfo, Tls};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::support::{call, executable, mirror, says, soon, with_tools};

/// A sidecar on a free port of the loopback interface, and its address.
struct Listening(Child, String);

async fn listening(flags: &[&str]) -> Listening {
    let mut child = Command::new(executable())
        .args(["serve", "--listen", "127.0.0.1:0"])
        .args(flags)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut line = String::new();
    soon(BufReader::new(child.stdout.take().unwrap()).read_line(&mut line)).await.unwrap();
    let ready: serde_json::Value = serde_json::from_str(&line).unwrap();
    Listening(child, ready["address"].as_str().unwrap().to_owned())
}

impl Listening {
    async fn stop(mut self) {
        let pid = Pid::from_raw(self.0.id().unwrap().cast_signed()).unwrap();
        kill_process(pid, Signal::TERM).unwrap();
        assert!(soon(self.0.wait()).await.unwrap().success());
    }
}

#[tokio::test]
async fn a_server_on_tcp() {
    let sidecar = listening(&[]).await;
    for address in [sidecar.1.clone(), format!("tcp://{}", sidecar.1)] {
        let client = Client::new(address).unwrap();
        let agent = client.connect(with_tools([mirror()])).await.unwrap();
        says(agent.dispatch(call("turn", "id", "mirror")), "{}").await;
        soon(agent.close()).await;
    }
    sidecar.stop().await;
}

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
