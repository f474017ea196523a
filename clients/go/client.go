package sidecall

import (
	"context"

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

// ListSessions lists the sessions that the caller may see, open and closed, in the order in which
// they were made.
func (c *Client) ListSessions(ctx context.Context) ([]SessionInfo, error) {
	var sessions []SessionInfo
	request := &pb.ListSessionsRequest{}
	for {
		page, err := c.sessions.ListSessions(ctx, request)
		if err != nil {
			return nil, wireError(err)
		}
		for _, listed := range page.GetSessions() {
			sessions = append(sessions, sessionInfo(listed))
		}
		if request.PageToken = page.GetNextPageToken(); request.PageToken == "" {
			return sessions, nil
		}
	}
}
