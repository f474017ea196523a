// Command go runs the benchmark's cycle through the Go client; tests/bench/clients/__init__.py
// says how it is told what to do.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"sync"
	"time"

	sidecall "github.com/sidecall/sidecall/clients/go"
)

type line struct {
	Endpoint    string  `json:"endpoint"`
	Arguments   string  `json:"arguments"`
	Output      string  `json:"output"`
	InFlight    int     `json:"in_flight"`
	TurnCalls   int     `json:"turn_calls"`
	WarmUpCalls int     `json:"warm_up_calls"`
	Seconds     float64 `json:"seconds"`
}

type result struct {
	Seconds float64 `json:"seconds"`
	Calls   int     `json:"calls"`
}

// cycle counts the calls of one line.
type cycle struct {
	line
	mu     sync.Mutex
	result result
	began  time.Time
}

func main() {
	lines := json.NewDecoder(os.Stdin)
	for {
		var cycle cycle
		err := lines.Decode(&cycle.line)
		if errors.Is(err, io.EOF) {
			return
		}
		if err == nil {
			err = cycle.run(context.Background())
		}
		if err != nil {
			log.Fatal(err)
		}
		say(cycle.result)
	}
}

func (c *cycle) run(ctx context.Context) error {
	client, err := sidecall.Dial(sidecall.Config{Endpoint: c.Endpoint})
	if err != nil {
		return err
	}
	defer client.Close()
	agent, err := client.Connect(ctx, sidecall.AgentConfig{
		Tools: []sidecall.Tool{{Name: sidecall.Named("work"), Handler: c.work, Parallel: true}},
	})
	if err != nil {
		return err
	}
	failed := make(chan error, c.InFlight)
	for number := range c.InFlight {
		go func() { failed <- c.loop(ctx, agent, number) }()
	}
	for range c.InFlight {
		err = errors.Join(err, <-failed)
	}
	return errors.Join(err, agent.Close(ctx))
}

func (c *cycle) work(context.Context, *sidecall.Invocation) (sidecall.Output, error) {
	return sidecall.Text(c.Output), nil
}

func (c *cycle) loop(ctx context.Context, agent *sidecall.Agent, number int) error {
	for turn := 0; ; turn++ {
		turnID := fmt.Sprintf("turn_%d_%d", number, turn)
		for call := range c.TurnCalls {
			outcome, err := agent.Call(ctx, sidecall.Call{
				ID: fmt.Sprintf("call_%d", call), TurnID: turnID, Tool: sidecall.Named("work"),
				Payload: sidecall.FunctionPayload(c.Arguments),
			})
			if err != nil {
				return err
			}
			if outcome.Lifecycle != sidecall.LifecycleCompleted {
				return fmt.Errorf("the call ended otherwise: %+v", outcome)
			}
			if c.over() {
				return nil
			}
		}
		if err := agent.EndTurn(ctx, turnID); err != nil {
			return err
		}
	}
}

// over counts a call and says whether the time is up.
func (c *cycle) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.result.Seconds >= c.Seconds {
		return true
	}
	c.result.Calls++
	if !c.began.IsZero() {
		c.result.Seconds = time.Since(c.began).Seconds()
	} else if c.result.Calls == c.WarmUpCalls {
		c.result.Calls, c.began = 0, time.Now()
		say("running")
	}
	return c.result.Seconds >= c.Seconds
}

func say(message any) {
	if err := json.NewEncoder(os.Stdout).Encode(message); err != nil {
		log.Fatal(err)
	}
}
