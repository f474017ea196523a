package sidecall

import (
	"context"
	"reflect"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/sidecall/sidecall/clients/go/sidecallv1"
)

// PendingCall is a call on its way. It ends exactly once: with an outcome, or with an error
// where there is none.
type PendingCall struct {
	// Call is the call as it was dispatched.
	Call  Call
	agent *Agent
	frame *pb.DispatchCall
	size  int
	at    place
	// sent says that the call holds credits.
	sent bool
	// cancelled says that a cancel has to follow the dispatch.
	cancelled bool
	// resultBytes is what its handler's result holds of the credits.
	resultBytes int
	stopWatch   func() bool
	done        chan struct{}
	outcome     Outcome
	err         error
}

// Cancel asks for the call's end and returns at once, as ending the context does that it was
// dispatched with. The call still ends with its outcome: aborted, or what was on its way.
func (p *PendingCall) Cancel() { p.agent.cancelPending(p) }

// Done is closed when the call has ended.
func (p *PendingCall) Done() <-chan struct{} { return p.done }

// Wait waits for the call's end. Ending the context ends only the wait; to cancel the call, end
// the context it was dispatched with, or [PendingCall.Cancel] it.
//
// Errors: [*Error] when the sidecar refused the call (TURN_ENDED, CALL_ID_CONFLICT,
// INVALID_FIELD, …), [*SessionLostError], or the context's.
func (p *PendingCall) Wait(ctx context.Context) (Outcome, error) {
	select {
	case <-p.done:
		return p.outcome, p.err
	default:
	}
	select {
	case <-p.done:
		return p.outcome, p.err
	case <-ctx.Done():
		return Outcome{}, context.Cause(ctx)
	}
}

func (p *PendingCall) finish(outcome Outcome, err error) {
	p.outcome, p.err = outcome, err
	if p.stopWatch != nil {
		p.stopWatch()
	}
	close(p.done)
}

// DispatchOption says something more about one dispatch.
type DispatchOption struct{ say func(*pb.DispatchCall) }

// WithViews asks for these views of the outcome in place of the session's.
func WithViews(views ...View) DispatchOption {
	return DispatchOption{func(frame *pb.DispatchCall) {
		frame.Views = wireViews(append([]View{}, views...))
	}}
}

// WithTimeout bounds how long the call may take in all, in place of what its tool says.
func WithTimeout(timeout time.Duration) DispatchOption {
	return DispatchOption{func(frame *pb.DispatchCall) { frame.Timeout = wireDuration(timeout) }}
}

// WithTurnOptions says what the call's turn says differently from its session.
func WithTurnOptions(options TurnOptions) DispatchOption {
	return DispatchOption{func(frame *pb.DispatchCall) { frame.TurnOptions = options.wire() }}
}

// WithTraceparent passes the caller's W3C trace context on.
func WithTraceparent(traceparent string) DispatchOption {
	return DispatchOption{func(frame *pb.DispatchCall) { frame.Traceparent = traceparent }}
}

// Dispatch submits a call and returns at once. Calls are sent in the order of their dispatch;
// beyond the limits that the sidecar grants they wait here until others have ended.
//
// When the context ends before the call does, the call is cancelled; it still ends with its
// outcome, aborted or what was already on its way. The same call again runs nothing: it ends as
// the first one does or did.
func (a *Agent) Dispatch(
	ctx context.Context, call Call, options ...DispatchOption,
) *PendingCall {
	frame := &pb.DispatchCall{Call: call.wire()}
	for _, option := range options {
		option.say(frame)
	}
	pending := &PendingCall{
		Call: call, agent: a, frame: frame, size: proto.Size(frame),
		done: make(chan struct{}),
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.lost != nil:
		pending.finish(Outcome{}, a.lost)
		return pending
	case a.detaching:
		pending.finish(Outcome{}, &SessionLostError{Reason: detached})
		return pending
	case a.link.maxFrameBytes > 0 && pending.size > a.link.maxFrameBytes:
		pending.finish(Outcome{}, tooLarge(pending.size, a.link.maxFrameBytes))
		return pending
	}
	pending.stopWatch = context.AfterFunc(ctx, func() { a.cancelPending(pending) })
	a.waiting = append(a.waiting, pending)
	a.admit()
	return pending
}

// Call dispatches a call and waits for its end. When the context ends the call is cancelled, and
// its outcome is waited for all the same: a handler that must tear down is given its time.
func (a *Agent) Call(
	ctx context.Context, call Call, options ...DispatchOption,
) (Outcome, error) {
	return a.Dispatch(ctx, call, options...).Wait(context.WithoutCancel(ctx))
}

// admit sends the calls that the credits allow, in order. A call that is larger than all the
// credits goes alone, for the sidecar to refuse.
func (a *Agent) admit() {
	for len(a.waiting) > 0 {
		next := a.waiting[0]
		calls := a.openCalls >= a.maxCalls && a.maxCalls > 0
		bytes := a.openBytes+uint64(next.size) > a.maxBytes && a.maxBytes > 0
		if a.openCalls > 0 && (calls || bytes) {
			return
		}
		a.waiting = a.waiting[1:]
		next.sent = true
		a.openCalls++
		a.openBytes += uint64(next.size)
		ref := next.Call.Ref()
		a.pending[ref] = append(a.pending[ref], next)
		a.send(&pb.ClientFrame{Frame: &pb.ClientFrame_DispatchCall{
			DispatchCall: next.frame}}, &next.at)
		next.frame = nil
		if next.cancelled {
			a.sendCancel(CancelTarget{Calls: []CallRef{ref}}, nil)
		}
	}
}

// cancelPending cancels a call whose context has ended.
func (a *Agent) cancelPending(pending *PendingCall) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !pending.sent {
		pending.cancelled = true
		return
	}
	if slices.Contains(a.pending[pending.Call.Ref()], pending) {
		a.sendCancel(CancelTarget{Calls: []CallRef{pending.Call.Ref()}}, nil)
	}
}

// release gives a call's credits back.
func (a *Agent) release(pending *PendingCall) {
	a.openCalls--
	a.openBytes -= uint64(pending.size + pending.resultBytes)
}

// completed ends a call with its outcome. A dispatch of the same ids with another call is about
// to be refused instead.
func (a *Agent) completed(frame *pb.CallCompleted) {
	ref := callRef(frame.GetCall())
	var others []*PendingCall
	for index, pending := range a.pending[ref] {
		if index > 0 && !reflect.DeepEqual(pending.Call, a.pending[ref][0].Call) {
			others = append(others, pending)
			continue
		}
		a.release(pending)
		pending.finish(outcome(pending.Call, frame), nil)
	}
	if a.pending[ref] = others; len(others) == 0 {
		delete(a.pending, ref)
	}
	a.callEnded(ref)
	a.admit()
}

// refused ends the dispatches that the frame error concerns. False: it concerns none.
func (a *Agent) refused(frame *pb.FrameError, refusal *Error) bool {
	found := false
	for ref, calls := range a.pending {
		a.pending[ref] = slices.DeleteFunc(calls, func(pending *PendingCall) bool {
			if !pending.at.covers(frame) {
				return false
			}
			found = true
			a.release(pending)
			pending.finish(Outcome{}, refusal)
			return true
		})
		if len(a.pending[ref]) == 0 {
			delete(a.pending, ref)
		}
	}
	if found {
		a.admit()
	}
	return found
}

// failAll ends all calls that are open or wait.
func (a *Agent) failAll(err error) {
	for _, calls := range a.pending {
		for _, pending := range calls {
			pending.finish(Outcome{}, err)
		}
	}
	for _, pending := range a.waiting {
		pending.finish(Outcome{}, err)
	}
	clear(a.pending)
	a.waiting, a.openCalls, a.openBytes = nil, 0, 0
}
