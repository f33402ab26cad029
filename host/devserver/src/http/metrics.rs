//! A few counters in the text format of Prometheus, under the names of the real server where it has them.
//!
//! Labels are bounded: verbs of the API, codes, resources that are served.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use http::Method;
use parking_lot::Mutex;

use super::Front;
use super::call::Call;
use crate::verbs::Verb;

/// The counters of one server.
#[derive(Default)]
pub(crate) struct Metrics {
    requests: Mutex<BTreeMap<(&'static str, u16), u64>>,
}

impl Metrics {
    /// Counts an answered request.
    pub(crate) fn count(&self, call: &Call, code: u16) {
        let mut requests = self.requests.lock();
        let count = requests.entry((label(call), code)).or_default();
        *count = count.saturating_add(1);
    }

    /// `/metrics`.
    pub(crate) fn text(&self, front: &Front) -> String {
        let mut text = String::new();
        header(&mut text, "apiserver_request_total", "counter", "Requests by verb and code.");
        for ((verb, code), count) in &*self.requests.lock() {
            let _ = writeln!(text, "apiserver_request_total{{code=\"{code}\",verb=\"{verb}\"}} {count}");
        }
        header(&mut text, "apiserver_longrunning_requests", "gauge", "Open watches.");
        for ((group, resource), count) in front.faults.open_by_resource() {
            let _ = writeln!(text, "apiserver_longrunning_requests{{group=\"{group}\",resource=\"{resource}\",verb=\"WATCH\"}} {count}");
        }
        header(&mut text, "apiserver_resource_objects", "gauge", "Stored objects by resource.");
        let store = front.api.store();
        for resource in front.api.registry().storages() {
            let count = store.list(&resource.storage, None, None).map_or(0, |snapshot| snapshot.items.len());
            if count > 0 {
                let _ =
                    writeln!(text, "apiserver_resource_objects{{group=\"{}\",resource=\"{}\"}} {count}", resource.group, resource.plural);
            }
        }
        header(&mut text, "wharf_devserver_resource_version", "gauge", "The last committed resourceVersion.");
        let _ = writeln!(text, "wharf_devserver_resource_version {}", store.version());
        text
    }
}

fn header(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn label(call: &Call) -> &'static str {
    match (call.verb, &call.method) {
        (Some(Verb::List), _) => "LIST",
        (Some(Verb::Watch), _) => "WATCH",
        (Some(Verb::DeleteCollection), _) => "DELETECOLLECTION",
        (_, &Method::GET) => "GET",
        (_, &Method::POST) => "POST",
        (_, &Method::PUT) => "PUT",
        (_, &Method::PATCH) => "PATCH",
        (_, &Method::DELETE) => "DELETE",
        // Anything can be sent as a method.
        _ => "other",
    }
}
