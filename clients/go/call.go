package sidecall

import (
	"encoding/json"

	pb "github.com/sidecall/sidecall/clients/go/sidecallv1"
)

// ToolName names a tool. A tool without a namespace differs from one in the empty namespace.
// Names can be compared and can be keys of maps.
type ToolName struct {
	// Name is the name inside its namespace.
	Name string
	// Namespace stands in front of the name, without a separator, wherever the name is shown.
	Namespace string
	// Namespaced says that there is a namespace, maybe an empty one. A namespace that is not
	// empty speaks for itself.
	Namespaced bool
}

// Named is the name of a tool without a namespace.
func Named(name string) ToolName { return ToolName{Name: name} }

// NamedIn is the name of a tool in a namespace.
func NamedIn(namespace, name string) ToolName {
	return ToolName{Name: name, Namespace: namespace, Namespaced: true}
}

// String is the flat name.
func (n ToolName) String() string { return n.Namespace + n.Name }

func (n ToolName) normal() ToolName {
	n.Namespaced = n.Namespaced || n.Namespace != ""
	return n
}

func (n ToolName) wire() *pb.ToolName {
	named := &pb.ToolName{Name: n.Name}
	if n.normal().Namespaced {
		named.Namespace = &n.Namespace
	}
	return named
}

func toolName(named *pb.ToolName) ToolName {
	return ToolName{named.GetName(), named.GetNamespace(), named != nil && named.Namespace != nil}
}

// Payload is what a tool is called with.
type Payload struct {
	// Kind is the shape of the payload.
	Kind PayloadKind
	// Text is the text exactly as the model wrote it: the arguments of a function (JSON, if the
	// model kept to it), the input of a custom tool, or the query of a tool search. UTF-8.
	Text string
	// Limit is the number of results a tool search wants. Nil: the tool's own default.
	Limit *uint64
}

// FunctionPayload holds the arguments of a function call.
func FunctionPayload(arguments string) Payload {
	return Payload{Kind: KindFunction, Text: arguments}
}

// CustomPayload holds the input of a free-form call.
func CustomPayload(input string) Payload { return Payload{Kind: KindCustom, Text: input} }

// ToolSearchPayload holds a search among tools. A nil limit leaves it to the tool.
func ToolSearchPayload(query string, limit *uint64) Payload {
	return Payload{Kind: KindToolSearch, Text: query, Limit: limit}
}

func (p Payload) wire() *pb.ToolPayload {
	switch p.Kind {
	case KindFunction:
		return &pb.ToolPayload{Payload: &pb.ToolPayload_Function{
			Function: &pb.FunctionPayload{Arguments: []byte(p.Text)}}}
	case KindCustom:
		return &pb.ToolPayload{Payload: &pb.ToolPayload_Custom{
			Custom: &pb.CustomPayload{Input: []byte(p.Text)}}}
	case KindToolSearch:
		return &pb.ToolPayload{Payload: &pb.ToolPayload_ToolSearch{
			ToolSearch: &pb.ToolSearchPayload{Query: p.Text, Limit: p.Limit}}}
	}
	return &pb.ToolPayload{}
}

func payload(read *pb.ToolPayload) Payload {
	switch kind := read.GetPayload().(type) {
	case *pb.ToolPayload_Function:
		return FunctionPayload(string(kind.Function.GetArguments()))
	case *pb.ToolPayload_Custom:
		return CustomPayload(string(kind.Custom.GetInput()))
	case *pb.ToolPayload_ToolSearch:
		return ToolSearchPayload(kind.ToolSearch.GetQuery(), kind.ToolSearch.Limit)
	}
	return Payload{}
}

// CallRef identifies a call of a session. References can be keys of maps.
type CallRef struct {
	// TurnID is the turn.
	TurnID string
	// CallID is the provider's id of the call; it may come again in another turn.
	CallID string
}

func (r CallRef) wire() *pb.CallReference {
	return &pb.CallReference{TurnId: r.TurnID, CallId: r.CallID}
}

func callRef(read *pb.CallReference) CallRef {
	return CallRef{TurnID: read.GetTurnId(), CallID: read.GetCallId()}
}

// Call is one call of a tool, as the model asked for it.
type Call struct {
	// ID is the provider's id of the call. Required, at most 512 bytes.
	ID string
	// TurnID is the turn. Required for a call that is dispatched, at most 512 bytes.
	TurnID string
	// Tool is the tool as the model named it; it need not exist.
	Tool ToolName
	// Payload is what the tool is called with.
	Payload Payload
	// CellID is the code-mode cell whose script made the call. Empty: the model made it.
	CellID string
	// RuntimeToolCallID is the script runtime's own id; only carried along.
	RuntimeToolCallID string
	// Plaintext says that the call was found in a plain-text message of the model.
	Plaintext bool
}

// Ref is the reference of the call.
func (c Call) Ref() CallRef { return CallRef{TurnID: c.TurnID, CallID: c.ID} }

// PromptOutput is how the call's output stands in the outline of a prompt, for [Agent.Attach].
func (c Call) PromptOutput() PromptOutput {
	return PromptOutput{Kind: c.Payload.Kind, CallID: &c.ID, TurnID: &c.TurnID}
}

func (c Call) wire() *pb.ToolCall {
	call := &pb.ToolCall{
		CallId: c.ID, TurnId: c.TurnID, ToolName: c.Tool.wire(), Payload: c.Payload.wire(),
	}
	switch {
	case c.CellID != "" || c.RuntimeToolCallID != "":
		call.Source = &pb.ToolCallSource{Source: &pb.ToolCallSource_CodeMode{
			CodeMode: &pb.CodeModeSource{
				CellId: c.CellID, RuntimeToolCallId: c.RuntimeToolCallID}}}
	case c.Plaintext:
		call.Source = &pb.ToolCallSource{Source: &pb.ToolCallSource_DirectPlaintextMessage{
			DirectPlaintextMessage: &pb.DirectPlaintextMessageSource{}}}
	}
	return call
}

func call(read *pb.ToolCall) Call {
	source := read.GetSource()
	return Call{
		ID:                read.GetCallId(),
		TurnID:            read.GetTurnId(),
		Tool:              toolName(read.GetToolName()),
		Payload:           payload(read.GetPayload()),
		CellID:            source.GetCodeMode().GetCellId(),
		RuntimeToolCallID: source.GetCodeMode().GetRuntimeToolCallId(),
		Plaintext:         source.GetDirectPlaintextMessage() != nil,
	}
}

// Invocation is a call that the sidecar wants a handler to run.
type Invocation struct {
	Call
	// Rewritten says that a hook rewrote the payload.
	Rewritten bool
	// DispatchOrder is the position of the call among all calls of the session, from 1.
	DispatchOrder uint64
}

// Arguments decodes the arguments of a function call into a value, as json.Unmarshal. Its error
// can be returned from the handler as it is: the model reads it and may try again.
func (i *Invocation) Arguments(into any) error {
	if err := json.Unmarshal([]byte(i.Payload.Text), into); err != nil {
		return RespondToModel("failed to parse function arguments: %v", err)
	}
	return nil
}
