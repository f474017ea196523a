//! The examples run, and the README shows them as they are.

use std::path::Path;
use std::process::{Command, Output};

use crate::support::executable;

const HERE: &str = env!("CARGO_MANIFEST_DIR");

/// Runs an example, which `cargo test` has built beside the tests, to its end.
fn run(example: &str) -> Output {
    let tests = std::env::current_exe().unwrap();
    let program = tests.parent().unwrap().parent().unwrap().join("examples").join(example);
    assert!(program.exists(), "build it with `cargo build --examples`");
    let server = Path::new(HERE).join("../../.venv/bin/mcp-server-time");
    let mut command = Command::new(program);
    if std::env::var_os("MCP_SERVER_TIME").is_none() {
        command.env("MCP_SERVER_TIME", server);
    }
    command.env("SIDECALL_BIN", executable()).output().unwrap()
}

fn text(output: &[u8]) -> String {
    String::from_utf8(output.to_vec()).unwrap()
}

#[test]
fn the_minimal_agent_runs() {
    let output = run("minimal");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let expected = r#"{"type":"function_call_output","call_id":"call_1","output":"2.5"}
{"type":"function_call_output","call_id":"call_2","output":"cannot divide by zero"}
0 [{"name":"divide","arguments":{"number":10,"by":4}}]
1 [{"name":"divide","arguments":{"number":10,"by":0}}]
"#;
    assert_eq!(text(&output.stdout), expected);
}

#[test]
fn the_readme_shows_the_minimal_agent() {
    let read = |name: &str| std::fs::read_to_string(Path::new(HERE).join(name)).unwrap();
    let shown = format!("```rust,no_run\n{}```\n", read("examples/minimal.rs"));
    assert!(read("README.md").contains(&shown), "README.md does not hold examples/minimal.rs");
}

#[test]
fn the_demo_plays_its_turn_in_eighty_columns() {
    let output = run("demo");
    let said = text(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", text(&output.stderr));
    assert!(said.ends_with("\nAll as expected.\n"), "{said}");
    for line in said.lines() {
        assert!(line.chars().count() <= 80, "too wide: {line}");
    }
}
