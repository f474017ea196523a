package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	sidecall "github.com/sidecall/sidecall/clients/go"
)

// width is how wide a line may be.
const width = 80

// reportCall prints what became of a call.
func reportCall(out io.Writer, step step, outcome sidecall.Outcome) {
	took := time.Duration(0)
	if outcome.Durations.Total != nil {
		took = *outcome.Durations.Total
	}
	printLine(out, fmt.Sprintf("%s  %-60s %5d ms",
		outcome.Call.ID, step.title, took.Milliseconds()))
	printLine(out, fmt.Sprintf("        asked      %s %s", outcome.Call.Tool,
		outcome.Call.Payload.Text))
	printLine(out, fmt.Sprintf("        outcome    %s", outcomeText(outcome)))
	printLine(out, fmt.Sprintf("        lifecycle  %s", outcome.Lifecycle))
	var read item
	if err := json.Unmarshal(outcome.Views.ResponseItemJSON, &read); err != nil {
		read.Output = []byte(`"(nothing)"`)
	}
	printLine(out, fmt.Sprintf("        the model  %s", oneLine(read.Output)))
}

func outcomeText(outcome sidecall.Outcome) string {
	switch {
	case outcome.Abort != nil:
		return fmt.Sprintf("aborted: %s, %s, teardown %s",
			outcome.Abort.Reason, outcome.Abort.Progress, outcome.Abort.Teardown)
	case outcome.Kind == sidecall.Completed:
		return fmt.Sprintf("completed, success %t", outcome.Success)
	}
	return string(outcome.Kind)
}

// reportRequest prints a request, shortened.
func reportRequest(out io.Writer, items []item) {
	for _, item := range items {
		record := item.Metadata.ExecutedToolCalls[0]
		printLine(out, fmt.Sprintf("%s  %s", item.CallID, oneLine(item.Output)))
		printLine(out, fmt.Sprintf("        record  %s %s", record.Name, record.Arguments))
	}
}

// oneLine is an output on one line: its text where it is one, else its JSON.
func oneLine(output json.RawMessage) string {
	var text string
	if json.Unmarshal(output, &text) != nil {
		return string(output)
	}
	return strings.ReplaceAll(strings.TrimSpace(text), "\n", " ⏎ ")
}

// printLine prints a line, cut to the width.
func printLine(out io.Writer, line string) {
	if letters := []rune(line); len(letters) > width {
		line = string(letters[:width-1]) + "…"
	}
	fmt.Fprintln(out, line)
}
