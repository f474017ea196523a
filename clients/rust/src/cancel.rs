//! Which calls to cancel, and what that did to them.

use crate::call::CallReference;
use crate::enums::CancelDisposition;
use crate::proto as pb;

/// Which calls to cancel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CancelTarget {
    /// These.
    Calls(Vec<CallReference>),
    /// All open calls of a turn.
    Turn(String),
    /// All open calls.
    All,
}

impl CancelTarget {
    /// The target holds the call.
    pub(crate) fn holds(&self, call: &CallReference) -> bool {
        match self {
            Self::Calls(calls) => calls.contains(call),
            Self::Turn(turn_id) => *turn_id == call.turn_id,
            Self::All => true,
        }
    }

    pub(crate) fn wire(&self) -> pb::CancelTarget {
        use pb::cancel_target::Target;
        pb::CancelTarget {
            target: Some(match self {
                Self::Calls(calls) => Target::Calls(pb::CallReferences {
                    calls: calls.iter().map(CallReference::wire).collect(),
                }),
                Self::Turn(turn_id) => Target::TurnId(turn_id.clone()),
                Self::All => Target::All(pb::AllCalls {}),
            }),
        }
    }
}

/// A call and what a cancel did to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CancelledCall {
    /// The call.
    pub call: CallReference,
    /// What was done.
    pub disposition: CancelDisposition,
}

impl CancelledCall {
    pub(crate) fn read(read: pb::CancelledCall) -> Self {
        Self {
            call: CallReference::read(read.call),
            disposition: CancelDisposition::from_wire(read.disposition),
        }
    }
}
