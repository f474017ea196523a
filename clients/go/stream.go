package sidecall

import (
	"context"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

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

// finalReasons are refusals after which no try to resume can succeed.
var finalReasons = []string{
	"SESSION_NOT_FOUND", "SESSION_CLOSED", "SESSION_ATTACHED", "TAKEN_OVER",
	"RESUME_TOKEN_INVALID", "PROTOCOL_VERSION_UNSUPPORTED", "HELLO_REQUIRED", "DRAINING",
	"UNAUTHENTICATED", "UNIMPLEMENTED", "INVALID_FIELD", "MISSING_FIELD", "TOOL_LIMIT",
}

// unreadReasons are refusals of a message that the server did not read.
var unreadReasons = []string{"SEQUENCE_OUT_OF_ORDER", "ACKNOWLEDGEMENT_OUT_OF_RANGE"}

// attachment is one stream of the session, welcomed by the server.
type attachment struct {
	stream    grpc.BidiStreamingClient[pb.ConnectRequest, pb.ConnectResponse]
	ctx       context.Context
	cancel    context.CancelCauseFunc
	welcome   *pb.Welcome
	first     *pb.ConnectResponse
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
			a.config.OnConnection(plainEnum(attached.welcome.GetResumeOutcome(),
				"RESUME_OUTCOME_", ResumeNew))
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

// receive takes one message. An error means that both sides no longer agree and the stream has
// to begin anew.
func (a *Agent) receive(message *pb.ConnectResponse) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.link.forget(message.GetAcknowledged())
	fresh, err := a.link.see(message.GetSequence(), proto.Size(message))
	if !fresh || err != nil {
		return err
	}
	if a.link.owesAcknowledgement() {
		a.wakeWriter()
	}
	for _, frame := range message.GetFrames() {
		if piece := frame.GetOutputChunk(); piece != nil {
			if frame, err = a.link.join(piece); err != nil {
				return &SessionLostError{Reason: "PROTOCOL_VIOLATED", Cause: err}
			}
			if frame == nil {
				continue
			}
		}
		if err := a.take(frame); err != nil {
			return err
		}
	}
	return nil
}

func (a *Agent) take(frame *pb.ServerFrame) error {
	switch kind := frame.GetFrame().(type) {
	case *pb.ServerFrame_InvokeHandler:
		a.invoke(kind.InvokeHandler)
	case *pb.ServerFrame_InvokeHook:
		a.askHooks(kind.InvokeHook)
	case *pb.ServerFrame_AbortHandler:
		a.abort(kind.AbortHandler)
	case *pb.ServerFrame_CallCompleted:
		a.completed(kind.CallCompleted)
	case *pb.ServerFrame_CancelResult:
		a.cancelled(kind.CancelResult)
	case *pb.ServerFrame_Drain:
		a.drained(kind.Drain.GetTimeLeft().AsDuration())
	case *pb.ServerFrame_FrameError:
		return a.frameRefused(kind.FrameError)
	}
	return nil
}

func (a *Agent) cancelled(frame *pb.CancelResult) {
	request, known := a.cancels[frame.GetCancelId()]
	if !known {
		return
	}
	delete(a.cancels, frame.GetCancelId())
	request.result <- append(cancelledCalls(frame.GetCalls()), request.local...)
}

func (a *Agent) drained(timeLeft time.Duration) {
	if a.config.OnDrain == nil {
		a.log.Warn("the sidecar shuts down", "time_left", timeLeft)
		return
	}
	a.config.OnDrain(timeLeft)
}

// frameRefused tells whom a frame error concerns. A message that came out of order was not read:
// it has to be sent again, which a new connection does.
func (a *Agent) frameRefused(frame *pb.FrameError) error {
	refusal := frameError(frame)
	if frame.FrameIndex == nil && slices.Contains(unreadReasons, refusal.Reason) {
		return refusal
	}
	heard := a.refused(frame, refusal)
	heard = a.resultRefused(frame, refusal) || heard
	for _, notice := range a.notices {
		if notice.at.covers(frame) {
			notice.refused = refusal
			heard = true
		}
	}
	for id, request := range a.cancels {
		if request.at.covers(frame) {
			request.refused = refusal
			close(request.result)
			delete(a.cancels, id)
			heard = true
		}
	}
	switch {
	case heard:
	case a.config.OnRefusedFrame != nil:
		a.config.OnRefusedFrame(refusal)
	default:
		a.log.Warn("frame refused", "error", refusal)
	}
	return nil
}

// reattach tries to resume until the grace is over. The error is why the session is lost.
func (a *Agent) reattach(cause error, grace time.Duration) (*attachment, error) {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	wait := backoffBase
	for {
		if lost := final(cause); lost != nil {
			return nil, lost
		}
		pause := time.NewTimer(rand.N(wait))
		select {
		case <-ctx.Done():
			pause.Stop()
			return nil, &SessionLostError{Reason: "RESUME_GRACE_OVER", Cause: wireError(cause)}
		case <-pause.C:
		}
		wait = min(2*wait, backoffMax)
		tried, stop := context.WithTimeout(ctx, welcomeTimeout)
		attached, err := a.attach(tried)
		stop()
		if err == nil {
			return attached, nil
		}
		a.mu.Lock()
		detaching := a.detaching
		a.mu.Unlock()
		if detaching {
			return nil, &SessionLostError{Reason: detached}
		}
		cause = err
	}
}

// final gives the loss that an error stands for, or nil where another try may succeed.
func final(err error) error {
	var lost *SessionLostError
	if errors.As(err, &lost) {
		return lost
	}
	if reason := reasonOf(err); slices.Contains(finalReasons, reason) {
		return &SessionLostError{Reason: reason, Cause: wireError(err)}
	}
	return nil
}

// lose ends everything that hangs on the session.
func (a *Agent) lose(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lost = err
	a.dropStream = nil
	a.failAll(err)
	cause := &AbortError{Reason: AbortSessionLost}
	for _, started := range a.running {
		if started.aborted == nil {
			started.aborted = cause
		}
		started.cancel(cause)
	}
	for _, question := range a.asked {
		question.cancel(cause)
	}
	clear(a.running)
	clear(a.asked)
	clear(a.cancels)
	a.link = link{}
}
