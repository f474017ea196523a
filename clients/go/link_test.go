package sidecall

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/sidecall/sidecall/clients/go/sidecallv1"
)

const testChunkBytes, testMessageBytes = 1000, 2500

func newLink() *link {
	made := &link{}
	made.resume(&pb.Welcome{MaxChunkBytes: testChunkBytes, MaxMessageBytes: testMessageBytes})
	return made
}

func dispatchOf(id string, size int) *pb.ClientFrame {
	called := Call{ID: id, Payload: FunctionPayload(strings.Repeat("x", size))}
	return &pb.ClientFrame{Frame: &pb.ClientFrame_DispatchCall{
		DispatchCall: &pb.DispatchCall{Call: called.wire()}}}
}

func resultOf(token string, size int) *pb.ClientFrame {
	return &pb.ClientFrame{Frame: &pb.ClientFrame_HandlerResult{HandlerResult: &pb.HandlerResult{
		InvocationToken: []byte(token),
		Result: &pb.HandlerResult_Output{
			Output: Text(strings.Repeat("x", size)).wire()},
	}}}
}

// kinds names the frames of all messages that wait, one text per message.
func kinds(t *testing.T, l *link) []string {
	t.Helper()
	var messages []string
	for message := l.take(); message != nil; message = l.take() {
		if size := proto.Size(message); size > testMessageBytes {
			t.Errorf("a message of %d bytes", size)
		}
		var names []string
		for _, frame := range message.GetFrames() {
			switch {
			case frame.GetDispatchCall() != nil:
				names = append(names, frame.GetDispatchCall().GetCall().GetCallId())
			case frame.GetHandlerResult() != nil:
				names = append(names, string(frame.GetHandlerResult().GetInvocationToken()))
			case frame.GetOutputChunk() != nil:
				names = append(names, "piece")
			case frame.GetDetach() != nil:
				names = append(names, "detach")
			}
		}
		messages = append(messages, strings.Join(names, " "))
	}
	return messages
}

func TestWhatTravelsTogether(t *testing.T) {
	for name, test := range map[string]struct {
		queue func(*link)
		want  []string
	}{
		"answers go before orders": {func(l *link) {
			l.order(dispatchOf("call", 10), nil)
			l.answer(resultOf("result", 10), nil)
		}, []string{"result call"}},
		"a message is about as large as a piece": {func(l *link) {
			for _, id := range []string{"a", "b", "c"} {
				l.order(dispatchOf(id, 400), nil)
			}
		}, []string{"a b", "c"}},
		"a large answer holds up nothing": {func(l *link) {
			l.answer(resultOf("large", 2500), nil)
			l.order(dispatchOf("call", 10), nil)
			l.answer(resultOf("small", 10), nil)
		}, []string{"small call piece", "piece", "piece"}},
		"orders keep their order": {func(l *link) {
			l.order(dispatchOf("large", 1500), nil)
			l.order(dispatchOf("behind", 10), nil)
		}, []string{"piece", "piece behind"}},
		"answers overtake large orders": {func(l *link) {
			l.order(dispatchOf("large", 1500), nil)
			l.answer(resultOf("small", 10), nil)
		}, []string{"small piece", "piece"}},
		"the farewell is the last word": {func(l *link) {
			l.farewell = &pb.ClientFrame{Frame: &pb.ClientFrame_Detach{Detach: &pb.Detach{}}}
			l.answer(resultOf("large", 1500), nil)
			l.order(dispatchOf("call", 10), nil)
		}, []string{"call piece", "piece", "detach"}},
	} {
		tested := newLink()
		test.queue(tested)
		if got := kinds(t, tested); !slices.Equal(got, test.want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestPiecesMakeTheFrameAgain(t *testing.T) {
	l := newLink()
	frame := resultOf("large", 5000)
	l.answer(frame, nil)
	var joined []byte
	for message := l.take(); message != nil; message = l.take() {
		piece := message.GetFrames()[0].GetOutputChunk()
		if piece.GetTransferId() != 1 || piece.GetSizeBytes() != uint64(proto.Size(frame)) ||
			len(piece.GetData()) > testChunkBytes {
			t.Errorf("a piece of transfer %d of %d bytes", piece.GetTransferId(), len(piece.GetData()))
		}
		joined = append(joined, piece.GetData()...)
	}
	again := &pb.ClientFrame{}
	if err := proto.Unmarshal(joined, again); err != nil || !proto.Equal(again, frame) {
		t.Errorf("the pieces make %v, %v", again, err)
	}
}

func TestAFrameErrorFindsWhatItIsAbout(t *testing.T) {
	l := newLink()
	var first, second, large place
	l.order(dispatchOf("a", 10), &first)
	l.order(dispatchOf("b", 10), &second)
	l.order(dispatchOf("c", 1500), &large)
	kinds(t, l)
	of := func(sequence uint64, index *uint32) *pb.FrameError {
		return &pb.FrameError{Sequence: sequence, FrameIndex: index}
	}
	for name, test := range map[string]struct {
		frame *pb.FrameError
		want  []bool
	}{
		"the first frame":      {of(1, proto.Uint32(0)), []bool{true, false, false}},
		"the second frame":     {of(1, proto.Uint32(1)), []bool{false, true, false}},
		"the last piece":       {of(2, proto.Uint32(0)), []bool{false, false, true}},
		"a whole message":      {of(2, nil), []bool{false, false, true}},
		"another message":      {of(9, proto.Uint32(0)), []bool{false, false, false}},
		"an uncounted message": {of(0, nil), []bool{false, false, false}},
	} {
		got := []bool{
			first.covers(test.frame), second.covers(test.frame), large.covers(test.frame)}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestANewClientOfAnOldSessionGoesOnWithItsSequence(t *testing.T) {
	l := &link{}
	l.resume(&pb.Welcome{
		MaxChunkBytes: testChunkBytes, MaxMessageBytes: testMessageBytes,
		LastSequenceReceived: 41, NextSequence: 8,
		ResumeOutcome: pb.ResumeOutcome_RESUME_OUTCOME_GAP,
	})
	l.order(dispatchOf("a", 10), nil)
	message := l.take()
	if message.GetSequence() != 42 || message.GetAcknowledged() != 7 {
		t.Errorf("it went on with %v", message)
	}
	if l.idle() {
		t.Error("it counts as seen")
	}
	if l.forget(42); !l.idle() {
		t.Error("it does not count as seen")
	}
}
