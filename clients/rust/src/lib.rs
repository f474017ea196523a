#![allow(missing_docs)]
pub mod proto { tonic::include_proto!("sidecall.v1"); }
