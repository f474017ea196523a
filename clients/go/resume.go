package sidecall

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"
)

// finalReasons are refusals after which no try to resume can succeed.
var finalReasons = []string{
	"SESSION_NOT_FOUND", "SESSION_CLOSED", "SESSION_ATTACHED", "TAKEN_OVER",
	"RESUME_TOKEN_INVALID", "PROTOCOL_VERSION_UNSUPPORTED", "HELLO_REQUIRED", "DRAINING",
	"UNAUTHENTICATED", "UNIMPLEMENTED", "INVALID_FIELD", "MISSING_FIELD", "TOOL_LIMIT",
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
