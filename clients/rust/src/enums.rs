//! The enums of the contract as plain ones.

use std::fmt;
use std::str::FromStr;

use crate::proto as pb;

/// No value of an enum has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no {kind} {name:?}")]
pub struct UnknownName {
    kind: &'static str,
    name: String,
}

/// Makes a plain enum of the generated one of the same name. A number that this version does not
/// know is read as `Unspecified`.
macro_rules! plain_enums {
    ($(
        $(#[$doc:meta])*
        $name:ident { $(#[$unspecified:meta])* Unspecified, $($(#[$variant_doc:meta])* $variant:ident,)+ }
    )+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $name {
            $(#[$unspecified])*
            #[default]
            Unspecified,
            $($(#[$variant_doc])* $variant,)+
        }

        #[allow(dead_code)] // not every enum goes both ways
        impl $name {
            pub(crate) fn from_wire(number: i32) -> Self {
                match pb::$name::try_from(number) {
                    $(Ok(pb::$name::$variant) => Self::$variant,)+
                    Ok(pb::$name::Unspecified) | Err(_) => Self::Unspecified,
                }
            }

            pub(crate) fn wire(self) -> i32 {
                self.generated() as i32
            }

            fn generated(self) -> pb::$name {
                match self {
                    Self::Unspecified => pb::$name::Unspecified,
                    $(Self::$variant => pb::$name::$variant,)+
                }
            }
        }

        impl fmt::Display for $name {
            /// Writes the name of the contract without its prefix, in small letters.
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                let prefix = pb::$name::Unspecified.as_str_name().trim_end_matches("UNSPECIFIED");
                let name = self.generated().as_str_name();
                out.pad(&name.trim_start_matches(prefix).to_lowercase())
            }
        }

        impl FromStr for $name {
            type Err = UnknownName;

            /// Reads what `Display` writes.
            fn from_str(name: &str) -> Result<Self, UnknownName> {
                let known = [Self::Unspecified, $(Self::$variant,)+];
                known.into_iter().find(|value| value.to_string() == name).ok_or_else(|| {
                    UnknownName { kind: stringify!($name), name: name.to_owned() }
                })
            }
        }
    )+};
}

plain_enums! {
    /// The shape in which a model calls a tool.
    PayloadKind {
        /// Not said.
        Unspecified,
        /// Arguments as a JSON text.
        Function,
        /// Free-form text.
        Custom,
        /// A search among the tools that are not shown to the model.
        ToolSearch,
    }

    /// One of the views that can be made of an outcome.
    View {
        /// Not a view.
        Unspecified,
        /// For the log: a bounded preview.
        Log,
        /// For the model: a typed response item.
        ResponseItem,
        /// For the model: the response item as ready JSON text.
        ResponseItemJson,
        /// For a post hook.
        Hook,
        /// For a script.
        CodeMode,
    }

    /// What hooks see of a tool's calls.
    HookKind {
        /// As `Default`.
        Unspecified,
        /// The flat name and the parsed arguments.
        Default,
        /// `Bash` with the command.
        Shell,
        /// The patch, also matched as Write and Edit.
        ApplyPatch,
        /// The MCP name, `mcp__server__tool`.
        Mcp,
        /// No hook speaks about this tool.
        None,
    }

    /// Where in a call a hook runs.
    HookPoint {
        /// Not a point.
        Unspecified,
        /// Before the handler.
        PreToolUse,
        /// After the handler returned a success.
        PostToolUse,
    }

    /// What a cancel does to a running handler.
    CancelMode {
        /// As `Abort`.
        Unspecified,
        /// The call ends at once; the handler is told to stop.
        Abort,
        /// The call ends when the handler has returned, or its time is over.
        WaitForTeardown,
    }

    /// How tools are offered to the model.
    ToolMode {
        /// Not said: another setting decides.
        Unspecified,
        /// The model calls tools directly.
        Direct,
        /// The model may call tools directly or from scripts.
        CodeMode,
        /// The model calls tools only from scripts.
        CodeModeOnly,
    }

    /// What a post hook's block does.
    PostHookBlock {
        /// The server's default.
        Unspecified,
        /// The model reads the hook's message in place of the output; scripts keep the output.
        ReplaceOutput,
        /// The call fails with the hook's message. The handler has run all the same.
        RejectResult,
    }

    /// How closely a model looks at an image.
    ImageDetail {
        /// Not said.
        Unspecified,
        /// The model decides.
        Auto,
        /// Coarse.
        Low,
        /// Fine.
        High,
        /// Not scaled down.
        Original,
    }

    /// Why a call was aborted.
    AbortReason {
        /// Not said.
        Unspecified,
        /// The agent or an operator cancelled it.
        Cancelled,
        /// The call's time ran out.
        TimedOut,
        /// The agent's connection was lost for good.
        SessionLost,
        /// The server shut down.
        Drained,
        /// Another call of the turn ended it with a fatal error.
        TurnFatal,
    }

    /// How far an aborted call got.
    AbortProgress {
        /// Not said.
        Unspecified,
        /// The handler was never started.
        NotStarted,
        /// The handler had been started and was told to stop.
        HandlerInterrupted,
        /// The handler had ended: its side effects happened.
        HandlerFinished,
        /// Not known: the client was lost with the handler started.
        Unknown,
    }

    /// What became of the teardown of an aborted call.
    TeardownState {
        /// No teardown was asked for or needed.
        Unspecified,
        /// The handler has torn down.
        Done,
        /// The teardown did not end in its time.
        TimedOut,
        /// The client was lost in the middle of it.
        Unknown,
    }

    /// What happened to a call, which is not always what the model was told.
    LifecycleFinish {
        /// The call never started: an unknown tool, a payload of the wrong kind.
        Unspecified,
        /// The handler returned an output.
        Completed,
        /// A pre hook blocked the call; the handler never started.
        Blocked,
        /// The call failed.
        Failed,
        /// The call was aborted.
        Aborted,
    }

    /// Where a call stands.
    CallPhase {
        /// Not said.
        Unspecified,
        /// Waits until its tool is ready.
        WaitingForReadiness,
        /// Waits at the gate.
        Queued,
        /// Waits for the pre hook's verdict.
        PreHook,
        /// The handler runs.
        Handler,
        /// Waits for the post hook's verdict.
        PostHook,
        /// Is being torn down after a cancel.
        Teardown,
        /// Has its outcome.
        Terminal,
    }

    /// What a cancel did to a call.
    CancelDisposition {
        /// Not said.
        Unspecified,
        /// The call will end as aborted, or with a result that was already on its way.
        Accepted,
        /// The call had ended.
        AlreadyTerminal,
        /// No such call.
        Unknown,
    }

    /// What became of the record of a call.
    RecordDisposition {
        /// Not said.
        Unspecified,
        /// Kept.
        Recorded,
        /// Kept as a marker: arguments too large, or the table full.
        Marked,
        /// Not kept: the table is full. Counted in the session's losses.
        Dropped,
        /// Not meant to be recorded: code mode's own exec and wait.
        Skipped,
        /// The recorder is off.
        Disabled,
        /// The call was recorded before; the first record stays.
        Duplicate,
    }

    /// Where a session stands in its life.
    SessionState {
        /// Not said.
        Unspecified,
        /// No stream was ever attached: the session is used by unary requests only.
        Open,
        /// A stream is attached.
        Attached,
        /// The stream was lost; the agent may resume until the grace ends.
        Detached,
        /// The session has ended; kept for a while so that its calls can be read.
        Closed,
    }

    /// How an attachment to a session began.
    ResumeOutcome {
        /// Not said.
        Unspecified,
        /// Nothing to resume: the first attachment.
        New,
        /// Nothing was lost.
        Resumed,
        /// Some messages are gone: what matters follows, anew.
        Gap,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_contract() {
        assert_eq!(View::ResponseItemJson.to_string(), "response_item_json");
        assert_eq!(HookPoint::PreToolUse.to_string(), "pre_tool_use");
        assert_eq!("code_mode_only".parse(), Ok(ToolMode::CodeModeOnly));
        let unknown = "nonsense".parse::<HookKind>().unwrap_err();
        assert_eq!(unknown.to_string(), "there is no HookKind \"nonsense\"");
    }

    #[test]
    fn values_go_there_and_back_and_unknown_ones_say_nothing() {
        assert_eq!(AbortReason::from_wire(AbortReason::TimedOut.wire()), AbortReason::TimedOut);
        assert_eq!(AbortReason::from_wire(4711), AbortReason::Unspecified);
    }
}
