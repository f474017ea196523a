package sidecall

import (
	"context"
	"encoding/json"

	"google.golang.org/grpc"

	pb "github.com/sidecall/sidecall/clients/go/sidecallv1"
)

// Client talks to one sidecar. Safe for concurrent use.
type Client struct {
	connection *grpc.ClientConn
	sessions   pb.SessionServiceClient
	recorder   pb.RecorderServiceClient
	runtime    pb.RuntimeServiceClient
	projection pb.ProjectionServiceClient
}

// Dial makes a client. It connects as it is first used, so that an error here is one of the
// configuration.
func Dial(config Config) (*Client, error) {
	connection, err := config.dial()
	if err != nil {
		return nil, err
	}
	return &Client{
		connection: connection,
		sessions:   pb.NewSessionServiceClient(connection),
		recorder:   pb.NewRecorderServiceClient(connection),
		runtime:    pb.NewRuntimeServiceClient(connection),
		projection: pb.NewProjectionServiceClient(connection),
	}, nil
}

// Close gives up the connection. Close agents first.
func (c *Client) Close() error { return c.connection.Close() }

// ToolModeOptions say which tool mode an agent asks for; the sidecar decides (SPEC I5).
type ToolModeOptions struct {
	// Model is the model's own mode. Empty: the features decide.
	Model ToolMode
	// CodeModeFeature turns the code mode feature on.
	CodeModeFeature bool
	// CodeModeOnlyFeature wins over CodeModeFeature.
	CodeModeOnlyFeature bool
	// CodeModeAvailable says whether the provider has code mode. Nil: it has.
	CodeModeAvailable *bool
	// CodeModeFallbackDisabled keeps code mode on where it is not available.
	CodeModeFallbackDisabled bool
}

func (o ToolModeOptions) wire() *pb.ToolModeOptions {
	return &pb.ToolModeOptions{
		ModelToolMode:            wireEnum[pb.ToolMode](o.Model, "TOOL_MODE_", pb.ToolMode_value),
		CodeModeFeature:          o.CodeModeFeature,
		CodeModeOnlyFeature:      o.CodeModeOnlyFeature,
		CodeModeAvailable:        o.CodeModeAvailable,
		CodeModeFallbackDisabled: o.CodeModeFallbackDisabled,
	}
}

// SessionOptions are what a session says about itself as it opens. The zero value leaves all to
// the server.
type SessionOptions struct {
	// RecorderEnabled says whether calls are recorded. Nil: the server's default.
	RecorderEnabled *bool
	// ToolMode is the tool mode asked for.
	ToolMode ToolModeOptions
	// PostHookBlock is what a post hook's block does.
	PostHookBlock PostHookBlock
	// MarkExternalContext says whether external context marks the session. Nil: it does not.
	MarkExternalContext *bool
	// DirectViews come with the outcome of a direct call. Nil: the response item as JSON.
	DirectViews []View
	// NestedViews come with the outcome of a script's call. Nil: the code-mode view.
	NestedViews []View
	// DisplayName is a name for people. At most 512 bytes.
	DisplayName string
}

func (o SessionOptions) wire() *pb.SessionOptions {
	return &pb.SessionOptions{
		RecorderEnabled: o.RecorderEnabled,
		ToolMode:        o.ToolMode.wire(),
		PostHookBlock: wireEnum[pb.PostHookBlock](
			o.PostHookBlock, "POST_HOOK_BLOCK_", pb.PostHookBlock_value),
		MarkExternalContext: o.MarkExternalContext,
		DirectViews:         wireViews(o.DirectViews),
		NestedViews:         wireViews(o.NestedViews),
		DisplayName:         o.DisplayName,
	}
}

// TurnOptions are what one turn says differently from its session.
type TurnOptions struct {
	// RecorderEnabled says whether the turn's calls are recorded. Nil: as the session.
	RecorderEnabled *bool
	// ToolMode is the turn's tool mode. Nil: as the session.
	ToolMode *ToolModeOptions
}

func (o TurnOptions) wire() *pb.TurnOptions {
	if o == (TurnOptions{}) {
		return nil
	}
	options := &pb.TurnOptions{RecorderEnabled: o.RecorderEnabled}
	if o.ToolMode != nil {
		options.ToolMode = o.ToolMode.wire()
	}
	return options
}

// CreateSession opens a session for an agent that runs its tools itself; [Client.Connect] opens
// one by itself. An empty id lets the server choose. Errors: [*Error] with SESSION_ALREADY_EXISTS,
// SESSION_LIMIT or DRAINING.
func (c *Client) CreateSession(
	ctx context.Context, id string, options SessionOptions,
) (*Session, error) {
	created, err := c.sessions.CreateSession(ctx,
		&pb.CreateSessionRequest{SessionId: id, Options: options.wire()})
	if err != nil {
		return nil, wireError(err)
	}
	return &Session{
		ID: created.GetSession().GetSessionId(), ResumeToken: created.GetResumeToken(), client: c,
	}, nil
}

// Session names a session that exists. Nothing is asked of the server.
func (c *Client) Session(id string) *Session { return &Session{ID: id, client: c} }

// ProjectToolOutput makes the views of one output without a session. A feedback takes the place
// of the output for the model only; nil: none. Nil views: all of them.
func (c *Client) ProjectToolOutput(
	ctx context.Context, call Call, output Output, feedback *string, selected []View,
) (Views, error) {
	request := &pb.ProjectToolOutputRequest{
		Call: call.wire(), Output: output.wire(), Views: wireViews(selected),
	}
	if feedback != nil {
		request.Feedback = []byte(*feedback)
	}
	projected, err := c.projection.ProjectToolOutput(ctx, request)
	if err != nil {
		return Views{}, wireError(err)
	}
	return views(projected.GetProjections()), nil
}

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
