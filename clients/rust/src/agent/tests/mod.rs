//! The agent against a fake server, with a clock of its own, which jumps where all wait.

mod link;
mod scene;
mod stream;
