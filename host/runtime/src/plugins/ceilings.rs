//! What the operator of a host lets tenants have at most. Owns the rules and their words; never
//! enforces a limit of a call (that is the engine's and the queue's) and stops nothing that serves.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use wharf_core::Reason;
use wharf_core::plugin::{AskedLimits, Limits, PluginName};
use wharf_core::quantity::{format_bytes, format_duration};

use super::desired::{Refusal, Wishes};

/// The ceilings of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ceilings {
    /// Plugins of one tenant.
    pub plugins_per_tenant: usize,
    /// The limits of a plugin, each by itself.
    pub limits: Limits,
}

impl Ceilings {
    /// May a plugin have these limits? What it does not ask for is not looked at.
    ///
    /// # Errors
    /// `CeilingExceeded`, with every limit that is too high.
    pub fn allow(&self, asked: &AskedLimits) -> Result<(), Refusal> {
        let over = self.exceeded(asked);
        if over.is_empty() { Ok(()) } else { Err(Refusal::new(Reason::CeilingExceeded, over.join("\n"))) }
    }

    /// Every limit that is too high, as `limits.NAME: ...`.
    pub fn exceeded(&self, asked: &AskedLimits) -> Vec<String> {
        let most = &self.limits;
        let over = [
            over("memory", asked.memory, most.memory, format_bytes),
            over("deadline", asked.deadline, most.deadline, format_duration),
            over("cpu", asked.cpu, most.cpu, format_duration),
            over("concurrency", asked.concurrency, most.concurrency, |n| n.to_string()),
        ];
        over.into_iter().flatten().collect()
    }

    /// Refuses the plugins that a tenant has too many: those that came last. `admitted` are those that were
    /// not refused before; they stay, also if the ceiling is lower now, and as long as they `serve` on though their
    /// documents cannot be read.
    pub(super) fn admit(&self, wishes: &mut Wishes, admitted: &mut BTreeSet<PluginName>, serve: impl Fn(&PluginName) -> bool) {
        admitted.retain(|name| wishes.plugins.contains_key(name) || serve(name));
        let mut tenants = BTreeMap::<Arc<str>, usize>::new();
        for name in &*admitted {
            *tenants.entry(Arc::clone(&name.namespace)).or_default() += 1;
        }
        for (name, wish) in &mut wishes.plugins {
            if admitted.contains(name) {
                continue;
            }
            let number = tenants.entry(Arc::clone(&name.namespace)).or_default();
            if *number < self.plugins_per_tenant {
                *number += 1;
                admitted.insert(name.clone());
                continue;
            }
            let message = format!(
                "namespace {} has {number} plugins already, and may have {} (ceilings.pluginsPerTenant)",
                name.namespace, self.plugins_per_tenant
            );
            wish.desired = Err(Refusal::new(Reason::CeilingExceeded, message));
        }
    }
}

fn over<T: PartialOrd + Copy>(name: &str, asked: Option<T>, most: T, print: impl Fn(T) -> String) -> Option<String> {
    let asked = asked.filter(|asked| *asked > most)?;
    Some(format!("limits.{name}: {} is more than this host allows, {} (ceilings.limits.{name})", print(asked), print(most)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::plugins::desired::{Origin, Wish};

    fn ceilings(plugins_per_tenant: usize) -> Ceilings {
        let limits = Limits { memory: 32 << 20, deadline: Duration::from_secs(5), cpu: Duration::from_millis(100), concurrency: 4 };
        Ceilings { plugins_per_tenant, limits }
    }

    #[test]
    fn every_limit_that_is_too_high_is_named() {
        let fits = AskedLimits { memory: Some(32 << 20), concurrency: Some(4), ..AskedLimits::default() };
        ceilings(1).allow(&fits).unwrap();
        let asked = AskedLimits { memory: Some(64 << 20), cpu: Some(Duration::from_secs(1)), ..fits };
        let refusal = ceilings(1).allow(&asked).unwrap_err();
        assert_eq!(refusal.reason, Reason::CeilingExceeded);
        assert_eq!(
            refusal.message,
            "limits.memory: 64Mi is more than this host allows, 32Mi (ceilings.limits.memory)\n\
             limits.cpu: 1s is more than this host allows, 100ms (ceilings.limits.cpu)"
        );
    }

    /// The plugins of a set that are not refused for their number.
    fn admitted(ceilings: Ceilings, names: &[&str], known: &mut BTreeSet<PluginName>) -> Vec<String> {
        let name = |text: &&str| text.split_once('/').and_then(|(namespace, name)| PluginName::new(namespace, name)).unwrap();
        let other = Refusal::new(Reason::ComponentNotFound, "x");
        let wish = Wish { origin: Origin::File("x".into()), generation: None, desired: Err(other) };
        let mut wishes = Wishes { plugins: names.iter().map(|text| (name(text), wish.clone())).collect(), ..Wishes::default() };
        ceilings.admit(&mut wishes, known, |name| &*name.name == "unreadable");
        let within = |wish: &Wish| wish.desired.as_ref().unwrap_err().reason != Reason::CeilingExceeded;
        wishes.plugins.iter().filter(|(_, wish)| within(wish)).map(|(name, _)| name.to_string()).collect()
    }

    #[test]
    fn who_came_first_stays_and_other_tenants_are_not_concerned() {
        let mut known = BTreeSet::new();
        assert_eq!(admitted(ceilings(2), &["a/x", "a/y", "b/x"], &mut known), ["a/x", "a/y", "b/x"]);
        assert_eq!(admitted(ceilings(2), &["a/m", "a/x", "a/y", "b/x", "b/y"], &mut known), ["a/x", "a/y", "b/x", "b/y"]);
        // Room that is left is given to who waits.
        assert_eq!(admitted(ceilings(2), &["a/m", "a/n", "a/y"], &mut known), ["a/m", "a/y"]);
        // One whose document cannot be read for a moment keeps its place.
        let mut keeps = known.clone();
        keeps.insert(PluginName::new("b", "unreadable").unwrap());
        assert_eq!(admitted(ceilings(1), &["b/x"], &mut keeps), Vec::<String>::new());
        // A lower ceiling takes nothing away.
        assert_eq!(admitted(ceilings(1), &["a/b", "a/m", "a/y"], &mut known), ["a/m", "a/y"]);
    }
}
