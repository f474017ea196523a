package sidecall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	pb "github.com/sidecall/sidecall/clients/go/sidecallv1"
)

// HookInput is what a hook gets to see of a call.
type HookInput struct {
	// Call is the call.
	Call CallRef
	// Point is where in the call the hook runs.
	Point HookPoint
	// ToolName is the name that hooks match on.
	ToolName string
	// MatcherAliases are other names that hooks may match on.
	MatcherAliases []string
	// ToolUseID is the id that hooks see.
	ToolUseID string
	// ToolInput is what the tool is or was called with, as JSON text.
	ToolInput json.RawMessage
	// ToolResponse is what the tool answered, as JSON text. Nil before the handler ran.
	ToolResponse json.RawMessage
}

func hookInput(of CallRef, point HookPoint, read *pb.HookPayload) HookInput {
	return HookInput{
		Call:           of,
		Point:          point,
		ToolName:       read.GetToolName(),
		MatcherAliases: read.GetMatcherAliases(),
		ToolUseID:      read.GetToolUseId(),
		ToolInput:      read.GetToolInputJson(),
		ToolResponse:   read.GetToolResponseJson(),
	}
}

// Hook is a function that is asked before or after a tool runs. An error, a panic, a timeout or
// a verdict that its point cannot use leaves the call as it is (SPEC F10).
type Hook struct {
	// Point is where it runs. Required.
	Point HookPoint
	// Matchers are the names or aliases that it wants. Empty: all.
	Matchers []string
	// Timeout is how long it may take. 0: the server's default.
	Timeout time.Duration
	// Run is the hook. Required. Its context ends with the call or with the hook's time.
	Run func(ctx context.Context, input HookInput) (Verdict, error)
}

func (h Hook) wire() *pb.HookDeclaration {
	return &pb.HookDeclaration{
		Point:    wireEnum[pb.HookPoint](h.Point, "HOOK_POINT_", pb.HookPoint_value),
		Matchers: h.Matchers,
		Timeout:  wireDuration(h.Timeout),
	}
}

func (h Hook) matches(input HookInput) bool {
	if h.Point != input.Point {
		return false
	}
	return len(h.Matchers) == 0 || slices.Contains(h.Matchers, input.ToolName) ||
		slices.ContainsFunc(input.MatcherAliases, func(alias string) bool {
			return slices.Contains(h.Matchers, alias)
		})
}

type verdictKind int

const (
	proceed verdictKind = iota
	rewrite
	block
	feedback
)

// Verdict is what a hook says. The zero value is [Proceed].
type Verdict struct {
	kind     verdictKind
	text     string
	contexts []string
}

// Proceed lets the call go on unchanged.
func Proceed() Verdict { return Verdict{} }

// Rewrite lets the call go on with other arguments: JSON text of any type. Pre hooks only.
func Rewrite(input json.RawMessage) Verdict { return Verdict{kind: rewrite, text: string(input)} }

// Block stops the call. Before the handler it fails with the reason, which must not be blank.
// After it the session's [PostHookBlock] decides; a blank reason becomes a default text.
func Block(reason string) Verdict { return Verdict{kind: block, text: reason} }

// Feedback shows the model this in place of the output. Post hooks only.
func Feedback(message string) Verdict { return Verdict{kind: feedback, text: message} }

// With adds texts for the conversation. They come back with the outcome, also of a call that
// was blocked.
func (v Verdict) With(contexts ...string) Verdict {
	v.contexts = append(slices.Clip(v.contexts), contexts...)
	return v
}

// hookAnswer is what one hook came to.
type hookAnswer struct {
	verdict Verdict
	err     error
	// finished is the position of the hook among those that finished, from 0.
	finished int
}

// usable gives the verdict, or why it cannot be used at the point (SPEC F10).
func (a hookAnswer) usable(point HookPoint) (Verdict, error) {
	verdict := a.verdict
	switch {
	case a.err != nil:
		return Verdict{}, a.err
	case point == PreToolUse && verdict.kind == feedback:
		return Verdict{}, errors.New("a pre hook cannot give feedback")
	case point == PreToolUse && verdict.kind == block && isBlank(verdict.text):
		return Verdict{}, errors.New("a pre hook's block needs a reason")
	case point == PostToolUse && verdict.kind == rewrite:
		return Verdict{}, errors.New("a post hook cannot rewrite the input")
	case verdict.kind == rewrite && !json.Valid([]byte(verdict.text)):
		return Verdict{}, errors.New("a rewrite must be JSON")
	}
	return verdict, nil
}

func isBlank(text string) bool { return strings.TrimSpace(text) == "" }

// combine makes one verdict of the answers of several hooks, given in declared order (SPEC F6,
// F9, F10). Contexts of all are kept. A block cancels the rest: before the handler the first
// reason counts, after it all are joined by a blank line, as feedback is. Of several rewrites the
// one that finished last counts. When no hook came to anything usable the hooks failed.
func combine(point HookPoint, answers []hookAnswer) *pb.HookVerdict {
	combined := &pb.HookVerdict{}
	var failures, blocks, messages []string
	rewriteAt := -1
	for index, answer := range answers {
		verdict, err := answer.usable(point)
		for _, context := range answer.verdict.contexts {
			combined.AdditionalContexts = append(combined.AdditionalContexts, []byte(context))
		}
		if err != nil {
			failures = append(failures, err.Error())
			continue
		}
		switch verdict.kind {
		case rewrite:
			if rewriteAt < 0 || answers[rewriteAt].finished < answer.finished {
				rewriteAt = index
			}
		case block:
			blocks = append(blocks, verdict.text)
		case feedback:
			messages = append(messages, verdict.text)
		}
	}
	switch {
	case len(blocks) > 0 && point == PreToolUse:
		combined.Verdict = &pb.HookVerdict_Block{Block: &pb.Block{Reason: []byte(blocks[0])}}
	case len(blocks) > 0:
		combined.Verdict = &pb.HookVerdict_Block{
			Block: &pb.Block{Reason: []byte(joinMessages(blocks))}}
	case len(messages) > 0:
		combined.Verdict = &pb.HookVerdict_Feedback{
			Feedback: &pb.Feedback{Message: []byte(joinMessages(messages))}}
	case rewriteAt >= 0:
		combined.Verdict = &pb.HookVerdict_Rewrite{
			Rewrite: &pb.Rewrite{InputJson: []byte(answers[rewriteAt].verdict.text)}}
	case len(failures) > 0 && len(failures) == len(answers):
		combined.Verdict = &pb.HookVerdict_Failed{
			Failed: &pb.HookFailed{Message: []byte(strings.Join(failures, "; "))}}
	default:
		combined.Verdict = &pb.HookVerdict_Proceed{Proceed: &pb.Proceed{}}
	}
	return combined
}

// joinMessages joins what is not blank by a blank line; where all is blank the first stands.
func joinMessages(messages []string) string {
	said := slices.DeleteFunc(slices.Clone(messages), isBlank)
	if len(said) == 0 {
		return messages[0]
	}
	return strings.Join(said, "\n\n")
}

// runHooks asks the hooks side by side and gives their answers in declared order. A hook that
// outlasts its context is not waited for.
func runHooks(ctx context.Context, hooks []Hook, input HookInput) []hookAnswer {
	type finished struct {
		index  int
		answer hookAnswer
	}
	ended := make(chan finished, len(hooks))
	for index, hook := range hooks {
		go func() {
			verdict, err := askHook(ctx, hook, input)
			ended <- finished{index, hookAnswer{verdict: verdict, err: err}}
		}()
	}
	answers := make([]hookAnswer, len(hooks))
	for position := range hooks {
		one := <-ended
		if one.answer.err != nil {
			one.answer.verdict = Verdict{}
		}
		one.answer.finished = position
		answers[one.index] = one.answer
	}
	return answers
}

func askHook(ctx context.Context, hook Hook, input HookInput) (Verdict, error) {
	if hook.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, hook.Timeout)
		defer cancel()
	}
	type answer struct {
		verdict Verdict
		err     error
	}
	answered := make(chan answer, 1)
	go func() {
		var said answer
		defer func() {
			if panicked := recover(); panicked != nil {
				said = answer{err: fmt.Errorf("the hook panicked: %v", panicked)}
			}
			answered <- said
		}()
		said.verdict, said.err = hook.Run(ctx, input)
	}()
	select {
	case said := <-answered:
		return said.verdict, said.err
	case <-ctx.Done():
		return Verdict{}, fmt.Errorf("the hook did not answer: %w", context.Cause(ctx))
	}
}
