//! Several hooks at one point of one call make one verdict.

use serde::de::IgnoredAny;

use crate::enums::HookPoint;
use crate::hook::{Decision, Verdict};
use crate::proto as pb;
use crate::proto::hook_verdict::Verdict as Wire;

/// What one hook came to.
pub(crate) struct HookAnswer {
    /// What it said, or why it failed.
    pub(crate) said: Result<Verdict, String>,
    /// The position of the hook among those that finished, from 0.
    pub(crate) finished: usize,
}

impl HookAnswer {
    /// What was decided, or why it cannot be used at the point.
    fn usable(&self, point: HookPoint) -> Result<&Decision, &str> {
        let decision = &self.said.as_ref().map_err(String::as_str)?.decision;
        match (point, decision) {
            (HookPoint::PreToolUse, Decision::Feedback(_)) => {
                Err("a pre hook cannot give feedback")
            }
            (HookPoint::PreToolUse, Decision::Block(reason)) if is_blank(reason) => {
                Err("a pre hook's block needs a reason")
            }
            (HookPoint::PostToolUse, Decision::Rewrite(_)) => {
                Err("a post hook cannot rewrite the input")
            }
            (_, Decision::Rewrite(json)) if serde_json::from_str::<IgnoredAny>(json).is_err() => {
                Err("a rewrite must be JSON")
            }
            _ => Ok(decision),
        }
    }
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// Makes one verdict of the answers of several hooks, given in the order of the hooks. Contexts
/// of all are kept. A block cancels the rest: before the handler the first reason counts, after
/// it all are joined by a blank line, as feedback is. Of several rewrites the one that finished
/// last counts. When no hook came to anything usable the hooks have failed.
pub(crate) fn combine(point: HookPoint, answers: &[HookAnswer]) -> pb::HookVerdict {
    let mut failures = Vec::new();
    let mut blocks = Vec::new();
    let mut messages = Vec::new();
    let mut rewrites = Vec::new();
    for answer in answers {
        match answer.usable(point) {
            Ok(Decision::Proceed) => {}
            Ok(Decision::Rewrite(json)) => rewrites.push((answer.finished, json.as_str())),
            Ok(Decision::Block(reason)) => blocks.push(reason.as_str()),
            Ok(Decision::Feedback(message)) => messages.push(message.as_str()),
            Err(failure) => failures.push(failure),
        }
    }
    let verdict = if let [first, ..] = blocks[..] {
        let reason = match point {
            HookPoint::PreToolUse => first.to_owned(),
            _ => joined(&blocks),
        };
        Wire::Block(pb::Block { reason: reason.into() })
    } else if !messages.is_empty() {
        Wire::Feedback(pb::Feedback { message: joined(&messages).into() })
    } else if let Some((_, json)) = rewrites.into_iter().max() {
        Wire::Rewrite(pb::Rewrite { input_json: json.to_owned().into() })
    } else if !failures.is_empty() && failures.len() == answers.len() {
        Wire::Failed(pb::HookFailed { message: failures.join("; ").into() })
    } else {
        Wire::Proceed(pb::Proceed {})
    };
    let contexts = answers.iter().filter_map(|answer| answer.said.as_ref().ok());
    pb::HookVerdict {
        hook_token: Default::default(),
        additional_contexts: contexts
            .flat_map(|said| &said.additional_contexts)
            .map(|context| context.clone().into())
            .collect(),
        verdict: Some(verdict),
    }
}

/// Joins what is not blank by a blank line; where all is blank the first stands.
fn joined(messages: &[&str]) -> String {
    let said: Vec<_> = messages.iter().copied().filter(|message| !is_blank(message)).collect();
    if said.is_empty() { messages[0].to_owned() } else { said.join("\n\n") }
}

#[cfg(test)]
mod tests {
    use HookPoint::{PostToolUse, PreToolUse};

    use super::*;

    fn said<const N: usize>(verdicts: [Verdict; N]) -> Vec<HookAnswer> {
        let answer = |(finished, verdict)| HookAnswer { said: Ok(verdict), finished };
        verdicts.into_iter().enumerate().map(answer).collect()
    }

    fn oops() -> HookAnswer {
        HookAnswer { said: Err("oops".to_owned()), finished: 9 }
    }

    /// A verdict and its contexts as one text.
    fn shown(verdict: &pb::HookVerdict) -> String {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let decided = match verdict.verdict.as_ref().unwrap() {
            Wire::Proceed(_) => "proceed".to_owned(),
            Wire::Rewrite(rewrite) => format!("rewrite {}", text(&rewrite.input_json)),
            Wire::Block(block) => format!("block {}", text(&block.reason)),
            Wire::Feedback(feedback) => format!("feedback {}", text(&feedback.message)),
            Wire::Failed(failed) => format!("failed {}", text(&failed.message)),
        };
        let contexts: Vec<_> = verdict.additional_contexts.iter().map(|one| text(one)).collect();
        format!("{decided} [{}]", contexts.join(" "))
    }

    #[test]
    fn verdicts_of_several_hooks_combine() {
        let proceed = Verdict::proceed;
        let rewrite = |json: &str| Verdict::rewrite(json);
        let block = |reason: &str| Verdict::block(reason);
        let feedback = |message: &str| Verdict::feedback(message);
        let mut slow_first = said([rewrite("1"), rewrite("2")]);
        slow_first[0].finished = 2;
        let mut one_failed = said([rewrite("1")]);
        one_failed.push(oops());
        let table: Vec<(HookPoint, Vec<HookAnswer>, &str)> = vec![
            (PreToolUse, vec![], "proceed []"),
            (
                PreToolUse,
                said([proceed().with_context("a"), proceed().with_context("b").with_context("c")]),
                "proceed [a b c]",
            ),
            (PreToolUse, said([rewrite("1"), rewrite("2")]), "rewrite 2 []"),
            (PreToolUse, slow_first, "rewrite 1 []"),
            (
                PreToolUse,
                said([rewrite("1").with_context("x"), block("no").with_context("y")]),
                "block no [x y]",
            ),
            (PreToolUse, said([block(" "), block("a"), block("b")]), "block a []"),
            (
                PreToolUse,
                said([block(" \n").with_context("x")]),
                "failed a pre hook's block needs a reason [x]",
            ),
            (PreToolUse, one_failed, "rewrite 1 []"),
            (PreToolUse, vec![oops(), oops()], "failed oops; oops []"),
            (PreToolUse, said([feedback("x")]), "failed a pre hook cannot give feedback []"),
            (PostToolUse, said([rewrite("1")]), "failed a post hook cannot rewrite the input []"),
            (PreToolUse, said([rewrite("{")]), "failed a rewrite must be JSON []"),
            (PostToolUse, said([block("a"), proceed(), block(""), block("b")]), "block a\n\nb []"),
            (PostToolUse, said([feedback("a"), feedback("b")]), "feedback a\n\nb []"),
            (PostToolUse, said([feedback("a").with_context("x"), block("")]), "block  [x]"),
        ];
        for (point, answers, expected) in table {
            assert_eq!(shown(&combine(point, &answers)), expected);
        }
    }
}
