package sidecall

import (
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/sidecall/sidecall/clients/go/sidecallv1"
)

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

// Failures for [Client.ProjectToolFailure] that no handler returns.
var (
	// ErrUnknownTool says that no tool has the call's name.
	ErrUnknownTool = errors.New("no tool has that name")
	// ErrPayloadMismatch says that the tool does not take the call's kind of payload.
	ErrPayloadMismatch = errors.New("the tool does not take that kind of payload")
)

// Failure is what the caller gets to see of a call that failed.
type Failure struct {
	// Message is the error's text.
	Message string
	// EndsTurn says that the turn ends: there are no views.
	EndsTurn bool
	// ScriptError is the text of the exception that a script gets. Nil: a direct call.
	ScriptError *string
	// Views are for the model, where it may read of the failure.
	Views Views
}

// ProjectToolFailure makes the views of a failed call without a session. The failure is what a
// handler may return ([*RespondToModelError], [*FatalError], any other error), [ErrUnknownTool]
// or [ErrPayloadMismatch].
func (c *Client) ProjectToolFailure(
	ctx context.Context, call Call, failure error,
) (Failure, error) {
	request := &pb.ProjectToolFailureRequest{Call: call.wire()}
	var toModel *RespondToModelError
	var fatal *FatalError
	switch {
	case errors.As(failure, &toModel):
		request.Failure = &pb.ProjectToolFailureRequest_RespondToModel{
			RespondToModel: []byte(toModel.Message)}
	case errors.As(failure, &fatal):
		request.Failure = &pb.ProjectToolFailureRequest_Fatal{Fatal: []byte(fatal.Message)}
	case errors.Is(failure, ErrUnknownTool):
		request.Failure = &pb.ProjectToolFailureRequest_UnknownTool{
			UnknownTool: &pb.UnknownTool{}}
	case errors.Is(failure, ErrPayloadMismatch):
		request.Failure = &pb.ProjectToolFailureRequest_PayloadMismatch{
			PayloadMismatch: &pb.PayloadMismatch{}}
	default:
		request.Failure = &pb.ProjectToolFailureRequest_Unhandled{
			Unhandled: []byte(failure.Error())}
	}
	return c.projectFailure(ctx, request)
}

// ProjectAbort makes the views of an aborted call without a session; elapsed lasts from its
// submission to the cancel.
func (c *Client) ProjectAbort(
	ctx context.Context, call Call, reason AbortReason, elapsed time.Duration,
) (Failure, error) {
	return c.projectFailure(ctx, &pb.ProjectToolFailureRequest{
		Call: call.wire(),
		Failure: &pb.ProjectToolFailureRequest_Aborted{Aborted: &pb.AbortedCall{
			Reason:  wireEnum[pb.AbortReason](reason, "ABORT_REASON_", pb.AbortReason_value),
			Elapsed: durationpb.New(elapsed),
		}},
	})
}

func (c *Client) projectFailure(
	ctx context.Context, request *pb.ProjectToolFailureRequest,
) (Failure, error) {
	read, err := c.projection.ProjectToolFailure(ctx, request)
	if err != nil {
		return Failure{}, wireError(err)
	}
	return Failure{
		Message:     read.GetMessage(),
		EndsTurn:    read.GetEndsTurn(),
		ScriptError: read.ScriptError,
		Views:       views(read.GetProjections()),
	}, nil
}

// TruncateText cuts the middle out of a text, as outputs are cut for the model. Formatted: with
// a warning and the number of lines in front (SPEC E1, E4).
func (c *Client) TruncateText(
	ctx context.Context, text string, policy Truncation, formatted bool,
) (string, error) {
	cut, err := c.projection.TruncateText(ctx, &pb.TruncateTextRequest{
		Text: []byte(text), Policy: policy.wire(), Formatted: formatted,
	})
	return string(cut.GetText()), wireError(err)
}
