package main

import (
	"encoding/json"
	"errors"
	"io"
	"sync"

	sidecall "github.com/sidecall/sidecall/clients/go"
)

// event is one line of stdout.
type event map[string]any

// events writes one event per line, whole lines only. Safe for concurrent use.
type events struct {
	mu      sync.Mutex
	encoder *json.Encoder
}

func newEvents(out io.Writer) *events {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return &events{encoder: encoder}
}

func (e *events) say(kind string, fields event) {
	line := event{"event": kind}
	for name, value := range fields {
		line[name] = value
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.encoder.Encode(line); err != nil {
		panic(err) // nobody reads any more
	}
}

// fail says what went wrong; kind is "error", or "refused" with the call's ids in fields.
func (e *events) fail(kind string, err error, fields event) {
	said := event{"reason": "", "message": err.Error(), "field_violations": []event{}}
	var refusal *sidecall.Error
	var lost *sidecall.SessionLostError
	switch {
	case errors.As(err, &lost): // also where a refusal is the cause
		said["reason"] = "SESSION_LOST"
	case errors.As(err, &refusal):
		said["reason"], said["message"] = refusal.Reason, refusal.Message
		violations := []event{}
		for _, violation := range refusal.FieldViolations {
			violations = append(violations, event{
				"field": violation.Field, "description": violation.Description})
		}
		said["field_violations"] = violations
	}
	for name, value := range fields {
		said[name] = value
	}
	e.say(kind, said)
}

func payloadFields(payload sidecall.Payload) event {
	fields := event{"kind": payload.Kind}
	switch payload.Kind {
	case sidecall.KindCustom:
		fields["input"] = payload.Text
	case sidecall.KindToolSearch:
		fields["query"] = payload.Text
		if payload.Limit != nil {
			fields["limit"] = *payload.Limit
		}
	default:
		fields["arguments"] = payload.Text
	}
	return fields
}

func outcomeFields(outcome sidecall.Outcome) event {
	fields := event{
		"turn_id":             outcome.Call.TurnID,
		"call_id":             outcome.Call.ID,
		"dispatch_order":      outcome.DispatchOrder,
		"outcome":             outcome.Kind,
		"lifecycle":           outcome.Lifecycle,
		"handler_executed":    outcome.HandlerExecuted,
		"additional_contexts": append([]string{}, outcome.AdditionalContexts...),
	}
	if outcome.Kind == sidecall.Completed {
		fields["success"] = outcome.Success
	} else {
		fields["message"] = outcome.Message
	}
	if abort := outcome.Abort; abort != nil {
		fields["reason"] = abort.Reason
		fields["progress"] = abort.Progress
		fields["teardown"] = abort.Teardown
	}
	if outcome.Views.ResponseItemJSON != nil {
		fields["response_item_json"] = string(outcome.Views.ResponseItemJSON)
	}
	if outcome.Views.CodeModeJSON != nil {
		fields["code_mode_json"] = string(outcome.Views.CodeModeJSON)
	}
	if outcome.Views.LogPreview != nil {
		fields["log_preview"] = *outcome.Views.LogPreview
	}
	return fields
}
