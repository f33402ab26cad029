//! From a plugin's history to rows for people. Owns their words and how many changes a call stands
//! for; knows no plugin.

use std::time::Duration;

use jiff::Timestamp;
use wharf_core::Cause;

use crate::admin::operate::{Decision, DecisionRow};
use crate::dispatch::history::{End, Follows, Idle, Past, Record, Sight, What, Why};

/// A moment on both clocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now {
    /// Since the host's start.
    pub(super) clock: Duration,
    /// In the world.
    pub(super) world: Timestamp,
}

/// The records of one key as rows.
pub(super) fn rows(past: &Past, now: Now) -> Vec<DecisionRow> {
    // Seen and not told of, and how many of these were given up.
    let (mut changes, mut merged) = (0_u64, 0_u64);
    let row = |record: &Record| {
        let ago = now.clock.saturating_sub(record.at);
        let what = match &record.what {
            What::Seen { how, .. } if *how != Sight::Resync => {
                changes += 1;
                decision(&record.what, changes)
            }
            What::Called { single: false, .. } => {
                merged = 0;
                decision(&record.what, std::mem::take(&mut changes))
            }
            // One change, and those that were merged into it; again if it failed.
            What::Called { cause: Cause::Watch | Cause::ChangedOffline, .. } => {
                let told = std::mem::take(&mut merged).saturating_add(1);
                changes = changes.saturating_sub(told);
                decision(&record.what, told)
            }
            What::Called { .. } => decision(&record.what, 0),
            What::Merged { changes: given_up } => {
                merged = merged.saturating_add(u64::from(*given_up));
                decision(&record.what, u64::from(*given_up))
            }
            what => decision(what, changes),
        };
        DecisionRow { at: world(now, ago), ago_ms: milliseconds(ago), what }
    };
    past.records.iter().map(row).collect()
}

/// When that was, RFC 3339.
pub(super) fn world(now: Now, ago: Duration) -> String {
    // Out of range only for clocks that are wrong by thousands of years.
    let at = jiff::SignedDuration::try_from(ago).ok().and_then(|ago| now.world.checked_sub(ago).ok()).unwrap_or(now.world);
    format!("{at:.3}")
}

fn decision(what: &What, changes: u64) -> Decision {
    match what {
        What::Seen { how, version, gone } => Decision::Seen { how: sight(*how).to_owned(), resource_version: *version, gone: *gone },
        What::Asked => Decision::Asked {},
        What::Dropped { by, version } => Decision::Dropped { by: by.as_str().to_owned(), resource_version: *version },
        What::Merged { .. } => Decision::Merged { changes },
        What::Nothing(idle) => Decision::Nothing { why: why_idle(*idle).to_owned() },
        What::Held { after } => Decision::Held { after_ms: milliseconds(*after) },
        What::Full => Decision::Full {},
        What::Called { event, cause, attempt, revision, version, queued, .. } => Decision::Called {
            event: event.as_str().to_owned(),
            cause: cause.as_str().to_owned(),
            attempt: *attempt,
            revision: *revision,
            resource_version: *version,
            queued_ms: u64::from(*queued),
            changes,
        },
        What::Wrote(write) => Decision::Wrote {
            verb: write.verb.to_owned(),
            api_version: write.kind.api_version(),
            kind: write.kind.kind.to_string(),
            namespace: write.key.namespace.as_deref().unwrap_or_default().to_owned(),
            name: write.key.name.to_string(),
        },
        What::Ended { end, why, took, next } => Decision::Ended {
            outcome: ending(*end).to_owned(),
            reason: match why {
                Why::None => String::new(),
                Why::Host(reason) => reason.to_string(),
                Why::Declared(reason) => reason.to_string(),
            },
            took_us: u64::from(*took),
            parked: *next == Follows::Parked,
            skipped: *next == Follows::Skipped,
            next_ms: match next {
                Follows::Due(after) => Some(u64::from(*after)),
                Follows::Nothing | Follows::Parked | Follows::Skipped => None,
            },
        },
        What::Left => Decision::Left {},
    }
}

const fn sight(how: Sight) -> &'static str {
    match how {
        Sight::InitialList => "initial-list",
        Sight::Watch => "watch",
        Sight::Relist => "relist",
        Sight::Resync => "resync",
    }
}

const fn why_idle(idle: Idle) -> &'static str {
    match idle {
        Idle::Gone => "gone",
        Idle::Unmatched => "unmatched",
        Idle::Told => "told",
    }
}

const fn ending(end: End) -> &'static str {
    match end {
        End::Done => "done",
        End::RequeueAfter => "requeue-after",
        End::Retry => "retry",
        End::Permanent => "permanent",
        End::Strike => "strike",
        End::Waiting => "waiting",
        End::Cancelled => "cancelled",
    }
}

pub(super) fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use wharf_core::{Event, Gvk, ObjectKey, Reason};

    use super::*;
    use crate::dispatch::history::{Dropped, Write};

    #[test]
    fn a_key_from_first_sight_to_parking() {
        let seen = |how, version| What::Seen { how, version, gone: false };
        let called = |attempt, version| What::Called {
            event: Event::Add,
            cause: Cause::Watch,
            attempt,
            revision: 1,
            version,
            queued: 0,
            single: false,
        };
        let write = Write { verb: "apply", kind: Gvk::new("apps", "v1", "Deployment"), key: ObjectKey::new("team-a", "y") };
        let all = [
            seen(Sight::InitialList, 0),
            seen(Sight::Watch, 6),
            seen(Sight::Resync, 6),
            seen(Sight::Watch, 7),
            called(1, 7),
            What::Wrote(Box::new(write)),
            What::Ended { end: End::Retry, why: Why::Declared("Busy".into()), took: 1500, next: Follows::Due(5) },
            called(2, 7),
            What::Ended { end: End::Strike, why: Why::Host(Reason::Trap), took: 10, next: Follows::Parked },
            What::Dropped { by: Dropped::Events, version: 8 },
        ];
        let records = all.into_iter().enumerate().map(|(at, what)| Record { at: Duration::from_millis(at as u64), what });
        let past = Past { records: records.collect(), ..Past::default() };
        let now = Now { clock: Duration::from_millis(1009), world: "2026-01-02T03:04:05.5Z".parse().unwrap() };
        let rows = rows(&past, now);
        assert_eq!(rows.iter().map(|row| row.ago_ms).collect::<Vec<_>>(), (1000..=1009).rev().collect::<Vec<_>>());
        assert_eq!(rows[9].at, "2026-01-02T03:04:04.500Z");
        let json: Vec<Value> = rows.iter().map(|row| serde_json::to_value(&row.what).unwrap()).collect();
        assert_eq!(json[4]["changes"], 3, "a resync is no change");
        assert_eq!(json[7]["changes"], 0);
        assert_eq!(
            json[5],
            json!({"decision": "wrote", "verb": "apply", "apiVersion": "apps/v1", "kind": "Deployment", "namespace": "team-a", "name": "y"})
        );
        assert_eq!(
            json[6],
            json!({"decision": "ended", "outcome": "retry", "reason": "Busy", "tookUs": 1500, "parked": false, "skipped": false, "nextMs": 5})
        );
        assert_eq!((&json[8]["reason"], &json[8]["parked"]), (&json!("Trap"), &json!(true)));
        assert_eq!(json[9], json!({"decision": "dropped", "by": "events", "resourceVersion": 8}));
    }
    /// Of a plugin that is told of each change a call stands for one, and for those merged into it.
    #[test]
    fn changes_that_are_told_one_by_one() {
        let seen = |version| What::Seen { how: Sight::Watch, version, gone: false };
        let called = |cause, single| What::Called { event: Event::Update, cause, attempt: 1, revision: 1, version: 1, queued: 0, single };
        let skipped = What::Ended { end: End::Permanent, why: Why::Declared("Bad".into()), took: 1, next: Follows::Skipped };
        let mut all: Vec<What> = (1..=6).map(seen).collect();
        all.extend([called(Cause::Watch, true), called(Cause::Retry, true), skipped, What::Merged { changes: 3 }]);
        all.extend([called(Cause::Watch, true), seen(7), called(Cause::Watch, false)]);
        let records = all.into_iter().map(|what| Record { at: Duration::ZERO, what });
        let past = Past { records: records.collect(), ..Past::default() };
        let rows = rows(&past, Now { clock: Duration::ZERO, world: "2026-01-02T03:04:05Z".parse().unwrap() });
        let json: Vec<Value> = rows.iter().map(|row| serde_json::to_value(&row.what).unwrap()).collect();
        let changes = |at: usize| json[at]["changes"].as_u64();
        assert_eq!([changes(6), changes(7), changes(10), changes(12)], [Some(1), Some(0), Some(4), Some(2)]);
        assert_eq!((&json[8]["parked"], &json[8]["skipped"]), (&json!(false), &json!(true)));
        assert_eq!(json[9], json!({"decision": "merged", "changes": 3}));
    }
}
