package main

import (
	"context"
	"errors"
	"os/exec"
	"sync"
	"syscall"
	"time"

	sidecall "github.com/sidecall/sidecall/clients/go"
)

const (
	// modelTokens is the model's truncation policy.
	modelTokens = 10_000
	// killAfter is how long a command may take to end after it was asked to.
	killAfter = 3 * time.Second
)

// shell is a tool that runs commands with bash.
type shell struct {
	mu sync.Mutex
	// wrote gets a signal, by call id, when the command has written something.
	wrote map[string]chan struct{}
	// killed are the calls whose process a cancel has ended.
	killed map[string]bool
}

func newShell() *shell {
	return &shell{wrote: map[string]chan struct{}{}, killed: map[string]bool{}}
}

func (s *shell) tool() sidecall.Tool {
	return sidecall.Tool{
		Name: sidecall.Named("shell"), Handler: s.run, Hooks: sidecall.HooksShell,
		WaitForTeardown: true,
	}
}

// runs is closed once the command of a call has written something.
func (s *shell) runs(callID string) <-chan struct{} { return s.signal(callID) }

func (s *shell) signal(callID string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wrote[callID] == nil {
		s.wrote[callID] = make(chan struct{})
	}
	return s.wrote[callID]
}

// wasKilled says whether the process of a call was ended by a cancel.
func (s *shell) wasKilled(callID string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.killed[callID]
}

func (s *shell) run(
	ctx context.Context, asked *sidecall.Invocation,
) (sidecall.Output, error) {
	var arguments struct{ Command string }
	if err := asked.Arguments(&arguments); err != nil {
		return nil, err
	}
	collected := &announced{signal: s.signal(asked.ID)}
	command := exec.CommandContext(ctx, "bash", "-c", arguments.Command)
	command.Stdout, command.Stderr = collected, collected
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGTERM) }
	command.WaitDelay = killAfter
	started := time.Now()
	err := command.Run()
	if ctx.Err() != nil {
		s.mu.Lock()
		s.killed[asked.ID] = command.ProcessState != nil
		s.mu.Unlock()
		return nil, context.Cause(ctx) // torn down: the process is gone
	}
	if ended := (*exec.ExitError)(nil); err != nil && !errors.As(err, &ended) {
		return nil, sidecall.RespondToModel("bash did not start: %v", err)
	}
	output := collected.ExecOutput(sidecall.Truncation{Tokens: modelTokens})
	output.WallTime = time.Since(started)
	output.ExitCode = new(int32(command.ProcessState.ExitCode()))
	output.HookCommand = &arguments.Command
	return output, nil
}

// announced collects what a command writes and says when it begins to.
type announced struct {
	sidecall.HeadTail
	once   sync.Once
	signal chan struct{}
}

func (a *announced) Write(data []byte) (int, error) {
	defer a.once.Do(func() { close(a.signal) })
	return a.HeadTail.Write(data)
}
