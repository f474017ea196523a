// Command minimal is a whole agent: one tool, two calls, and the next model request.
package main

import (
	"context"
	"fmt"
	"log"

	sidecall "github.com/sidecall/sidecall/clients/go"
)

// divide is a tool: an ordinary function.
func divide(_ context.Context, asked *sidecall.Invocation) (sidecall.Output, error) {
	var numbers struct{ Number, By float64 }
	if err := asked.Arguments(&numbers); err != nil {
		return nil, err
	}
	if numbers.By == 0 {
		return nil, sidecall.RespondToModel("cannot divide by zero") // the model reads this
	}
	return sidecall.Text(fmt.Sprint(numbers.Number / numbers.By)), nil
}

func act(ctx context.Context, agent *sidecall.Agent) error {
	turn := agent.Turn("turn_1")
	request := sidecall.AttachRequest{SamplingRequestID: "request_2", TurnID: turn.ID}
	for id, by := range []int{4, 0} { // what the model asked for
		call := turn.Dispatch(ctx, sidecall.Call{
			ID: fmt.Sprint("call_", id), Tool: sidecall.Named("divide"),
			Payload: sidecall.FunctionPayload(fmt.Sprintf(`{"number": 10, "by": %d}`, by)),
		})
		request.Outputs = append(request.Outputs, call.Call.PromptOutput())
	}
	items, err := turn.ResponseItems(ctx) // JSON, for the next request, in call order
	if err != nil {
		return err
	}
	for _, item := range items {
		fmt.Println(string(item))
	}
	attachments, err := agent.Attach(ctx, request) // what was attempted, by output
	for _, attached := range attachments {
		fmt.Printf("%d %s\n", attached.Index, attached.ExecutedToolCalls)
	}
	return err
}

func main() {
	tools := []sidecall.Tool{{Name: sidecall.Named("divide"), Handler: divide}}
	err := sidecall.Run(context.Background(), sidecall.SpawnConfig{},
		sidecall.AgentConfig{Tools: tools}, act)
	if err != nil {
		log.Fatal(err)
	}
}
