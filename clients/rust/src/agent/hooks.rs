//! The hooks that are asked: side by side, and one verdict for all.

use std::sync::Arc;
use std::time::Duration;

use prost::bytes::Bytes;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::core::{Core, State};
use super::handlers::caught;
use crate::call::CallReference;
use crate::enums::HookPoint;
use crate::hook::{Hook, HookInput};
use crate::outcome::HookPayload;
use crate::proto as pb;
use crate::proto::client_frame::Frame;
use crate::verdicts::{HookAnswer, combine};
use crate::wire::plain_duration;

/// Hooks that were asked.
pub(super) struct Question {
    pub(super) call: CallReference,
    unwanted: CancellationToken,
}

impl Question {
    /// Its answer is not wanted any more.
    pub(super) fn cancel(&self) {
        self.unwanted.cancel();
    }
}

impl Core {
    /// Runs the hooks that the sidecar asks for and sends their verdict, unless it is no longer
    /// wanted. A question that is known is not asked again.
    pub(super) fn ask_hooks(self: &Arc<Self>, state: &mut State, frame: pb::InvokeHook) {
        let token = frame.hook_token;
        if state.asked.contains_key(&token) {
            return;
        }
        let input = HookInput {
            call: CallReference::read(frame.call),
            point: HookPoint::from_wire(frame.point),
            payload: HookPayload::read(frame.payload.unwrap_or_default()),
        };
        let limit = plain_duration(frame.timeout);
        let hooks: Vec<Hook> =
            state.hooks.iter().filter(|hook| hook.matches(&input)).cloned().collect();
        let unwanted = CancellationToken::new();
        let question = Question { call: input.call.clone(), unwanted: unwanted.clone() };
        state.asked.insert(token.clone(), question);
        let core = Arc::clone(self);
        self.work.spawn(async move {
            tokio::select! {
                answers = run(&hooks, &input, limit) => {
                    core.send_verdict(token, input.point, &answers, &unwanted);
                }
                () = unwanted.cancelled() => {}
            }
        });
    }

    fn send_verdict(
        &self,
        hook_token: Bytes,
        point: HookPoint,
        answers: &[HookAnswer],
        unwanted: &CancellationToken,
    ) {
        for error in answers.iter().filter_map(|answer| answer.said.as_ref().err()) {
            tracing::warn!(error, "a hook failed");
        }
        let verdict = pb::HookVerdict { hook_token, ..combine(point, answers) };
        let mut state = self.lock();
        if !unwanted.is_cancelled() {
            let ticket = self.answer(&mut state, Frame::HookVerdict(verdict));
            state.link.discard(ticket);
        }
    }
}

/// Asks hooks side by side; their answers come in the order of the hooks.
async fn run(hooks: &[Hook], input: &HookInput, limit: Option<Duration>) -> Vec<HookAnswer> {
    let mut asking = JoinSet::new();
    for (index, hook) in hooks.iter().cloned().enumerate() {
        let input = input.clone();
        let limit = [limit, hook.timeout].into_iter().flatten().min();
        asking.spawn(async move {
            let asked = caught(async { hook.ask(input).await });
            let said = match limit {
                Some(limit) => timeout(limit, asked).await,
                None => Ok(asked.await),
            };
            (index, said)
        });
    }
    let mut answers = Vec::new();
    while let Some(ended) = asking.join_next().await {
        let Ok((index, said)) = ended else { continue }; // aborted with the runtime
        let said = match said {
            Ok(Ok(said)) => said,
            Ok(Err(panic)) => Err(format!("the hook panicked: {panic}")),
            Err(_) => Err("the hook did not answer in time".to_owned()),
        };
        answers.push((index, HookAnswer { said, finished: answers.len() }));
    }
    answers.sort_by_key(|(index, _)| *index);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook::Verdict;

    #[tokio::test(start_paused = true)]
    async fn hooks_run_side_by_side_and_their_end_decides() {
        let after = |seconds, input| {
            Hook::new(HookPoint::PreToolUse, move |_| async move {
                tokio::time::sleep(Duration::from_secs(seconds)).await; // of the test's own clock
                Ok::<_, String>(Verdict::rewrite(input))
            })
        };
        let hooks = [after(2, "\"slow\""), after(1, "\"fast\"")];
        let began = tokio::time::Instant::now();
        let answers = run(&hooks, &HookInput::default(), None).await;
        assert_eq!(began.elapsed(), Duration::from_secs(2));
        let finished: Vec<_> = answers.iter().map(|answer| answer.finished).collect();
        assert_eq!(finished, [1, 0]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_hook_has_the_shorter_of_its_own_time_and_the_sidecars() {
        let endless = Hook::new(HookPoint::PreToolUse, |_| async {
            std::future::pending::<Result<Verdict, String>>().await
        });
        let limit = Some(Duration::from_secs(5));
        for (own, waited) in [(1, 1), (9, 5)] {
            let hooks = [endless.clone().timeout(Duration::from_secs(own))];
            let began = tokio::time::Instant::now();
            let answers = run(&hooks, &HookInput::default(), limit).await;
            assert_eq!(began.elapsed().as_secs(), waited);
            assert_eq!(answers[0].said, Err("the hook did not answer in time".to_owned()));
        }
    }

    #[tokio::test]
    async fn a_panic_is_a_failure_of_its_hook() {
        let panics = Hook::new(HookPoint::PreToolUse, |_| async {
            if true {
                panic!("oops");
            }
            Ok::<_, String>(Verdict::proceed())
        });
        let answers = run(&[panics], &HookInput::default(), None).await;
        assert_eq!(answers[0].said, Err("the hook panicked: oops".to_owned()));
    }
}
