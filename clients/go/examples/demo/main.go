// Command demo is an agent with real tools: it starts a sidecar, plays a scripted turn of a
// model, and makes the model's next request. It fails where anything is not as it must be.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	sidecall "github.com/sidecall/sidecall/clients/go"
)

const (
	// mcpServerVariable holds the path of mcp-server-time.
	mcpServerVariable = "MCP_SERVER_TIME"
	// timeLimit bounds the whole demo.
	timeLimit = 30 * time.Second
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), timeLimit)
	defer cancel()
	if err := demo(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// demo brings up the MCP server and the sidecar, and lets the agent act between them.
func demo(ctx context.Context, out io.Writer) (err error) {
	server := os.Getenv(mcpServerVariable)
	if server == "" {
		server = "mcp-server-time"
	}
	mcpServer, err := connectMCP(ctx, server, "--local-timezone", "UTC")
	if err != nil {
		return fmt.Errorf("%w (say where mcp-server-time is with %s)", err, mcpServerVariable)
	}
	defer func() { err = errors.Join(err, mcpServer.Close()) }()
	tools, err := mcpTools(ctx, mcpNamespace, mcpServer)
	if err != nil {
		return err
	}
	shell := newShell()
	config := sidecall.AgentConfig{
		Name:  "demo-go",
		Tools: append(tools, shell.tool()),
		Hooks: []sidecall.Hook{guard()},
	}
	return sidecall.Run(ctx, sidecall.SpawnConfig{}, config,
		func(ctx context.Context, agent *sidecall.Agent) error {
			return act(ctx, agent, shell, out)
		})
}

// act plays the turn and makes the next request.
func act(ctx context.Context, agent *sidecall.Agent, shell *shell, out io.Writer) error {
	steps := script()
	fmt.Fprintf(out, "The model asks for %d calls in one turn.\n\n", len(steps))
	turn := agent.Turn(turnID)
	for _, step := range steps {
		if err := play(ctx, turn, step, shell); err != nil {
			return err
		}
	}
	outcomes, err := turn.Outcomes(ctx)
	if err != nil {
		return err
	}
	attach := sidecall.AttachRequest{SamplingRequestID: "request_2", TurnID: turnID}
	for index, outcome := range outcomes {
		reportCall(out, steps[index], outcome)
		if err := steps[index].check(outcome); err != nil {
			return err
		}
		attach.Outputs = append(attach.Outputs, outcome.Call.PromptOutput())
	}
	if !shell.wasKilled(runsLong) {
		return fmt.Errorf("the process of %s was not ended", runsLong)
	}
	attachments, err := agent.Attach(ctx, attach)
	if err != nil {
		return err
	}
	request, err := nextRequest(outcomes, attachments)
	if err != nil {
		return err
	}
	items, err := checkRequest(request, steps)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nThe next model request (%d bytes) says, each with its record:\n\n",
		len(request))
	reportRequest(out, items)
	fmt.Fprintln(out, "\nAll as expected.")
	return turn.End(ctx)
}

// play dispatches one call, cancels it if it is the one that runs long, and waits for its end
// unless it runs beside the next.
func play(ctx context.Context, turn *sidecall.Turn, step step, shell *shell) error {
	pending := turn.Dispatch(ctx, step.call)
	if step.call.ID == runsLong {
		select {
		case <-shell.runs(runsLong):
			pending.Cancel()
		case <-pending.Done():
		case <-ctx.Done():
		}
	}
	if step.beside {
		return nil
	}
	_, err := pending.Wait(ctx)
	return err
}
