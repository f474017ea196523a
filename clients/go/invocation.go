package sidecall

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"google.golang.org/protobuf/proto"

	pb "github.com/sidecall/sidecall/clients/go/sidecallv1"
)

// execution is a handler that was started. It is known by its token until its call has ended
// and the handler has returned.
type execution struct {
	token   []byte
	call    CallRef
	cancel  context.CancelCauseFunc
	aborted *AbortError
	// returned says that the handler has.
	returned bool
	// callEnded says that the call has its outcome.
	callEnded bool
	// at is where its result was sent.
	at place
	// answeredAnew says that the result was refused and another one was sent.
	answeredAnew bool
}

// question is hooks that were asked. It is known by its token until its call has ended.
type question struct {
	call   CallRef
	cancel context.CancelCauseFunc
}

// invoke starts the handler of a call. An invocation that is known is not started again.
func (a *Agent) invoke(frame *pb.InvokeHandler) {
	token := string(frame.GetInvocationToken())
	if _, known := a.running[token]; known {
		return
	}
	invocation := &Invocation{
		Call:          call(frame.GetCall()),
		Rewritten:     frame.GetRewritten(),
		DispatchOrder: frame.GetDispatchOrder(),
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	started := &execution{
		token: frame.GetInvocationToken(), call: invocation.Ref(), cancel: cancel,
	}
	a.running[token] = started
	tool, known := a.tools[invocation.Tool.normal()]
	a.handlers.Go(func() {
		defer cancel(nil)
		if !known {
			err := fmt.Errorf("this agent has no handler for the tool %q", invocation.Tool)
			a.returned(started, &pb.HandlerResult{Result: unhandled(err)})
			return
		}
		a.returned(started, a.handle(ctx, tool, invocation))
	})
}

// handle runs a handler and reads what it came to.
func (a *Agent) handle(
	ctx context.Context, tool Tool, invocation *Invocation,
) (result *pb.HandlerResult) {
	defer func() {
		if panicked := recover(); panicked != nil {
			a.log.Error("handler panicked", "tool", tool.Name.String(), "panic", panicked,
				"stack", string(debug.Stack()))
			result = failure(tool, fmt.Errorf("panic: %v", panicked))
		}
	}()
	output, err := tool.Handler(ctx, invocation)
	if err != nil {
		return failure(tool, err)
	}
	if output == nil {
		return failure(tool, errors.New("the handler returned neither an output nor an error"))
	}
	return &pb.HandlerResult{Result: &pb.HandlerResult_Output{Output: output.wire()}}
}

func failure(tool Tool, err error) *pb.HandlerResult {
	var toModel *RespondToModelError
	var fatal *FatalError
	switch {
	case errors.As(err, &toModel):
		return &pb.HandlerResult{Result: &pb.HandlerResult_RespondToModel{
			RespondToModel: &pb.RespondToModel{Message: []byte(toModel.Message)}}}
	case errors.As(err, &fatal):
		return &pb.HandlerResult{Result: &pb.HandlerResult_Fatal{
			Fatal: &pb.Fatal{Message: []byte(fatal.Message)}}}
	case tool.RespondToErrors:
		return &pb.HandlerResult{Result: &pb.HandlerResult_RespondToModel{
			RespondToModel: &pb.RespondToModel{Message: []byte(err.Error())}}}
	}
	return &pb.HandlerResult{Result: unhandled(err)}
}

func unhandled(err error) *pb.HandlerResult_UnhandledError {
	return &pb.HandlerResult_UnhandledError{
		UnhandledError: &pb.UnhandledError{Message: []byte(err.Error())}}
}

// returned answers the sidecar for a handler that has returned: with its result, or after an
// abort that waits for it with the end of the teardown, else not at all.
func (a *Agent) returned(ended *execution, result *pb.HandlerResult) {
	a.mu.Lock()
	defer a.mu.Unlock()
	ended.returned = true
	switch {
	case ended.callEnded:
		delete(a.running, string(ended.token))
	case ended.aborted == nil:
		result.InvocationToken = ended.token
		a.sendResult(ended, result)
	case ended.aborted.WaitForTeardown:
		a.tornDown(ended.token)
	}
}

func (a *Agent) tornDown(token []byte) {
	a.answer(&pb.ClientFrame{Frame: &pb.ClientFrame_TeardownComplete{
		TeardownComplete: &pb.TeardownComplete{InvocationToken: token}}}, nil)
}

func (a *Agent) sendResult(ended *execution, result *pb.HandlerResult) {
	frame := &pb.ClientFrame{Frame: &pb.ClientFrame_HandlerResult{HandlerResult: result}}
	size := proto.Size(frame)
	if a.link.maxFrameBytes > 0 && size > a.link.maxFrameBytes {
		result.Result = unhandled(tooLarge(size, a.link.maxFrameBytes))
		size = proto.Size(frame)
	}
	if open := a.pending[ended.call]; len(open) > 0 {
		open[0].resultBytes += size
		a.openBytes += uint64(size)
	}
	a.answer(frame, &ended.at)
}

// abort tells a handler or hook to stop.
func (a *Agent) abort(frame *pb.AbortHandler) {
	cause := &AbortError{
		Reason:          plainEnum(frame.GetReason(), "ABORT_REASON_", AbortReason("")),
		WaitForTeardown: frame.GetWaitForTeardown(),
		TeardownTimeout: frame.GetTeardownTimeout().AsDuration(),
	}
	token := string(frame.GetToken())
	if question, known := a.asked[token]; known {
		question.cancel(cause)
		return
	}
	started, known := a.running[token]
	if !known && cause.WaitForTeardown {
		a.tornDown(frame.GetToken()) // told anew after a gap: nothing of it runs here
	}
	if !known || started.returned {
		return
	}
	if started.aborted == nil {
		started.aborted = cause
	}
	started.cancel(cause)
}

// callEnded forgets the handlers and hooks of a call that has its outcome, as soon as they have
// returned.
func (a *Agent) callEnded(ref CallRef) {
	for token, question := range a.asked {
		if question.call == ref {
			question.cancel(&AbortError{Reason: AbortCancelled})
			delete(a.asked, token)
		}
	}
	for token, started := range a.running {
		if started.call != ref {
			continue
		}
		started.callEnded = true
		if started.returned {
			delete(a.running, token)
		} else {
			started.cancel(&AbortError{Reason: AbortCancelled})
		}
	}
}

// resultRefused answers anew for a handler whose result the sidecar refused, so that its call
// ends. False: the frame error concerns no result.
func (a *Agent) resultRefused(frame *pb.FrameError, refusal *Error) bool {
	found := false
	for _, ended := range a.running {
		if !ended.at.covers(frame) {
			continue
		}
		found = true
		a.log.Error("handler result refused",
			"call_id", ended.call.CallID, "reason", refusal.Reason, "message", refusal.Message)
		if !ended.answeredAnew {
			ended.answeredAnew = true
			ended.at = place{}
			a.sendResult(ended, &pb.HandlerResult{
				InvocationToken: ended.token, Result: unhandled(refusal)})
		}
	}
	return found
}

// askHooks runs the hooks that the sidecar asks for and sends their verdict, unless it is no
// longer wanted. A question that is known is not asked again.
func (a *Agent) askHooks(frame *pb.InvokeHook) {
	token := string(frame.GetHookToken())
	if _, known := a.asked[token]; known {
		return
	}
	point := plainEnum(frame.GetPoint(), "HOOK_POINT_", HookPoint(""))
	input := hookInput(callRef(frame.GetCall()), point, frame.GetPayload())
	var matching []Hook
	for _, hook := range a.hooks {
		if hook.matches(input) {
			matching = append(matching, hook)
		}
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	a.asked[token] = &question{call: input.Call, cancel: cancel}
	a.handlers.Go(func() {
		defer cancel(nil)
		limited, stop := ctx, context.CancelFunc(func() {})
		if frame.GetTimeout() != nil {
			limited, stop = context.WithTimeout(ctx, frame.GetTimeout().AsDuration())
		}
		defer stop()
		answers := runHooks(limited, matching, input)
		for _, answer := range answers {
			if answer.err != nil {
				a.log.Warn("hook failed", "tool", input.ToolName, "error", answer.err)
			}
		}
		verdict := combine(point, answers)
		verdict.HookToken = frame.GetHookToken()
		a.mu.Lock()
		defer a.mu.Unlock()
		if ctx.Err() == nil {
			a.answer(&pb.ClientFrame{
				Frame: &pb.ClientFrame_HookVerdict{HookVerdict: verdict}}, nil)
		}
	})
}
