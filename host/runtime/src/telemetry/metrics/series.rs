//! A metric family: one metric per set of label values. Owns three things that the
//! library's own family lacks: a fixed order (the same exposition for the same numbers), a
//! ceiling on the number of series, and removal by condition.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::RwLock;
use prometheus_client::encoding::{EncodeLabelSet, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::{MetricType, TypedMetric};
use prometheus_client::registry::Registry;

/// Most series of one family. A plugin has about fifty series in its largest family, so
/// this is a fence against mistakes, far from what a host of hundreds of plugins needs.
const MAX_SERIES: usize = 50_000;

/// A family of metrics with labels `L`. Clones share the series.
pub(super) struct Series<L, M>(Arc<Inner<L, M>>);

struct Inner<L, M> {
    series: RwLock<BTreeMap<L, M>>,
    make: fn() -> M,
    max: usize,
    refused: Counter,
}

impl<L, M> Series<L, M>
where
    L: EncodeLabelSet + Ord + Clone + fmt::Debug + Send + Sync + 'static,
    M: EncodeMetric + TypedMetric + Clone + Send + Sync + 'static,
{
    /// Makes a family and registers it under its full name (counters without `_total`).
    pub(super) fn register(registry: &mut Registry, refused: &Counter, name: &str, help: &str, make: fn() -> M) -> Self {
        let family = Self::new(make, MAX_SERIES, refused.clone());
        registry.register(name, help, family.clone());
        family
    }

    fn new(make: fn() -> M, max: usize, refused: Counter) -> Self {
        Self(Arc::new(Inner { series: RwLock::default(), make, max, refused }))
    }

    /// The metric of these labels, made at zero if it is new. Beyond the ceiling the metric
    /// works but is not exposed, and the refusal is counted.
    pub(super) fn get(&self, labels: &L) -> M {
        if let Some(metric) = self.0.series.read().get(labels) {
            return metric.clone();
        }
        let mut series = self.0.series.write();
        if series.len() >= self.0.max && !series.contains_key(labels) {
            self.0.refused.inc();
            return (self.0.make)();
        }
        series.entry(labels.clone()).or_insert_with(self.0.make).clone()
    }

    /// Removes the series whose labels satisfy the condition. Costs a walk over all.
    pub(super) fn remove_where(&self, gone: impl Fn(&L) -> bool) {
        self.0.series.write().retain(|labels, _| !gone(labels));
    }
}

impl<L, M> Clone for Series<L, M> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<L, M> fmt::Debug for Series<L, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Series").field("len", &self.0.series.read().len()).finish_non_exhaustive()
    }
}

impl<L: EncodeLabelSet, M: EncodeMetric + TypedMetric> EncodeMetric for Series<L, M> {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), fmt::Error> {
        for (labels, metric) in self.0.series.read().iter() {
            metric.encode(encoder.encode_family(labels)?)?;
        }
        Ok(())
    }

    fn metric_type(&self) -> MetricType {
        M::TYPE
    }

    fn is_empty(&self) -> bool {
        self.0.series.read().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::super::labels::OfPlugin;
    use super::*;

    #[test]
    fn series_are_bounded_and_removable() {
        let refused = Counter::default();
        let family: Series<OfPlugin, Counter> = Series::new(Counter::default, 2, refused.clone());
        let labels = |name: &str| OfPlugin { plugin: name.into() };
        for name in ["b", "a", "c", "a"] {
            family.get(&labels(name)).inc();
        }
        assert_eq!(refused.get(), 1);
        assert_eq!(family.get(&labels("a")).get(), 2);
        family.remove_where(|l| &*l.plugin == "b");
        family.get(&labels("c")).inc();
        let mut registry = Registry::default();
        registry.register("calls", "Calls", family);
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        assert_eq!(text, "# HELP calls Calls.\n# TYPE calls counter\ncalls_total{plugin=\"a\"} 2\ncalls_total{plugin=\"c\"} 1\n# EOF\n");
    }
}
