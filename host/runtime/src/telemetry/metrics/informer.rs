//! `wharf_informer_*` counters, told by the cache crate through its own trait. Sizes and
//! sync state are pulled at each scrape (`pulled.rs`); several informers of one kind share
//! its series, which go with the last of them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;
use wharf_cache::{CacheMetrics, InformerSpec, WatchEventType};
use wharf_core::{Gvk, Reason};

use super::labels::{OfKind, OfRelist, OfWatchEvent};
use super::series::Series;
use super::{Metrics, kind_label};

#[derive(Debug)]
pub(super) struct InformerMetrics {
    relists: Series<OfRelist, Counter>,
    failures: Series<OfRelist, Counter>,
    late: Series<OfKind, Counter>,
    watch_events: Series<OfWatchEvent, Counter>,
    /// How many informers each kind has. Bounded by the cache, which owns the informers.
    running: RwLock<HashMap<Gvk, usize>>,
}

impl InformerMetrics {
    #[rustfmt::skip]
    pub(super) fn new(r: &mut Registry, x: &Counter) -> Self {
        Self {
            relists: Series::register(r, x, "wharf_informer_relists", "Full lists of a kind after the first one, by why", Counter::default),
            failures: Series::register(r, x, "wharf_informer_failures", "Lists and watches of a kind that failed, by why", Counter::default),
            late: Series::register(r, x, "wharf_informer_initial_events_late", "Times that a watch of a kind was ten seconds later than before with what exists", Counter::default),
            watch_events: Series::register(r, x, "wharf_informer_watch_events", "Events that the watches of a kind delivered", Counter::default),
            running: RwLock::default(),
        }
    }
}

impl CacheMetrics for Metrics {
    fn started(&self, spec: &InformerSpec) {
        let mut running = self.informer.running.write();
        *running.entry(spec.kind.clone()).or_default() += 1;
        let kind = kind_label(&spec.kind);
        for event in WatchEventType::ALL {
            self.informer.watch_events.get(&OfWatchEvent { kind: Arc::clone(&kind), r#type: event.as_str() });
        }
        self.informer.relists.get(&OfRelist { kind, reason: Reason::WatchExpired.as_str() });
    }

    fn relist(&self, spec: &InformerSpec, reason: Reason) {
        self.informer.relists.get(&OfRelist { kind: kind_label(&spec.kind), reason: reason.as_str() }).inc();
    }

    fn failed(&self, spec: &InformerSpec, reason: Reason) {
        self.informer.failures.get(&OfRelist { kind: kind_label(&spec.kind), reason: reason.as_str() }).inc();
    }

    fn initial_events_late(&self, spec: &InformerSpec, _waited: Duration) {
        self.informer.late.get(&OfKind { kind: kind_label(&spec.kind) }).inc();
    }

    fn watch_event(&self, spec: &InformerSpec, event: WatchEventType) {
        self.informer.watch_events.get(&OfWatchEvent { kind: kind_label(&spec.kind), r#type: event.as_str() }).inc();
    }

    fn stopped(&self, spec: &InformerSpec) {
        let mut running = self.informer.running.write();
        let Some(left) = running.get_mut(&spec.kind) else { return };
        *left = left.saturating_sub(1);
        if *left == 0 {
            running.remove(&spec.kind);
            let kind = kind_label(&spec.kind);
            self.informer.relists.remove_where(|l| l.kind == kind);
            self.informer.failures.remove_where(|l| l.kind == kind);
            self.informer.late.remove_where(|l| l.kind == kind);
            self.informer.watch_events.remove_where(|l| l.kind == kind);
        }
    }
}
