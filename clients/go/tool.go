package sidecall

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/sidecall/sidecall/clients/go/sidecallv1"
)

// Handler runs a tool. Its context ends when the call is aborted; context.Cause then gives an
// [*AbortError]. What it returns is:
//   - an output and no error: the call's output;
//   - a [*RespondToModelError], wrapped or not: a failure that the model reads;
//   - a [*FatalError]: a failure that ends the turn;
//   - any other error, or a panic: a defect of the tool, which ends the turn too (but see
//     [Tool].RespondToErrors).
//
// After an abort the answer is dropped; only that the handler has returned counts.
type Handler func(ctx context.Context, invocation *Invocation) (Output, error)

// Tool is a tool of the agent.
type Tool struct {
	// Name is its name. Required.
	Name ToolName
	// Handler runs it. Required.
	Handler Handler
	// Parallel says that it may run beside others that may; all others run alone.
	Parallel bool
	// Hidden says that it is not shown to the model; it runs alone.
	Hidden bool
	// NotReady says that it cannot run yet; its calls wait until [Agent.UpdateTools] says that
	// it can.
	NotReady bool
	// Payloads are the kinds of payloads that it takes. Empty: function and tool search.
	Payloads []PayloadKind
	// Hooks is what hooks see of its calls.
	Hooks HookKind
	// WaitForTeardown says that an aborted call ends only when the handler has returned, or its
	// time is over. Without it the call ends at once.
	WaitForTeardown bool
	// TeardownTimeout is how long that may take. 0: 10 s.
	TeardownTimeout time.Duration
	// CallTimeout is how long a call may take in all. 0: no limit.
	CallTimeout time.Duration
	// RespondToErrors lets the model read every error of the handler, and a panic's text.
	RespondToErrors bool
}

func (t Tool) wire() *pb.ToolDeclaration {
	declaration := &pb.ToolDeclaration{
		ToolName:              t.Name.wire(),
		HookKind:              wireEnum[pb.HookKind](t.Hooks, "HOOK_KIND_", pb.HookKind_value),
		SupportsParallelCalls: t.Parallel,
		Hidden:                t.Hidden,
		NotReady:              t.NotReady,
		TeardownTimeout:       wireDuration(t.TeardownTimeout),
		CallTimeout:           wireDuration(t.CallTimeout),
	}
	if t.WaitForTeardown {
		declaration.CancelMode = pb.CancelMode_CANCEL_MODE_WAIT_FOR_TEARDOWN
	}
	for _, kind := range t.Payloads {
		declaration.PayloadKinds = append(declaration.PayloadKinds, kind.wire())
	}
	return declaration
}

func (k PayloadKind) wire() pb.PayloadKind {
	return wireEnum[pb.PayloadKind](k, "PAYLOAD_KIND_", pb.PayloadKind_value)
}

// wireDuration leaves out a time that is not said.
func wireDuration(said time.Duration) *durationpb.Duration {
	if said == 0 {
		return nil
	}
	return durationpb.New(said)
}
