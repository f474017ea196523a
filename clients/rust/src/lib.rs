//! The client of sidecall, the sidecar that runs the tool calls of an agent.

#![allow(dead_code)] // the agent that uses it comes next

mod call;
mod client;
mod endpoint;
mod enums;
mod error;
mod head_tail;
mod hook;
mod options;
mod outcome;
mod output;
mod projection;
mod prompt;
mod proto;
mod recorder;
mod runtime_info;
mod session;
mod tool;
mod wire;

pub use call::*;
pub use client::Client;
pub use endpoint::*;
pub use enums::*;
pub use error::*;
pub use head_tail::*;
pub use hook::*;
pub use options::*;
pub use outcome::*;
pub use output::*;
pub use projection::*;
pub use prompt::*;
pub use recorder::*;
pub use runtime_info::*;
pub use session::*;
pub use tool::*;
