package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	sidecall "github.com/sidecall/sidecall/clients/go"
)

func TestTheDemoPlaysItsTurnInEightyColumns(t *testing.T) {
	for variable, name := range map[string]string{
		sidecall.ExecutableVariable: "sidecall", mcpServerVariable: "mcp-server-time",
	} {
		if os.Getenv(variable) != "" {
			continue
		}
		path, err := filepath.Abs(filepath.Join("..", "..", "..", "..", ".venv", "bin", name))
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv(variable, path)
	}
	var out bytes.Buffer
	if err := demo(t.Context(), &out); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if !strings.HasSuffix(out.String(), "\nAll as expected.\n") {
		t.Errorf("it ended with %q", out.String())
	}
	for line := range strings.Lines(out.String()) {
		if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > width {
			t.Errorf("too wide: %s", line)
		}
	}
}

func TestARequestThatLacksSomethingIsFound(t *testing.T) {
	steps := script()[:1]
	outcome := sidecall.Outcome{Call: steps[0].call}
	outcome.Call.TurnID = turnID
	outcome.Views.ResponseItemJSON = []byte(
		`{"type":"function_call_output","call_id":"call_1","output":"x"}`)
	record := `[{"name":"shell","arguments":` + steps[0].call.Payload.Text + `}]`
	for name, test := range map[string]struct {
		attachments []sidecall.Attachment
		want        string
	}{
		"all is there": {
			[]sidecall.Attachment{{ExecutedToolCalls: []byte(record)}}, ""},
		"no record": {nil, "call_1 carries 0 records"},
		"another's record": {
			[]sidecall.Attachment{{
				ExecutedToolCalls: []byte(`[{"name":"other","arguments":{}}]`)}},
			"call_1 carries the record of other {}"},
	} {
		request, err := nextRequest([]sidecall.Outcome{outcome}, test.attachments)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if _, err := checkRequest(request, steps); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
