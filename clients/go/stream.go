package sidecall

import (
	"context"
	"errors"
	"io"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"

	pb "github.com/sidecall/sidecall/clients/go/sidecallv1"
)

const (
	protocolVersion = 1
	clientName      = "sidecall-go"
	// detached is the reason of the end of an agent that has left.
	detached = "DETACHED"
	// backoffBase and backoffMax bound the waits between two tries to connect.
	backoffBase = 50 * time.Millisecond
	backoffMax  = 2 * time.Second
	// welcomeTimeout is how long a server may take to answer a Hello while resuming.
	welcomeTimeout = 10 * time.Second
	// Used where the server names no times.
	defaultHeartbeat = 15 * time.Second
	defaultSilence   = 45 * time.Second
)

var (
	errDropped = errors.New("the connection was dropped on purpose")
	errSilent  = errors.New("nothing was heard from the server for too long")
)

// attachment is one stream of the session, welcomed by the server.
type attachment struct {
	stream    grpc.BidiStreamingClient[pb.ConnectRequest, pb.ConnectResponse]
	ctx       context.Context
	cancel    context.CancelCauseFunc
	welcome   *pb.Welcome
	first     *pb.ConnectResponse
	began     ResumeOutcome
	heartbeat time.Duration
	silence   time.Duration
}

// attach opens a stream and waits for its welcome. The context bounds only that.
func (a *Agent) attach(ctx context.Context) (*attachment, error) {
	streamCtx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	release := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	attached, err := a.greet(streamCtx, cancel)
	if err != nil {
		cancel(err)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	if !release() {
		cancel(context.Cause(ctx))
		return nil, context.Cause(ctx)
	}
	return attached, nil
}

func (a *Agent) greet(
	ctx context.Context, cancel context.CancelCauseFunc,
) (*attachment, error) {
	stream, err := a.client.runtime.Connect(ctx)
	if err != nil {
		return nil, err
	}
	// An error of Send is io.EOF; why the stream ended is what Recv says.
	_ = stream.Send(a.hello())
	first, err := stream.Recv()
	if err != nil {
		return nil, err
	}
	if len(first.GetFrames()) == 0 || first.GetFrames()[0].GetWelcome() == nil {
		return nil, errors.New("the server did not begin with Welcome")
	}
	welcome := first.GetFrames()[0].GetWelcome()
	first.Frames = first.GetFrames()[1:]
	attached := &attachment{
		stream: stream, ctx: ctx, cancel: cancel, welcome: welcome, first: first,
		heartbeat: defaultHeartbeat, silence: defaultSilence,
	}
	if interval := welcome.GetHeartbeatInterval().AsDuration(); interval > 0 {
		attached.heartbeat = interval
	}
	if timeout := welcome.GetHeartbeatTimeout().AsDuration(); timeout > 0 {
		attached.silence = timeout
	}
	return attached, a.welcomed(attached)
}

func (a *Agent) hello() *pb.ConnectRequest {
	a.mu.Lock()
	defer a.mu.Unlock()
	hello := &pb.Hello{
		ProtocolVersions:     []uint32{protocolVersion},
		SessionId:            a.session.ID,
		ResumeToken:          a.session.ResumeToken,
		LastSequenceReceived: a.link.lastSeen,
		Options:              a.config.Options.wire(),
		ClientName:           strings.TrimSpace(clientName + " " + a.config.Name),
	}
	for _, name := range slices.SortedFunc(maps.Keys(a.tools), func(a, b ToolName) int {
		return strings.Compare(a.String(), b.String())
	}) {
		hello.Tools = append(hello.Tools, a.tools[name].wire())
	}
	for _, hook := range a.hooks {
		hello.Hooks = append(hello.Hooks, hook.wire())
	}
	return a.link.unnumbered(&pb.ClientFrame{Frame: &pb.ClientFrame_Hello{Hello: hello}})
}

// welcomed takes what the server grants. Another start of the server knows nothing of the
// session, even where it knows its id.
func (a *Agent) welcomed(attached *attachment) error {
	welcome := attached.welcome
	a.mu.Lock()
	defer a.mu.Unlock()
	resumed := a.instance != ""
	if resumed && a.instance != welcome.GetServerInstanceId() {
		return &SessionLostError{Reason: "SERVER_RESTARTED"}
	}
	a.instance = welcome.GetServerInstanceId()
	attached.began = plainEnum(welcome.GetResumeOutcome(), "RESUME_OUTCOME_", ResumeNew)
	if resumed && attached.began == ResumeNew {
		attached.began = ResumeResumed // nothing had been said before, so nothing was lost
	}
	a.session.ID = welcome.GetSessionId()
	a.session.ResumeToken = welcome.GetResumeToken()
	a.mode = plainEnum(welcome.GetEffectiveToolMode(), "TOOL_MODE_", ToolMode(""))
	a.maxCalls = int(welcome.GetMaxCallsInFlight())
	a.maxBytes = welcome.GetMaxBytesInFlight()
	a.link.resume(welcome)
	a.dropStream = attached.cancel
	return nil
}

// run keeps the session connected until it ends.
func (a *Agent) run(attached *attachment) {
	defer close(a.ended)
	for {
		if a.config.OnConnection != nil {
			a.config.OnConnection(attached.began)
		}
		err := a.exchange(attached)
		a.mu.Lock()
		detaching := a.detaching
		a.farewellHeard = errors.Is(err, io.EOF)
		a.mu.Unlock()
		if detaching {
			a.lose(&SessionLostError{Reason: detached})
			return
		}
		a.log.Warn("connection lost", "error", err)
		attached, err = a.reattach(err, attached.welcome.GetResumeGrace().AsDuration())
		if err != nil {
			a.lose(err)
			return
		}
	}
}

// exchange reads and writes one stream until it ends, and says why it did.
func (a *Agent) exchange(attached *attachment) error {
	written := make(chan struct{})
	go func() {
		defer close(written)
		a.write(attached)
	}()
	err := a.read(attached)
	attached.cancel(err)
	<-written
	return err
}

func (a *Agent) read(attached *attachment) error {
	silence := time.AfterFunc(attached.silence, func() { attached.cancel(errSilent) })
	defer silence.Stop()
	message := attached.first
	for {
		if err := a.receive(message); err != nil {
			return err
		}
		var err error
		if message, err = attached.stream.Recv(); err != nil {
			if cause := context.Cause(attached.ctx); cause != nil {
				return cause
			}
			return err
		}
		silence.Reset(attached.silence)
	}
}

func (a *Agent) write(attached *attachment) {
	idle := time.NewTimer(attached.heartbeat)
	defer idle.Stop()
	for {
		message := a.nextMessage()
		if message == nil {
			select {
			case <-attached.ctx.Done():
				return
			case <-a.wake:
				runtime.Gosched() // who is about to send now travels in the same message
				continue
			case <-idle.C:
				message = a.heartbeat()
			}
		}
		if attached.stream.Send(message) != nil {
			return // what Recv says is why
		}
		idle.Reset(attached.heartbeat)
	}
}

func (a *Agent) nextMessage() *pb.ConnectRequest {
	a.mu.Lock()
	defer a.mu.Unlock()
	if message := a.link.take(); message != nil {
		return message
	}
	if a.link.owesAcknowledgement() {
		return a.link.unnumbered()
	}
	return nil
}

func (a *Agent) heartbeat() *pb.ConnectRequest {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.link.unnumbered(&pb.ClientFrame{
		Frame: &pb.ClientFrame_Heartbeat{Heartbeat: &pb.Heartbeat{}}})
}
