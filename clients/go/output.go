package sidecall

import (
	"encoding/json"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/sidecall/sidecall/clients/go/sidecallv1"
)

// Output is what a handler returns: one of the output types of this package.
type Output interface {
	wire() *pb.ToolOutput
}

// Truncation is how much of a text is kept. Exactly one of both is set.
type Truncation struct {
	// Bytes of UTF-8.
	Bytes uint64
	// Tokens, estimated as four bytes each.
	Tokens uint64
}

func (t Truncation) wire() *pb.TruncationPolicy {
	if t.Tokens > 0 {
		return &pb.TruncationPolicy{Policy: &pb.TruncationPolicy_Tokens{Tokens: t.Tokens}}
	}
	return &pb.TruncationPolicy{Policy: &pb.TruncationPolicy_Bytes{Bytes: t.Bytes}}
}

// ContentItem is one piece of content. Exactly one of Text, ImageURL, AudioURL and Encrypted is
// meant: the first that is not empty, and an empty text where all are.
type ContentItem struct {
	// Text for the model.
	Text string
	// ImageURL is a URL or data URL of an image.
	ImageURL string
	// Detail is how closely to look at the image.
	Detail Detail
	// AudioURL is a URL or data URL of sound.
	AudioURL string
	// Encrypted is content that only the model's provider can read.
	Encrypted string
}

func (c ContentItem) wire() *pb.ContentItem {
	switch {
	case c.Text == "" && c.ImageURL != "":
		return &pb.ContentItem{Item: &pb.ContentItem_InputImage{InputImage: &pb.InputImage{
			ImageUrl: []byte(c.ImageURL),
			Detail:   wireEnum[pb.ImageDetail](c.Detail, "IMAGE_DETAIL_", pb.ImageDetail_value),
		}}}
	case c.Text == "" && c.AudioURL != "":
		return &pb.ContentItem{Item: &pb.ContentItem_InputAudio{
			InputAudio: &pb.InputAudio{AudioUrl: []byte(c.AudioURL)}}}
	case c.Text == "" && c.Encrypted != "":
		return &pb.ContentItem{Item: &pb.ContentItem_EncryptedContent{
			EncryptedContent: &pb.EncryptedContent{EncryptedContent: []byte(c.Encrypted)}}}
	}
	return &pb.ContentItem{Item: &pb.ContentItem_InputText{
		InputText: &pb.InputText{Text: []byte(c.Text)}}}
}

func contentItem(read *pb.ContentItem) ContentItem {
	return ContentItem{
		Text:     string(read.GetInputText().GetText()),
		ImageURL: string(read.GetInputImage().GetImageUrl()),
		Detail: plainEnum(
			read.GetInputImage().GetDetail(), "IMAGE_DETAIL_", Detail("")),
		AudioURL:  string(read.GetInputAudio().GetAudioUrl()),
		Encrypted: string(read.GetEncryptedContent().GetEncryptedContent()),
	}
}

// FunctionOutput is the output of an ordinary tool.
type FunctionOutput struct {
	// Content is what the model reads. Exactly one text becomes a plain text.
	Content []ContentItem
	// Success says whether the tool succeeded. Nil: not said, a success in the log.
	Success *bool
	// HookResponse is what a post hook gets in place of the model's text. Empty: that text.
	HookResponse json.RawMessage
}

// Text is an ordinary output that is one text.
func Text(text string) FunctionOutput {
	return FunctionOutput{Content: []ContentItem{{Text: text}}}
}

// Succeeded is the output with its success said.
func (o FunctionOutput) Succeeded(success bool) FunctionOutput {
	o.Success = &success
	return o
}

func (o FunctionOutput) wire() *pb.ToolOutput {
	output := &pb.FunctionOutput{Success: o.Success, PostToolUseResponseJson: o.HookResponse}
	for _, item := range o.Content {
		output.Content = append(output.Content, item.wire())
	}
	return &pb.ToolOutput{Output: &pb.ToolOutput_Function{Function: output}}
}

// JSONOutput is the output of a tool that answers with a value. Number text and key order stay.
type JSONOutput struct {
	// Value is the value as JSON text.
	Value json.RawMessage
	// Success says whether the tool succeeded. Nil: not said, a success in the log.
	Success *bool
}

func (o JSONOutput) wire() *pb.ToolOutput {
	return &pb.ToolOutput{Output: &pb.ToolOutput_Json{
		Json: &pb.JsonOutput{ValueJson: o.Value, Success: o.Success}}}
}

// MCPOutput is the result of a call to an MCP server, shown to the model with its wall time and
// truncated.
type MCPOutput struct {
	// Result is the CallToolResult as JSON text.
	Result json.RawMessage
	// Arguments are what the server was called with; what a post hook gets. Empty: {}.
	Arguments json.RawMessage
	// WallTime is how long the call took.
	WallTime time.Duration
	// OriginalImageDetail says that the model takes images in original detail.
	OriginalImageDetail bool
	// Truncation is the model's policy. Required.
	Truncation Truncation
}

func (o MCPOutput) wire() *pb.ToolOutput {
	return &pb.ToolOutput{Output: &pb.ToolOutput_Mcp{Mcp: &pb.McpOutput{
		ResultJson:                   o.Result,
		ToolInputJson:                o.Arguments,
		WallTime:                     durationpb.New(o.WallTime),
		OriginalImageDetailSupported: o.OriginalImageDetail,
		TruncationPolicy:             o.Truncation.wire(),
	}}}
}

// MCPRawOutput is the result of a call to an MCP server, passed on as it is.
type MCPRawOutput struct {
	// Result is the CallToolResult as JSON text.
	Result json.RawMessage
}

func (o MCPRawOutput) wire() *pb.ToolOutput {
	return &pb.ToolOutput{Output: &pb.ToolOutput_McpRaw{
		McpRaw: &pb.McpRawOutput{ResultJson: o.Result}}}
}

// ToolSearchOutput is the result of a tool search.
type ToolSearchOutput struct {
	// Tools are the tools found, each as JSON text.
	Tools []json.RawMessage
}

func (o ToolSearchOutput) wire() *pb.ToolOutput {
	output := &pb.ToolSearchOutput{}
	for _, tool := range o.Tools {
		output.ToolsJson = append(output.ToolsJson, tool)
	}
	return &pb.ToolOutput{Output: &pb.ToolOutput_ToolSearch{ToolSearch: output}}
}

// ApplyPatchOutput is the output of the patch tool: always a success.
type ApplyPatchOutput struct {
	// Text says what was done.
	Text string
}

func (o ApplyPatchOutput) wire() *pb.ToolOutput {
	return &pb.ToolOutput{Output: &pb.ToolOutput_ApplyPatch{
		ApplyPatch: &pb.ApplyPatchOutput{Text: []byte(o.Text)}}}
}

// AbortedOutput is the output of a call that the agent cancelled by itself.
type AbortedOutput struct {
	// Message is what the model reads.
	Message string
}

func (o AbortedOutput) wire() *pb.ToolOutput {
	return &pb.ToolOutput{Output: &pb.ToolOutput_Aborted{
		Aborted: &pb.AbortedOutput{Message: []byte(o.Message)}}}
}

// ExecOutput is the output of a command. [HeadTail] collects one within bounds.
type ExecOutput struct {
	// Output is what the command wrote: any bytes.
	Output []byte
	// EventCallID is the call the hook speaks about. Empty: the call's own id.
	EventCallID string
	// ChunkID names this piece of a running command's output. Empty: none.
	ChunkID string
	// WallTime is how long the command was waited for.
	WallTime time.Duration
	// Truncation is the model's policy. Required.
	Truncation Truncation
	// MaxOutputTokens is the most that the model asked for. Nil: 10,000 for the model.
	MaxOutputTokens *uint64
	// ProcessID is the session id of a command that still runs. Nil: it has ended.
	ProcessID *int64
	// ExitCode is nil where it is not known, or the command still runs.
	ExitCode *int32
	// OriginalTokens counts the output before anything was dropped. Nil: as the output is.
	OriginalTokens *uint64
	// OmittedBytes is what the collection dropped from the middle.
	OmittedBytes uint64
	// HookCommand is the command as hooks see it. Nil: no hook speaks about this output.
	HookCommand *string
}

func (o ExecOutput) wire() *pb.ToolOutput {
	output := &pb.ExecCommandOutput{
		Output:             o.Output,
		EventCallId:        o.EventCallID,
		ChunkId:            o.ChunkID,
		WallTime:           durationpb.New(o.WallTime),
		TruncationPolicy:   o.Truncation.wire(),
		MaxOutputTokens:    o.MaxOutputTokens,
		ProcessId:          o.ProcessID,
		ExitCode:           o.ExitCode,
		OriginalTokenCount: o.OriginalTokens,
	}
	if o.OmittedBytes > 0 {
		output.OutputOmittedBytes = &o.OmittedBytes
	}
	if o.HookCommand != nil {
		output.HookCommand = []byte(*o.HookCommand)
	}
	return &pb.ToolOutput{Output: &pb.ToolOutput_ExecCommand{ExecCommand: output}}
}

// FromOutside marks an output as content from outside, a web page say. It marks the session
// where the session says so.
func FromOutside(output Output) Output { return outsideOutput{output} }

type outsideOutput struct{ Output }

func (o outsideOutput) wire() *pb.ToolOutput {
	output := o.Output.wire()
	output.ContainsExternalContext = true
	return output
}
