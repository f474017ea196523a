package sidecall_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	sidecall "github.com/sidecall/sidecall/clients/go"
)

// hook is a hook that always says the same.
func hook(point sidecall.HookPoint, verdict sidecall.Verdict) sidecall.Hook {
	return sidecall.Hook{
		Point: point,
		Run: func(context.Context, sidecall.HookInput) (sidecall.Verdict, error) {
			return verdict, nil
		},
	}
}

// mirror answers with its arguments.
var mirror = sidecall.Tool{
	Name: sidecall.Named("mirror"),
	Handler: func(_ context.Context, invocation *sidecall.Invocation) (sidecall.Output, error) {
		return sidecall.Text(invocation.Payload.Text), nil
	},
}

// callWith lets one call go through the hooks.
func callWith(t *testing.T, hooks ...sidecall.Hook) sidecall.Outcome {
	t.Helper()
	agent := connect(t, sidecall.AgentConfig{Tools: []sidecall.Tool{mirror}, Hooks: hooks})
	outcome, err := agent.Call(limited(t), call("turn", "id", "mirror"))
	if err != nil {
		t.Fatal(err)
	}
	return outcome
}

func TestAPreHookBlocksWithAReasonAndItsContextsStay(t *testing.T) {
	outcome := callWith(t,
		hook(sidecall.PreToolUse, sidecall.Rewrite(json.RawMessage(`1`)).With("first")),
		hook(sidecall.PreToolUse, sidecall.Block("not here").With("second", "third")))
	want := "Tool call blocked by PreToolUse hook: not here. Tool: mirror"
	if outcome.Kind != sidecall.ModelFailure || outcome.Message != want ||
		outcome.Lifecycle != sidecall.LifecycleBlocked || outcome.HandlerExecuted {
		t.Fatalf("%+v", outcome)
	}
	if !slices.Equal(outcome.AdditionalContexts, []string{"first", "second", "third"}) {
		t.Errorf("contexts %q", outcome.AdditionalContexts)
	}
}

func TestAHookThatFailsLeavesTheCallAsItIs(t *testing.T) {
	client := dial(t, "")
	broken := []sidecall.Hook{
		{
			Point: sidecall.PreToolUse,
			Run: func(context.Context, sidecall.HookInput) (sidecall.Verdict, error) {
				return sidecall.Block("not meant"), errors.New("broken")
			},
		},
		{
			Point: sidecall.PostToolUse,
			Run: func(context.Context, sidecall.HookInput) (sidecall.Verdict, error) {
				panic("oops")
			},
		},
	}
	agent := connectTo(t, client, sidecall.AgentConfig{Tools: []sidecall.Tool{mirror}, Hooks: broken})
	outcome, err := agent.Call(limited(t), call("turn", "id", "mirror"))
	if err != nil || outcome.Kind != sidecall.Completed {
		t.Fatalf("%+v %v", outcome, err)
	}
	info, err := agent.Session().Info(limited(t))
	if err != nil || info.HooksFailedOpen != 2 {
		t.Fatalf("%d hooks failed open, %v", info.HooksFailedOpen, err)
	}
}

func TestAHookThatTakesTooLongIsNotWaitedFor(t *testing.T) {
	told := make(chan error, 1)
	outcome := callWith(t, sidecall.Hook{
		Point:   sidecall.PreToolUse,
		Timeout: 20 * time.Millisecond,
		Run: func(ctx context.Context, _ sidecall.HookInput) (sidecall.Verdict, error) {
			<-ctx.Done()
			told <- ctx.Err()
			return sidecall.Proceed(), ctx.Err()
		},
	})
	if outcome.Kind != sidecall.Completed {
		t.Fatalf("%+v", outcome)
	}
	await(t, told, "the hook's end")
}

func TestAPostHookSeesTheOutputAndSpeaksInItsPlace(t *testing.T) {
	seen := make(chan sidecall.HookInput, 1)
	outcome := callWith(t,
		sidecall.Hook{
			Point:    sidecall.PostToolUse,
			Matchers: []string{"mirror"},
			Run: func(_ context.Context, input sidecall.HookInput) (sidecall.Verdict, error) {
				seen <- input
				return sidecall.Feedback("withheld"), nil
			},
		},
		hook(sidecall.PostToolUse, sidecall.Feedback("and more")))
	input := await(t, seen, "the hook")
	if string(input.ToolInput) != `{}` || string(input.ToolResponse) != `"{}"` ||
		input.Call != (sidecall.CallRef{TurnID: "turn", CallID: "id"}) {
		t.Errorf("the hook saw %+v", input)
	}
	contains(t, outcome.Views.ResponseItemJSON, `"withheld\n\nand more"`)
	if outcome.Kind != sidecall.Completed || !outcome.Success {
		t.Errorf("%+v", outcome)
	}
}

func TestAPostHooksBlockMayRejectTheResult(t *testing.T) {
	agent := connect(t, sidecall.AgentConfig{
		Tools:   []sidecall.Tool{mirror},
		Options: sidecall.SessionOptions{PostHookBlock: sidecall.RejectResult},
		Hooks: []sidecall.Hook{
			hook(sidecall.PostToolUse, sidecall.Block("one")),
			hook(sidecall.PostToolUse, sidecall.Block("two")),
		},
	})
	outcome, err := agent.Call(limited(t), call("turn", "id", "mirror"))
	if err != nil || outcome.Kind != sidecall.ModelFailure || outcome.Message != "one\n\ntwo" {
		t.Fatalf("%+v %v", outcome, err)
	}
}

func TestHooksMatchNamesAndAliasesAndCanBeReplaced(t *testing.T) {
	asked := make(chan string, 8)
	counting := func(matcher string) sidecall.Hook {
		return sidecall.Hook{
			Point: sidecall.PreToolUse, Matchers: []string{matcher},
			Run: func(context.Context, sidecall.HookInput) (sidecall.Verdict, error) {
				asked <- matcher
				return sidecall.Proceed(), nil
			},
		}
	}
	patch := sidecall.Tool{
		Name: sidecall.Named("apply_patch"), Handler: mirror.Handler,
		Hooks: sidecall.HooksApplyPatch, Payloads: []sidecall.PayloadKind{sidecall.KindCustom},
	}
	agent := connect(t, sidecall.AgentConfig{
		Tools: []sidecall.Tool{patch},
		Hooks: []sidecall.Hook{counting("Write"), counting("Bash")},
	})
	for index, want := range []string{"Write", "apply_patch"} {
		if index == 1 {
			hooks := []sidecall.Hook{counting("apply_patch")}
			if err := agent.UpdateHooks(limited(t), hooks); err != nil {
				t.Fatal(err)
			}
		}
		patched := call("turn", strings.Repeat("x", index+1), "apply_patch")
		patched.Payload = sidecall.CustomPayload("*** Begin Patch")
		if _, err := agent.Call(limited(t), patched); err != nil {
			t.Fatal(err)
		}
		if got := await(t, asked, "a hook"); got != want || len(asked) > 0 {
			t.Errorf("asked %s where %s matches", got, want)
		}
	}
}
