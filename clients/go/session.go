package sidecall

import (
	"context"
	"encoding/json"
	"time"

	pb "github.com/sidecall/sidecall/clients/go/sidecallv1"
)

// Session is one conversation of an agent on the sidecar. Its methods answer with [*Error]
// SESSION_NOT_FOUND when the session is gone. Safe for concurrent use.
type Session struct {
	// ID names the session.
	ID string
	// ResumeToken attaches an agent to the session. Known to who created it; keep it secret.
	ResumeToken string
	client      *Client
}

// SessionInfo is how a session stands.
type SessionInfo struct {
	// ID names the session.
	ID string
	// State is where it stands in its life.
	State SessionState
	// ToolMode is the mode in effect.
	ToolMode ToolMode
	// Created is when it was opened.
	Created time.Time
	// OpenCalls are calls without an outcome.
	OpenCalls int
	// TerminalCalls counts the calls that ended since the session began.
	TerminalCalls uint64
	// ExternalContextMarked says that content from outside has marked the session.
	ExternalContextMarked bool
	// HeldRecordBytes is what the recorder holds.
	HeldRecordBytes uint64
	// RecorderLosses counts what the recorder lost, by cause, where it lost anything.
	RecorderLosses map[string]uint64
	// HooksFailedOpen counts hooks that came to nothing usable.
	HooksFailedOpen uint64
	// LateResults counts answers that came after their call's end.
	LateResults uint64
}

// Info shows the session.
func (s *Session) Info(ctx context.Context) (SessionInfo, error) {
	response, err := s.client.sessions.GetSession(ctx, &pb.GetSessionRequest{SessionId: s.ID})
	if err != nil {
		return SessionInfo{}, wireError(err)
	}
	return sessionInfo(response.GetSession()), nil
}

func sessionInfo(read *pb.Session) SessionInfo {
	info := SessionInfo{
		ID:                    read.GetSessionId(),
		State:                 plainEnum(read.GetState(), "SESSION_STATE_", SessionState("")),
		ToolMode:              plainEnum(read.GetEffectiveToolMode(), "TOOL_MODE_", ToolMode("")),
		Created:               read.GetCreateTime().AsTime(),
		OpenCalls:             int(read.GetOpenCalls()),
		TerminalCalls:         read.GetTerminalCalls(),
		ExternalContextMarked: read.GetExternalContextMarked(),
		HeldRecordBytes:       read.GetRecorderSizes().GetHeldBytes(),
		RecorderLosses:        map[string]uint64{},
		HooksFailedOpen:       read.GetHooksFailedOpen(),
		LateResults:           read.GetLateResults(),
	}
	losses := read.GetRecorderLosses().ProtoReflect()
	fields := losses.Descriptor().Fields()
	for index := range fields.Len() {
		if count := losses.Get(fields.Get(index)).Uint(); count > 0 {
			info.RecorderLosses[string(fields.Get(index).Name())] = count
		}
	}
	return info
}

// Delete ends the session and says how many open calls were aborted.
func (s *Session) Delete(ctx context.Context) (aborted int, err error) {
	deleted, err := s.client.sessions.DeleteSession(ctx,
		&pb.DeleteSessionRequest{SessionId: s.ID})
	return int(deleted.GetAbortedCalls()), wireError(err)
}

// EndTurn ends a turn and says how many of its calls are still open; they go on.
func (s *Session) EndTurn(ctx context.Context, turnID string) (open int, err error) {
	ended, err := s.client.sessions.EndTurn(ctx,
		&pb.EndTurnRequest{SessionId: s.ID, TurnId: turnID})
	return int(ended.GetOpenCalls()), wireError(err)
}

// RecordToolCall records that a call is attempted, for agents that run their tools themselves.
// The first record of a call stays.
func (s *Session) RecordToolCall(
	ctx context.Context, call Call, options TurnOptions,
) (RecordDisposition, error) {
	recorded, err := s.client.recorder.RecordToolCall(ctx, &pb.RecordToolCallRequest{
		SessionId: s.ID, Call: call.wire(), TurnOptions: options.wire(),
	})
	if err != nil {
		return "", wireError(err)
	}
	return plainEnum(recorded.GetDisposition(), "RECORD_DISPOSITION_", RecordDisposition("")), nil
}

// RegisterCell says which call's output carries the records of a cell. False: there was no room.
func (s *Session) RegisterCell(
	ctx context.Context, cellID string, output CallRef,
) (registered bool, err error) {
	response, err := s.client.recorder.RegisterCell(ctx, &pb.RegisterCellRequest{
		SessionId: s.ID, CellId: cellID, OutputCallId: output.CallID, TurnId: output.TurnID,
	})
	return response.GetRegistered(), wireError(err)
}

// PromptOutput is a tool's output in a prompt, without its content.
type PromptOutput struct {
	// Kind is the kind of call that it answers.
	Kind PayloadKind
	// CallID is the id of that call. Nil: an output without id carries no records.
	CallID *string
	// TurnID is the turn of that call. Nil: not known.
	TurnID *string
	// ItemID is unique among all outputs of the session. Give it for all outputs or for none.
	ItemID *string
}

// AttachRequest names a model request and the outputs of its prompt.
type AttachRequest struct {
	// SamplingRequestID names the model request. A retry has the same name; a new request needs
	// a new one.
	SamplingRequestID string
	// TurnID is the turn of the model request. Empty: not known.
	TurnID string
	// Outputs are all tool outputs of the prompt, in its order.
	Outputs []PromptOutput
}

// Attachment says what to put at the key executed_tool_calls of an output's metadata.
type Attachment struct {
	// Index is the position of the output in the request, from 0.
	Index int
	// ExecutedToolCalls is a JSON array.
	ExecutedToolCalls json.RawMessage
	// MetadataBytes is what the records add to the item on the wire, keys included.
	MetadataBytes uint64
}

// Attach attaches the records of what was attempted to the outputs of a prompt. Call it for each
// try of each model request. Only outputs that carry records come back, in order.
func (s *Session) Attach(ctx context.Context, request AttachRequest) ([]Attachment, error) {
	asked := &pb.AttachExecutedToolCallsRequest{
		SessionId:         s.ID,
		SamplingRequestId: request.SamplingRequestID,
		TurnId:            request.TurnID,
		Formats: []pb.ExecutedToolCallFormat{
			pb.ExecutedToolCallFormat_EXECUTED_TOOL_CALL_FORMAT_JSON},
	}
	for _, output := range request.Outputs {
		asked.Outputs = append(asked.Outputs, &pb.PromptOutput{
			Kind:   output.Kind.wire(),
			CallId: output.CallID,
			TurnId: output.TurnID,
			ItemId: output.ItemID,
		})
	}
	attached, err := s.client.recorder.AttachExecutedToolCalls(ctx, asked)
	if err != nil {
		return nil, wireError(err)
	}
	var attachments []Attachment
	for _, output := range attached.GetOutputs() {
		attachments = append(attachments, Attachment{
			Index:             int(output.GetOutputIndex()),
			ExecutedToolCalls: output.GetExecutedToolCallsJson(),
			MetadataBytes:     output.GetMetadataBytes(),
		})
	}
	return attachments, nil
}

// CallStatus is a call as an operator sees it: without arguments and outputs.
type CallStatus struct {
	// Ref is the call.
	Ref CallRef
	// Tool is the tool as the model named it.
	Tool ToolName
	// Kind is the kind of payload.
	Kind PayloadKind
	// CellID is the cell of a script's call. Empty: the model made it.
	CellID string
	// DispatchOrder is the position among all calls of the session, from 1.
	DispatchOrder uint64
	// Phase is where it stands.
	Phase CallPhase
	// Outcome is how it ended; views only where they were asked for. Nil while it is open.
	Outcome *Outcome
	// Submitted is when it was dispatched.
	Submitted time.Time
	// Durations say where its time went.
	Durations Durations
}

// ToolCall shows one call: how it stands or ended, with these views of its outcome as far as they
// were made then. Nil: all that were made.
func (s *Session) ToolCall(ctx context.Context, of CallRef, selected []View) (CallStatus, error) {
	read, err := s.client.runtime.GetToolCall(ctx, &pb.GetToolCallRequest{
		SessionId: s.ID, Call: of.wire(), Views: wireViews(selected),
	})
	if err != nil {
		return CallStatus{}, wireError(err)
	}
	status := callStatus(read.GetCall())
	if status.Outcome != nil {
		status.Outcome.Views = views(read.GetProjections())
	}
	return status, nil
}

// ListToolCalls lists the calls of the session, or of one turn, in the order of their dispatch:
// open ones, and ended ones as far as they are kept.
func (s *Session) ListToolCalls(ctx context.Context, turnID string) ([]CallStatus, error) {
	var calls []CallStatus
	request := &pb.ListToolCallsRequest{SessionId: s.ID, TurnId: turnID, PageSize: 1000}
	for {
		page, err := s.client.runtime.ListToolCalls(ctx, request)
		if err != nil {
			return nil, wireError(err)
		}
		for _, listed := range page.GetCalls() {
			calls = append(calls, callStatus(listed.GetCall()))
		}
		if request.PageToken = page.GetNextPageToken(); request.PageToken == "" {
			return calls, nil
		}
	}
}

func callStatus(read *pb.ToolCallStatus) CallStatus {
	status := CallStatus{
		Ref:           callRef(read.GetCall()),
		Tool:          toolName(read.GetToolName()),
		Kind:          plainEnum(read.GetPayloadKind(), "PAYLOAD_KIND_", PayloadKind("")),
		CellID:        read.GetCellId(),
		DispatchOrder: read.GetDispatchOrder(),
		Phase:         plainEnum(read.GetPhase(), "CALL_PHASE_", CallPhase("")),
		Submitted:     read.GetSubmitTime().AsTime(),
		Durations:     durations(read.GetDurations()),
	}
	if read.GetOutcome() != nil {
		status.Outcome = &Outcome{
			Call: Call{
				ID: status.Ref.CallID, TurnID: status.Ref.TurnID,
				Tool: status.Tool, CellID: status.CellID,
			},
			DispatchOrder: status.DispatchOrder,
			Durations:     status.Durations,
		}
		status.Outcome.read(read.GetOutcome())
	}
	return status
}

// CancelTarget says which calls to cancel. Exactly one is set.
type CancelTarget struct {
	// Calls are these calls.
	Calls []CallRef
	// TurnID is all open calls of a turn.
	TurnID string
	// All is all open calls.
	All bool
}

func (t CancelTarget) wire() *pb.CancelTarget {
	switch {
	case t.All:
		return &pb.CancelTarget{Target: &pb.CancelTarget_All{All: &pb.AllCalls{}}}
	case t.TurnID != "":
		return &pb.CancelTarget{Target: &pb.CancelTarget_TurnId{TurnId: t.TurnID}}
	}
	references := &pb.CallReferences{}
	for _, call := range t.Calls {
		references.Calls = append(references.Calls, call.wire())
	}
	return &pb.CancelTarget{Target: &pb.CancelTarget_Calls{Calls: references}}
}

// CancelledCall is a call and what a cancel did to it.
type CancelledCall struct {
	Call        CallRef
	Disposition Disposition
}

func cancelledCalls(read []*pb.CancelledCall) []CancelledCall {
	cancelled := make([]CancelledCall, 0, len(read))
	for _, one := range read {
		cancelled = append(cancelled, CancelledCall{
			Call: callRef(one.GetCall()),
			Disposition: plainEnum(
				one.GetDisposition(), "CANCEL_DISPOSITION_", CancelUnknown),
		})
	}
	return cancelled
}

// Cancel cancels calls, as an operator does. A call that has ended or never was is no error: the
// result says so.
func (s *Session) Cancel(ctx context.Context, target CancelTarget) ([]CancelledCall, error) {
	cancelled, err := s.client.runtime.CancelToolCall(ctx,
		&pb.CancelToolCallRequest{SessionId: s.ID, Target: target.wire()})
	if err != nil {
		return nil, wireError(err)
	}
	return cancelledCalls(cancelled.GetCalls()), nil
}
