//! How a session stands, and what its recorder lost.

use std::collections::BTreeMap;
use std::time::SystemTime;

use crate::enums::{SessionState, ToolMode};
use crate::proto as pb;
use crate::wire::plain_time;

/// How a session stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionInfo {
    /// The session's id.
    pub session_id: String,
    /// Where it stands in its life.
    pub state: SessionState,
    /// The tool mode in effect.
    pub effective_tool_mode: ToolMode,
    /// When it was opened.
    pub create_time: SystemTime,
    /// Calls without an outcome.
    pub open_calls: u32,
    /// Calls that ended since the session began.
    pub terminal_calls: u64,
    /// Content from outside has marked the session.
    pub external_context_marked: bool,
    /// Bytes that the recorder holds.
    pub held_bytes: u64,
    /// What the recorder lost, by cause, where it lost anything.
    pub recorder_losses: BTreeMap<&'static str, u64>,
    /// Hooks that came to nothing usable.
    pub hooks_failed_open: u64,
    /// Answers that came after their call's end.
    pub late_results: u64,
}

impl SessionInfo {
    pub(crate) fn read(read: pb::Session) -> Self {
        Self {
            session_id: read.session_id,
            state: SessionState::from_wire(read.state),
            effective_tool_mode: ToolMode::from_wire(read.effective_tool_mode),
            create_time: plain_time(read.create_time),
            open_calls: read.open_calls,
            terminal_calls: read.terminal_calls,
            external_context_marked: read.external_context_marked,
            held_bytes: read.recorder_sizes.unwrap_or_default().held_bytes,
            recorder_losses: losses(read.recorder_losses.unwrap_or_default()),
            hooks_failed_open: read.hooks_failed_open,
            late_results: read.late_results,
        }
    }
}

fn losses(read: pb::RecorderLosses) -> BTreeMap<&'static str, u64> {
    BTreeMap::from([
        ("direct_marked", read.direct_marked),
        ("direct_dropped", read.direct_dropped),
        ("nested_marked", read.nested_marked),
        ("nested_dropped", read.nested_dropped),
        ("cell_refused", read.cell_refused),
        ("mapping_refused", read.mapping_refused),
        ("mapping_overwritten", read.mapping_overwritten),
        ("arguments_truncated", read.arguments_truncated),
        ("budget_truncated", read.budget_truncated),
        ("budget_omitted", read.budget_omitted),
        ("retained_pruned", read.retained_pruned),
        ("ended_turn_dropped", read.ended_turn_dropped),
        ("memory_marked", read.memory_marked),
    ])
    .into_iter()
    .filter(|(_, count)| *count > 0)
    .collect()
}
