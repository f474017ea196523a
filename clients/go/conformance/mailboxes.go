package main

import "sync"

// mailboxRoom is how many letters wait for one reader.
const mailboxRoom = 64

// mailboxes hold letters by key, whoever comes first: writer or reader. Safe for concurrent use.
type mailboxes[T any] struct {
	mu    sync.Mutex
	boxes map[string]chan T
}

func newMailboxes[T any]() *mailboxes[T] { return &mailboxes[T]{boxes: map[string]chan T{}} }

func (m *mailboxes[T]) box(key string) chan T {
	m.mu.Lock()
	defer m.mu.Unlock()
	box, known := m.boxes[key]
	if !known {
		box = make(chan T, mailboxRoom)
		m.boxes[key] = box
	}
	return box
}

func (m *mailboxes[T]) put(key string, letter T) { m.box(key) <- letter }
