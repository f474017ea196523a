package sidecall

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/sidecall/sidecall/clients/go/sidecallv1"
)

// FieldViolation is a field that cannot be used.
type FieldViolation struct {
	// Field is its path in the request or frame.
	Field string
	// Description says what was expected.
	Description string
}

// Error is a refusal by the sidecar: of a request, or of one call that was dispatched.
type Error struct {
	// Code is the gRPC status; codes.Unknown for a frame, which has none.
	Code codes.Code
	// Reason is the name of the refusal (SESSION_NOT_FOUND, say); the name of the code where the
	// sidecar gave none.
	Reason string
	// Message says what is wrong and what to do.
	Message string
	// FieldViolations are the fields that cannot be used.
	FieldViolations []FieldViolation
	// RetryAfter is how long to wait before another try; 0 where the sidecar names no time.
	RetryAfter time.Duration
}

// Error gives the reason and the message.
func (e *Error) Error() string {
	if strings.HasPrefix(e.Message, e.Reason+":") {
		return e.Message
	}
	return e.Reason + ": " + e.Message
}

// GRPCStatus lets status.FromError and status.Code read the error.
func (e *Error) GRPCStatus() *status.Status { return status.New(e.Code, e.Message) }

// Is lets errors.Is find an ended context.
func (e *Error) Is(target error) bool {
	return e.Code == codes.Canceled && target == context.Canceled ||
		e.Code == codes.DeadlineExceeded && target == context.DeadlineExceeded
}

// SessionLostError says that the session is gone, and all its open calls with it: what their
// handlers did is not undone.
type SessionLostError struct {
	// Reason is why: a reason of the sidecar (SESSION_NOT_FOUND), DETACHED after
	// [Agent.Close], SERVER_RESTARTED, RESUME_GRACE_OVER when it could not be reached in time, or
	// PROTOCOL_VIOLATED by a server that does not keep to its own limits.
	Reason string
	// Cause is what came last, if anything.
	Cause error
}

// Error gives the reason and the cause.
func (e *SessionLostError) Error() string {
	if e.Cause == nil {
		return "session lost: " + e.Reason
	}
	return fmt.Sprintf("session lost: %s: %v", e.Reason, e.Cause)
}

// Unwrap gives the cause.
func (e *SessionLostError) Unwrap() error { return e.Cause }

// RespondToModelError is a handler's failure that the model may read and react to.
type RespondToModelError struct {
	// Message is what the model reads.
	Message string
}

// Error gives the message.
func (e *RespondToModelError) Error() string { return e.Message }

// RespondToModel makes a handler's error that the model may read. It formats as fmt.Sprintf.
func RespondToModel(format string, values ...any) error {
	return &RespondToModelError{Message: fmt.Sprintf(format, values...)}
}

// FatalError is a handler's failure that ends the turn.
type FatalError struct {
	// Message is what the agent's user gets to know.
	Message string
}

// Error gives the message.
func (e *FatalError) Error() string { return e.Message }

// EndTurnFatally makes a handler's error that ends the turn. It formats as fmt.Sprintf.
func EndTurnFatally(format string, values ...any) error {
	return &FatalError{Message: fmt.Sprintf(format, values...)}
}

// AbortError is the cause (context.Cause) of a handler's or hook's cancelled context.
type AbortError struct {
	// Reason is why the call was aborted.
	Reason AbortReason
	// WaitForTeardown says that the call waits until the handler returns.
	WaitForTeardown bool
	// TeardownTimeout is how long it waits.
	TeardownTimeout time.Duration
}

// Error gives the reason.
func (e *AbortError) Error() string { return "call aborted: " + string(e.Reason) }

// wireError reads the error of an rpc.
func wireError(err error) error {
	if err == nil {
		return nil
	}
	var known *Error
	if errors.As(err, &known) {
		return err
	}
	from, isStatus := status.FromError(err)
	if !isStatus {
		return err
	}
	read := &Error{Code: from.Code(), Message: from.Message(), Reason: codeName(from.Code())}
	for _, detail := range from.Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			read.Reason = detail.GetReason()
		case *errdetails.BadRequest:
			for _, violation := range detail.GetFieldViolations() {
				read.FieldViolations = append(read.FieldViolations,
					FieldViolation{violation.GetField(), violation.GetDescription()})
			}
		case *errdetails.RetryInfo:
			read.RetryAfter = detail.GetRetryDelay().AsDuration()
		}
	}
	return read
}

func codeName(code codes.Code) string {
	var name strings.Builder
	for index, letter := range code.String() {
		if index > 0 && letter >= 'A' && letter <= 'Z' && code != codes.OK {
			name.WriteByte('_')
		}
		name.WriteRune(letter)
	}
	return strings.ToUpper(name.String())
}

// frameError reads a refused frame.
func frameError(frame *pb.FrameError) *Error {
	read := &Error{
		Code:    codes.Unknown,
		Reason:  strings.TrimPrefix(frame.GetReason().String(), "ERROR_REASON_"),
		Message: frame.GetMessage(),
	}
	for _, violation := range frame.GetFieldViolations() {
		read.FieldViolations = append(read.FieldViolations,
			FieldViolation{violation.GetField(), violation.GetDescription()})
	}
	return read
}

func reasonOf(err error) string {
	var known *Error
	if errors.As(wireError(err), &known) {
		return known.Reason
	}
	return ""
}
