package sidecall

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/sidecall/sidecall/clients/go/sidecallv1"
)

// fakeServer is a RuntimeService whose test says every word of it.
type fakeServer struct {
	pb.RuntimeServiceClient
	streams chan *fakeStream
}

func (s *fakeServer) Connect(
	ctx context.Context, _ ...grpc.CallOption,
) (grpc.BidiStreamingClient[pb.ConnectRequest, pb.ConnectResponse], error) {
	stream := &fakeStream{
		ctx:     ctx,
		sent:    make(chan *pb.ConnectRequest, 1024),
		replies: make(chan *pb.ConnectResponse, 1024),
		ended:   make(chan error, 1),
	}
	s.streams <- stream
	return stream, nil
}

// fakeStream is one connection.
type fakeStream struct {
	grpc.ClientStream
	ctx     context.Context
	sent    chan *pb.ConnectRequest
	replies chan *pb.ConnectResponse
	ended   chan error
}

func (s *fakeStream) Send(message *pb.ConnectRequest) error {
	if s.ctx.Err() != nil {
		return io.EOF
	}
	s.sent <- proto.CloneOf(message)
	return nil
}

func (s *fakeStream) Recv() (*pb.ConnectResponse, error) {
	select {
	case reply := <-s.replies:
		return reply, nil
	case err := <-s.ended:
		return nil, err
	case <-s.ctx.Done():
		return nil, status.FromContextError(s.ctx.Err()).Err()
	}
}

// next is what the client sends next; nil when it sends nothing, however long one waits.
func (s *fakeStream) next() *pb.ConnectRequest {
	synctest.Wait()
	select {
	case message := <-s.sent:
		return message
	default:
		return nil
	}
}

func (s *fakeStream) say(sequence uint64, frames ...*pb.ServerFrame) {
	s.replies <- &pb.ConnectResponse{Sequence: sequence, Frames: frames}
}

// fails ends the stream.
func (s *fakeStream) fails(code codes.Code) { s.ended <- status.Error(code, "as the test wants") }

const (
	testHeartbeat = 10 * time.Second
	testSilence   = 30 * time.Second
	testGrace     = 60 * time.Second
)

func welcome(change func(*pb.Welcome)) *pb.ServerFrame {
	said := &pb.Welcome{
		ProtocolVersion: 1, SessionId: "session", ResumeToken: "token",
		ResumeOutcome:    pb.ResumeOutcome_RESUME_OUTCOME_NEW,
		NextSequence:     1,
		ServerInstanceId: "instance", MaxCallsInFlight: 8, MaxBytesInFlight: 1 << 20,
		MaxMessageBytes: 4096, MaxChunkBytes: 1024, MaxFrameBytes: 64 << 10,
		HeartbeatInterval: durationpb.New(testHeartbeat),
		HeartbeatTimeout:  durationpb.New(testSilence),
		ResumeGrace:       durationpb.New(testGrace),
	}
	if change != nil {
		change(said)
	}
	return &pb.ServerFrame{Frame: &pb.ServerFrame_Welcome{Welcome: said}}
}

func resumed(lastReceived uint64) *pb.ServerFrame {
	return welcome(func(said *pb.Welcome) {
		said.ResumeOutcome = pb.ResumeOutcome_RESUME_OUTCOME_RESUMED
		said.LastSequenceReceived = lastReceived
	})
}

// scene is an agent that is attached to a fake server.
type scene struct {
	t       *testing.T
	agent   *Agent
	server  *fakeServer
	stream  *fakeStream
	started chan *Invocation
	mayEnd  chan Output
}

// play runs a test in a bubble with a clock of its own, which jumps where all wait.
func play(t *testing.T, test func(*testing.T, *scene)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		scene := &scene{
			t:       t,
			server:  &fakeServer{streams: make(chan *fakeStream, 1)},
			started: make(chan *Invocation, 64),
			mayEnd:  make(chan Output, 64),
		}
		client := &Client{runtime: scene.server}
		go func() {
			scene.stream = <-scene.server.streams
			scene.stream.say(0, welcome(nil))
		}()
		agent, err := client.Connect(t.Context(), AgentConfig{Tools: []Tool{{
			Name: Named("tool"), WaitForTeardown: true,
			Handler: func(ctx context.Context, invocation *Invocation) (Output, error) {
				scene.started <- invocation
				select {
				case output := <-scene.mayEnd:
					return output, nil
				case <-ctx.Done():
					return nil, context.Cause(ctx)
				}
			},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		scene.agent = agent
		if hello := scene.stream.next().GetFrames()[0].GetHello(); hello.GetSessionId() != "" {
			t.Errorf("a new agent said %v", hello)
		}
		defer scene.leave()
		test(t, scene)
	})
}

// leave cuts the connection for good.
func (s *scene) leave() {
	synctest.Wait()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_ = s.agent.Detach(ended, false)
	synctest.Wait()
}

// reconnected is the client's next connection, its Hello and an answer to that.
func (s *scene) reconnected(answer *pb.ServerFrame) *pb.Hello {
	s.t.Helper()
	select {
	case s.stream = <-s.server.streams:
	case <-time.After(testGrace):
		s.t.Fatal("the client did not connect again")
	}
	first := s.stream.next()
	if first.GetSequence() != 0 || len(first.GetFrames()) != 1 {
		s.t.Fatalf("a connection begins with %v", first)
	}
	s.stream.say(0, answer)
	return first.GetFrames()[0].GetHello()
}

func (s *scene) dispatch(id string) *PendingCall {
	return s.agent.Dispatch(s.t.Context(), Call{
		ID: id, TurnID: "turn", Tool: Named("tool"), Payload: FunctionPayload(`{}`)})
}

func invoke(token, id string) *pb.ServerFrame {
	return &pb.ServerFrame{Frame: &pb.ServerFrame_InvokeHandler{InvokeHandler: &pb.InvokeHandler{
		InvocationToken: []byte(token),
		Call: &pb.ToolCall{
			CallId: id, TurnId: "turn", ToolName: &pb.ToolName{Name: "tool"},
			Payload: FunctionPayload(`{}`).wire(),
		},
	}}}
}

func completes(id string) *pb.ServerFrame {
	return &pb.ServerFrame{Frame: &pb.ServerFrame_CallCompleted{CallCompleted: &pb.CallCompleted{
		Call: &pb.CallReference{TurnId: "turn", CallId: id},
		Outcome: &pb.CallOutcome{
			Outcome: &pb.CallOutcome_Completed{Completed: &pb.CompletedOutcome{Success: true}}},
	}}}
}

func refuses(sequence uint64, index *uint32, reason pb.ErrorReason) *pb.ServerFrame {
	return &pb.ServerFrame{Frame: &pb.ServerFrame_FrameError{FrameError: &pb.FrameError{
		Sequence: sequence, FrameIndex: index, Reason: reason, Message: "no"}}}
}
