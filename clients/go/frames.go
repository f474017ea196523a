package sidecall

import (
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/sidecall/sidecall/clients/go/sidecallv1"
)

// unreadReasons are refusals of a message that the server did not read.
var unreadReasons = []string{"SEQUENCE_OUT_OF_ORDER", "ACKNOWLEDGEMENT_OUT_OF_RANGE"}

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
