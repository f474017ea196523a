package sidecall

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	pb "github.com/sidecall/sidecall/clients/go/sidecallv1"
)

// AgentConfig says what an agent brings along.
type AgentConfig struct {
	// Tools are the agent's tools. Handlers run side by side as the sidecar asks for them.
	Tools []Tool
	// Hooks are the agent's hooks, in the order in which their answers count.
	Hooks []Hook
	// Options are the options of the session, where it is a new one.
	Options SessionOptions
	// Session attaches to a session that was created before, by its id and resume token. Nil: a
	// new one.
	Session *Session
	// Name is the agent's name and version, for people.
	Name string
	// Logger hears of refused frames, lost connections and failed handlers. Nil: nobody does.
	Logger *slog.Logger
	// OnConnection is told how each attachment to the session began. It must not block.
	OnConnection func(ResumeOutcome)
	// OnDrain is told that the sidecar shuts down, and how long open calls may go on; new ones
	// are refused with DRAINING. It must not block, nor call the agent. Nil: the log says it.
	OnDrain func(timeLeft time.Duration)
	// OnRefusedFrame is told of refusals that concern no call and no request. It must not block,
	// nor call the agent. Nil: the log says it.
	OnRefusedFrame func(*Error)
}

// Agent is a session with the tools and hooks of this process attached to it. It keeps the
// connection until Close, or until the session is lost. Safe for concurrent use.
type Agent struct {
	client   *Client
	config   AgentConfig
	log      *slog.Logger
	wake     chan struct{}
	ended    chan struct{}
	handlers sync.WaitGroup

	mu       sync.Mutex
	link     link
	session  *Session
	mode     ToolMode
	instance string
	tools    map[ToolName]Tool
	hooks    []Hook

	maxCalls     int
	maxBytes     uint64
	waiting      []*PendingCall
	pending      map[CallRef][]*PendingCall
	openCalls    int
	openBytes    uint64
	running      map[string]*execution
	asked        map[string]*question
	cancels      map[uint64]*cancelRequest
	lastCancelID uint64
	notices      []*notice
	detaching    bool
	// farewellHeard says that the server ended the stream because the agent wished it.
	farewellHeard bool
	lost          error
	dropStream    context.CancelCauseFunc
}

// cancelRequest waits for a CancelResult.
type cancelRequest struct {
	// local are calls that were still waiting here.
	local  []CancelledCall
	result chan []CancelledCall
	at     place
	// refused is why there will be no result.
	refused *Error
}

// notice is a frame that has no answer of its own; only its refusal is heard of.
type notice struct {
	at      place
	refused error
}

// Connect attaches an agent: it opens a session, or takes over the one that the config names,
// and returns when the sidecar has welcomed it. The context bounds only that. Errors: [*Error].
func (c *Client) Connect(ctx context.Context, config AgentConfig) (*Agent, error) {
	agent := &Agent{
		client:  c,
		config:  config,
		log:     config.Logger,
		wake:    make(chan struct{}, 1),
		ended:   make(chan struct{}),
		session: &Session{client: c},
		tools:   map[ToolName]Tool{},
		hooks:   slices.Clone(config.Hooks),
		pending: map[CallRef][]*PendingCall{},
		running: map[string]*execution{},
		asked:   map[string]*question{},
		cancels: map[uint64]*cancelRequest{},
	}
	if agent.log == nil {
		agent.log = slog.New(slog.DiscardHandler)
	}
	if config.Session != nil {
		agent.session.ID, agent.session.ResumeToken = config.Session.ID, config.Session.ResumeToken
	}
	for _, tool := range config.Tools {
		agent.tools[tool.Name.normal()] = tool
	}
	attached, err := agent.attach(ctx)
	if err != nil {
		return nil, wireError(err)
	}
	go agent.run(attached)
	return agent, nil
}

// Session gives the unary requests of the agent's session.
func (a *Agent) Session() *Session {
	a.mu.Lock()
	defer a.mu.Unlock()
	return &Session{ID: a.session.ID, ResumeToken: a.session.ResumeToken, client: a.client}
}

// ToolMode is the tool mode in effect.
func (a *Agent) ToolMode() ToolMode {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.mode
}

// Done is closed when the session is lost, or the agent has left it.
func (a *Agent) Done() <-chan struct{} { return a.ended }

// Err says why the agent has ended: a [*SessionLostError]. Nil before.
func (a *Agent) Err() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.lost
}

// Cancel cancels calls of this session. A call that has ended or never was is no error: the
// result says so. Handlers are told through their contexts.
func (a *Agent) Cancel(ctx context.Context, target CancelTarget) ([]CancelledCall, error) {
	a.mu.Lock()
	if a.lost != nil {
		defer a.mu.Unlock()
		return nil, a.lost
	}
	request := &cancelRequest{
		local: a.cancelWaiting(target), result: make(chan []CancelledCall, 1),
	}
	for _, here := range request.local {
		target.Calls = slices.DeleteFunc(slices.Clone(target.Calls), func(call CallRef) bool {
			return call == here.Call
		})
	}
	a.sendCancel(target, request)
	a.mu.Unlock()
	select {
	case cancelled := <-request.result:
		if request.refused != nil {
			return nil, request.refused
		}
		return cancelled, nil
	case <-a.ended:
		return nil, a.Err()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// cancelWaiting marks the calls of the target that have not been sent: they are sent with a
// cancel right behind, so that they get an outcome that the model can read.
func (a *Agent) cancelWaiting(target CancelTarget) []CancelledCall {
	var marked []CancelledCall
	for _, pending := range a.waiting {
		ref := pending.Call.Ref()
		open := len(a.pending[ref]) > 0
		named := target.All || (target.TurnID != "" && ref.TurnID == target.TurnID) ||
			slices.Contains(target.Calls, ref)
		if named && !open {
			pending.cancelled = true
			marked = append(marked, CancelledCall{Call: ref, Disposition: CancelAccepted})
		}
	}
	return marked
}

func (a *Agent) sendCancel(target CancelTarget, request *cancelRequest) {
	a.lastCancelID++
	var at *place
	if request != nil {
		a.cancels[a.lastCancelID], at = request, &request.at
	}
	a.send(&pb.ClientFrame{Frame: &pb.ClientFrame_CancelCalls{CancelCalls: &pb.CancelCalls{
		CancelId: a.lastCancelID, Target: target.wire()}}}, at)
}

// UpdateTools adds and replaces tools by name, and takes some away. Calls that run are not
// touched; calls that wait for a tool go on as it changes. It returns when the sidecar has it.
func (a *Agent) UpdateTools(ctx context.Context, upsert []Tool, remove []ToolName) error {
	update := &pb.UpdateTools{}
	for _, tool := range upsert {
		update.Upsert = append(update.Upsert, tool.wire())
	}
	for _, name := range remove {
		update.Remove = append(update.Remove, name.wire())
	}
	before := a.changeTools(upsert, remove)
	err := a.notify(ctx, &pb.ClientFrame{
		Frame: &pb.ClientFrame_UpdateTools{UpdateTools: update}})
	if refused := (*Error)(nil); errors.As(err, &refused) {
		a.mu.Lock()
		a.tools = before
		a.mu.Unlock()
	}
	return err
}

// UpdateHooks puts hooks in place of those declared before. It returns when the sidecar has them.
func (a *Agent) UpdateHooks(ctx context.Context, hooks []Hook) error {
	declared := &pb.HookDeclarations{}
	for _, hook := range hooks {
		declared.Hooks = append(declared.Hooks, hook.wire())
	}
	a.mu.Lock()
	a.hooks = slices.Clone(hooks)
	a.mu.Unlock()
	return a.notify(ctx, &pb.ClientFrame{Frame: &pb.ClientFrame_UpdateTools{
		UpdateTools: &pb.UpdateTools{Hooks: declared}}})
}

// changeTools changes the handlers and gives the tools as they were.
func (a *Agent) changeTools(upsert []Tool, remove []ToolName) map[ToolName]Tool {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := maps.Clone(a.tools)
	for _, tool := range upsert {
		a.tools[tool.Name.normal()] = tool
	}
	for _, name := range remove {
		delete(a.tools, name.normal())
	}
	return before
}

// RegisterCell says which call's output carries the records of a code-mode cell: `exec`'s as
// soon as the cell has started and before its first nested call, `wait`'s after the cell
// answered it. It returns when the sidecar has it.
func (a *Agent) RegisterCell(ctx context.Context, cellID string, output CallRef) error {
	return a.notify(ctx, &pb.ClientFrame{Frame: &pb.ClientFrame_RegisterCell{
		RegisterCell: &pb.RegisterCell{CellId: cellID, OutputCall: output.wire()}}})
}

// EndTurn ends a turn: it takes no new calls; open ones go on. It returns when the sidecar has
// it.
func (a *Agent) EndTurn(ctx context.Context, turnID string) error {
	return a.notify(ctx, &pb.ClientFrame{Frame: &pb.ClientFrame_EndTurn{
		EndTurn: &pb.EndTurn{TurnId: turnID}}})
}

// Attach attaches records to the outputs of a prompt, as [Session.Attach] does, after everything
// that was said on the stream before.
func (a *Agent) Attach(ctx context.Context, request AttachRequest) ([]Attachment, error) {
	a.mu.Lock()
	idle := a.link.idle()
	a.mu.Unlock()
	if !idle {
		if err := a.barrier(ctx); err != nil {
			return nil, err
		}
	}
	return a.Session().Attach(ctx, request)
}

// notify sends a frame that has no answer and waits until the server has read it. Its refusal,
// if any, comes first.
func (a *Agent) notify(ctx context.Context, frame *pb.ClientFrame) error {
	sent := &notice{}
	a.mu.Lock()
	a.notices = append(a.notices, sent)
	a.send(frame, &sent.at)
	a.mu.Unlock()
	err := a.barrier(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.notices = slices.DeleteFunc(a.notices, func(one *notice) bool { return one == sent })
	if sent.refused != nil {
		return sent.refused
	}
	return err
}

// barrier waits until the server has read what was sent: it answers a cancel of no calls in
// order with everything else.
func (a *Agent) barrier(ctx context.Context) error {
	_, err := a.Cancel(ctx, CancelTarget{})
	return err
}

// send queues a frame whose order counts; a.mu is held.
func (a *Agent) send(frame *pb.ClientFrame, at *place) {
	if a.lost == nil {
		a.link.order(frame, at)
		a.wakeWriter()
	}
}

// answer queues what a handler or hook came to; a.mu is held.
func (a *Agent) answer(frame *pb.ClientFrame, at *place) {
	if a.lost == nil {
		a.link.answer(frame, at)
		a.wakeWriter()
	}
}

func (a *Agent) wakeWriter() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// DropConnection breaks the connection, as a fault of the network would; the agent resumes by
// itself. It is there to prove that.
func (a *Agent) DropConnection() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dropStream != nil {
		a.dropStream(errDropped)
	}
}

// Detach leaves the session: what waits is sent, open calls are aborted here and there, handlers
// are told to stop and are waited for. The session stays for unary requests, unless closeSession
// ends it. The error is the context's, where it ends first.
func (a *Agent) Detach(ctx context.Context, closeSession bool) error {
	a.mu.Lock()
	if !a.detaching && a.lost == nil {
		a.detaching = true
		a.link.farewell = &pb.ClientFrame{Frame: &pb.ClientFrame_Detach{
			Detach: &pb.Detach{CloseSession: closeSession}}}
		a.wakeWriter()
	}
	a.mu.Unlock()
	select {
	case <-a.ended:
	case <-ctx.Done():
		a.DropConnection()
		return context.Cause(ctx)
	}
	a.mu.Lock()
	unheard := a.detaching && !a.farewellHeard
	a.mu.Unlock()
	if unheard && closeSession {
		// The connection broke on the way out: say it once more, on another one. Where that
		// fails too the sidecar ends the session by itself when its grace is over.
		_, _ = a.Session().Delete(ctx)
	}
	left := make(chan struct{})
	go func() {
		a.handlers.Wait()
		close(left)
	}()
	select {
	case <-left:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Close leaves and ends the session. See [Agent.Detach].
func (a *Agent) Close(ctx context.Context) error { return a.Detach(ctx, true) }

func tooLarge(size, limit int) *Error {
	return &Error{
		Code:   codes.ResourceExhausted,
		Reason: "MESSAGE_TOO_LARGE",
		Message: fmt.Sprintf(
			"a frame of %d bytes is above the server's limit of %d; send less", size, limit),
	}
}
