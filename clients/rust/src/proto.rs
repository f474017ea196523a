//! The generated messages and stubs. They stay inside: users see plain values.

#![allow(missing_docs, clippy::all)]

tonic::include_proto!("sidecall.v1");
