package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	sidecall "github.com/sidecall/sidecall/clients/go"
)

// connectMCP starts an MCP server that others wrote, over stdio.
func connectMCP(ctx context.Context, command ...string) (*mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "sidecall-demo", Version: "1.0.0"}, nil)
	server := &mcp.CommandTransport{Command: exec.Command(command[0], command[1:]...)}
	session, err := client.Connect(ctx, server, nil)
	if err != nil {
		return nil, fmt.Errorf("the MCP server %s: %w", command[0], err)
	}
	return session, nil
}

// mcpTools are the tools of a server, ready to be declared, in a namespace of their own.
func mcpTools(
	ctx context.Context, namespace string, session *mcp.ClientSession,
) ([]sidecall.Tool, error) {
	var tools []sidecall.Tool
	for listed, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, err
		}
		tools = append(tools, sidecall.Tool{
			Name:     sidecall.NamedIn(namespace, listed.Name),
			Handler:  callMCP(session, listed.Name),
			Hooks:    sidecall.HooksMCP,
			Parallel: true,
		})
	}
	return tools, nil
}

// callMCP is the handler of a tool: the arguments go to the server as they are.
func callMCP(session *mcp.ClientSession, name string) sidecall.Handler {
	return func(ctx context.Context, asked *sidecall.Invocation) (sidecall.Output, error) {
		var arguments json.RawMessage
		if err := asked.Arguments(&arguments); err != nil {
			return nil, err
		}
		started := time.Now()
		called, err := session.CallTool(ctx,
			&mcp.CallToolParams{Name: name, Arguments: arguments})
		if err != nil {
			return nil, sidecall.RespondToModel("%v", err)
		}
		result, err := json.Marshal(called)
		if err != nil {
			return nil, err
		}
		return sidecall.MCPOutput{
			Result: result, Arguments: arguments, WallTime: time.Since(started),
			Truncation: sidecall.Truncation{Tokens: modelTokens},
		}, nil
	}
}
