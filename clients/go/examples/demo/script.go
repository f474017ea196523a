package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	sidecall "github.com/sidecall/sidecall/clients/go"
)

const (
	turnID       = "turn_1"
	mcpNamespace = "mcp__time__"
	// runsLong is the call that is cancelled once it runs.
	runsLong = "call_5"
)

// step is one call of the model, and what must come of it.
type step struct {
	title string
	call  sidecall.Call
	// beside says that the next step is dispatched without waiting for this one.
	beside  bool
	kind    sidecall.OutcomeKind
	life    sidecall.Lifecycle
	text    string
	aborted sidecall.Abort
}

// script is the turn that the model plays.
func script() []step {
	return []step{
		{
			title: "a command that succeeds",
			call:  shellCall("call_1", `printf 'hello from bash\n'`),
			kind:  sidecall.Completed, life: sidecall.LifecycleCompleted, text: "hello from bash",
		},
		{
			title: "a command that fails",
			call:  shellCall("call_2", "echo broken >&2; exit 3"),
			kind:  sidecall.Completed, life: sidecall.LifecycleCompleted,
			text: "Process exited with code 3",
		},
		{
			title: "MCP, in parallel: the time", beside: true,
			call: timeCall("call_3", "get_current_time", map[string]string{
				"timezone": "Europe/Berlin"}),
			kind: sidecall.Completed, life: sidecall.LifecycleCompleted, text: "Europe/Berlin",
		},
		{
			title: "MCP, in parallel: a conversion",
			call: timeCall("call_4", "convert_time", map[string]string{
				"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}),
			kind: sidecall.Completed, life: sidecall.LifecycleCompleted, text: "21:00",
		},
		{
			title: "a command that is cancelled",
			call:  shellCall(runsLong, "echo it runs; sleep 600"),
			kind:  sidecall.Aborted, life: sidecall.LifecycleAborted, text: "aborted by user",
			aborted: sidecall.Abort{
				Reason:   sidecall.AbortCancelled,
				Progress: sidecall.ProgressHandlerInterrupted,
				Teardown: sidecall.TeardownDone,
			},
		},
		{
			title: "a command that a hook blocks",
			call:  shellCall("call_6", "rm -rf build"),
			kind:  sidecall.ModelFailure, life: sidecall.LifecycleBlocked,
			text: "Command blocked by PreToolUse hook: nothing is deleted here.",
		},
		{
			title: "a tool that nobody has",
			call: sidecall.Call{
				ID: "call_7", Tool: sidecall.Named("browse"),
				Payload: sidecall.FunctionPayload(`{"url": "https://example.org"}`),
			},
			kind: sidecall.ModelFailure, life: sidecall.LifecycleNone,
			text: "unsupported call: browse",
		},
	}
}

func shellCall(id, command string) sidecall.Call {
	return functionCall(id, sidecall.Named("shell"), map[string]string{"command": command})
}

func timeCall(id, tool string, arguments map[string]string) sidecall.Call {
	return functionCall(id, sidecall.NamedIn(mcpNamespace, tool), arguments)
}

func functionCall(id string, tool sidecall.ToolName, arguments map[string]string) sidecall.Call {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(arguments); err != nil {
		panic(err) // texts can always be written
	}
	return sidecall.Call{
		ID: id, Tool: tool, Payload: sidecall.FunctionPayload(strings.TrimSpace(text.String())),
	}
}

// guard is the hook that deletes nothing.
func guard() sidecall.Hook {
	return sidecall.Hook{
		Point: sidecall.PreToolUse, Matchers: []string{"Bash"},
		Run: func(_ context.Context, input sidecall.HookInput) (sidecall.Verdict, error) {
			var asked struct{ Command string }
			if err := json.Unmarshal(input.ToolInput, &asked); err != nil {
				return sidecall.Proceed(), err
			}
			if strings.Contains(asked.Command, "rm -rf") {
				return sidecall.Block("nothing is deleted here"), nil
			}
			return sidecall.Proceed(), nil
		},
	}
}

// check says what is off about an outcome.
func (s step) check(outcome sidecall.Outcome) error {
	aborted := sidecall.Abort{}
	if outcome.Abort != nil {
		aborted = *outcome.Abort
	}
	if outcome.Kind != s.kind || outcome.Lifecycle != s.life || aborted != s.aborted ||
		!strings.Contains(string(outcome.Views.ResponseItemJSON), s.text) {
		return fmt.Errorf("%s (%s): not as expected: %s, %s, %+v, %s", s.call.ID, s.title,
			outcome.Kind, outcome.Lifecycle, aborted, outcome.Views.ResponseItemJSON)
	}
	return nil
}
