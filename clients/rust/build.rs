//! Compiles the contract with a compiler written in Rust, so that nobody needs `protoc`.

use std::env;
use std::path::PathBuf;

/// The contract, in the order of its imports. `protos` is a link into the repository; `cargo
/// package` puts the files themselves in its place.
const PROTO_FILES: [&str; 10] = [
    "sidecall/v1/tool_call.proto",
    "sidecall/v1/tool_output.proto",
    "sidecall/v1/call_outcome.proto",
    "sidecall/v1/errors.proto",
    "sidecall/v1/executed_tool_call.proto",
    "sidecall/v1/session_service.proto",
    "sidecall/v1/runtime_stream.proto",
    "sidecall/v1/runtime_service.proto",
    "sidecall/v1/recorder_service.proto",
    "sidecall/v1/projection_service.proto",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("protos");
    println!("cargo::rerun-if-changed={}", root.display());
    let descriptors = protox::compile(PROTO_FILES, [&root])?;
    tonic_prost_build::configure()
        .build_server(false)
        .build_transport(false) // its `connect` would clash with the rpc of that name
        .bytes(".") // frames are kept until they are acknowledged: a copy must cost nothing
        .compile_fds(descriptors)?;
    Ok(())
}
