//! A sidecar of the agent's own: started, waited for, and stopped with it.

use std::env;
use std::ffi::OsString;
use std::fs::Permissions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::endpoint::Endpoint;
use crate::error::Error;
use crate::head_tail::HeadTailBuffer;

/// The environment variable that holds the path of the program that [`spawn`] runs.
pub const EXECUTABLE_VARIABLE: &str = "SIDECALL_BIN";

/// How long a sidecar may take to get ready.
const READY_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a sidecar may take to leave after SIGTERM: its drain and some more.
const STOP_TIMEOUT: Duration = Duration::from_secs(15);
/// How much of a log goes into the error of a start that failed.
const LAST_WORDS_BYTES: usize = 2000;
/// How much of a log is read at once.
const READ_BYTES: usize = 8192;

/// How to start a sidecar.
#[derive(Clone, Debug, Default)]
pub struct SpawnOptions {
    /// The program. Empty: `SIDECALL_BIN`, else `sidecall` on the path.
    pub executable: OsString,
    /// More flags of `sidecall serve`.
    pub arguments: Vec<OsString>,
    /// Its log goes to this process's stderr. Without it nobody hears it.
    pub inherit_log: bool,
}

impl SpawnOptions {
    fn executable(&self) -> OsString {
        let said = [Some(self.executable.clone()), env::var_os(EXECUTABLE_VARIABLE)];
        let named = said.into_iter().flatten().find(|said| !said.is_empty());
        named.unwrap_or_else(|| "sidecall".into())
    }
}

/// A sidecar that this process has started. It ends with this process, however that ends: its
/// stdin is a pipe that only this process holds. Dropping this tells it to leave as well.
#[derive(Debug)]
pub struct Sidecar {
    address: String,
    version: String,
    executable: String,
    child: Child,
    words: Words,
    reading: Vec<JoinHandle<()>>,
    _folder: TempDir,
}

/// The last words of a sidecar.
type Words = Arc<Mutex<HeadTailBuffer>>;

/// Starts `sidecall serve` on a socket of its own and waits until it is ready. The error,
/// [`Error::Spawn`], holds its last words.
pub async fn spawn(options: SpawnOptions) -> Result<Sidecar, Error> {
    let executable = options.executable();
    let name = executable.to_string_lossy().into_owned();
    let failed = |message: String| Error::Spawn {
        executable: name.clone(),
        message: format!("cannot be started (say which with {EXECUTABLE_VARIABLE}): {message}"),
    };
    let folder = tempfile::Builder::new()
        .prefix("sidecall-")
        .permissions(Permissions::from_mode(0o700)) // a sidecar refuses a folder open to others
        .tempdir();
    let folder = folder.map_err(|error| failed(error.to_string()))?;
    let mut child = Command::new(executable)
        .arg("serve")
        .arg("--socket")
        .arg(folder.path().join("s.sock"))
        .arg("--exit-on-stdin-eof")
        .args(&options.arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    let words = Words::new(Mutex::new(HeadTailBuffer::new(LAST_WORDS_BYTES)));
    let stderr = child.stderr.take();
    let mut reading = vec![tokio::spawn(read_log(stderr, Arc::clone(&words), options.inherit_log))];
    let ready = match child.stdout.take() {
        Some(stdout) => timeout(READY_TIMEOUT, read_ready(stdout)).await,
        None => Ok(Err("it has no stdout".to_owned())),
    };
    let message = match ready {
        Ok(Ok((address, version, stdout))) => {
            reading.push(tokio::spawn(read_rest(stdout)));
            let executable = name;
            return Ok(Sidecar {
                address,
                version,
                executable,
                child,
                words,
                reading,
                _folder: folder,
            });
        }
        Ok(Err(message)) => message,
        Err(_) => format!("it was not ready within {} s", READY_TIMEOUT.as_secs()),
    };
    let _ = child.kill().await; // it may have ended
    for task in reading {
        let _ = task.await; // what it said is what counts
    }
    Err(failed(format!("{message}: {}", last_words(&words))))
}

impl Sidecar {
    /// Its address, for [`Client::new`](crate::Client::new).
    pub fn endpoint(&self) -> Endpoint {
        Endpoint { token: String::new(), ..Endpoint::from(self.address.as_str()) }
    }

    /// Its version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Its process id. None: it has ended and was waited for.
    pub fn process_id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Ends the sidecar: it is asked to, waited for, and killed where that is not enough. The
    /// error, [`Error::Spawn`], is how it ended, where that was not well.
    pub async fn stop(mut self) -> Result<(), Error> {
        let pid = self.child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        let stdin = self.child.stdin.take(); // `wait` would close it: a second wish to leave
        if let Some(pid) = pid {
            let _ = kill_process(pid, Signal::TERM); // it may have ended
        }
        let status = match timeout(STOP_TIMEOUT, self.child.wait()).await {
            Ok(status) => status,
            Err(_) => match self.child.kill().await {
                Ok(()) => self.child.wait().await,
                Err(error) => Err(error),
            },
        };
        drop(stdin);
        for task in std::mem::take(&mut self.reading) {
            let _ = task.await; // what it said is what counts
        }
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(self.ended_as(&status)),
            Err(error) => Err(self.failed(format!("was not waited for: {error}"))),
        }
    }

    fn ended_as(&self, status: &ExitStatus) -> Error {
        self.failed(format!("ended with {status}: {}", last_words(&self.words)))
    }

    fn failed(&self, message: String) -> Error {
        Error::Spawn { executable: self.executable.clone(), message }
    }
}

/// Waits for the line that says that the sidecar is ready. Gives its address and version, and
/// what comes after.
async fn read_ready(
    stdout: ChildStdout,
) -> Result<(String, String, BufReader<ChildStdout>), String> {
    let mut stdout = BufReader::new(stdout);
    let mut line = String::new();
    let read = stdout.read_line(&mut line).await;
    match read {
        Ok(0) => return Err("it ended before it was ready".to_owned()),
        Ok(_) => {}
        Err(error) => return Err(format!("its stdout cannot be read: {error}")),
    }
    let ready: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
    let said = |name: &str| ready[name].as_str().map(str::to_owned);
    match (ready["event"].as_str(), said("address"), said("version")) {
        (Some("ready"), Some(address), Some(version)) => Ok((address, version, stdout)),
        _ => Err(format!("it did not say that it is ready but {:?}", line.trim_end())),
    }
}

/// Reads on, so that the sidecar never waits for a reader.
async fn read_rest(mut stdout: BufReader<ChildStdout>) {
    let _ = tokio::io::copy(&mut stdout, &mut tokio::io::sink()).await; // it has ended
}

async fn read_log(log: Option<impl AsyncReadExt + Unpin>, words: Words, inherit: bool) {
    let Some(mut log) = log else { return };
    let mut stderr = inherit.then(std::io::stderr);
    let mut buffer = [0; READ_BYTES];
    while let Ok(count @ 1..) = log.read(&mut buffer).await {
        let said = &buffer[..count];
        words.lock().unwrap_or_else(PoisonError::into_inner).push(said);
        if let Some(stderr) = &mut stderr {
            let _ = stderr.write_all(said); // nobody listens
        }
    }
}

fn last_words(words: &Words) -> String {
    let words = words.lock().unwrap_or_else(PoisonError::into_inner).to_bytes();
    String::from_utf8_lossy(&words).trim().to_owned()
}
