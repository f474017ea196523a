package sidecall

import (
	"encoding/json"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/sidecall/sidecall/clients/go/sidecallv1"
)

// Outcome is how a call ended. A call has exactly one.
type Outcome struct {
	// Call is the call as it was dispatched.
	Call Call
	// DispatchOrder is the position of the call among all calls of the session.
	DispatchOrder uint64
	// Kind is how it ended.
	Kind OutcomeKind
	// Success says whether a completed call counts as a success.
	Success bool
	// Message is the text of a failure or abort: what the model or the script reads, or for a
	// fatal one what ends the turn. Empty for a completed call.
	Message string
	// Abort tells more about an aborted call; nil for all others.
	Abort *Abort
	// Lifecycle is what happened to the call.
	Lifecycle Lifecycle
	// HandlerExecuted says whether the handler had been started.
	HandlerExecuted bool
	// Views are the views that were asked for.
	Views Views
	// AdditionalContexts are texts of the hooks for the conversation: developer messages, in
	// order, before the output.
	AdditionalContexts []string
	// Durations say where the call's time went.
	Durations Durations
}

// Err is a [*FatalError] for a fatal outcome, nil for all others: those the model reads.
func (o Outcome) Err() error {
	if o.Kind == Fatal {
		return &FatalError{Message: o.Message}
	}
	return nil
}

// Abort tells why a call was aborted, how far it had got and how it was torn down.
type Abort struct {
	Reason   AbortReason
	Progress Progress
	Teardown Teardown
}

// Durations are measured by the sidecar. Nil: that part never happened.
type Durations struct {
	// Dispatch lasts from submission to the start of the handler.
	Dispatch *time.Duration
	// Handler lasts from the start of the handler to its answer.
	Handler *time.Duration
	// Total lasts from submission to the end.
	Total *time.Duration
}

// Views are the views of an output. One that was not asked for or does not exist is nil.
type Views struct {
	// LogPreview is a bounded text for the log.
	LogPreview *string
	// ResponseItem is what the model reads.
	ResponseItem *ResponseItem
	// ResponseItemJSON is the same, to be put into a request as it is.
	ResponseItemJSON json.RawMessage
	// CodeModeJSON is what a script reads.
	CodeModeJSON json.RawMessage
	// Hook is what a post hook gets.
	Hook *HookInput
	// SuccessForLogging says whether the call counts as a success in the log.
	SuccessForLogging bool
	// ResponseSuccess is the success the response item carries. Nil: not said.
	ResponseSuccess *bool
	// FromOutside says that the output holds content from outside.
	FromOutside bool
}

// ResponseItem is an item of the model's next request.
type ResponseItem struct {
	// Type is function_call_output, custom_tool_call_output, tool_search_output or
	// mcp_tool_call_output.
	Type string
	// CallID is the call that it answers.
	CallID string
	// Text is the body where it is plain text, of a function or custom output.
	Text *string
	// Content is the body where it is a list of items.
	Content []ContentItem
	// Success says whether the tool succeeded. Nil: not said.
	Success *bool
	// Tools are the tools that a search found, each as JSON text.
	Tools []json.RawMessage
	// Result is the CallToolResult of an MCP output, as JSON text.
	Result json.RawMessage
}

func outcome(of Call, read *pb.CallCompleted) Outcome {
	result := read.GetOutcome()
	ended := Outcome{
		Call:               of,
		DispatchOrder:      read.GetDispatchOrder(),
		Views:              views(read.GetProjections()),
		AdditionalContexts: read.GetAdditionalContexts(),
		Durations:          durations(read.GetDurations()),
	}
	ended.read(result)
	return ended
}

func (o *Outcome) read(result *pb.CallOutcome) {
	o.Lifecycle = plainEnum(result.GetLifecycle(), "LIFECYCLE_FINISH_", LifecycleNone)
	o.HandlerExecuted = result.GetHandlerExecuted()
	switch kind := result.GetOutcome().(type) {
	case *pb.CallOutcome_Completed:
		o.Kind, o.Success = Completed, kind.Completed.GetSuccess()
	case *pb.CallOutcome_ModelFailure:
		o.Kind, o.Message = ModelFailure, kind.ModelFailure.GetMessage()
	case *pb.CallOutcome_Fatal:
		o.Kind, o.Message = Fatal, kind.Fatal.GetMessage()
	case *pb.CallOutcome_Aborted:
		aborted := kind.Aborted
		o.Kind, o.Message = Aborted, aborted.GetMessage()
		o.Abort = &Abort{
			Reason:   plainEnum(aborted.GetReason(), "ABORT_REASON_", AbortReason("")),
			Progress: plainEnum(aborted.GetProgress(), "ABORT_PROGRESS_", Progress("")),
			Teardown: plainEnum(aborted.GetTeardown(), "TEARDOWN_STATE_", TeardownNone),
		}
	}
}

func durations(read *pb.CallDurations) Durations {
	return Durations{
		Dispatch: duration(read.GetDispatch()),
		Handler:  duration(read.GetHandler()),
		Total:    duration(read.GetTotal()),
	}
}

func duration(read *durationpb.Duration) *time.Duration {
	if read == nil {
		return nil
	}
	return new(read.AsDuration())
}

func views(read *pb.ToolOutputProjections) Views {
	made := Views{
		ResponseItem:      responseItem(read.GetResponseItem()),
		ResponseItemJSON:  read.GetResponseItemJson(),
		CodeModeJSON:      read.GetCodeModeJson(),
		SuccessForLogging: read.GetSuccessForLogging(),
		FromOutside:       read.GetContainsExternalContext(),
	}
	if read.GetLog() != nil {
		made.LogPreview = new(read.GetLog().GetPreview())
	}
	if read.GetHook() != nil {
		made.Hook = new(hookInput(CallRef{}, PostToolUse, read.GetHook()))
	}
	if read != nil {
		made.ResponseSuccess = read.ResponseSuccess
	}
	return made
}

func responseItem(read *pb.ResponseItem) *ResponseItem {
	switch kind := read.GetItem().(type) {
	case *pb.ResponseItem_FunctionCallOutput:
		item := kind.FunctionCallOutput
		return bodyItem("function_call_output", item.GetCallId(), item.GetOutput(), item.Success)
	case *pb.ResponseItem_CustomToolCallOutput:
		item := kind.CustomToolCallOutput
		return bodyItem("custom_tool_call_output", item.GetCallId(), item.GetOutput(), item.Success)
	case *pb.ResponseItem_ToolSearchOutput:
		item := &ResponseItem{Type: "tool_search_output", CallID: kind.ToolSearchOutput.GetCallId()}
		for _, tool := range kind.ToolSearchOutput.GetToolsJson() {
			item.Tools = append(item.Tools, tool)
		}
		return item
	case *pb.ResponseItem_McpToolCallOutput:
		return &ResponseItem{
			Type:   "mcp_tool_call_output",
			CallID: kind.McpToolCallOutput.GetCallId(),
			Result: kind.McpToolCallOutput.GetOutputJson(),
		}
	}
	return nil
}

func bodyItem(kind, callID string, body *pb.OutputBody, success *bool) *ResponseItem {
	item := &ResponseItem{Type: kind, CallID: callID, Success: success}
	switch form := body.GetBody().(type) {
	case *pb.OutputBody_Text:
		item.Text = new(string(form.Text))
	case *pb.OutputBody_Items:
		for _, content := range form.Items.GetItems() {
			item.Content = append(item.Content, contentItem(content))
		}
	}
	return item
}

func wireViews(selected []View) *pb.ViewSelection {
	if selected == nil {
		return nil
	}
	selection := &pb.ViewSelection{}
	for _, view := range selected {
		selection.Views = append(selection.Views,
			wireEnum[pb.View](view, "VIEW_", pb.View_value))
	}
	return selection
}
