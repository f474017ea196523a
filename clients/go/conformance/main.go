// Command conformance drives the Go client for the conformance suite: JSON commands on stdin,
// one per line; JSON events on stdout, one per line. The suite plays the model and the handlers:
// a handler or hook that is asked says so, and waits for the suite's answer.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	sidecall "github.com/sidecall/sidecall/clients/go"
)

const (
	// maxLineBytes bounds a command.
	maxLineBytes = 64 << 20
	// leaveTimeout is how long a detach may take after the end of stdin.
	leaveTimeout = 5 * time.Second
)

func main() {
	driver := &driver{
		events:  newEvents(os.Stdout),
		answers: newMailboxes[command](),
		turns:   map[string]*sidecall.Turn{},
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, maxLineBytes)
	for lines.Scan() {
		var read command
		if err := json.Unmarshal(lines.Bytes(), &read); err != nil {
			driver.events.fail("error", fmt.Errorf("not a command: %w", err), nil)
			continue
		}
		driver.do(context.Background(), read)
	}
	driver.left()
}

type driver struct {
	events  *events
	answers *mailboxes[command]
	client  *sidecall.Client
	agent   *sidecall.Agent
	turns   map[string]*sidecall.Turn
	leaving sync.WaitGroup
}

// left waits for a detach under way; not for handlers that nobody will answer any more.
func (d *driver) left() {
	left := make(chan struct{})
	go func() {
		d.leaving.Wait()
		close(left)
	}()
	select {
	case <-left:
	case <-time.After(leaveTimeout):
	}
}

// do carries a command out. What sends does so before it returns, so that commands take effect
// in their order; what waits for the sidecar does so beside the next commands.
func (d *driver) do(ctx context.Context, read command) {
	switch read.Do {
	case "connect":
		d.connect(ctx, read)
		return
	case "answer", "torn_down":
		d.answers.put(read.Do+read.TurnID+"/"+read.CallID, read)
		return
	case "verdict":
		d.answers.put(read.Point+read.TurnID+"/"+read.CallID, read)
		return
	}
	if d.agent == nil {
		d.events.fail("error", fmt.Errorf("%q comes before connect", read.Do), nil)
		return
	}
	switch read.Do {
	case "dispatch":
		d.dispatch(ctx, read)
	case "drop":
		d.agent.DropConnection()
	case "cancel":
		d.cancel(ctx, read)
	case "outputs":
		go d.outputs(ctx, read.TurnID)
	case "update_tools":
		d.updateTools(ctx, read)
	case "register_cell":
		d.answered("registered", d.agent.RegisterCell(ctx, read.CellID, read.key().ref()))
	case "end_turn":
		d.answered("turn_ended", d.agent.EndTurn(ctx, read.TurnID))
	case "attach":
		d.attach(ctx, read)
	case "detach":
		d.leaving.Go(func() { d.answered("detached", d.agent.Detach(ctx, read.Close)) })
	default:
		d.events.fail("error", fmt.Errorf("unknown command %q", read.Do), nil)
	}
}

func (d *driver) answered(kind string, err error) {
	if err != nil {
		d.events.fail("error", err, nil)
		return
	}
	d.events.say(kind, nil)
}

func (d *driver) connect(ctx context.Context, read command) {
	config := sidecall.AgentConfig{
		Name:    "conformance",
		Options: read.Options.options(),
		OnRefusedFrame: func(refusal *sidecall.Error) {
			d.events.fail("error", refusal, nil)
		},
	}
	var began sync.Once
	first := make(chan sidecall.ResumeOutcome, 1)
	config.OnConnection = func(how sidecall.ResumeOutcome) {
		again := true
		began.Do(func() { again = false; first <- how })
		if again {
			d.events.say("reconnected", event{"resume": how})
		}
	}
	for _, spec := range read.Tools {
		config.Tools = append(config.Tools, spec.tool(d.handle))
	}
	for _, spec := range read.Hooks {
		config.Hooks = append(config.Hooks, d.hook(spec))
	}
	var err error
	if d.client, err = sidecall.Dial(sidecall.Config{Endpoint: read.Endpoint}); err != nil {
		d.events.fail("error", err, nil)
		return
	}
	agent, err := d.client.Connect(ctx, config)
	if err != nil {
		d.events.fail("error", err, nil)
		return
	}
	d.agent = agent
	d.events.say("connected", event{
		"session_id":          agent.Session().ID,
		"resume":              <-first,
		"effective_tool_mode": agent.ToolMode(),
	})
}

func (d *driver) dispatch(ctx context.Context, read command) {
	call := read.Call.call()
	turn, known := d.turns[call.TurnID]
	if !known {
		turn = d.agent.Turn(call.TurnID)
		d.turns[call.TurnID] = turn
	}
	var options []sidecall.DispatchOption
	if read.Views != nil {
		options = append(options, sidecall.WithViews(views(read.Views)...))
	}
	if read.TimeoutMS > 0 {
		options = append(options, sidecall.WithTimeout(milliseconds(read.TimeoutMS)))
	}
	pending := turn.Dispatch(ctx, call, options...)
	go func() {
		outcome, err := pending.Wait(ctx)
		if err != nil {
			d.events.fail("refused", err, event{"turn_id": call.TurnID, "call_id": call.ID})
			return
		}
		d.events.say("completed", outcomeFields(outcome))
	}()
}

func (d *driver) handle(
	ctx context.Context, invocation *sidecall.Invocation,
) (sidecall.Output, error) {
	ids := event{"turn_id": invocation.TurnID, "call_id": invocation.ID}
	key := invocation.TurnID + "/" + invocation.ID
	d.events.say("handler_started", event{
		"turn_id": invocation.TurnID, "call_id": invocation.ID, "name": invocation.Tool.Name,
		"payload": payloadFields(invocation.Payload), "rewritten": invocation.Rewritten,
	})
	select {
	case answer := <-d.answers.box("answer" + key):
		if answer.Result == nil {
			return nil, fmt.Errorf("the answer to %s has no result", key)
		}
		return answer.Result.answer()
	case <-ctx.Done():
	}
	d.events.say("handler_cancelled", ids)
	if aborted, ok := context.Cause(ctx).(*sidecall.AbortError); ok && aborted.WaitForTeardown {
		<-d.answers.box("torn_down" + key)
	}
	return nil, context.Cause(ctx)
}

func (d *driver) hook(spec hookSpec) sidecall.Hook {
	return sidecall.Hook{
		Point:    hookPoints[spec.Point],
		Matchers: spec.Matchers,
		Timeout:  milliseconds(spec.TimeoutMS),
		Run: func(ctx context.Context, input sidecall.HookInput) (sidecall.Verdict, error) {
			asked := event{
				"turn_id": input.Call.TurnID, "call_id": input.Call.CallID, "point": spec.Point,
				"tool_name": input.ToolName, "tool_input_json": string(input.ToolInput),
			}
			if input.ToolResponse != nil {
				asked["tool_response_json"] = string(input.ToolResponse)
			}
			d.events.say("hook_started", asked)
			box := d.answers.box(spec.Point + input.Call.TurnID + "/" + input.Call.CallID)
			select {
			case said := <-box:
				return said.Verdict.verdict(said.Contexts)
			case <-ctx.Done():
				return sidecall.Proceed(), context.Cause(ctx)
			}
		},
	}
}

func (d *driver) cancel(ctx context.Context, read command) {
	target := sidecall.CancelTarget{TurnID: read.TurnID, All: read.All}
	for _, call := range read.Calls {
		target.Calls = append(target.Calls, call.ref())
	}
	cancelled, err := d.agent.Cancel(ctx, target)
	if err != nil {
		d.events.fail("error", err, nil)
		return
	}
	calls := []event{}
	for _, one := range cancelled {
		calls = append(calls, event{
			"turn_id": one.Call.TurnID, "call_id": one.Call.CallID,
			"disposition": one.Disposition,
		})
	}
	d.events.say("cancel_result", event{"calls": calls})
}

func (d *driver) updateTools(ctx context.Context, read command) {
	var upsert []sidecall.Tool
	for _, spec := range read.Upsert {
		upsert = append(upsert, spec.tool(d.handle))
	}
	var remove []sidecall.ToolName
	for _, spec := range read.Remove {
		remove = append(remove, name(spec.Name, spec.Namespace))
	}
	d.answered("updated", d.agent.UpdateTools(ctx, upsert, remove))
}

func (d *driver) outputs(ctx context.Context, turnID string) {
	items := []string{}
	if turn, known := d.turns[turnID]; known {
		ready, _ := turn.ResponseItems(ctx) // what has none was said as refused
		for _, item := range ready {
			items = append(items, string(item))
		}
	}
	d.events.say("outputs", event{"response_items": items})
}

func (d *driver) attach(ctx context.Context, read command) {
	request := sidecall.AttachRequest{
		SamplingRequestID: read.SamplingRequestID, TurnID: read.TurnID,
	}
	for _, output := range read.Outputs {
		request.Outputs = append(request.Outputs, output.output())
	}
	attachments, err := d.agent.Attach(ctx, request)
	if err != nil {
		d.events.fail("error", err, nil)
		return
	}
	outputs := []event{}
	for _, one := range attachments {
		outputs = append(outputs, event{
			"index": one.Index, "json": string(one.ExecutedToolCalls),
			"metadata_bytes": one.MetadataBytes,
		})
	}
	d.events.say("attached", event{"attached": len(outputs) > 0, "outputs": outputs})
}
