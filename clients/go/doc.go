// Package sidecall is the client of sidecall, the sidecar that runs the tool calls of an agent:
// it orders them, asks hooks, cancels, records what was attempted, and makes what the model
// reads. The tools and hooks stay ordinary Go functions in the agent's own process.
//
// An agent dials the sidecar (or starts one with [Spawn]), connects with its tools and hooks,
// and dispatches what the model asked for:
//
//	client, err := sidecall.Dial(sidecall.Config{})
//	agent, err := client.Connect(ctx, sidecall.AgentConfig{Tools: tools})
//	turn := agent.Turn("turn-1")
//	turn.Dispatch(ctx, sidecall.Call{ID: "call-1", Tool: sidecall.Named("echo"),
//		Payload: sidecall.FunctionPayload(`{"text":"hello"}`)})
//	items, err := turn.ResponseItems(ctx)
//
// The connection looks after itself: it resumes after a loss, sends again what was not
// acknowledged, and keeps to the limits that the sidecar grants. Errors of the sidecar are
// [*Error]; the end of the session is [*SessionLostError].
package sidecall
