//! The policy of the moment: what every cluster has, and the role and binding objects of the store. Read again when one of them changes.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;

use super::presets;
use super::rbac::Policy;
use crate::store::Cursor;
use crate::verbs::Api;

const GROUP: &str = "rbac.authorization.k8s.io";

/// How an object of a plural joins the policy.
type Add = fn(&mut Policy, &Value);

const PARTS: [(&str, Add); 4] = [
    ("clusterroles", Policy::add_cluster_role),
    ("roles", Policy::add_role),
    ("clusterrolebindings", Policy::add_cluster_binding),
    ("rolebindings", Policy::add_binding),
];

/// The policy, kept until it changes.
pub(crate) struct Policies {
    api: Arc<Api>,
    kept: Mutex<Option<Kept>>,
}

struct Kept {
    policy: Arc<Policy>,
    /// Just after what the policy was made of.
    cursors: Vec<Cursor>,
}

impl Policies {
    pub(crate) fn new(api: Arc<Api>) -> Self {
        Self { api, kept: Mutex::new(None) }
    }

    /// The policy that holds now: a write that was answered is in it.
    pub(crate) fn now(&self) -> Arc<Policy> {
        let mut kept = self.kept.lock();
        if let Some(kept) = kept.as_mut()
            && kept.cursors.iter_mut().all(|cursor| cursor.try_next().is_none())
        {
            return Arc::clone(&kept.policy);
        }
        let read = self.read();
        let policy = Arc::clone(&read.policy);
        *kept = Some(read);
        policy
    }

    fn read(&self) -> Kept {
        let registry = self.api.registry();
        let mut policy = Policy::default();
        presets::add(&mut policy, &registry);
        let mut cursors = Vec::with_capacity(PARTS.len());
        for (plural, add) in PARTS {
            let Some(resource) = registry.find(GROUP, "v1", plural) else { continue };
            let (snapshot, cursor) = self.api.store().list_and_watch(&resource.storage, None);
            for item in &snapshot.items {
                add(&mut policy, &item.value(&resource.api_version(), &resource.kind));
            }
            cursors.push(cursor);
        }
        policy.aggregate();
        Kept { policy: Arc::new(policy), cursors }
    }
}
