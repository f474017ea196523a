package sidecall

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	pb "github.com/sidecall/sidecall/clients/go/sidecallv1"
)

func TestFramesThatAreReadyTogetherTravelTogether(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		s.dispatch("alone")
		message := s.stream.next()
		if message.GetSequence() != 1 || len(message.GetFrames()) != 1 {
			t.Fatalf("a lone frame went as %v", message)
		}
		s.stream.fails(codes.Unavailable)
		synctest.Wait()
		for _, id := range []string{"a", "b", "c"} {
			s.dispatch(id)
		}
		s.reconnected(resumed(1))
		message = s.stream.next()
		if message.GetSequence() != 2 || len(message.GetFrames()) != 3 {
			t.Fatalf("three went as %v", message)
		}
	})
}

func TestUnacknowledgedMessagesAreSentAgainWithTheirSequences(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		for _, id := range []string{"a", "b", "c"} {
			s.dispatch(id)
			s.stream.next()
		}
		s.stream.fails(codes.Unavailable)
		hello := s.reconnected(resumed(1))
		if hello.GetSessionId() != "session" || hello.GetResumeToken() != "token" {
			t.Errorf("it came back with %v", hello)
		}
		for _, want := range []uint64{2, 3} {
			if message := s.stream.next(); message.GetSequence() != want {
				t.Errorf("message %d came again as %v", want, message)
			}
		}
		if message := s.stream.next(); message != nil {
			t.Errorf("and then %v", message)
		}
	})
}

func TestAMessageThatWasSeenIsDropped(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		s.stream.say(1, invoke("one", "id"))
		s.stream.say(1, invoke("another", "id"))
		synctest.Wait()
		if len(s.started) != 1 {
			t.Fatalf("%d handlers run", len(s.started))
		}
		s.stream.fails(codes.Unavailable)
		if hello := s.reconnected(resumed(0)); hello.GetLastSequenceReceived() != 1 {
			t.Errorf("it says that it has seen %d", hello.GetLastSequenceReceived())
		}
		s.stream.say(1, invoke("one", "id"))
		synctest.Wait()
		if len(s.started) != 1 {
			t.Fatalf("after a resume %d handlers run", len(s.started))
		}
	})
}

func TestAMissingMessageBeginsTheConnectionAnew(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		s.stream.say(1, invoke("one", "1"))
		s.stream.say(3, invoke("three", "3"))
		if hello := s.reconnected(resumed(0)); hello.GetLastSequenceReceived() != 1 {
			t.Errorf("it says that it has seen %d", hello.GetLastSequenceReceived())
		}
		s.stream.say(2, invoke("two", "2"))
		s.stream.say(3, invoke("three", "3"))
		synctest.Wait()
		if len(s.started) != 3 {
			t.Errorf("%d handlers run", len(s.started))
		}
	})
}

func TestAfterAGapWhatIsKnownIsDropped(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		ended, open := s.dispatch("ended"), s.dispatch("open")
		s.stream.say(1, completes("ended"), invoke("known", "open"))
		synctest.Wait()
		s.stream.fails(codes.Unavailable)
		s.reconnected(welcome(func(said *pb.Welcome) {
			said.ResumeOutcome = pb.ResumeOutcome_RESUME_OUTCOME_GAP
			said.LastSequenceReceived, said.NextSequence = 2, 10
		}))
		torn := &pb.ServerFrame{Frame: &pb.ServerFrame_AbortHandler{AbortHandler: &pb.AbortHandler{
			Token: []byte("never seen"), WaitForTeardown: true}}}
		s.stream.say(10, completes("ended"), invoke("known", "open"), torn)
		message := s.stream.next()
		token := message.GetFrames()[0].GetTeardownComplete().GetInvocationToken()
		if string(token) != "never seen" || message.GetAcknowledged() != 10 {
			t.Errorf("a teardown that is told anew was answered by %v", message)
		}
		if len(s.started) != 1 {
			t.Errorf("%d handlers run", len(s.started))
		}
		<-ended.Done()
		s.mayEnd <- Text("done")
		result := s.stream.next().GetFrames()[0].GetHandlerResult()
		if string(result.GetInvocationToken()) != "known" {
			t.Errorf("the handler's answer went as %v", result)
		}
		s.stream.say(11, completes("open"))
		<-open.Done()
	})
}

func TestLargeFramesOfTheServerArePutTogether(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		large := invoke("large", "large")
		large.GetInvokeHandler().GetCall().Payload = FunctionPayload(
			strings.Repeat("x", 2500)).wire()
		whole, err := proto.Marshal(large)
		if err != nil {
			t.Fatal(err)
		}
		sequence := uint64(0)
		for piece := range slices.Chunk(whole, 1000) {
			sequence++
			s.stream.say(sequence, chunk(7, len(whole), piece), invoke(fmt.Sprint(sequence), "small"))
		}
		synctest.Wait()
		var texts []int
		for range len(s.started) {
			texts = append(texts, len((<-s.started).Payload.Text))
		}
		slices.Sort(texts)
		if !slices.Equal(texts, []int{2, 2, 2, 2500}) {
			t.Errorf("handlers got %v bytes", texts)
		}
	})
}

func chunk(id uint64, size int, data []byte) *pb.ServerFrame {
	return &pb.ServerFrame{Frame: &pb.ServerFrame_OutputChunk{OutputChunk: &pb.OutputChunk{
		TransferId: id, SizeBytes: uint64(size), Data: data}}}
}

func TestAServerThatBreaksItsOwnLimitsLosesTheSession(t *testing.T) {
	for name, frame := range map[string]*pb.ServerFrame{
		"a frame above the limit": chunk(1, 64<<10+1, []byte("x")),
		"more than was said":      chunk(1, 1, []byte("xx")),
		"not a frame":             chunk(1, 1, []byte{0xff}),
	} {
		play(t, func(t *testing.T, s *scene) {
			s.stream.say(1, frame)
			<-s.agent.Done()
			var lost *SessionLostError
			if !errors.As(s.agent.Err(), &lost) || lost.Reason != "PROTOCOL_VIOLATED" {
				t.Errorf("%s: %v", name, s.agent.Err())
			}
		})
	}
}

func TestAnIdleClientSaysThatItIsThere(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		s.stream.say(1, invoke("token", "id"))
		time.Sleep(testHeartbeat - time.Millisecond)
		if early := s.stream.next(); early != nil {
			t.Fatalf("too early: %v", early)
		}
		time.Sleep(time.Millisecond)
		beat := s.stream.next()
		if beat.GetFrames()[0].GetHeartbeat() == nil || beat.GetSequence() != 0 ||
			beat.GetAcknowledged() != 1 {
			t.Fatalf("it said %v", beat)
		}
	})
}

func TestASilentServerIsDeadAndTheClientConnectsAgain(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		began := time.Now()
		time.Sleep(testSilence / 2)
		s.stream.say(0, &pb.ServerFrame{
			Frame: &pb.ServerFrame_Heartbeat{Heartbeat: &pb.Heartbeat{}}})
		dead := s.stream
		s.reconnected(resumed(0))
		waited := time.Since(began)
		if waited < testSilence*3/2 || waited > testSilence*3/2+backoffBase {
			t.Errorf("it waited for %v", waited)
		}
		if dead.ctx.Err() == nil {
			t.Error("the dead connection is still open")
		}
	})
}

func TestMessagesAreAcknowledgedWithoutAWordToSay(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		for sequence := range uint64(acknowledgeAfter) {
			if early := s.stream.next(); early != nil {
				t.Fatalf("after %d messages: %v", sequence, early)
			}
			s.stream.say(sequence+1, completes("unknown"))
		}
		message := s.stream.next()
		if message.GetAcknowledged() != acknowledgeAfter || len(message.GetFrames()) > 0 {
			t.Fatalf("it said %v", message)
		}
	})
}

func TestARefusedMessageIsSentAgain(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		s.dispatch("id")
		sent := s.stream.next()
		s.stream.say(1, refuses(1, nil, pb.ErrorReason_ERROR_REASON_SEQUENCE_OUT_OF_ORDER))
		s.reconnected(resumed(0))
		if again := s.stream.next(); again.GetSequence() != sent.GetSequence() {
			t.Errorf("it went on with %v", again)
		}
	})
}

func TestAWholeMessageThatWasRefusedRefusesItsCalls(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		pending := s.dispatch("id")
		s.stream.next()
		s.stream.say(1, refuses(1, nil, pb.ErrorReason_ERROR_REASON_MESSAGE_TOO_LARGE))
		_, err := pending.Wait(t.Context())
		var refusal *Error
		if !errors.As(err, &refusal) || refusal.Reason != "MESSAGE_TOO_LARGE" {
			t.Errorf("got %v", err)
		}
	})
}

func TestARefusedResultStillEndsItsCall(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		s.dispatch("id")
		s.stream.next()
		s.stream.say(1, invoke("token", "id"))
		s.mayEnd <- Text("unusable")
		result := s.stream.next()
		mismatch := pb.ErrorReason_ERROR_REASON_OUTPUT_MISMATCH
		s.stream.say(2, refuses(result.GetSequence(), proto.Uint32(0), mismatch))
		anew := s.stream.next().GetFrames()[0].GetHandlerResult()
		if string(anew.GetInvocationToken()) != "token" || anew.GetUnhandledError() == nil {
			t.Errorf("then came %v", anew)
		}
	})
}

func TestARefusedCancelIsTheCallersToHear(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		refused := make(chan error)
		go func() {
			_, err := s.agent.Cancel(t.Context(), CancelTarget{TurnID: "turn"})
			refused <- err
		}()
		sequence := s.stream.next().GetSequence()
		field := pb.ErrorReason_ERROR_REASON_INVALID_FIELD
		s.stream.say(1, refuses(sequence, proto.Uint32(0), field))
		var refusal *Error
		if err := <-refused; !errors.As(err, &refusal) || refusal.Reason != "INVALID_FIELD" {
			t.Errorf("got %v", err)
		}
	})
}

func TestTheClientTriesUntilTheGraceIsOver(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		pending := s.dispatch("id")
		began := time.Now()
		s.stream.fails(codes.Unavailable)
		tries := 0
		for ended := false; !ended; {
			select {
			case stream := <-s.server.streams:
				tries++
				stream.fails(codes.Unavailable)
			case <-s.agent.Done():
				ended = true
			}
		}
		if took := time.Since(began); took != testGrace {
			t.Errorf("it gave up after %v", took)
		}
		if least := int(testGrace / backoffMax); tries < least || tries > 10*least {
			t.Errorf("it tried %d times", tries)
		}
		_, err := pending.Wait(t.Context())
		var lost *SessionLostError
		if !errors.As(err, &lost) || lost.Reason != "RESUME_GRACE_OVER" {
			t.Errorf("the call: %v", err)
		}
	})
}

func TestAnotherStartOfTheServerLosesTheSession(t *testing.T) {
	play(t, func(t *testing.T, s *scene) {
		s.stream.fails(codes.Unavailable)
		s.reconnected(welcome(func(said *pb.Welcome) { said.ServerInstanceId = "another" }))
		<-s.agent.Done()
		var lost *SessionLostError
		if !errors.As(s.agent.Err(), &lost) || lost.Reason != "SERVER_RESTARTED" {
			t.Errorf("got %v", s.agent.Err())
		}
	})
}
