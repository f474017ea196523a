package sidecall_test

import (
	"context"
	"errors"
	"testing"
	"time"

	sidecall "github.com/sidecall/sidecall/clients/go"
)

// abortOf is why a handler was told to stop.
func abortOf(t *testing.T, tool *puppet) *sidecall.AbortError {
	t.Helper()
	var abort *sidecall.AbortError
	if err := await(t, tool.stopped, "the handler's end"); !errors.As(err, &abort) {
		t.Fatalf("the handler was stopped by %v", err)
	}
	return abort
}

func TestACancelledCallEndsBeforeItsHandlerHas(t *testing.T) {
	tool := newPuppet("tool")
	agent := connect(t, sidecall.AgentConfig{Tools: []sidecall.Tool{tool.Tool}})
	pending := agent.Dispatch(t.Context(), call("turn", "id", "tool"))
	await(t, tool.started, "the handler")
	cancelled, err := agent.Cancel(limited(t), sidecall.CancelTarget{TurnID: "turn"})
	if err != nil || len(cancelled) != 1 ||
		cancelled[0].Disposition != sidecall.CancelAccepted {
		t.Fatalf("cancelled %v, %v", cancelled, err)
	}
	outcome := outcomeOf(t, pending)
	want := sidecall.Abort{
		Reason:   sidecall.AbortCancelled,
		Progress: sidecall.ProgressHandlerInterrupted,
		Teardown: sidecall.TeardownNone,
	}
	if outcome.Kind != sidecall.Aborted || *outcome.Abort != want {
		t.Fatalf("%s %+v", outcome.Kind, outcome.Abort)
	}
	if abort := abortOf(t, tool); abort.Reason != sidecall.AbortCancelled {
		t.Errorf("the handler was told %+v", abort)
	}
	tool.mayEnd <- struct{}{}

	cancelled, err = agent.Cancel(limited(t), sidecall.CancelTarget{Calls: []sidecall.CallRef{
		{TurnID: "turn", CallID: "id"}, {TurnID: "turn", CallID: "never"}}})
	if err != nil || len(cancelled) != 2 ||
		cancelled[0].Disposition != sidecall.CancelAlreadyTerminal ||
		cancelled[1].Disposition != sidecall.CancelUnknown {
		t.Fatalf("cancelled again %v, %v", cancelled, err)
	}
}

func TestACallWithTeardownEndsWhenItsHandlerHas(t *testing.T) {
	tool := newPuppet("tool")
	tool.WaitForTeardown = true
	agent := connect(t, sidecall.AgentConfig{Tools: []sidecall.Tool{tool.Tool}})
	ctx, cancel := context.WithCancel(t.Context())
	pending := agent.Dispatch(ctx, call("turn", "id", "tool"))
	await(t, tool.started, "the handler")
	cancel() // the idiom of the language
	if abort := abortOf(t, tool); !abort.WaitForTeardown || abort.TeardownTimeout <= 0 {
		t.Errorf("the handler was told %+v", abort)
	}
	select {
	case <-pending.Done():
		t.Fatal("it ended before it was torn down")
	default:
	}
	tool.mayEnd <- struct{}{}
	outcome := outcomeOf(t, pending)
	if outcome.Kind != sidecall.Aborted || outcome.Abort.Teardown != sidecall.TeardownDone {
		t.Fatalf("%s %+v", outcome.Kind, outcome.Abort)
	}
}

func TestATeardownHasItsTime(t *testing.T) {
	tool := newPuppet("tool")
	tool.WaitForTeardown, tool.TeardownTimeout = true, 20*time.Millisecond
	agent := connect(t, sidecall.AgentConfig{Tools: []sidecall.Tool{tool.Tool}})
	pending := agent.Dispatch(t.Context(), call("turn", "id", "tool"))
	await(t, tool.started, "the handler")
	pending.Cancel()
	outcome := outcomeOf(t, pending)
	if outcome.Kind != sidecall.Aborted || outcome.Abort.Teardown != sidecall.TeardownTimedOut {
		t.Fatalf("%s %+v", outcome.Kind, outcome.Abort)
	}
	tool.mayEnd <- struct{}{}
}

func TestACallThatTakesTooLongIsAborted(t *testing.T) {
	tool := newPuppet("tool")
	agent := connect(t, sidecall.AgentConfig{Tools: []sidecall.Tool{tool.Tool}})
	tool.mayEnd <- struct{}{}
	outcome, err := agent.Call(limited(t), call("turn", "id", "tool"),
		sidecall.WithTimeout(20*time.Millisecond))
	if err != nil || outcome.Kind != sidecall.Aborted ||
		outcome.Abort.Reason != sidecall.AbortTimedOut {
		t.Fatalf("%s %+v %v", outcome.Kind, outcome.Abort, err)
	}
	if abort := abortOf(t, tool); abort.Reason != sidecall.AbortTimedOut {
		t.Errorf("the handler was told %+v", abort)
	}
}

func TestACallThatIsCancelledInTheQueueNeverStarts(t *testing.T) {
	tool := newPuppet("tool")
	agent := connect(t, sidecall.AgentConfig{Tools: []sidecall.Tool{tool.Tool}})
	runs := agent.Dispatch(t.Context(), call("turn", "runs", "tool"))
	queued := agent.Dispatch(t.Context(), call("turn", "queued", "tool"))
	await(t, tool.started, "the first")
	queued.Cancel()
	outcome := outcomeOf(t, queued)
	if outcome.Kind != sidecall.Aborted ||
		outcome.Abort.Progress != sidecall.ProgressNotStarted {
		t.Fatalf("%s %+v", outcome.Kind, outcome.Abort)
	}
	tool.text <- "done"
	outcomeOf(t, runs)
	if len(tool.started) > 0 {
		t.Error("the cancelled call started")
	}
}

func TestACallThatIsCancelledBeforeItIsSentNeverStarts(t *testing.T) {
	tool := newPuppet("tool")
	client := dial(t, spawn(t, "--max-calls-in-flight", "1").Endpoint)
	agent := connectTo(t, client, sidecall.AgentConfig{Tools: []sidecall.Tool{tool.Tool}})
	runs := agent.Dispatch(t.Context(), call("turn", "runs", "tool"))
	one := agent.Dispatch(t.Context(), call("turn", "one", "tool"))
	two := agent.Dispatch(t.Context(), call("turn", "two", "tool"))
	await(t, tool.started, "the first")
	one.Cancel()
	cancelled, err := agent.Cancel(limited(t), sidecall.CancelTarget{
		Calls: []sidecall.CallRef{two.Call.Ref()}})
	if err != nil || len(cancelled) != 1 ||
		cancelled[0].Disposition != sidecall.CancelAccepted {
		t.Fatalf("cancelled %v, %v", cancelled, err)
	}
	tool.text <- "done"
	outcomeOf(t, runs)
	for _, pending := range []*sidecall.PendingCall{one, two} {
		if outcome := outcomeOf(t, pending); outcome.Kind != sidecall.Aborted {
			t.Errorf("%s ended as %s", pending.Call.ID, outcome.Kind)
		}
	}
}

func TestAFatalCallAbortsTheOthersOfItsTurn(t *testing.T) {
	tool := newPuppet("tool")
	fatal := failing("fatal", sidecall.EndTurnFatally("over"))
	tool.Parallel, fatal.Parallel = true, true
	agent := connect(t, sidecall.AgentConfig{Tools: []sidecall.Tool{tool.Tool, fatal}})
	other := agent.Dispatch(t.Context(), call("turn", "other", "tool"))
	elsewhere := agent.Dispatch(t.Context(), call("turn 2", "elsewhere", "tool"))
	await(t, tool.started, "the first")
	await(t, tool.started, "the second")
	agent.Dispatch(t.Context(), call("turn", "fatal", "fatal"))
	outcome := outcomeOf(t, other)
	if outcome.Kind != sidecall.Aborted || outcome.Abort.Reason != sidecall.AbortTurnFatal {
		t.Fatalf("%s %+v", outcome.Kind, outcome.Abort)
	}
	tool.mayEnd <- struct{}{}
	tool.text <- "done"
	if outcome := outcomeOf(t, elsewhere); outcome.Kind != sidecall.Completed {
		t.Errorf("another turn's call ended as %s", outcome.Kind)
	}
}

func TestAnOperatorCanCancelWithoutTheStream(t *testing.T) {
	tool := newPuppet("tool")
	client := dial(t, "")
	agent := connectTo(t, client, sidecall.AgentConfig{Tools: []sidecall.Tool{tool.Tool}})
	pending := agent.Dispatch(t.Context(), call("turn", "id", "tool"))
	await(t, tool.started, "the handler")
	operator := client.Session(agent.Session().ID)
	calls, err := operator.ListToolCalls(limited(t), "turn")
	if err != nil || len(calls) != 1 || calls[0].Phase != sidecall.PhaseHandler ||
		calls[0].Outcome != nil || calls[0].Tool != sidecall.Named("tool") {
		t.Fatalf("listed %+v, %v", calls, err)
	}
	cancelled, err := operator.Cancel(limited(t), sidecall.CancelTarget{All: true})
	if err != nil || len(cancelled) != 1 {
		t.Fatalf("cancelled %v, %v", cancelled, err)
	}
	if outcome := outcomeOf(t, pending); outcome.Kind != sidecall.Aborted {
		t.Fatalf("it ended as %s", outcome.Kind)
	}
	tool.mayEnd <- struct{}{}
	ended, err := operator.ToolCall(limited(t), pending.Call.Ref(), nil)
	if err != nil || ended.Outcome == nil || ended.Outcome.Kind != sidecall.Aborted ||
		ended.Outcome.Views.ResponseItemJSON == nil {
		t.Fatalf("the ended call: %+v, %v", ended, err)
	}
}
