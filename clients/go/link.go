package sidecall

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	pb "github.com/sidecall/sidecall/clients/go/sidecallv1"
)

const (
	// acknowledgeAfter is how many numbered messages may come before the client acknowledges
	// them with an empty message, where it has nothing else to say.
	acknowledgeAfter = 16
	// acknowledgeAfterBytes is the same by their size: the server keeps them until then.
	acknowledgeAfterBytes = 1 << 20
	// maxFramesPerMessage bounds how long the server reads one message.
	maxFramesPerMessage = 64
	// messageOverheadBytes is room for what a message holds beside its frames.
	messageOverheadBytes = 64
	// frameOverheadBytes is what a frame costs in its message beside its own bytes.
	frameOverheadBytes = 8
)

// place is where a frame was sent, so that a FrameError can be told whom it concerns. A frame in
// pieces spans several messages.
type place struct {
	first, last uint64
	index       uint32
}

// covers says whether a FrameError about a frame, or a whole message, concerns the frame here.
func (p *place) covers(frame *pb.FrameError) bool {
	sequence := frame.GetSequence()
	if p.last == 0 || sequence < p.first || p.last < sequence {
		return false
	}
	return frame.FrameIndex == nil || p.index == frame.GetFrameIndex()
}

// put says that the frame, or its next piece, is at this index of the message.
func (p *place) put(sequence uint64, index int) {
	if p == nil {
		return
	}
	if p.first == 0 {
		p.first = sequence
	}
	p.last, p.index = sequence, uint32(index)
}

type queuedFrame struct {
	frame *pb.ClientFrame
	size  int
	// at is filled in as the frame is sent. Nil: nobody asks.
	at *place
}

// link is the numbering of one session's messages in both directions, across its connections:
// what waits to be sent, what is kept until it is acknowledged, and what was seen. It does no
// I/O. Not safe for concurrent use.
type link struct {
	maxChunkBytes, maxMessageBytes, maxFrameBytes int
	// answers are small answers of handlers and hooks: each stands alone, so they go first.
	answers []queuedFrame
	// orders are the frames whose order counts, pieces of large ones among them.
	orders []queuedFrame
	// pieces are those of large answers: one per message, so that they hold up nothing.
	pieces []queuedFrame
	// farewell goes when nothing else waits. Nil: none.
	farewell *pb.ClientFrame
	// kept are the numbered messages that are not acknowledged, in order.
	kept []*pb.ConnectRequest
	// unsent is the index of the first kept message that this connection has not sent.
	unsent       int
	lastSequence uint64
	lastSeen     uint64
	// unanswered counts the messages seen that no outgoing message has acknowledged.
	unanswered, unansweredBytes int
	transfers                   uint64
	incoming                    map[uint64][]byte
}

// order queues a frame behind those whose order counts.
func (l *link) order(frame *pb.ClientFrame, at *place) {
	l.orders = append(l.orders, l.cut(frame, at)...)
}

// answer queues the answer of a handler or hook.
func (l *link) answer(frame *pb.ClientFrame, at *place) {
	if cut := l.cut(frame, at); len(cut) == 1 {
		l.answers = append(l.answers, cut...)
	} else {
		l.pieces = append(l.pieces, cut...)
	}
}

// cut makes pieces of a frame that is large.
func (l *link) cut(frame *pb.ClientFrame, at *place) []queuedFrame {
	size := proto.Size(frame)
	if l.maxChunkBytes == 0 || size <= l.maxChunkBytes {
		return []queuedFrame{{frame: frame, size: size + frameOverheadBytes, at: at}}
	}
	whole, err := proto.Marshal(frame)
	if err != nil {
		panic(fmt.Sprintf("sidecall: a frame that cannot be serialised: %v", err))
	}
	l.transfers++
	var cut []queuedFrame
	for rest := whole; len(rest) > 0; {
		piece := &pb.OutputChunk{
			TransferId: l.transfers,
			SizeBytes:  uint64(size),
			Data:       rest[:min(len(rest), l.maxChunkBytes)],
		}
		rest = rest[len(piece.Data):]
		cut = append(cut, queuedFrame{
			frame: &pb.ClientFrame{Frame: &pb.ClientFrame_OutputChunk{OutputChunk: piece}},
			size:  len(piece.Data) + frameOverheadBytes + messageOverheadBytes,
			at:    at,
		})
	}
	return cut
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
	l.unanswered, l.unansweredBytes = 0, 0
	return message
}

// pack makes one message out of the frames that wait: those that are ready together go
// together, in all about as large as a piece, and one piece of a large answer beside them.
func (l *link) pack() bool {
	message := &pb.ConnectRequest{Sequence: l.lastSequence + 1}
	room := max(l.maxMessageBytes-messageOverheadBytes, 0)
	small := min(room, l.maxChunkBytes)
	for _, waiting := range []*[]queuedFrame{&l.answers, &l.orders} {
		taken := 0
		for _, queued := range *waiting {
			count := len(message.Frames)
			full := count >= maxFramesPerMessage || queued.size > room ||
				(taken > 0 && queued.size > small)
			if count > 0 && full {
				break
			}
			queued.at.put(message.Sequence, count)
			message.Frames = append(message.Frames, queued.frame)
			small -= queued.size
			room -= queued.size
			taken++
		}
		clear((*waiting)[:taken])
		*waiting = (*waiting)[taken:]
	}
	if len(l.pieces) > 0 && (len(message.Frames) == 0 || l.pieces[0].size <= room) {
		l.pieces[0].at.put(message.Sequence, len(message.Frames))
		message.Frames = append(message.Frames, l.pieces[0].frame)
		l.pieces[0] = queuedFrame{}
		l.pieces = l.pieces[1:]
	}
	if len(message.Frames) == 0 && l.farewell != nil {
		message.Frames, l.farewell = []*pb.ClientFrame{l.farewell}, nil
	}
	if len(message.Frames) == 0 {
		return false
	}
	l.lastSequence = message.Sequence
	l.kept = append(l.kept, message)
	return true
}

// owesAcknowledgement says whether an empty message is due.
func (l *link) owesAcknowledgement() bool {
	return l.unanswered >= acknowledgeAfter || l.unansweredBytes >= acknowledgeAfterBytes
}

// unnumbered makes a message outside the sequence: an acknowledgement and maybe a frame.
func (l *link) unnumbered(frames ...*pb.ClientFrame) *pb.ConnectRequest {
	l.unanswered, l.unansweredBytes = 0, 0
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
func (l *link) idle() bool {
	return len(l.kept)+len(l.answers)+len(l.orders)+len(l.pieces) == 0
}

// see takes the sequence and size of a message from the server. Not fresh: it was seen before.
// An error: messages between are missing.
func (l *link) see(sequence uint64, size int) (fresh bool, err error) {
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
	l.unansweredBytes += size
	return true, nil
}

// resume begins a new connection: the server has seen so much, the rest is sent again.
func (l *link) resume(welcome *pb.Welcome) {
	l.maxChunkBytes = int(welcome.GetMaxChunkBytes())
	l.maxMessageBytes = int(welcome.GetMaxMessageBytes())
	l.maxFrameBytes = int(welcome.GetMaxFrameBytes())
	l.forget(welcome.GetLastSequenceReceived())
	l.lastSequence = max(l.lastSequence, welcome.GetLastSequenceReceived())
	l.unsent = 0
	if welcome.GetResumeOutcome() != pb.ResumeOutcome_RESUME_OUTCOME_RESUMED {
		l.lastSeen = max(welcome.GetNextSequence(), 1) - 1
		l.incoming = nil
	}
}

// join takes a piece of a large frame of the server; the frame when it is whole. An error: the
// pieces cannot be what a server sends that keeps to its limits.
func (l *link) join(piece *pb.OutputChunk) (*pb.ServerFrame, error) {
	if l.incoming == nil {
		l.incoming = map[uint64][]byte{}
	}
	id, size := piece.GetTransferId(), piece.GetSizeBytes()
	joined := append(l.incoming[id], piece.GetData()...)
	switch {
	case l.maxFrameBytes > 0 && size > uint64(l.maxFrameBytes):
		return nil, fmt.Errorf("transfer %d: %d bytes are above the limit of %d",
			id, size, l.maxFrameBytes)
	case uint64(len(joined)) > size:
		return nil, fmt.Errorf("transfer %d: more than the %d bytes it was to have", id, size)
	case uint64(len(joined)) < size:
		l.incoming[id] = joined
		return nil, nil
	}
	delete(l.incoming, id)
	frame := &pb.ServerFrame{}
	if err := proto.Unmarshal(joined, frame); err != nil {
		return nil, fmt.Errorf("transfer %d is not a frame: %w", id, err)
	}
	return frame, nil
}
