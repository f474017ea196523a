//! A sidecar on TCP.

use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use sidecall_client::Client;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use crate::support::{call, executable, mirror, says, soon, with_tools};

/// A sidecar on a free port of the loopback interface, and its address.
pub struct Listening(Child, pub String);

pub async fn listening(flags: &[&str]) -> Listening {
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
    pub async fn stop(mut self) {
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
