package sidecall_test

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	sidecall "github.com/sidecall/sidecall/clients/go"
)

// lostBecause is the reason of a lost session.
func lostBecause(t *testing.T, err error) string {
	t.Helper()
	var lost *sidecall.SessionLostError
	if !errors.As(err, &lost) {
		t.Fatalf("not a lost session but %v", err)
	}
	return lost.Reason
}

func TestABrokenConnectionIsResumedAndNothingIsLost(t *testing.T) {
	tool := newPuppet("tool")
	began := make(chan sidecall.ResumeOutcome, 8)
	agent := connect(t, sidecall.AgentConfig{
		Tools:        []sidecall.Tool{tool.Tool},
		OnConnection: func(how sidecall.ResumeOutcome) { began <- how },
	})
	if how := await(t, began, "the first connection"); how != sidecall.ResumeNew {
		t.Fatalf("it began as %s", how)
	}
	before := agent.Dispatch(t.Context(), call("turn", "before", "tool"))
	await(t, tool.started, "the handler")
	agent.DropConnection()
	tool.text <- "answered while away"
	while := agent.Dispatch(t.Context(), call("turn", "while", "tool"))
	if how := await(t, began, "the next connection"); how != sidecall.ResumeResumed {
		t.Fatalf("it went on as %s", how)
	}
	contains(t, outcomeOf(t, before).Views.ResponseItemJSON, "answered while away")
	await(t, tool.started, "the second handler")
	tool.text <- "and after"
	contains(t, outcomeOf(t, while).Views.ResponseItemJSON, "and after")
	if len(tool.started) > 0 {
		t.Error("a handler ran twice")
	}
}

func TestManyBreaksLoseAndRepeatNothing(t *testing.T) {
	const calls = 300
	ran := make(chan string, 2*calls)
	began := make(chan sidecall.ResumeOutcome, 64)
	agent := connect(t, sidecall.AgentConfig{
		OnConnection: func(how sidecall.ResumeOutcome) { began <- how },
		Tools: []sidecall.Tool{{
			Name: sidecall.Named("tool"), Parallel: true,
			Handler: func(
				_ context.Context, invocation *sidecall.Invocation,
			) (sidecall.Output, error) {
				ran <- invocation.ID
				return sidecall.Text(strings.Repeat("x", 5000)), nil
			},
		}},
	})
	await(t, began, "the first connection")
	turn := agent.Turn("turn")
	for index := range calls {
		id := "id-" + strings.Repeat("i", index)
		turn.Dispatch(t.Context(), call("", id, "tool"))
		if index%60 == 59 {
			agent.DropConnection()
			if how := await(t, began, "the next connection"); how != sidecall.ResumeResumed {
				t.Fatalf("it went on as %s", how)
			}
		}
	}
	outcomes, err := turn.Outcomes(limited(t))
	if err != nil || len(outcomes) != calls || len(ran) != calls {
		t.Fatalf("%d outcomes, %d runs, %v", len(outcomes), len(ran), err)
	}
	for index, outcome := range outcomes {
		if outcome.Kind != sidecall.Completed || outcome.DispatchOrder != uint64(index+1) {
			t.Fatalf("call %d: %s, order %d", index, outcome.Kind, outcome.DispatchOrder)
		}
	}
}

func TestASidecarThatDoesNotComeBackLosesTheSession(t *testing.T) {
	tool := newPuppet("tool")
	sidecar := spawn(t, "--resume-grace-seconds", "0.3")
	agent := connectTo(t, dial(t, sidecar.Endpoint),
		sidecall.AgentConfig{Tools: []sidecall.Tool{tool.Tool}})
	pending := agent.Dispatch(t.Context(), call("turn", "id", "tool"))
	await(t, tool.started, "the handler")
	if err := syscall.Kill(sidecar.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_, err := pending.Wait(limited(t))
	if reason := lostBecause(t, err); reason != "RESUME_GRACE_OVER" {
		t.Errorf("lost because %s", reason)
	}
	if abort := abortOf(t, tool); abort.Reason != sidecall.AbortSessionLost {
		t.Errorf("the handler was told %+v", abort)
	}
	tool.mayEnd <- struct{}{}
	await(t, agent.Done(), "the agent's end")
	lostBecause(t, agent.Err())
	_, err = agent.Dispatch(t.Context(), call("turn", "late", "tool")).Wait(limited(t))
	lostBecause(t, err)
	_, err = agent.Cancel(limited(t), sidecall.CancelTarget{All: true})
	lostBecause(t, err)
}

func TestASidecarThatStartsAnewKnowsNothingOfTheSession(t *testing.T) {
	tool := newPuppet("tool")
	first := spawn(t)
	agent := connectTo(t, dial(t, first.Endpoint),
		sidecall.AgentConfig{Tools: []sidecall.Tool{tool.Tool}})
	pending := agent.Dispatch(t.Context(), call("turn", "id", "tool"))
	await(t, tool.started, "the handler")
	if err := syscall.Kill(first.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	address, err := url.Parse(first.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	spawn(t, "--socket", address.Path)
	_, err = pending.Wait(limited(t))
	if reason := lostBecause(t, err); reason != "SESSION_NOT_FOUND" {
		t.Errorf("lost because %s", reason)
	}
	tool.mayEnd <- struct{}{}
}

func TestAnotherAgentTakesTheSessionOverWithItsToken(t *testing.T) {
	client := dial(t, "")
	first := connectTo(t, client, sidecall.AgentConfig{Tools: []sidecall.Tool{saying("tool", "1")}})
	session := first.Session()
	_, err := client.Connect(t.Context(), sidecall.AgentConfig{
		Session: client.Session(session.ID)})
	var refusal *sidecall.Error
	if !errors.As(err, &refusal) {
		t.Fatalf("without the token: %v", err)
	}
	second := connectTo(t, client, sidecall.AgentConfig{
		Session: session, Tools: []sidecall.Tool{saying("tool", "2")}})
	await(t, first.Done(), "the first agent's end")
	if reason := lostBecause(t, first.Err()); reason != "TAKEN_OVER" {
		t.Errorf("lost because %s", reason)
	}
	outcome := outcomeOf(t, second.Dispatch(t.Context(), call("turn", "id", "tool")))
	contains(t, outcome.Views.ResponseItemJSON, `"output":"2"`)
}

func TestAnAgentAttachesToASessionThatWasCreatedBefore(t *testing.T) {
	client := dial(t, "")
	session, err := client.CreateSession(limited(t), "", sidecall.SessionOptions{
		DirectViews: []sidecall.View{sidecall.ViewLog},
		ToolMode:    sidecall.ToolModeOptions{Model: sidecall.ModeCodeMode},
	})
	if err != nil {
		t.Fatal(err)
	}
	agent := connectTo(t, client, sidecall.AgentConfig{
		Session: session, Tools: []sidecall.Tool{saying("tool", "hello")}})
	if agent.Session().ID != session.ID || agent.ToolMode() != sidecall.ModeCodeMode {
		t.Errorf("attached to %s in %s", agent.Session().ID, agent.ToolMode())
	}
	outcome := outcomeOf(t, agent.Dispatch(t.Context(), call("turn", "id", "tool")))
	if outcome.Views.LogPreview == nil || *outcome.Views.LogPreview != "hello" ||
		outcome.Views.ResponseItemJSON != nil {
		t.Errorf("views %+v", outcome.Views)
	}
}

func TestDetachEndsCallsAndHandlersAndLeavesTheSession(t *testing.T) {
	tool := newPuppet("tool")
	client := dial(t, "")
	agent := connectTo(t, client, sidecall.AgentConfig{Tools: []sidecall.Tool{tool.Tool}})
	session := agent.Session()
	pending := agent.Dispatch(t.Context(), call("turn", "id", "tool"))
	await(t, tool.started, "the handler")
	tool.mayEnd <- struct{}{}
	if err := agent.Detach(limited(t), false); err != nil {
		t.Fatal(err)
	}
	await(t, tool.stopped, "the handler's end")
	if outcome := outcomeOf(t, pending); outcome.Kind != sidecall.Aborted {
		t.Errorf("the call ended as %s", outcome.Kind)
	}
	_, err := agent.Dispatch(t.Context(), call("turn", "late", "tool")).Wait(limited(t))
	if reason := lostBecause(t, err); reason != "DETACHED" {
		t.Errorf("a late call: %s", reason)
	}
	info, err := session.Info(limited(t))
	if err != nil || info.OpenCalls != 0 || info.TerminalCalls != 1 ||
		info.State == sidecall.SessionClosed || info.State == sidecall.SessionAttached {
		t.Fatalf("afterwards: %+v, %v", info, err)
	}
	if _, err := session.Delete(limited(t)); err != nil {
		t.Fatal(err)
	}
}

func TestCloseEndsTheSession(t *testing.T) {
	client := dial(t, "")
	agent := connectTo(t, client, sidecall.AgentConfig{})
	if err := agent.Close(limited(t)); err != nil {
		t.Fatal(err)
	}
	info, err := agent.Session().Info(limited(t))
	if err != nil || info.State != sidecall.SessionClosed {
		t.Fatalf("%+v, %v", info, err)
	}
	sessions, err := client.ListSessions(limited(t))
	if err != nil || !slices.ContainsFunc(sessions, func(listed sidecall.SessionInfo) bool {
		return listed.ID == info.ID
	}) {
		t.Fatalf("%d sessions listed, %v", len(sessions), err)
	}
}

func TestAClosingAgentSaysSoAlsoOverABrokenConnection(t *testing.T) {
	agent := connect(t, sidecall.AgentConfig{})
	agent.DropConnection()
	if err := agent.Close(limited(t)); err != nil {
		t.Fatal(err)
	}
	info, err := agent.Session().Info(limited(t))
	var gone *sidecall.Error
	if errors.As(err, &gone) && gone.Reason == "SESSION_NOT_FOUND" {
		return
	}
	if err != nil || info.State != sidecall.SessionClosed {
		t.Fatalf("%+v, %v", info, err)
	}
}

func TestADrainingSidecarRefusesNewCallsAndEndsOpenOnes(t *testing.T) {
	tool := newPuppet("tool")
	drains := make(chan struct{}, 1)
	sidecar := spawn(t)
	agent := connectTo(t, dial(t, sidecar.Endpoint), sidecall.AgentConfig{
		Tools:   []sidecall.Tool{tool.Tool},
		OnDrain: func(timeLeft time.Duration) { drains <- struct{}{} },
	})
	open := agent.Dispatch(t.Context(), call("turn", "open", "tool"))
	await(t, tool.started, "the handler")
	if err := syscall.Kill(sidecar.PID, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	await(t, drains, "the drain")
	_, err := agent.Dispatch(t.Context(), call("turn", "late", "tool")).Wait(limited(t))
	var refusal *sidecall.Error
	if !errors.As(err, &refusal) || refusal.Reason != "DRAINING" {
		t.Fatalf("a late call: %v", err)
	}
	tool.text <- "in time"
	contains(t, outcomeOf(t, open).Views.ResponseItemJSON, "in time")
	await(t, agent.Done(), "the agent's end")
	if reason := lostBecause(t, agent.Err()); reason != "DRAINING" {
		t.Errorf("lost because %s", reason)
	}
}
