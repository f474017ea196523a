package sidecall

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
)

// Turn collects the calls of one turn and gives their outputs in the order in which the model
// made them, whatever ended first. Safe for concurrent use.
type Turn struct {
	// ID names the turn.
	ID    string
	agent *Agent
	mu    sync.Mutex
	calls []*PendingCall
}

// Turn begins to collect a turn. Nothing is asked of the sidecar.
func (a *Agent) Turn(id string) *Turn { return &Turn{ID: id, agent: a} }

// Dispatch submits a call of this turn, as [Agent.Dispatch] does.
func (t *Turn) Dispatch(ctx context.Context, call Call, options ...DispatchOption) *PendingCall {
	call.TurnID = t.ID
	t.mu.Lock()
	defer t.mu.Unlock()
	pending := t.agent.Dispatch(ctx, call, options...)
	t.calls = append(t.calls, pending)
	return pending
}

// Outcomes waits until all calls that were dispatched so far have ended, and gives their
// outcomes in the order of the calls, each call once. Calls without an outcome are left out; the
// error joins what they ended with.
func (t *Turn) Outcomes(ctx context.Context) ([]Outcome, error) {
	t.mu.Lock()
	calls := slices.Clone(t.calls)
	t.mu.Unlock()
	var outcomes []Outcome
	var failures []error
	given := map[CallRef]bool{}
	for _, pending := range calls {
		outcome, err := pending.Wait(ctx)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		if ref := outcome.Call.Ref(); !given[ref] {
			given[ref] = true
			outcomes = append(outcomes, outcome)
		}
	}
	return outcomes, errors.Join(failures...)
}

// ResponseItems waits as [Turn.Outcomes] does and gives the items for the model's next request,
// in the order of the calls. Calls without such an item, of scripts say, or fatal ones, are
// left out.
func (t *Turn) ResponseItems(ctx context.Context) ([]json.RawMessage, error) {
	outcomes, err := t.Outcomes(ctx)
	var items []json.RawMessage
	for _, outcome := range outcomes {
		if outcome.Views.ResponseItemJSON != nil {
			items = append(items, outcome.Views.ResponseItemJSON)
		}
	}
	return items, err
}

// Cancel cancels all open calls of the turn, as [Agent.Cancel] does.
func (t *Turn) Cancel(ctx context.Context) ([]CancelledCall, error) {
	return t.agent.Cancel(ctx, CancelTarget{TurnID: t.ID})
}

// End ends the turn: it takes no new calls, and what it recorded and nothing took is dropped
// after the next attach. Open calls go on.
func (t *Turn) End(ctx context.Context) error { return t.agent.EndTurn(ctx, t.ID) }
