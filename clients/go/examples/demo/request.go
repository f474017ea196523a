package main

import (
	"bytes"
	"encoding/json"
	"fmt"

	sidecall "github.com/sidecall/sidecall/clients/go"
)

// passthrough is the metadata that travels with an item of a request.
type passthrough struct {
	TurnID            string          `json:"turn_id"`
	ExecutedToolCalls json.RawMessage `json:"executed_tool_calls,omitempty"`
}

// nextRequest is the model's next request: the outputs in call order, each with the records of
// what was attempted, put in as the sidecar gave them.
func nextRequest(
	outcomes []sidecall.Outcome, attachments []sidecall.Attachment,
) ([]byte, error) {
	metadata := make([]passthrough, len(outcomes))
	for _, attached := range attachments {
		metadata[attached.Index].ExecutedToolCalls = attached.ExecutedToolCalls
	}
	var input []json.RawMessage
	for index, outcome := range outcomes {
		metadata[index].TurnID = outcome.Call.TurnID
		said, err := encode(metadata[index])
		if err != nil {
			return nil, err
		}
		item, isObject := bytes.CutSuffix(outcome.Views.ResponseItemJSON, []byte("}"))
		if !isObject {
			return nil, fmt.Errorf("%s has no response item", outcome.Call.ID)
		}
		input = append(input, fmt.Appendf(nil,
			`%s,"internal_chat_message_metadata_passthrough":%s}`, item, said))
	}
	return encode(map[string]any{"model": "example", "input": input})
}

// encode is json.Marshal that leaves <, > and & in JSON texts as the sidecar wrote them.
func encode(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), nil
}

// item is what the demo checks of an item of the request.
type item struct {
	CallID   string          `json:"call_id"`
	Output   json.RawMessage `json:"output"`
	Metadata struct {
		TurnID            string `json:"turn_id"`
		ExecutedToolCalls []struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"executed_tool_calls"`
	} `json:"internal_chat_message_metadata_passthrough"`
}

// checkRequest reads the request and says what is off about it: all outputs must be there, in
// call order, and each must carry its one record.
func checkRequest(request []byte, steps []step) ([]item, error) {
	var read struct{ Input []item }
	if err := json.Unmarshal(request, &read); err != nil {
		return nil, err
	}
	if len(read.Input) != len(steps) {
		return nil, fmt.Errorf("the request has %d outputs, not %d", len(read.Input), len(steps))
	}
	for index, got := range read.Input {
		asked := steps[index].call
		records := got.Metadata.ExecutedToolCalls
		switch {
		case got.CallID != asked.ID || got.Metadata.TurnID != turnID:
			return nil, fmt.Errorf("output %d is of %s, not %s", index, got.CallID, asked.ID)
		case len(records) != 1:
			return nil, fmt.Errorf("%s carries %d records", got.CallID, len(records))
		case records[0].Name != asked.Tool.String() ||
			!sameJSON(records[0].Arguments, []byte(asked.Payload.Text)):
			return nil, fmt.Errorf("%s carries the record of %s %s", got.CallID,
				records[0].Name, records[0].Arguments)
		}
	}
	return read.Input, nil
}

func sameJSON(one, other []byte) bool {
	var first, second bytes.Buffer
	return json.Compact(&first, one) == nil && json.Compact(&second, other) == nil &&
		bytes.Equal(first.Bytes(), second.Bytes())
}
