package sidecall_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	sidecall "github.com/sidecall/sidecall/clients/go"
)

func TestATurnGivesItemsInCallOrderWhateverEndsFirst(t *testing.T) {
	slow, fast := newPuppet("slow"), newPuppet("fast")
	slow.Parallel, fast.Parallel = true, true
	agent := connect(t, sidecall.AgentConfig{Tools: []sidecall.Tool{slow.Tool, fast.Tool}})
	turn := agent.Turn("turn")
	turn.Dispatch(t.Context(), call("", "first", "slow"))
	second := turn.Dispatch(t.Context(), call("", "second", "fast"))
	await(t, slow.started, "slow")
	fast.text <- "the second"
	outcomeOf(t, second)
	slow.text <- "the first"

	items, err := turn.ResponseItems(limited(t))
	if err != nil || len(items) != 2 {
		t.Fatalf("items %s, error %v", items, err)
	}
	contains(t, items[0], `"call_id":"first","output":"the first"`)
	contains(t, items[1], `"call_id":"second","output":"the second"`)
	if err := turn.End(limited(t)); err != nil {
		t.Fatal(err)
	}
	_, err = turn.Dispatch(t.Context(), call("", "third", "fast")).Wait(limited(t))
	if refusal := (*sidecall.Error)(nil); !errors.As(err, &refusal) || refusal.Reason != "TURN_ENDED" {
		t.Fatalf("got %v after the turn's end", err)
	}
}

func TestWhatAHandlerFailsWithDecidesWhoHearsOfIt(t *testing.T) {
	defect := errors.New("index out of range")
	soft := failing("soft", defect)
	soft.RespondToErrors = true
	agent := connect(t, sidecall.AgentConfig{Tools: []sidecall.Tool{
		failing("readable", sidecall.RespondToModel("no such file: %s", "x")),
		failing("fatal", sidecall.EndTurnFatally("the disk is full")),
		failing("defect", defect),
		soft,
		{
			Name: sidecall.Named("panic"),
			Handler: func(context.Context, *sidecall.Invocation) (sidecall.Output, error) {
				panic("oops")
			},
		},
		{
			Name: sidecall.Named("nothing"),
			Handler: func(context.Context, *sidecall.Invocation) (sidecall.Output, error) {
				return nil, nil
			},
		},
	}})
	for _, test := range []struct {
		tool    string
		kind    sidecall.OutcomeKind
		message string
	}{
		{"readable", sidecall.ModelFailure, "no such file: x"},
		{"fatal", sidecall.Fatal, "the disk is full"},
		{"defect", sidecall.Fatal, "tool task failed to receive: index out of range"},
		{"soft", sidecall.ModelFailure, "index out of range"},
		{"panic", sidecall.Fatal, "tool task failed to receive: panic: oops"},
		{"nothing", sidecall.Fatal, "tool task failed to receive: the handler returned neither" +
			" an output nor an error"},
		{"nobody", sidecall.ModelFailure, "unsupported call: nobody"},
	} {
		outcome := outcomeOf(t, agent.Dispatch(t.Context(), call(test.tool, "id", test.tool)))
		if outcome.Kind != test.kind || outcome.Message != test.message {
			t.Errorf("%s: got %s %q", test.tool, outcome.Kind, outcome.Message)
		}
		var fatal *sidecall.FatalError
		if errors.As(outcome.Err(), &fatal) != (test.kind == sidecall.Fatal) {
			t.Errorf("%s: Err is %v", test.tool, outcome.Err())
		}
	}
}

func TestACallThatCannotBeTakenIsRefusedWithItsFields(t *testing.T) {
	agent := connect(t, sidecall.AgentConfig{Tools: []sidecall.Tool{saying("echo", "hello")}})
	good := agent.Dispatch(t.Context(), call("turn", "good", "echo"))
	_, err := agent.Dispatch(t.Context(), call("turn", "", "echo")).Wait(limited(t))
	var refusal *sidecall.Error
	if !errors.As(err, &refusal) || len(refusal.FieldViolations) != 1 ||
		!strings.HasSuffix(refusal.FieldViolations[0].Field, "call_id") {
		t.Fatalf("got %#v", err)
	}
	if outcome := outcomeOf(t, good); outcome.Kind != sidecall.Completed {
		t.Fatalf("the other call: %s", outcome.Kind)
	}
}

func TestTheSameCallAgainRunsOnceAndEndsAlike(t *testing.T) {
	echo := newPuppet("echo")
	agent := connect(t, sidecall.AgentConfig{Tools: []sidecall.Tool{echo.Tool}})
	first := agent.Dispatch(t.Context(), call("turn", "id", "echo"))
	again := agent.Dispatch(t.Context(), call("turn", "id", "echo"))
	await(t, echo.started, "the handler")
	echo.text <- "once"
	late := []*sidecall.PendingCall{first, again}
	outcomeOf(t, first)
	late = append(late, agent.Dispatch(t.Context(), call("turn", "id", "echo")))
	for _, pending := range late {
		contains(t, outcomeOf(t, pending).Views.ResponseItemJSON, `"once"`)
	}
	if len(echo.started) > 0 {
		t.Error("the handler ran again")
	}
}

func TestAnotherCallUnderTheSameIDsIsRefusedAndHarmsNothing(t *testing.T) {
	echo := newPuppet("echo")
	agent := connect(t, sidecall.AgentConfig{Tools: []sidecall.Tool{echo.Tool}})
	first := agent.Dispatch(t.Context(), call("turn", "id", "echo"))
	await(t, echo.started, "the handler")
	other := call("turn", "id", "echo")
	other.Payload = sidecall.FunctionPayload(`{"other":true}`)
	_, err := agent.Dispatch(t.Context(), other).Wait(limited(t))
	var refusal *sidecall.Error
	if !errors.As(err, &refusal) || refusal.Reason != "CALL_ID_CONFLICT" {
		t.Fatalf("got %v", err)
	}
	echo.text <- "done"
	if outcome := outcomeOf(t, first); outcome.Kind != sidecall.Completed {
		t.Fatalf("the first ended as %s", outcome.Kind)
	}
}

func TestCallsBeyondTheCreditsWaitInOrder(t *testing.T) {
	const calls = 9
	client := dial(t, spawn(t, "--max-calls-in-flight", "2").Endpoint)
	var order []string
	agent := connectTo(t, client, sidecall.AgentConfig{Tools: []sidecall.Tool{{
		Name: sidecall.Named("count"), // exclusive: one handler at a time
		Handler: func(
			_ context.Context, invocation *sidecall.Invocation,
		) (sidecall.Output, error) {
			order = append(order, invocation.ID)
			return sidecall.Text("ok"), nil
		},
	}}})
	turn := agent.Turn("turn")
	var want []string
	for index := range calls {
		id := string(rune('a' + index))
		want = append(want, id)
		turn.Dispatch(t.Context(), call("", id, "count"))
	}
	outcomes, err := turn.Outcomes(limited(t))
	if err != nil || len(outcomes) != calls {
		t.Fatalf("%d outcomes, %v", len(outcomes), err)
	}
	if strings.Join(order, "") != strings.Join(want, "") {
		t.Errorf("ran as %v", order)
	}
}

func TestANamespaceThatIsEmptyIsNotNone(t *testing.T) {
	named := func(name sidecall.ToolName, text string) sidecall.Tool {
		tool := saying("", text)
		tool.Name = name
		return tool
	}
	agent := connect(t, sidecall.AgentConfig{Tools: []sidecall.Tool{
		named(sidecall.Named("t"), "none"),
		named(sidecall.NamedIn("", "t"), "empty"),
		named(sidecall.NamedIn("mcp__x", "t"), "named"),
	}})
	for text, name := range map[string]sidecall.ToolName{
		"none": sidecall.Named("t"), "empty": sidecall.NamedIn("", "t"),
		"named": {Name: "t", Namespace: "mcp__x"},
	} {
		asked := call("turn", text, "")
		asked.Tool = name
		outcome := outcomeOf(t, agent.Dispatch(t.Context(), asked))
		contains(t, outcome.Views.ResponseItemJSON, `"output":"`+text+`"`)
	}
}

func TestLargeArgumentsAndOutputsGoInPieces(t *testing.T) {
	const size = 6 << 20
	agent := connect(t, sidecall.AgentConfig{Tools: []sidecall.Tool{
		{
			Name: sidecall.Named("mirror"),
			Handler: func(
				_ context.Context, invocation *sidecall.Invocation,
			) (sidecall.Output, error) {
				return sidecall.Text(invocation.Payload.Text), nil
			},
		},
		saying("huge", strings.Repeat("x", 40<<20)),
	}})
	asked := call("turn", "large", "mirror")
	asked.Payload = sidecall.FunctionPayload(strings.Repeat("é", size/2))
	outcome := outcomeOf(t, agent.Dispatch(t.Context(), asked))
	if got := strings.Count(string(outcome.Views.ResponseItemJSON), "é"); got != size/2 {
		t.Fatalf("%d characters came back of %d", got, size/2)
	}

	outcome = outcomeOf(t, agent.Dispatch(t.Context(), call("turn 2", "huge", "huge")))
	if outcome.Kind != sidecall.Fatal || !strings.Contains(outcome.Message, "MESSAGE_TOO_LARGE") {
		t.Fatalf("a result above the limit ended as %s %q", outcome.Kind, outcome.Message)
	}
	asked.ID, asked.Payload = "too large", sidecall.FunctionPayload(strings.Repeat("x", 40<<20))
	_, err := agent.Dispatch(t.Context(), asked).Wait(limited(t))
	var refusal *sidecall.Error
	if !errors.As(err, &refusal) || refusal.Reason != "MESSAGE_TOO_LARGE" {
		t.Fatalf("arguments above the limit: %v", err)
	}
}

func TestToolsComeAndGo(t *testing.T) {
	later := saying("later", "now it can")
	later.NotReady = true
	agent := connect(t, sidecall.AgentConfig{Tools: []sidecall.Tool{later, saying("gone", "")}})
	waits := agent.Dispatch(t.Context(), call("turn", "waits", "later"))
	later.NotReady = false
	err := agent.UpdateTools(limited(t), []sidecall.Tool{later},
		[]sidecall.ToolName{sidecall.Named("gone")})
	if err != nil {
		t.Fatal(err)
	}
	contains(t, outcomeOf(t, waits).Views.ResponseItemJSON, "now it can")
	gone := outcomeOf(t, agent.Dispatch(t.Context(), call("turn", "gone", "gone")))
	if gone.Message != "unsupported call: gone" {
		t.Fatalf("a tool that was taken away: %q", gone.Message)
	}
	later.Hooks = "nonsense"
	err = agent.UpdateTools(limited(t), []sidecall.Tool{later}, nil)
	var refusal *sidecall.Error
	if !errors.As(err, &refusal) || len(refusal.FieldViolations) == 0 {
		t.Fatalf("a tool with hooks of no kind: %v", err)
	}
}
