//! The session's last prompt, as this agent told it: the next one is told as a change to it.

use std::future::Future;
use std::sync::Arc;

use super::core::Core;
use crate::error::Error;
use crate::recorder::{AttachRequest, Attachment, PromptBase, PromptOutput};
use crate::session::Session;

/// The refusal of a prompt whose base is not the session's last one.
const MISMATCH: &str = "PROMPT_BASE_MISMATCH";

#[derive(Default)]
pub(super) struct LastPrompt {
    outputs: Vec<PromptOutput>,
    prompt_token: Vec<u8>,
}

impl LastPrompt {
    /// What the new prompt begins with. None: nothing of the last one.
    fn base_of(&self, outputs: &[PromptOutput]) -> Option<PromptBase> {
        let alike = self.outputs.iter().zip(outputs).take_while(|(one, other)| one == other);
        let kept_outputs = alike.count();
        let prompt_token = self.prompt_token.clone();
        (kept_outputs > 0).then_some(PromptBase { prompt_token, kept_outputs })
    }
}

impl Core {
    /// Attaches records to a prompt, after everything that was said on the stream before.
    pub(super) fn attach_records(
        self: &Arc<Self>,
        request: AttachRequest,
    ) -> impl Future<Output = Result<Attachment, Error>> + Send + use<> {
        let idle = self.lock().link.idle();
        let barrier = (!idle).then(|| self.barrier());
        let core = Arc::clone(self);
        async move {
            if let Some(barrier) = barrier {
                barrier.await?;
            }
            let outputs = request.outputs.clone();
            let base = core.lock().last_prompt.base_of(&outputs);
            let attachment = attach(&core.session(), request, base).await?;
            let prompt_token = attachment.prompt_token.clone();
            core.lock().last_prompt = LastPrompt { outputs, prompt_token };
            Ok(attachment)
        }
    }
}

/// Leaves out what stays of the last prompt, unless somebody else attached in between.
async fn attach(
    session: &Session,
    request: AttachRequest,
    base: Option<PromptBase>,
) -> Result<Attachment, Error> {
    if let Some(base) = base.filter(|_| request.base.is_none()) {
        let mut shorter = request.clone();
        shorter.outputs.drain(..base.kept_outputs);
        shorter.base = Some(base);
        match session.attach(shorter).await {
            Err(error) if error.reason() == MISMATCH => {}
            attached => return attached,
        }
    }
    session.attach(request).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outputs<const N: usize>(call_ids: [&str; N]) -> Vec<PromptOutput> {
        let output = |call_id: &str| PromptOutput {
            call_id: Some(call_id.to_owned()),
            ..PromptOutput::default()
        };
        call_ids.map(output).to_vec()
    }

    #[test]
    fn a_prompt_goes_on_from_what_it_begins_alike_with() {
        let last = LastPrompt { outputs: outputs(["a", "b", "c"]), prompt_token: vec![7] };
        for (next, kept) in [
            (outputs(["a", "b", "c"]), Some(3)),
            ([outputs(["a", "b", "c"]), outputs(["d"])].concat(), Some(3)),
            (outputs(["a", "x", "c"]), Some(1)),
            (outputs(["a"]), Some(1)),
            (outputs(["x", "b", "c"]), None),
            (outputs([]), None),
        ] {
            let base = last.base_of(&next);
            assert_eq!(base.map(|base| base.kept_outputs), kept, "{next:?}");
        }
        assert_eq!(LastPrompt::default().base_of(&outputs(["a"])), None);
    }
}
