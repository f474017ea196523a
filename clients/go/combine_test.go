package sidecall

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	pb "github.com/sidecall/sidecall/clients/go/sidecallv1"
)

func TestVerdictsOfSeveralHooksCombine(t *testing.T) {
	oops := hookAnswer{err: errors.New("oops")}
	said := func(verdicts ...Verdict) []hookAnswer {
		var answers []hookAnswer
		for index, verdict := range verdicts {
			answers = append(answers, hookAnswer{verdict: verdict, finished: index})
		}
		return answers
	}
	one, two := json.RawMessage(`1`), json.RawMessage(`2`)
	proceeds := &pb.HookVerdict{Verdict: &pb.HookVerdict_Proceed{Proceed: &pb.Proceed{}}}
	blocks := func(reason string) *pb.HookVerdict {
		return &pb.HookVerdict{
			Verdict: &pb.HookVerdict_Block{Block: &pb.Block{Reason: []byte(reason)}}}
	}
	rewrites := func(input string) *pb.HookVerdict {
		return &pb.HookVerdict{
			Verdict: &pb.HookVerdict_Rewrite{Rewrite: &pb.Rewrite{InputJson: []byte(input)}}}
	}
	feeds := func(message string) *pb.HookVerdict {
		return &pb.HookVerdict{
			Verdict: &pb.HookVerdict_Feedback{Feedback: &pb.Feedback{Message: []byte(message)}}}
	}
	fails := func(why string) *pb.HookVerdict {
		return &pb.HookVerdict{
			Verdict: &pb.HookVerdict_Failed{Failed: &pb.HookFailed{Message: []byte(why)}}}
	}
	with := func(verdict *pb.HookVerdict, contexts ...string) *pb.HookVerdict {
		for _, context := range contexts {
			verdict.AdditionalContexts = append(verdict.AdditionalContexts, []byte(context))
		}
		return verdict
	}
	for name, test := range map[string]struct {
		point   HookPoint
		answers []hookAnswer
		want    *pb.HookVerdict
	}{
		"none": {PreToolUse, nil, proceeds},
		"contexts stay in order": {
			PreToolUse, said(Proceed().With("a"), Proceed().With("b", "c")),
			with(proto.CloneOf(proceeds), "a", "b", "c")},
		"the last rewrite": {PreToolUse, said(Rewrite(one), Rewrite(two)), rewrites("2")},
		"the rewrite that finished last": {
			PreToolUse,
			[]hookAnswer{{verdict: Rewrite(one), finished: 1}, {verdict: Rewrite(two)}},
			rewrites("1")},
		"a block cancels rewrites": {
			PreToolUse, said(Rewrite(one).With("x"), Block("no").With("y")),
			with(blocks("no"), "x", "y")},
		"the first reason": {PreToolUse, said(Block(" "), Block("a"), Block("b")), blocks("a")},
		"a block needs a reason": {
			PreToolUse, said(Block(" \n").With("x")),
			with(fails("a pre hook's block needs a reason"), "x")},
		"one of two failed": {PreToolUse, append(said(Rewrite(one)), oops), rewrites("1")},
		"all failed":        {PreToolUse, []hookAnswer{oops, oops}, fails("oops; oops")},
		"feedback too early": {
			PreToolUse, said(Feedback("x")), fails("a pre hook cannot give feedback")},
		"a rewrite too late": {
			PostToolUse, said(Rewrite(one)), fails("a post hook cannot rewrite the input")},
		"a rewrite that is not JSON": {
			PreToolUse, said(Rewrite(json.RawMessage(`{`))), fails("a rewrite must be JSON")},
		"blocks are joined": {
			PostToolUse, said(Block("a"), Proceed(), Block(""), Block("b")), blocks("a\n\nb")},
		"feedback is joined": {PostToolUse, said(Feedback("a"), Feedback("b")), feeds("a\n\nb")},
		"a block wins over feedback": {
			PostToolUse, said(Feedback("a").With("x"), Block("")), with(blocks(""), "x")},
	} {
		if got := combine(test.point, test.answers); !proto.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}

func TestHooksRunSideBySideAndTheirEndDecides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		after := func(delay time.Duration, input string) Hook {
			return Hook{Point: PreToolUse, Run: func(
				context.Context, HookInput,
			) (Verdict, error) {
				time.Sleep(delay) // of the test's own clock
				return Rewrite(json.RawMessage(input)), nil
			}}
		}
		began := time.Now()
		answers := runHooks(t.Context(),
			[]Hook{after(2*time.Second, `"slow"`), after(time.Second, `"fast"`)}, HookInput{})
		if took := time.Since(began); took != 2*time.Second {
			t.Errorf("both took %v", took)
		}
		verdict := combine(PreToolUse, answers)
		if got := string(verdict.GetRewrite().GetInputJson()); got != `"slow"` {
			t.Errorf("%s won", got)
		}
	})
}
