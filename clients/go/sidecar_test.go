package sidecall_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	sidecall "github.com/sidecall/sidecall/clients/go"
)

// patience bounds what a test waits for; it is never waited for in a test that passes.
const patience = 30 * time.Second

// executable is the server that the tests run against.
func executable() (string, error) {
	path := os.Getenv(sidecall.ExecutableVariable)
	if path == "" {
		path = filepath.Join("..", "..", ".venv", "bin", "sidecall")
	}
	path, err := filepath.Abs(path)
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		return "", fmt.Errorf("no sidecar to test against: %w; run `make setup`, or say which in %s",
			err, sidecall.ExecutableVariable)
	}
	return path, nil
}

// spawn starts a sidecar for one test.
func spawn(t *testing.T, flags ...string) *sidecall.Sidecar {
	t.Helper()
	path, err := executable()
	if err != nil {
		t.Fatal(err)
	}
	sidecar, err := sidecall.Spawn(t.Context(), sidecall.SpawnConfig{Executable: path, Args: flags})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sidecar.Stop(context.Background()) }) // some tests have killed it
	return sidecar
}

// shared is one sidecar for all tests that need nothing special of it.
var shared = sync.OnceValues(func() (*sidecall.Sidecar, error) {
	path, err := executable()
	if err != nil {
		return nil, err
	}
	return sidecall.Spawn(context.Background(), sidecall.SpawnConfig{Executable: path})
})

func TestMain(m *testing.M) {
	if os.Getenv(orphanVariable) != "" {
		spawnAndWait()
		return
	}
	code := m.Run()
	if sidecar, err := shared(); err == nil {
		if err := sidecar.Stop(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, "the sidecar did not stop well:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// dial makes a client of the sidecar at an endpoint. Empty: the shared one.
func dial(t *testing.T, endpoint string) *sidecall.Client {
	t.Helper()
	if endpoint == "" {
		sidecar, err := shared()
		if err != nil {
			t.Fatal(err)
		}
		endpoint = sidecar.Endpoint
	}
	client, err := sidecall.Dial(sidecall.Config{Endpoint: endpoint})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

// connect attaches an agent to the shared sidecar.
func connect(t *testing.T, config sidecall.AgentConfig) *sidecall.Agent {
	t.Helper()
	return connectTo(t, dial(t, ""), config)
}

func connectTo(
	t *testing.T, client *sidecall.Client, config sidecall.AgentConfig,
) *sidecall.Agent {
	t.Helper()
	agent, err := client.Connect(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := agent.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return agent
}

// limited ends a test that waits for what never comes.
func limited(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// await gets a value from a channel.
func await[T any](t *testing.T, from <-chan T, what string) T {
	t.Helper()
	select {
	case value := <-from:
		return value
	case <-time.After(patience):
		t.Fatalf("%s: it never came", what)
		panic("unreachable")
	}
}

// outcomeOf waits for the outcome of a call.
func outcomeOf(t *testing.T, pending *sidecall.PendingCall) sidecall.Outcome {
	t.Helper()
	outcome, err := pending.Wait(limited(t))
	if err != nil {
		t.Fatal(err)
	}
	return outcome
}

// call is a function call without arguments.
func call(turn, id, tool string) sidecall.Call {
	return sidecall.Call{
		ID: id, TurnID: turn, Tool: sidecall.Named(tool), Payload: sidecall.FunctionPayload(`{}`),
	}
}

// saying is a tool that answers with a text.
func saying(name, text string) sidecall.Tool {
	return sidecall.Tool{
		Name: sidecall.Named(name),
		Handler: func(context.Context, *sidecall.Invocation) (sidecall.Output, error) {
			return sidecall.Text(text), nil
		},
	}
}

// failing is a tool that fails.
func failing(name string, err error) sidecall.Tool {
	return sidecall.Tool{
		Name: sidecall.Named(name),
		Handler: func(context.Context, *sidecall.Invocation) (sidecall.Output, error) {
			return nil, err
		},
	}
}

// puppet is a tool whose test decides when it returns what.
type puppet struct {
	sidecall.Tool
	// started gets each invocation.
	started chan *sidecall.Invocation
	// text is what it returns, once for each.
	text chan string
	// stopped gets why its context has ended.
	stopped chan error
	// mayEnd lets a stopped handler return.
	mayEnd chan struct{}
}

func newPuppet(name string) *puppet {
	made := &puppet{
		started: make(chan *sidecall.Invocation, 16),
		text:    make(chan string, 16),
		stopped: make(chan error, 16),
		mayEnd:  make(chan struct{}, 16),
	}
	made.Name = sidecall.Named(name)
	made.Handler = func(
		ctx context.Context, invocation *sidecall.Invocation,
	) (sidecall.Output, error) {
		made.started <- invocation
		select {
		case text := <-made.text:
			return sidecall.Text(text), nil
		case <-ctx.Done():
			made.stopped <- context.Cause(ctx)
			<-made.mayEnd
			return nil, context.Cause(ctx)
		}
	}
	return made
}

// contains checks that a text has a part.
func contains(t *testing.T, text []byte, part string) {
	t.Helper()
	if !bytes.Contains(text, []byte(part)) {
		t.Errorf("%s does not contain %q", text, part)
	}
}
