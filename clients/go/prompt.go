package sidecall

import (
	"context"
	"encoding/json"

	pb "github.com/sidecall/sidecall/clients/go/sidecallv1"
)

// OutlineEntry is a call or an output in the outline of a prompt.
type OutlineEntry struct {
	// Output says that the entry is an output; otherwise it is a call of the model.
	Output bool
	// Kind is the kind of the call, or of the call that the output answers.
	Kind PayloadKind
	// CallID is the id of that call.
	CallID string
	// ServerExecuted says that the provider ran it itself.
	ServerExecuted bool
}

func (e OutlineEntry) wire() *pb.OutlineEntry {
	if e.Output {
		return &pb.OutlineEntry{Entry: &pb.OutlineEntry_Output{Output: &pb.OutlineOutput{
			Kind: e.Kind.wire(), CallId: e.CallID, ServerExecuted: e.ServerExecuted}}}
	}
	return &pb.OutlineEntry{Entry: &pb.OutlineEntry_Call{Call: &pb.OutlineCall{
		Kind: e.Kind.wire(), CallId: e.CallID, ServerExecuted: e.ServerExecuted}}}
}

// NormalizedPrompt is what a prompt needs before it can be sent.
type NormalizedPrompt struct {
	// Missing are outputs to be put in, in order.
	Missing []MissingOutput
	// Orphans are the positions of outputs to be taken out.
	Orphans []int
}

// MissingOutput is an output for a call that has none.
type MissingOutput struct {
	// Index is the position of the call, from 0; the output goes right after it.
	Index int
	// Item is the output.
	Item *ResponseItem
	// JSON is the same, ready for a request.
	JSON json.RawMessage
}

// NormalizePrompt tells which calls of a prompt lack an output and which outputs lack a call.
func (c *Client) NormalizePrompt(
	ctx context.Context, entries []OutlineEntry,
) (NormalizedPrompt, error) {
	request := &pb.NormalizePromptRequest{}
	for _, entry := range entries {
		request.Entries = append(request.Entries, entry.wire())
	}
	read, err := c.runtime.NormalizePrompt(ctx, request)
	if err != nil {
		return NormalizedPrompt{}, wireError(err)
	}
	var normalized NormalizedPrompt
	for _, missing := range read.GetMissingOutputs() {
		normalized.Missing = append(normalized.Missing, MissingOutput{
			Index: int(missing.GetEntryIndex()),
			Item:  responseItem(missing.GetResponseItem()),
			JSON:  missing.GetResponseItemJson(),
		})
	}
	for _, index := range read.GetOrphanEntryIndexes() {
		normalized.Orphans = append(normalized.Orphans, int(index))
	}
	return normalized, nil
}
