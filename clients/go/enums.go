package sidecall

import (
	"fmt"
	"strings"
)

// PayloadKind is the shape in which a model calls a tool.
type PayloadKind string

// The kinds of payloads.
const (
	KindFunction   PayloadKind = "function"
	KindCustom     PayloadKind = "custom"
	KindToolSearch PayloadKind = "tool_search"
)

// View is one of the views that can be made of an outcome.
type View string

// The views.
const (
	ViewLog              View = "log"
	ViewResponseItem     View = "response_item"
	ViewResponseItemJSON View = "response_item_json"
	ViewHook             View = "hook"
	ViewCodeMode         View = "code_mode"
)

// HookKind says what hooks see of a tool's calls.
type HookKind string

// What hooks see. The empty value is [HooksDefault].
const (
	HooksDefault    HookKind = "default"
	HooksShell      HookKind = "shell"
	HooksApplyPatch HookKind = "apply_patch"
	HooksMCP        HookKind = "mcp"
	HooksNone       HookKind = "none"
)

// HookPoint is where in a call a hook runs.
type HookPoint string

// The points: before the handler, and after it succeeded.
const (
	PreToolUse  HookPoint = "pre_tool_use"
	PostToolUse HookPoint = "post_tool_use"
)

// ToolMode is how tools are offered to the model.
type ToolMode string

// The tool modes. The empty value says nothing.
const (
	ModeDirect       ToolMode = "direct"
	ModeCodeMode     ToolMode = "code_mode"
	ModeCodeModeOnly ToolMode = "code_mode_only"
)

// PostHookBlock is what a post hook's block does. The empty value is the server's default.
type PostHookBlock string

// What a post hook's block does: the model reads the hook's message in place of the output, or
// the call fails with it.
const (
	ReplaceOutput PostHookBlock = "replace_output"
	RejectResult  PostHookBlock = "reject_result"
)

// OutcomeKind is how a call ended.
type OutcomeKind string

// The four ends of a call.
const (
	Completed    OutcomeKind = "completed"
	ModelFailure OutcomeKind = "model_failure"
	Fatal        OutcomeKind = "fatal"
	Aborted      OutcomeKind = "aborted"
)

// AbortReason is why a call was aborted.
type AbortReason string

// The reasons of an abort.
const (
	AbortCancelled   AbortReason = "cancelled"
	AbortTimedOut    AbortReason = "timed_out"
	AbortSessionLost AbortReason = "session_lost"
	AbortDrained     AbortReason = "drained"
	AbortTurnFatal   AbortReason = "turn_fatal"
)

// Progress is how far an aborted call got.
type Progress string

// How far an aborted call got.
const (
	ProgressNotStarted         Progress = "not_started"
	ProgressHandlerInterrupted Progress = "handler_interrupted"
	ProgressHandlerFinished    Progress = "handler_finished"
	ProgressUnknown            Progress = "unknown"
)

// Teardown is what became of the teardown of an aborted call.
type Teardown string

// What became of a teardown.
const (
	TeardownNone     Teardown = "none"
	TeardownDone     Teardown = "done"
	TeardownTimedOut Teardown = "timed_out"
	TeardownUnknown  Teardown = "unknown"
)

// Lifecycle is what happened to a call, which is not always what the model was told.
type Lifecycle string

// The ends of a call's life.
const (
	LifecycleNone      Lifecycle = "none"
	LifecycleCompleted Lifecycle = "completed"
	LifecycleBlocked   Lifecycle = "blocked"
	LifecycleFailed    Lifecycle = "failed"
	LifecycleAborted   Lifecycle = "aborted"
)

// Disposition is what a cancel did to a call.
type Disposition string

// What a cancel did.
const (
	CancelAccepted        Disposition = "accepted"
	CancelAlreadyTerminal Disposition = "already_terminal"
	CancelUnknown         Disposition = "unknown"
)

// RecordDisposition is what became of the record of a call.
type RecordDisposition string

// What became of a record.
const (
	Recorded        RecordDisposition = "recorded"
	RecordMarked    RecordDisposition = "marked"
	RecordDropped   RecordDisposition = "dropped"
	RecordSkipped   RecordDisposition = "skipped"
	RecordDisabled  RecordDisposition = "disabled"
	RecordDuplicate RecordDisposition = "duplicate"
)

// SessionState is where a session stands in its life.
type SessionState string

// The states of a session.
const (
	SessionOpen     SessionState = "open"
	SessionAttached SessionState = "attached"
	SessionDetached SessionState = "detached"
	SessionClosed   SessionState = "closed"
)

// CallPhase is where a call stands.
type CallPhase string

// The phases of a call.
const (
	PhaseWaitingForReadiness CallPhase = "waiting_for_readiness"
	PhaseQueued              CallPhase = "queued"
	PhasePreHook             CallPhase = "pre_hook"
	PhaseHandler             CallPhase = "handler"
	PhasePostHook            CallPhase = "post_hook"
	PhaseTeardown            CallPhase = "teardown"
	PhaseTerminal            CallPhase = "terminal"
)

// ResumeOutcome is how an attachment to a session began.
type ResumeOutcome string

// How an attachment began: the first one, nothing lost, or with a gap.
const (
	ResumeNew     ResumeOutcome = "new"
	ResumeResumed ResumeOutcome = "resumed"
	ResumeGap     ResumeOutcome = "gap"
)

// Detail is how closely a model looks at an image. The empty value says nothing.
type Detail string

// The image details.
const (
	DetailAuto     Detail = "auto"
	DetailLow      Detail = "low"
	DetailHigh     Detail = "high"
	DetailOriginal Detail = "original"
)

const unspecified = "unspecified"

// plainEnum turns a generated enum value into the plain one: the name without its prefix, in
// small letters. The unspecified value becomes absent.
func plainEnum[T ~string](value fmt.Stringer, prefix string, absent T) T {
	name := strings.ToLower(strings.TrimPrefix(value.String(), prefix))
	if name == unspecified {
		return absent
	}
	return T(name)
}

// wireEnum finds the generated value of a plain one. The empty value is the unspecified one; an
// unknown one becomes a value that the server refuses, so that nothing is misread in silence.
func wireEnum[W ~int32, T ~string](value T, prefix string, values map[string]int32) W {
	if value == "" {
		return 0
	}
	if number, known := values[prefix+strings.ToUpper(string(value))]; known {
		return W(number)
	}
	return W(-1)
}
