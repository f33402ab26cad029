//! The failed calls that are kept, for operators: from what a dispatcher keeps to rows. Decides
//! nothing; values of Secrets are already left out where they must be.

use jiff::Timestamp;
use serde_json::Value;
use wharf_core::{Failure, Object, TargetKey, printable};

use super::decisions::{Now, world};
use super::key::Meant;
use super::operator::{Operator, wrong};
use crate::admin::calls::{FailedCallRow, FailedCallsAsk, FailedCallsRow, InputRow};
use crate::admin::operate::Refused;
use crate::dispatch::FailedCall;

impl Operator {
    pub(super) async fn failed(&self, ask: FailedCallsAsk) -> Result<FailedCallsRow, Refused> {
        let plugin = self.plugin(&ask.plugin, ask.namespace.as_deref())?;
        let wanted = match &ask.key {
            None => None,
            Some(text) => match self.key(text, &plugin, ask.namespace.as_deref()).await? {
                Meant::Key(key) => Some(key),
                Meant::OtherKind { word, .. } => {
                    let hint = format!("`wharf explain {} {text}` says more", plugin.name);
                    return Err(wrong(format!("{} is not subscribed to {word:?}", plugin.name), hint));
                }
            },
        };
        let now = Now { clock: self.now(), world: Timestamp::now() };
        let label = plugin.name.to_string();
        let kept = plugin.dispatcher.failed_calls();
        let is_wanted = |key: TargetKey| wanted.as_ref().is_none_or(|wanted| *wanted == key);
        let items: Vec<_> = kept.iter().filter(|call| is_wanted(call.key())).map(|call| row(&label, call, now)).collect();
        match wanted.filter(|_| items.is_empty()) {
            Some(key) => {
                let hint =
                    format!("`wharf get failedcalls {label}` lists those that are; `wharf explain {label} {key}` shows what happened");
                Err(Refused { missing: true, ..wrong(format!("no failed call of {label} for {key} is kept"), hint) })
            }
            None => Ok(FailedCallsRow { items }),
        }
    }
}

fn row(plugin: &str, call: &FailedCall, now: Now) -> FailedCallRow {
    let FailedCall { at, revision, delivery, too_large, redacted, report } = call;
    let (outcome, reason, message) = match &report.result {
        Ok(Ok(_)) => ("done", "", ""),
        Ok(Err(Failure::Retry(fault))) => ("retry", &*fault.reason, &*fault.message),
        Ok(Err(Failure::Permanent(fault))) => ("permanent", &*fault.reason, &*fault.message),
        Err(strike) => ("strike", strike.reason.as_str(), &*strike.message),
    };
    let ago = now.clock.saturating_sub(*at);
    FailedCallRow {
        plugin: plugin.to_owned(),
        api_version: delivery.kind.api_version(),
        kind: delivery.kind.kind.to_string(),
        namespace: delivery.key.namespace.as_deref().unwrap_or_default().to_owned(),
        name: delivery.key.name.to_string(),
        at: world(now, ago),
        age_seconds: ago.as_secs(),
        revision: revision.to_string(),
        outcome: outcome.to_owned(),
        reason: printable(reason),
        message: printable(message),
        usage: report.into(),
        input: InputRow {
            event: delivery.event.as_str().to_owned(),
            subscription: delivery.subscription.to_string(),
            cause: delivery.cause.as_str().to_owned(),
            removal: delivery.removal.as_str().to_owned(),
            final_state_unknown: delivery.final_state_unknown,
            attempt: delivery.attempt,
            queued_millis: u64::try_from(delivery.queued.as_millis()).unwrap_or(u64::MAX),
            object: delivery.current.as_deref().map_or(Value::Null, state),
            old: delivery.previous.as_deref().map_or(Value::Null, state),
            redacted: *redacted,
            too_large: too_large.map(|bytes| bytes as u64),
        },
    }
}

/// What is in a store is JSON; a number that is none to a reader is shown within its text.
fn state(object: &Object) -> Value {
    serde_json::from_str(object.json()).unwrap_or_else(|_| Value::from(object.json()))
}
