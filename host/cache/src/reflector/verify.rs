//! Compares what a watch has shown to exist with a list at the same version. Owns the
//! comparison; changes nothing but a figure and the log.

use std::collections::HashSet;

use wharf_core::{ObjectKey, Reason};

use super::driver::Reflector;
use super::step::ListRequest;

impl Reflector<'_> {
    /// Lists at exactly that version and tells of each difference to the store. Costs a
    /// whole list and a set of all keys.
    pub(super) async fn verify(&self, resource_version: Box<str>) {
        let store = &self.shared.store;
        let mut unlisted: HashSet<ObjectKey> = store.list(None).iter().map(|object| object.key().clone()).collect();
        let mut differing = Vec::new();
        let request = ListRequest {
            resource_version: Some(resource_version),
            exact: true,
            limit: None,
            token: None,
            first: false,
            reason: Reason::WatchExpired,
        };
        let listed = self.read_list(&request, |object| {
            let kept = store.get(object.key());
            let same = kept.is_some_and(|kept| kept.uid() == object.uid() && kept.resource_version() == object.resource_version());
            if !unlisted.remove(object.key()) || !same {
                differing.push(object.key().clone());
            }
        });
        let (kind, scope) = (&self.shared.spec.kind, &self.shared.spec.scope);
        if let Err(failure) = listed.await {
            tracing::warn!(%kind, %scope, error = %failure, "what the watch has shown cannot be compared with a list");
            return;
        }
        differing.extend(unlisted);
        if let Some(first) = differing.first() {
            let objects = differing.len();
            tracing::error!(%kind, %scope, objects, %first, "the watch has shown another state than a list of the same version");
            self.shared.report(|metrics, spec| metrics.watch_list_differs(spec, objects));
        }
    }
}
