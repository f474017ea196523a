//! Sidecars of the agent's own, and that none is left behind.

use std::env;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, test_kill_process};
use sidecall_client::{Error, SpawnOptions, spawn};
use tokio::time::{Instant, sleep};

use crate::support::{PATIENCE, contains, executable, own};

/// Turns the test below into an agent that starts a sidecar and never ends by itself.
const ORPHAN_VARIABLE: &str = "SIDECALL_TEST_ORPHAN";
/// The name of that test.
const ORPHAN_TEST: &str = "spawning::a_sidecar_that_is_dropped_leaves";

/// Waits until a process is gone that is not ours to wait for.
async fn gone(process_id: u32) {
    let pid = Pid::from_raw(process_id.cast_signed()).unwrap();
    let end = Instant::now() + PATIENCE;
    while test_kill_process(pid).is_ok() {
        assert!(Instant::now() < end, "the sidecar {process_id} lives on");
        sleep(Duration::from_millis(10)).await; // polls: nothing tells of its end
    }
}

#[tokio::test]
async fn a_sidecar_that_is_dropped_leaves() {
    let sidecar = own(&[]).await;
    let process_id = sidecar.process_id().unwrap();
    let socket = sidecar.endpoint().address;
    let folder = std::path::Path::new(socket.trim_start_matches("unix://")).parent().unwrap();
    assert!(folder.exists());
    if env::var_os(ORPHAN_VARIABLE).is_some() {
        println!("\nsidecar {process_id} {}", folder.display());
        std::future::pending::<()>().await;
    }
    drop(sidecar);
    gone(process_id).await;
    assert!(!folder.exists());
}

#[tokio::test]
async fn a_sidecar_ends_with_its_agent_even_when_that_is_killed() {
    let mut agent = Command::new(env::current_exe().unwrap())
        .args(["--exact", ORPHAN_TEST, "--nocapture"])
        .env(ORPHAN_VARIABLE, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(agent.stdout.take().unwrap()).lines();
    let said = lines.map_while(Result::ok).find_map(|line| {
        let (process_id, folder) = line.strip_prefix("sidecar ")?.split_once(' ')?;
        Some((process_id.parse().ok()?, folder.to_owned()))
    });
    agent.kill().unwrap();
    agent.wait().unwrap();
    let (process_id, folder) = said.expect("it started no sidecar");
    gone(process_id).await;
    std::fs::remove_dir_all(folder).unwrap(); // who was killed cannot
}

#[tokio::test]
async fn spawn_says_why_it_failed() {
    for (program, argument, says) in [
        ("/nowhere/sidecall".into(), "", "No such file"),
        (executable(), "--nonsense", "--nonsense"),
        ("echo".into(), "", "did not say that it is ready"),
    ] {
        let options = SpawnOptions {
            executable: program,
            arguments: [argument]
                .into_iter()
                .filter(|said| !said.is_empty())
                .map(Into::into)
                .collect(),
            ..SpawnOptions::default()
        };
        let error = spawn(options).await.unwrap_err();
        assert!(matches!(error, Error::Spawn { .. }));
        contains(&error.to_string(), says);
    }
}

#[tokio::test]
async fn stop_ends_the_sidecar_well() {
    let sidecar = own(&[]).await;
    assert!(!sidecar.version().is_empty());
    assert!(sidecar.endpoint().address.starts_with("unix:///"));
    let process_id = sidecar.process_id().unwrap();
    sidecar.stop().await.unwrap();
    let pid = Pid::from_raw(process_id.cast_signed()).unwrap();
    assert!(test_kill_process(pid).is_err(), "it lives on");
}
