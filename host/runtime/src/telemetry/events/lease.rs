//! What happens in an election of hosts. Messages are constant; who leads stands in fields.

use wharf_core::Reason;

/// This host leads.
#[derive(Debug)]
pub struct LeaseAcquired<'a> {
    /// The lease's name.
    pub lease: &'a str,
    /// Under which name it leads.
    pub identity: &'a str,
    /// Whose lease had run out, if somebody held it.
    pub after: Option<&'a str>,
}

impl LeaseAcquired<'_> {
    /// Logs.
    pub fn emit(&self) {
        let Self { lease, identity, after } = *self;
        tracing::info!(target: "wharf::lease", lease, identity, after, "this host leads");
    }
}

/// The lease is seen to have another holder than before.
#[derive(Debug)]
pub struct LeaderChanged<'a> {
    /// The lease's name.
    pub lease: &'a str,
    /// The holder; empty if there is none.
    pub leader: &'a str,
    /// This host.
    pub identity: &'a str,
}

impl LeaderChanged<'_> {
    /// Logs.
    pub fn emit(&self) {
        let Self { lease, leader, identity } = *self;
        tracing::info!(target: "wharf::lease", lease, leader, identity, "leader changed");
    }
}

/// The server could not be asked about the lease, or said no. Said when the answer changes.
#[derive(Debug)]
pub struct LeaseUnanswered<'a> {
    /// The lease's name.
    pub lease: &'a str,
    /// Where it is.
    pub namespace: &'a str,
    /// Why not.
    pub reason: Reason,
    /// What came back.
    pub error: &'a str,
}

impl LeaseUnanswered<'_> {
    /// Logs.
    pub fn emit(&self) {
        let Self { lease, namespace, error, .. } = *self;
        let hint = match self.reason {
            Reason::Forbidden => {
                "the host needs get and update of this lease, and create of leases: `wharf rbac --leader-elect` prints the role"
            }
            other => other.hint(),
        };
        tracing::warn!(target: "wharf::lease", lease, namespace, reason = self.reason.as_str(), error, hint, "lease not renewed");
    }
}

/// This host led, and does no more. It ends.
#[derive(Debug)]
pub struct LeaseLost<'a> {
    /// The lease's name.
    pub lease: &'a str,
    /// How.
    pub why: &'a str,
    /// Who holds it, as far as is known.
    pub leader: Option<&'a str>,
    /// What the server said last, if something is wrong with it.
    pub error: Option<&'a str>,
}

impl LeaseLost<'_> {
    /// Logs.
    pub fn emit(&self) {
        let Self { lease, why, leader, error } = *self;
        let (reason, hint) = (Reason::LeaseLost.as_str(), Reason::LeaseLost.hint());
        tracing::error!(target: "wharf::lease", lease, why, leader, error, reason, hint, "this host leads no more");
    }
}

/// The lease was given back: the next leader need not wait.
#[derive(Debug)]
pub struct LeaseReleased<'a> {
    /// The lease's name.
    pub lease: &'a str,
    /// Under which name it was held.
    pub identity: &'a str,
}

impl LeaseReleased<'_> {
    /// Logs.
    pub fn emit(&self) {
        let Self { lease, identity } = *self;
        tracing::info!(target: "wharf::lease", lease, identity, "lease given back");
    }
}

/// The lease could not be given back, and will run out.
#[derive(Debug)]
pub struct LeaseNotReleased<'a> {
    /// The lease's name.
    pub lease: &'a str,
    /// Why not.
    pub error: &'a str,
}

impl LeaseNotReleased<'_> {
    /// Logs.
    pub fn emit(&self) {
        let Self { lease, error } = *self;
        tracing::warn!(target: "wharf::lease", lease, error, "lease not given back, it will run out");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::telemetry::logging::capture;

    #[test]
    fn the_lines_of_an_election() {
        let lines = capture(|| {
            LeaderChanged { lease: "wharf", leader: "a_1", identity: "b_2" }.emit();
            LeaseUnanswered { lease: "wharf", namespace: "n", reason: Reason::Forbidden, error: "no" }.emit();
            LeaseAcquired { lease: "wharf", identity: "b_2", after: Some("a_1") }.emit();
            LeaseLost { lease: "wharf", why: "x", leader: None, error: None }.emit();
            LeaseReleased { lease: "wharf", identity: "b_2" }.emit();
            LeaseNotReleased { lease: "wharf", error: "503" }.emit();
        });
        let told: Vec<_> = lines.iter().map(|line| line["message"].as_str().unwrap()).collect();
        assert_eq!(
            told,
            [
                "leader changed",
                "lease not renewed",
                "this host leads",
                "this host leads no more",
                "lease given back",
                "lease not given back, it will run out"
            ]
        );
        assert!(lines.iter().all(|line| line["target"] == json!("wharf::lease")));
        assert!(lines[1]["hint"].as_str().unwrap().contains("wharf rbac --leader-elect"), "{}", lines[1]);
        assert_eq!((&lines[2]["after"], &lines[3]["reason"]), (&json!("a_1"), &json!("LeaseLost")));
    }
}
