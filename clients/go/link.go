package sidecall

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	pb "github.com/sidecall/sidecall/clients/go/sidecallv1"
)

// acknowledgeAfter is how many numbered messages may come before the client acknowledges them
// with an empty message, where it has nothing else to say.
const acknowledgeAfter = 16

// maxFramesPerMessage bounds how long the server reads one message.
const maxFramesPerMessage = 64

// place is where a frame was sent, so that a FrameError can be told whom it concerns. A frame in
// pieces spans several messages.
type place struct {
	first, last uint64
	index       uint32
}

// covers says whether a FrameError about the message and frame concerns the frame sent here.
func (p *place) covers(frame *pb.FrameError) bool {
	if p == nil || p.last == 0 || frame.FrameIndex == nil {
		return false
	}
	sequence := frame.GetSequence()
	return p.first <= sequence && sequence <= p.last && p.index == frame.GetFrameIndex()
}

type queuedFrame struct {
	frame *pb.ClientFrame
	size  int
	// alone: a piece of a large frame, which has a message for itself.
	alone bool
	at    *place
}

// link is the numbering of one session's messages in both directions, across its connections:
// what waits to be sent, what is kept until it is acknowledged, and what was seen. It does no
// I/O. Not safe for concurrent use.
type link struct {
	maxChunkBytes int
	queue         []queuedFrame
	// kept are the numbered messages that are not acknowledged, in order.
	kept []*pb.ConnectRequest
	// unsent is the index of the first kept message that this connection has not sent.
	unsent       int
	lastSequence uint64
	lastSeen     uint64
	// unanswered counts the messages seen that no outgoing message has acknowledged.
	unanswered int
	transfers  uint64
	incoming   map[uint64][]byte
}

// put queues a frame, in pieces where it is large. `at` is filled in as it is sent; nil where
// nobody asks.
func (l *link) put(frame *pb.ClientFrame, at *place) {
	size := proto.Size(frame)
	if l.maxChunkBytes == 0 || size <= l.maxChunkBytes {
		l.queue = append(l.queue, queuedFrame{frame: frame, size: size, at: at})
		return
	}
	whole, err := proto.Marshal(frame)
	if err != nil {
		panic(fmt.Sprintf("sidecall: a frame that cannot be serialised: %v", err))
	}
	l.transfers++
	for rest := whole; len(rest) > 0; {
		piece := rest[:min(len(rest), l.maxChunkBytes)]
		rest = rest[len(piece):]
		l.queue = append(l.queue, queuedFrame{
			frame: &pb.ClientFrame{Frame: &pb.ClientFrame_OutputChunk{OutputChunk: &pb.OutputChunk{
				TransferId: l.transfers, SizeBytes: uint64(size), Data: piece}}},
			size: len(piece), alone: true, at: at,
		})
	}
}

// take gives the next numbered message to send: one that this connection has not sent yet, else
// a new one out of what waits. Nil when nothing waits.
func (l *link) take() *pb.ConnectRequest {
	if l.unsent == len(l.kept) && !l.pack() {
		return nil
	}
	message := l.kept[l.unsent]
	l.unsent++
	message.Acknowledged = l.lastSeen
	l.unanswered = 0
	return message
}

// pack makes one message out of the frames that wait.
func (l *link) pack() bool {
	if len(l.queue) == 0 {
		return false
	}
	l.lastSequence++
	message := &pb.ConnectRequest{Sequence: l.lastSequence}
	bytes, taken := 0, 0
	for _, queued := range l.queue {
		full := taken >= maxFramesPerMessage || bytes+queued.size > l.maxChunkBytes
		if taken > 0 && (queued.alone || full) {
			break
		}
		if queued.at != nil {
			if queued.at.first == 0 {
				queued.at.first = l.lastSequence
			}
			queued.at.last, queued.at.index = l.lastSequence, uint32(taken)
		}
		message.Frames = append(message.Frames, queued.frame)
		bytes += queued.size
		taken++
		if queued.alone {
			break
		}
	}
	clear(l.queue[:taken])
	l.queue = l.queue[taken:]
	l.kept = append(l.kept, message)
	return true
}

// owesAcknowledgement says whether an empty message is due.
func (l *link) owesAcknowledgement() bool { return l.unanswered >= acknowledgeAfter }

// unnumbered makes a message outside the sequence: an acknowledgement and maybe a frame.
func (l *link) unnumbered(frames ...*pb.ClientFrame) *pb.ConnectRequest {
	l.unanswered = 0
	return &pb.ConnectRequest{Acknowledged: l.lastSeen, Frames: frames}
}

// forget drops what the server has seen.
func (l *link) forget(acknowledged uint64) {
	count := 0
	for count < len(l.kept) && l.kept[count].GetSequence() <= acknowledged {
		count++
	}
	clear(l.kept[:count])
	l.kept = l.kept[count:]
	l.unsent = max(0, l.unsent-count)
}

// idle says whether the server has seen everything.
func (l *link) idle() bool { return len(l.kept) == 0 && len(l.queue) == 0 }

// see takes the sequence of a message from the server. False: it was seen before, or is not
// counted and may be read all the same when sequence is 0.
func (l *link) see(sequence uint64) (fresh bool, err error) {
	switch {
	case sequence == 0:
		return true, nil
	case sequence <= l.lastSeen:
		return false, nil
	case sequence > l.lastSeen+1:
		return false, fmt.Errorf("message %d came where %d is next", sequence, l.lastSeen+1)
	}
	l.lastSeen = sequence
	l.unanswered++
	return true, nil
}

// resume begins a new connection: the server has seen so much, the rest is sent again.
func (l *link) resume(welcome *pb.Welcome) {
	l.maxChunkBytes = int(welcome.GetMaxChunkBytes())
	l.forget(welcome.GetLastSequenceReceived())
	l.unsent = 0
	if welcome.GetResumeOutcome() != pb.ResumeOutcome_RESUME_OUTCOME_RESUMED {
		l.lastSeen = max(welcome.GetNextSequence(), 1) - 1
		l.incoming = nil
	}
}

// join takes a piece of a large frame of the server; the frame when it is whole.
func (l *link) join(piece *pb.OutputChunk) (*pb.ServerFrame, error) {
	if l.incoming == nil {
		l.incoming = map[uint64][]byte{}
	}
	id := piece.GetTransferId()
	joined := append(l.incoming[id], piece.GetData()...)
	l.incoming[id] = joined
	if uint64(len(joined)) < piece.GetSizeBytes() {
		return nil, nil
	}
	delete(l.incoming, id)
	frame := &pb.ServerFrame{}
	if err := proto.Unmarshal(joined, frame); err != nil {
		return nil, fmt.Errorf("transfer %d is not a frame: %w", id, err)
	}
	return frame, nil
}
