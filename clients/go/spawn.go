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
	"time"
)

// stopTimeout is how long a sidecar may take to leave after its stdin was closed.
const stopTimeout = 10 * time.Second

// SpawnConfig says how to start a sidecar.
type SpawnConfig struct {
	// Command is the program and its first arguments. Nil: SIDECALL_COMMAND, parted at blanks,
	// else sidecall.
	Command []string
	// Args come after `serve --socket … --exit-on-stdin-eof`.
	Args []string
	// Stderr gets the sidecar's log. Nil: nobody does.
	Stderr io.Writer
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
	stdin   io.Closer
	folder  string
	exited  chan struct{}
	err     error
}

// Spawn starts `sidecall serve` on a socket of its own and waits until it is ready. The context
// bounds only the start.
func Spawn(ctx context.Context, config SpawnConfig) (*Sidecar, error) {
	words := config.Command
	if len(words) == 0 {
		words = strings.Fields(os.Getenv(CommandVariable))
	}
	if len(words) == 0 {
		words = []string{"sidecall"}
	}
	folder, err := os.MkdirTemp("", "sidecall-")
	if err != nil {
		return nil, err
	}
	arguments := append(append([]string{}, words[1:]...), "serve",
		"--socket", filepath.Join(folder, "s.sock"), "--exit-on-stdin-eof")
	sidecar := &Sidecar{
		command: exec.Command(words[0], append(arguments, config.Args...)...),
		folder:  folder,
		exited:  make(chan struct{}),
	}
	if err := sidecar.start(ctx, config.Stderr); err != nil {
		return nil, errors.Join(fmt.Errorf("sidecall: %s: %w", words[0], err),
			os.RemoveAll(folder))
	}
	return sidecar, nil
}

func (s *Sidecar) start(ctx context.Context, stderr io.Writer) error {
	s.command.Stderr = stderr
	stdin, err := s.command.StdinPipe()
	if err != nil {
		return err
	}
	s.stdin = stdin
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

// Stop ends the sidecar: it closes its stdin, waits, and kills it where that is not enough or
// the context ends. The error is how it ended, where that was not well.
func (s *Sidecar) Stop(ctx context.Context) error {
	_ = s.stdin.Close()
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
