//! A new revision up to the moment before it serves: read, compile, check, probe, start
//! what watches are missing.
//!
//! Each step can refuse, and a refusal changes nothing that serves. Never exchanges
//! revisions itself (that is the registry's, in one step).

use std::sync::Arc;

use tokio::sync::Semaphore;
use wharf_cache::{DiscoveryError, Informers};
use wharf_core::grant::Namespaces;
use wharf_core::plugin::{Limits, PluginDocument, Problem, Subscription, read_description, resolve};
use wharf_core::quantity::format_bytes;
use wharf_core::{Reason, Strike};
use wharf_engine::{Artifact, Engine, LoadError, Revision, RevisionSpec};

use super::ceilings::Ceilings;
use super::component::Component;
use super::desired::Refusal;
use super::progress::{Progress, Step};
use crate::dispatch::{Dispatcher, Subscribed};
use crate::ports::{PluginPorts, PortsFactory};
use crate::telemetry::metrics::Metrics;

/// What staging needs of the host.
#[derive(Clone)]
pub struct Stage {
    /// Compiles and instantiates.
    pub engine: Engine,
    /// The shared informers.
    pub informers: Informers,
    /// Makes the host side of a plugin's imports.
    pub ports: Arc<PortsFactory>,
    /// Where compile times are counted.
    pub metrics: Arc<Metrics>,
    /// Components that may be read and compiled at once.
    pub turns: Arc<Semaphore>,
    /// The largest component that is accepted.
    pub max_component_bytes: u64,
    /// Limits where neither document nor component names any.
    pub defaults: Limits,
    /// What the operator allows at most.
    pub ceilings: Ceilings,
    /// Are ServiceAccounts made that are missing?
    pub makes_accounts: bool,
}

/// A component that is ready to be instantiated, and its bytes.
pub struct Loaded {
    /// Its code.
    pub artifact: Arc<Artifact>,
    /// To keep.
    pub wasm: Arc<[u8]>,
}

/// A revision that could serve at once.
pub struct Staged {
    /// The component, ready to be called.
    pub revision: Arc<Revision>,
    /// The host side of its imports.
    pub ports: Arc<PluginPorts>,
    /// Its limits.
    pub limits: Limits,
    /// Its own failure reasons.
    pub reasons: Vec<Arc<str>>,
    /// Attached, not yet announcing, and perhaps not settled.
    pub subscribed: Arc<Subscribed>,
}

impl Stage {
    /// Reads a component's bytes, and compiles them or takes them from the cache. A few at a
    /// time: a hundred components that are read at once are a hundred files in memory.
    ///
    /// # Errors
    /// `ComponentNotFound`, `ComponentTooLarge`, `ComponentInvalid`, `CompileFailed`; or why a
    /// ConfigMap cannot be read.
    pub async fn load(&self, component: &Component, progress: &Progress) -> Result<Loaded, Refusal> {
        progress.begin(Step::Read);
        component.known().await?;
        // Closed never; without a permit there is only less order.
        let _turn = self.turns.acquire().await.ok();
        let wasm = component.bytes(&self.ports.api, self.max_component_bytes).await?;
        self.compile(wasm.into(), progress).await
    }

    /// Compiles a component, or takes it from the cache.
    ///
    /// # Errors
    /// `ComponentTooLarge`, `ComponentInvalid`, `CompileFailed`.
    pub async fn compile(&self, wasm: Arc<[u8]>, progress: &Progress) -> Result<Loaded, Refusal> {
        progress.begin(Step::Compile);
        let artifact = self.engine.load(Arc::clone(&wasm)).await.map_err(refused)?;
        if !artifact.from_cache() {
            self.metrics.compiled(artifact.compile_time());
        }
        let wasm = artifact.share(wasm);
        Ok(Loaded { artifact, wasm })
    }

    /// Checks imports against grants, probes, resolves what is asked for against what is
    /// granted, and starts what watches are missing.
    ///
    /// # Errors
    /// The first step that fails, with all that is wrong in it.
    pub async fn stage(
        &self,
        document: &PluginDocument,
        artifact: &Arc<Artifact>,
        dispatcher: &Arc<Dispatcher>,
        progress: &Progress,
    ) -> Result<Staged, Refusal> {
        progress.begin(Step::Check);
        self.ceilings.allow(&document.limits)?;
        let ports = self.ports.make(document, Arc::downgrade(dispatcher));
        // What the component itself would like is known only after it was asked.
        let first = document.limits.fill(&self.defaults);
        let probe = self.prepare(artifact, document, first, &ports)?;
        progress.begin(Step::Probe);
        let (mut subscriptions, limits, reasons) = self.describe(&probe, document, first.memory).await?;
        self.ceilings.allow(&limits.into())?;
        progress.begin(Step::Resolve);
        self.place(&mut subscriptions, document).await?;
        let revision = if limits == first { probe } else { self.prepare(artifact, document, limits, &ports)? };
        let named = |subscription: &Subscription| names(document, subscription);
        let subscribed = Arc::new(Subscribed::attach(subscriptions, named, &self.informers, dispatcher));
        Ok(Staged { revision, ports, limits, reasons, subscribed })
    }

    /// Kinds outside of namespaces are watched as a whole, and must be named by the document.
    /// A kind that does not exist yet is taken for one in namespaces.
    async fn place(&self, subscriptions: &mut [Subscription], document: &PluginDocument) -> Result<(), Refusal> {
        let mut outside = Vec::new();
        for subscription in &mut *subscriptions {
            let kind = &*subscription.kind;
            let resource = match self.informers.discovery().resolve(kind).await {
                Ok(resource) => resource,
                Err(DiscoveryError::NotFound { .. }) => continue,
                // Not known now is not the same as not there: it is tried again.
                Err(error) => return Err(Refusal::new(error.reason(), error.to_string())),
            };
            if resource.namespaced {
                continue;
            }
            if !names(document, subscription) {
                let message = format!(
                    "subscription {}: {kind} is a kind outside of namespaces, so the document must name it: \
                     subscribe: [{{name: {}, apiVersion: {}, kind: {}, namespaces: [\"*\"]}}]",
                    subscription.name,
                    subscription.name,
                    kind.api_version(),
                    kind.kind
                );
                return Err(Refusal::new(Reason::GrantMissing, message));
            }
            subscription.namespaces = Namespaces::All;
            outside.push(Arc::clone(&subscription.kind));
        }
        for map in subscriptions.iter_mut().filter_map(|subscription| subscription.map.as_mut()) {
            map.namespaced = !outside.contains(&map.to);
        }
        Ok(())
    }

    fn prepare(
        &self,
        artifact: &Arc<Artifact>,
        document: &PluginDocument,
        limits: Limits,
        ports: &Arc<PluginPorts>,
    ) -> Result<Arc<Revision>, Refusal> {
        let spec = RevisionSpec {
            name: document.name.clone(),
            limits,
            grants: document.grants.clone(),
            config: Arc::clone(&document.config),
            ports: Arc::<PluginPorts>::clone(ports),
            isolation: document.isolation,
        };
        self.engine.prepare(Arc::clone(artifact), spec).map_err(refused)
    }

    /// Calls `validate-config`, then `describe`, in throw-away instances that may have so much `memory`.
    async fn describe(
        &self,
        probe: &Revision,
        document: &PluginDocument,
        memory: u64,
    ) -> Result<(Vec<Subscription>, Limits, Vec<Arc<str>>), Refusal> {
        let strike = |what: &str, strike| struck(what, strike, probe.artifact().initial_memory(), memory);
        probe
            .validate_config()
            .await
            .map_err(|s| strike("validate-config", s))?
            .map_err(|errors| Refusal::new(Reason::ConfigInvalid, errors.join("\n")))?;
        let json = probe.describe().await.map_err(|s| strike("describe", s))?;
        let description = read_description(&json).map_err(|problems| {
            Refusal::new(Reason::DescribeFailed, format!("describe answered something unusable:\n{}", lines(&problems)))
        })?;
        let (subscriptions, limits) = resolve(document, &description, &self.defaults).map_err(|problems| Refusal {
            reason: problems.first().map_or(Reason::DocumentInvalid, |p| p.reason),
            message: lines(&problems),
            hint: problems.iter().map(|p| p.hint.as_str()).find(|hint| !hint.is_empty()).unwrap_or_default().to_owned(),
        })?;
        Ok((subscriptions, limits, description.reasons))
    }
}

/// Does the document itself name the kind of a subscription?
fn names(document: &PluginDocument, subscription: &Subscription) -> bool {
    let mut entries = document.subscribe.iter().flatten();
    entries.any(|entry| entry.name == subscription.name && entry.kind.as_ref() == Some(&*subscription.kind))
}

/// The probe ended in a strike. One that kept the instance from being made says nothing of `what` was asked.
fn struck(what: &str, strike: Strike, initial: u64, memory: u64) -> Refusal {
    let Strike { reason, message } = strike;
    match reason {
        Reason::InstantiateFailed if initial > memory => {
            let (needs, has) = (format_bytes(initial), format_bytes(memory));
            Refusal::new(reason, message)
                .hint(format!("raise limits.memory above {needs}: an instance has so much before it does anything, and may have {has}"))
        }
        Reason::InstantiateFailed | Reason::WorldMismatch | Reason::HostError => Refusal::new(reason, message),
        _ if reason.is_excused() => Refusal::new(reason, message),
        Reason::MemoryExceeded => Refusal::new(Reason::DescribeFailed, format!("{what} failed: {message} [{reason}]")).hint(reason.hint()),
        _ => Refusal::new(Reason::DescribeFailed, format!("{what} failed: {message} [{reason}]")),
    }
}

fn refused(error: LoadError) -> Refusal {
    Refusal::new(error.reason, error.message)
}

fn lines(problems: &[Problem]) -> String {
    problems.iter().map(|p| format!("{}: {}", p.pointer, p.message)).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_that_cannot_be_made_is_refused_for_that() {
        let message = "1114112 bytes of memory were asked for, 1048576 are allowed";
        let of = |reason| struck("validate-config", Strike { reason, message: message.to_owned() }, 1_114_112, 1 << 20);
        let refusal = of(Reason::InstantiateFailed);
        assert_eq!((refusal.reason, &*refusal.message), (Reason::InstantiateFailed, message));
        assert_eq!(refusal.hint, "raise limits.memory above 1088Ki: an instance has so much before it does anything, and may have 1Mi");
        assert_eq!(of(Reason::WorldMismatch), Refusal::new(Reason::WorldMismatch, message));
        // It was made, and asked.
        let refusal = of(Reason::MemoryExceeded);
        assert_eq!(refusal.reason, Reason::DescribeFailed);
        assert_eq!(refusal.message, format!("validate-config failed: {message} [MemoryExceeded]"));
        assert!(refusal.hint.contains("raise limits.memory"), "{}", refusal.hint);
        assert_eq!(of(Reason::Trap).hint, Reason::DescribeFailed.hint());
        // Memory was enough; what the message says is all that is known.
        let other = struck("describe", Strike { reason: Reason::InstantiateFailed, message: "no".to_owned() }, 1, 2);
        assert_eq!(other, Refusal::new(Reason::InstantiateFailed, "no"));
    }
}
