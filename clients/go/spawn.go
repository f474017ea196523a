package sidecall

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// readyTimeout is how long a sidecar may take to get ready.
	readyTimeout = 30 * time.Second
	// stopTimeout is how long a sidecar may take to leave after SIGTERM: its drain and some more.
	stopTimeout = 15 * time.Second
	// lastWordsBytes is how much of a log goes into the error of a start that failed.
	lastWordsBytes = 2000
)

// SpawnConfig says how to start a sidecar.
type SpawnConfig struct {
	// Executable is the program. Empty: SIDECALL_BIN, else sidecall on the PATH.
	Executable string
	// Args are more flags of `sidecall serve`.
	Args []string
	// Stderr gets the sidecar's log. Nil: nobody does.
	Stderr io.Writer
}

func (c SpawnConfig) executable() string {
	for _, said := range []string{c.Executable, os.Getenv(ExecutableVariable)} {
		if said != "" {
			return said
		}
	}
	return "sidecall"
}

// Sidecar is a sidecar that this process has started. It ends with this process, however that
// ends: its stdin is a pipe that only this process holds.
type Sidecar struct {
	// Endpoint is its address, for [Config].
	Endpoint string
	// Version is its version.
	Version string
	// PID is its process id.
	PID     int
	command *exec.Cmd
	folder  string
	exited  chan struct{}
	err     error
}

// Spawn starts `sidecall serve` on a socket of its own and waits until it is ready. The context
// bounds only the start. The error of a start that failed holds the sidecar's last words.
func Spawn(ctx context.Context, config SpawnConfig) (*Sidecar, error) {
	folder, err := os.MkdirTemp("", "sidecall-")
	if err != nil {
		return nil, err
	}
	flags := append([]string{"serve", "--socket", filepath.Join(folder, "s.sock"),
		"--exit-on-stdin-eof"}, config.Args...)
	sidecar := &Sidecar{
		command: exec.Command(config.executable(), flags...),
		folder:  folder,
		exited:  make(chan struct{}),
	}
	words := NewHeadTail(lastWordsBytes)
	sidecar.command.Stderr = words
	if config.Stderr != nil {
		sidecar.command.Stderr = io.MultiWriter(words, config.Stderr)
	}
	if err := sidecar.start(ctx); err != nil {
		said := strings.TrimSpace(string(words.Bytes()))
		return nil, errors.Join(
			fmt.Errorf("sidecall: cannot start %s (say which with %s): %w: %s",
				config.executable(), ExecutableVariable, err, said),
			os.RemoveAll(folder))
	}
	return sidecar, nil
}

func (s *Sidecar) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if _, err := s.command.StdinPipe(); err != nil { // held open until it has exited
		return err
	}
	stdout, err := s.command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := s.command.Start(); err != nil {
		return err
	}
	s.PID = s.command.Process.Pid
	ready := make(chan error, 1)
	go func() {
		defer close(s.exited)
		lines := bufio.NewReader(stdout)
		ready <- s.readReady(lines)
		_, _ = io.Copy(io.Discard, lines) // so that it never waits for a reader
		s.err = s.command.Wait()
	}()
	select {
	case err = <-ready:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = s.command.Process.Kill()
		<-s.exited
	}
	return err
}

func (s *Sidecar) readReady(lines *bufio.Reader) error {
	line, err := lines.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("it ended before it was ready: %w", err)
	}
	var ready struct {
		Event, Address, Version string
	}
	if err := json.Unmarshal(line, &ready); err != nil || ready.Event != "ready" {
		return fmt.Errorf("it did not say that it is ready but %q", line)
	}
	s.Endpoint, s.Version = ready.Address, ready.Version
	return nil
}

// Stop ends the sidecar: it asks it to (SIGTERM), waits, and kills it where that is not enough
// or the context ends. The error is how it ended, where that was not well.
func (s *Sidecar) Stop(ctx context.Context) error {
	// An error here means that it has ended; how is told below.
	_ = s.command.Process.Signal(syscall.SIGTERM)
	patience := time.NewTimer(stopTimeout)
	defer patience.Stop()
	select {
	case <-s.exited:
	case <-ctx.Done():
		_ = s.command.Process.Kill()
	case <-patience.C:
		_ = s.command.Process.Kill()
	}
	<-s.exited
	return errors.Join(s.err, os.RemoveAll(s.folder))
}
