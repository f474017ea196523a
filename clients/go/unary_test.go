package sidecall_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	sidecall "github.com/sidecall/sidecall/clients/go"
)

func TestASidecarTellsAboutItself(t *testing.T) {
	info, err := dial(t, "").RuntimeInfo(limited(t))
	if err != nil || info.ServerVersion == "" || info.ServerInstanceID == "" || info.Draining ||
		info.Limits.MaxCallsInFlight == 0 || info.Limits.HeartbeatInterval == 0 {
		t.Fatalf("%+v, %v", info, err)
	}
}

func TestAnAgentThatRunsItsToolsItselfCanUseTheRecorder(t *testing.T) {
	client := dial(t, "")
	session, err := client.CreateSession(limited(t), "", sidecall.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	did := call("turn", "id", "tool")
	did.Payload = sidecall.FunctionPayload(`{"big": 12345678901234567890123, "e": "é"}`)
	for _, want := range []sidecall.RecordDisposition{
		sidecall.Recorded, sidecall.RecordDuplicate,
	} {
		got, err := session.RecordToolCall(limited(t), did, sidecall.TurnOptions{})
		if err != nil || got != want {
			t.Fatalf("recorded as %s, %v", got, err)
		}
	}
	attached, err := session.Attach(limited(t), sidecall.AttachRequest{
		SamplingRequestID: "request", TurnID: "turn",
		Outputs: []sidecall.PromptOutput{{
			Kind: sidecall.KindFunction, CallID: &did.ID, TurnID: &did.TurnID}},
	})
	want := `[{"name":"tool","arguments":{"big":12345678901234567890123,"e":"é"}}]`
	if err != nil || len(attached) != 1 || string(attached[0].ExecutedToolCalls) != want {
		t.Fatalf("%+v, %v", attached, err)
	}
	open, err := session.EndTurn(limited(t), "turn")
	if err != nil || open != 0 {
		t.Fatalf("%d open, %v", open, err)
	}
	if _, err := session.Delete(limited(t)); err != nil {
		t.Fatal(err)
	}
	_, err = session.Info(limited(t))
	var refusal *sidecall.Error
	if !errors.As(err, &refusal) || refusal.Reason != "SESSION_NOT_FOUND" {
		t.Fatalf("a session that is gone: %v", err)
	}
}

func TestTheOutputOfExecCarriesTheRecordsOfItsCell(t *testing.T) {
	agent := connect(t, sidecall.AgentConfig{
		Tools: []sidecall.Tool{saying("nested", "x")},
		Options: sidecall.SessionOptions{
			ToolMode: sidecall.ToolModeOptions{Model: sidecall.ModeCodeMode}},
	})
	exec := sidecall.CallRef{TurnID: "turn", CallID: "exec"}
	if err := agent.RegisterCell(limited(t), "cell", exec); err != nil {
		t.Fatal(err)
	}
	nested := call("turn", "n", "nested")
	nested.CellID, nested.RuntimeToolCallID = "cell", "7"
	outcome, err := agent.Call(limited(t), nested)
	if err != nil || string(outcome.Views.CodeModeJSON) != `"x"` ||
		outcome.Views.ResponseItemJSON != nil {
		t.Fatalf("%+v, %v", outcome.Views, err)
	}
	attached, err := agent.Attach(limited(t), sidecall.AttachRequest{
		SamplingRequestID: "request", TurnID: "turn",
		Outputs: []sidecall.PromptOutput{{
			Kind: sidecall.KindCustom, CallID: &exec.CallID, TurnID: &exec.TurnID}},
	})
	if err != nil || len(attached) != 1 {
		t.Fatalf("%+v, %v", attached, err)
	}
	contains(t, attached[0].ExecutedToolCalls, `[{"name":"nested","arguments":{}}]`)
}

func TestOutputsAreProjectedWithoutASession(t *testing.T) {
	client := dial(t, "")
	feedback := "instead"
	code, command := int32(3), "make"
	for name, test := range map[string]struct {
		output   sidecall.Output
		feedback *string
		model    string
	}{
		"text":  {sidecall.Text("hello"), nil, `"output":"hello"`},
		"image": {sidecall.FunctionOutput{Content: []sidecall.ContentItem{{ImageURL: "data:x", Detail: sidecall.DetailLow}}}, nil, `[{"type":"input_image","image_url":"data:x","detail":"low"}]`},
		"json":  {sidecall.JSONOutput{Value: json.RawMessage(`{"n": 1.10}`)}, nil, `{\"n\":1.10}`},
		"patch": {sidecall.ApplyPatchOutput{Text: "done"}, &feedback, `"output":"instead"`},
		"exec": {sidecall.ExecOutput{
			Output: []byte("bad \xff"), ExitCode: &code, HookCommand: &command,
			WallTime: 1500 * time.Millisecond, Truncation: sidecall.Truncation{Tokens: 100},
		}, nil, "Wall time: 1.5000 seconds\\nProcess exited with code 3\\nOutput:\\nbad \uFFFD"},
		"mcp": {sidecall.MCPOutput{
			Result:     json.RawMessage(`{"content":[{"type":"text","text":"hi"}]}`),
			WallTime:   250 * time.Millisecond,
			Truncation: sidecall.Truncation{Bytes: 1000},
		}, nil, "Wall time: 0.2500 seconds\\nOutput:\\n"},
		"mcp raw": {sidecall.MCPRawOutput{Result: json.RawMessage(`{"content":[]}`)}, nil,
			`"type":"mcp_tool_call_output"`},
		"aborted": {sidecall.AbortedOutput{Message: "stopped"}, nil, `"output":"stopped"`},
		"search": {sidecall.ToolSearchOutput{Tools: []json.RawMessage{[]byte(`{"name":"t"}`)}}, nil,
			`"tools":[{"name":"t"}]`},
	} {
		views, err := client.ProjectToolOutput(
			limited(t), call("turn", "id", "tool"), sidecall.FromOutside(test.output), test.feedback, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		contains(t, views.ResponseItemJSON, test.model)
		if views.LogPreview == nil || views.ResponseItem == nil || views.CodeModeJSON == nil {
			t.Errorf("%s: views are missing: %+v", name, views)
		}
	}
}

func TestFailuresAreProjectedWithoutASession(t *testing.T) {
	client := dial(t, "")
	direct := call("turn", "id", "tool")
	for message, failure := range map[string]error{
		"no such file":           sidecall.RespondToModel("no such file"),
		"over":                   sidecall.EndTurnFatally("over"),
		"unsupported call: tool": sidecall.ErrUnknownTool,
		"tool tool invoked with incompatible payload": sidecall.ErrPayloadMismatch,
		"tool task failed to receive: defect":         errors.New("defect"),
	} {
		projected, err := client.ProjectToolFailure(limited(t), direct, failure)
		if err != nil || projected.Message != message {
			t.Errorf("%v: %+v, %v", failure, projected, err)
		}
		if projected.EndsTurn == (projected.Views.ResponseItemJSON != nil) {
			t.Errorf("%v: ends the turn %t, and views are %+v", failure, projected.EndsTurn, projected.Views)
		}
	}
	aborted, err := client.ProjectAbort(
		limited(t), direct, sidecall.AbortTimedOut, 1500*time.Millisecond)
	if err != nil || aborted.Message != "timed out after 1.5s" {
		t.Errorf("%+v, %v", aborted, err)
	}
}

func TestTextIsTruncatedAndPromptsAreNormalised(t *testing.T) {
	client := dial(t, "")
	cut, err := client.TruncateText(
		limited(t), "example output", sidecall.Truncation{Tokens: 1}, false)
	if err != nil || cut != "ex…3 tokens truncated…ut" {
		t.Errorf("cut to %q, %v", cut, err)
	}
	normalized, err := client.NormalizePrompt(limited(t), []sidecall.OutlineEntry{
		{Kind: sidecall.KindFunction, CallID: "asked"},
		{Output: true, Kind: sidecall.KindFunction, CallID: "never asked"},
	})
	if err != nil || len(normalized.Missing) != 1 || len(normalized.Orphans) != 1 ||
		normalized.Orphans[0] != 1 {
		t.Fatalf("%+v, %v", normalized, err)
	}
	contains(t, normalized.Missing[0].JSON, `"call_id":"asked","output":"aborted"`)
}

func TestAnEndedContextIsToldAsOne(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := dial(t, "").RuntimeInfo(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	_, err := dial(t, "unix:///nowhere/s.sock").Connect(limited(t), sidecall.AgentConfig{})
	var refusal *sidecall.Error
	if !errors.As(err, &refusal) || refusal.Reason != "UNAVAILABLE" ||
		!strings.Contains(refusal.Message, "/nowhere/s.sock") {
		t.Errorf("nobody there: %v", err)
	}
}
