package sidecall

import (
	"bytes"
	"fmt"
	"sync"
)

// CollectionBufferBytes is the room a [HeadTail] has unless told otherwise (SPEC C7).
const CollectionBufferBytes = 1 << 20

// HeadTail collects what a process writes, within bounds: the first and the last half of its
// room stay, the middle is dropped and counted (SPEC C7). It is an io.Writer that never fails,
// so that it can be an exec.Cmd's Stdout and Stderr at once. Safe for concurrent use. The zero
// value has [CollectionBufferBytes] of room.
type HeadTail struct {
	mu       sync.Mutex
	capacity int
	observed uint64
	head     []byte
	tail     []byte
}

// NewHeadTail makes a buffer with room for so many bytes.
func NewHeadTail(capacity int) *HeadTail { return &HeadTail{capacity: capacity} }

// Write takes all of data.
func (h *HeadTail) Write(data []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.capacity == 0 {
		h.capacity = CollectionBufferBytes
	}
	headRoom := h.capacity / 2
	tailRoom := h.capacity - headRoom
	written := len(data)
	h.observed += uint64(written)
	if room := headRoom - len(h.head); room > 0 {
		taken := min(room, len(data))
		h.head = append(h.head, data[:taken]...)
		data = data[taken:]
	}
	if len(data) > tailRoom {
		data = data[len(data)-tailRoom:]
	}
	if excess := len(h.tail) + len(data) - tailRoom; excess > 0 {
		h.tail = append(h.tail[:0], h.tail[excess:]...)
	}
	h.tail = append(h.tail, data...)
	return written, nil
}

// ObservedBytes counts everything that was written.
func (h *HeadTail) ObservedBytes() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.observed
}

// OmittedBytes counts what was dropped from the middle.
func (h *HeadTail) OmittedBytes() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.omitted()
}

func (h *HeadTail) omitted() uint64 { return h.observed - uint64(len(h.head)+len(h.tail)) }

// OriginalTokens counts the tokens of everything that was written, four bytes each.
func (h *HeadTail) OriginalTokens() uint64 { return (h.ObservedBytes() + 3) / 4 }

// Bytes is what was kept; where something was dropped, a line between head and tail says so.
func (h *HeadTail) Bytes() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	var kept bytes.Buffer
	kept.Write(h.head)
	if omitted := h.omitted(); omitted > 0 {
		fmt.Fprintf(&kept, "\n... %d bytes omitted ...\n", omitted)
	}
	kept.Write(h.tail)
	return kept.Bytes()
}

// ExecOutput is what was collected as the output of a command; add what else is known of it.
func (h *HeadTail) ExecOutput(truncation Truncation) ExecOutput {
	return ExecOutput{
		Output:         h.Bytes(),
		Truncation:     truncation,
		OriginalTokens: new(h.OriginalTokens()),
		OmittedBytes:   h.OmittedBytes(),
	}
}
