package main

import (
	"encoding/json"
	"errors"
	"strings"
	"time"

	sidecall "github.com/sidecall/sidecall/clients/go"
)

// command is one line of stdin; `do` says which fields count.
type command struct {
	Do                string         `json:"do"`
	Endpoint          string         `json:"endpoint"`
	Options           sessionOptions `json:"options"`
	Tools             []toolSpec     `json:"tools"`
	Hooks             []hookSpec     `json:"hooks"`
	Call              callSpec       `json:"call"`
	Views             []string       `json:"views"`
	TimeoutMS         int64          `json:"timeout_ms"`
	TurnID            string         `json:"turn_id"`
	CallID            string         `json:"call_id"`
	Result            *answerSpec    `json:"result"`
	Point             string         `json:"point"`
	Verdict           *verdictSpec   `json:"verdict"`
	Contexts          []string       `json:"contexts"`
	Calls             []callKey      `json:"calls"`
	All               bool           `json:"all"`
	Upsert            []toolSpec     `json:"upsert"`
	Remove            []toolSpec     `json:"remove"`
	CellID            string         `json:"cell_id"`
	SamplingRequestID string         `json:"sampling_request_id"`
	Outputs           []outputSpec   `json:"outputs"`
	Close             bool           `json:"close"`
}

func (c command) key() callKey { return callKey{c.TurnID, c.CallID} }

type callKey struct {
	TurnID string `json:"turn_id"`
	CallID string `json:"call_id"`
}

func (k callKey) ref() sidecall.CallRef {
	return sidecall.CallRef{TurnID: k.TurnID, CallID: k.CallID}
}

type sessionOptions struct {
	PostHookBlock       string `json:"post_hook_block"`
	ModelToolMode       string `json:"model_tool_mode"`
	RecorderEnabled     *bool  `json:"recorder_enabled"`
	MarkExternalContext *bool  `json:"mark_external_context"`
}

func (o sessionOptions) options() sidecall.SessionOptions {
	return sidecall.SessionOptions{
		RecorderEnabled:     o.RecorderEnabled,
		ToolMode:            sidecall.ToolModeOptions{Model: sidecall.ToolMode(o.ModelToolMode)},
		PostHookBlock:       sidecall.PostHookBlock(o.PostHookBlock),
		MarkExternalContext: o.MarkExternalContext,
	}
}

type toolSpec struct {
	Name              string   `json:"name"`
	Namespace         *string  `json:"namespace"`
	Parallel          bool     `json:"parallel"`
	CancelMode        string   `json:"cancel_mode"`
	TeardownTimeoutMS int64    `json:"teardown_timeout_ms"`
	CallTimeoutMS     int64    `json:"call_timeout_ms"`
	PayloadKinds      []string `json:"payload_kinds"`
	HookKind          string   `json:"hook_kind"`
	NotReady          bool     `json:"not_ready"`
}

func name(name string, namespace *string) sidecall.ToolName {
	if namespace == nil {
		return sidecall.Named(name)
	}
	return sidecall.NamedIn(*namespace, name)
}

func (s toolSpec) tool(handler sidecall.Handler) sidecall.Tool {
	tool := sidecall.Tool{
		Name:            name(s.Name, s.Namespace),
		Handler:         handler,
		Parallel:        s.Parallel,
		NotReady:        s.NotReady,
		Hooks:           sidecall.HookKind(s.HookKind),
		WaitForTeardown: s.CancelMode == "wait_for_teardown",
		TeardownTimeout: milliseconds(s.TeardownTimeoutMS),
		CallTimeout:     milliseconds(s.CallTimeoutMS),
	}
	for _, kind := range s.PayloadKinds {
		tool.Payloads = append(tool.Payloads, sidecall.PayloadKind(kind))
	}
	return tool
}

func milliseconds(count int64) time.Duration { return time.Duration(count) * time.Millisecond }

type hookSpec struct {
	Point     string   `json:"point"`
	Matchers  []string `json:"matchers"`
	TimeoutMS int64    `json:"timeout_ms"`
}

// hookPoints are the points by their short names.
var hookPoints = map[string]sidecall.HookPoint{
	"pre": sidecall.PreToolUse, "post": sidecall.PostToolUse,
}

type callSpec struct {
	CallID    string  `json:"call_id"`
	TurnID    string  `json:"turn_id"`
	Name      string  `json:"name"`
	Namespace *string `json:"namespace"`
	Kind      string  `json:"kind"`
	Arguments string  `json:"arguments"`
	Input     string  `json:"input"`
	Query     string  `json:"query"`
	Limit     *uint64 `json:"limit"`
	CellID    string  `json:"cell_id"`
}

func (s callSpec) call() sidecall.Call {
	call := sidecall.Call{
		ID: s.CallID, TurnID: s.TurnID, Tool: name(s.Name, s.Namespace), CellID: s.CellID,
	}
	switch s.Kind {
	case "custom":
		call.Payload = sidecall.CustomPayload(s.Input)
	case "tool_search":
		call.Payload = sidecall.ToolSearchPayload(s.Query, s.Limit)
	default:
		call.Payload = sidecall.FunctionPayload(s.Arguments)
	}
	return call
}

func views(names []string) []sidecall.View {
	var selected []sidecall.View
	for _, name := range names {
		selected = append(selected, sidecall.View(name))
	}
	return selected
}

// execTokens is the truncation policy of a command's output.
const execTokens = 10_000

type answerSpec struct {
	Text            *string `json:"text"`
	Repeat          int     `json:"repeat"`
	Success         *bool   `json:"success"`
	ExternalContext bool    `json:"external_context"`
	JSON            *string `json:"json"`
	MCPRaw          *string `json:"mcp_raw"`
	Exec            *string `json:"exec"`
	ExitCode        *int32  `json:"exit_code"`
	HookCommand     *string `json:"hook_command"`
	RespondToModel  *string `json:"respond_to_model"`
	Fatal           *string `json:"fatal"`
	Raise           *string `json:"raise"`
}

// answer is what the handler returns.
func (s *answerSpec) answer() (sidecall.Output, error) {
	var output sidecall.Output
	switch {
	case s.RespondToModel != nil:
		return nil, &sidecall.RespondToModelError{Message: *s.RespondToModel}
	case s.Fatal != nil:
		return nil, &sidecall.FatalError{Message: *s.Fatal}
	case s.Raise != nil:
		return nil, errors.New(*s.Raise)
	case s.JSON != nil:
		output = sidecall.JSONOutput{Value: json.RawMessage(*s.JSON), Success: s.Success}
	case s.MCPRaw != nil:
		output = sidecall.MCPRawOutput{Result: json.RawMessage(*s.MCPRaw)}
	case s.Exec != nil:
		output = sidecall.ExecOutput{
			Output:      []byte(*s.Exec),
			Truncation:  sidecall.Truncation{Tokens: execTokens},
			ExitCode:    s.ExitCode,
			HookCommand: s.HookCommand,
		}
	case s.Text != nil:
		said := sidecall.Text(strings.Repeat(*s.Text, max(s.Repeat, 1)))
		said.Success = s.Success
		output = said
	default:
		return nil, errors.New("the driver was given an answer without a result")
	}
	if s.ExternalContext {
		output = sidecall.FromOutside(output)
	}
	return output, nil
}

type verdictSpec struct {
	Rewrite  *string `json:"rewrite"`
	Block    *string `json:"block"`
	Feedback *string `json:"feedback"`
	Raise    *string `json:"raise"`
}

func (s *verdictSpec) verdict(contexts []string) (sidecall.Verdict, error) {
	verdict := sidecall.Proceed()
	switch {
	case s == nil:
	case s.Raise != nil:
		return verdict, errors.New(*s.Raise)
	case s.Rewrite != nil:
		verdict = sidecall.Rewrite(json.RawMessage(*s.Rewrite))
	case s.Block != nil:
		verdict = sidecall.Block(*s.Block)
	case s.Feedback != nil:
		verdict = sidecall.Feedback(*s.Feedback)
	}
	return verdict.With(contexts...), nil
}

type outputSpec struct {
	Kind   string  `json:"kind"`
	CallID *string `json:"call_id"`
	TurnID *string `json:"turn_id"`
	ItemID *string `json:"item_id"`
}

func (s outputSpec) output() sidecall.PromptOutput {
	return sidecall.PromptOutput{
		Kind: sidecall.PayloadKind(s.Kind), CallID: s.CallID, TurnID: s.TurnID, ItemID: s.ItemID,
	}
}
