package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	sidecall "github.com/sidecall/sidecall/clients/go"
)

func TestTheMinimalAgentRuns(t *testing.T) {
	if os.Getenv(sidecall.ExecutableVariable) == "" {
		path, err := filepath.Abs(filepath.Join("..", "..", "..", "..", ".venv", "bin", "sidecall"))
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv(sidecall.ExecutableVariable, path)
	}
	agent := exec.CommandContext(t.Context(), "go", "run", ".")
	agent.Stderr = os.Stderr
	out, err := agent.Output()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"type":"function_call_output","call_id":"call_0","output":"2.5"}
{"type":"function_call_output","call_id":"call_1","output":"cannot divide by zero"}
0 [{"name":"divide","arguments":{"number":10,"by":4}}]
1 [{"name":"divide","arguments":{"number":10,"by":0}}]
`
	if string(out) != want {
		t.Errorf("it said %s", out)
	}
}

func TestTheReadmeShowsTheMinimalAgent(t *testing.T) {
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "```go\n"+string(program)+"```\n") {
		t.Error("README.md does not hold examples/minimal/main.go as it is")
	}
}
