//! The client against real sidecars: the one of `SIDECALL_BIN`, else that of `make setup`.

mod cancel;
mod connection;
mod dispatch;
mod endpoint;
mod examples;
mod hooks;
mod large;
mod spawning;
mod support;
#[cfg(feature = "tls")]
mod tls;
mod unary;
