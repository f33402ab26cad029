//! Reads of a cache, measured as `tests/bench/peers/internal/informer` does. Owns how often
//! and of what; never knows the cache.

use std::collections::BTreeSet;
use std::time::Instant;

use serde_json::{Map, Value, json};

/// How many lists are measured together.
const READS: usize = 200;
/// How many values the instance label has, `app-0` and so on.
const INSTANCES: usize = 500;

/// The ways to read a part of a cache; each returns how many objects it got.
pub trait Lists {
    /// The objects of a namespace.
    fn namespace(&self, namespace: &str) -> usize;

    /// The objects with this value of the label `app.kubernetes.io/instance`; `None` if the
    /// cache has no index.
    fn instance(&self, instance: &str) -> Option<usize>;
}

/// Measures lists by namespace and by index. Times are microseconds a list, objects the sum
/// of all lists.
pub fn measure(lists: &impl Lists, namespaces: &BTreeSet<String>) -> Map<String, Value> {
    let mut out = Map::new();
    let namespaces: Vec<&String> = namespaces.iter().cycle().take(READS).collect();
    if namespaces.is_empty() {
        return out;
    }
    let (start, mut objects) = (Instant::now(), 0);
    for namespace in &namespaces {
        objects += lists.namespace(namespace);
    }
    put(&mut out, "list_namespace", start, objects);

    let (start, mut objects) = (Instant::now(), Some(0));
    for i in 0..READS {
        let found = lists.instance(&format!("app-{}", i % INSTANCES));
        objects = objects.zip(found).map(|(all, found)| all + found);
    }
    if let Some(objects) = objects {
        put(&mut out, "list_instance", start, objects);
    }
    out
}

/// Measures how long a handler that comes late takes to know everything.
pub fn measure_late(out: &mut Map<String, Value>, attach: impl FnOnce()) {
    let start = Instant::now();
    attach();
    out.insert("late_handler_ms".into(), json!(start.elapsed().as_secs_f64() * 1e3));
}

fn put(out: &mut Map<String, Value>, name: &str, start: Instant, objects: usize) {
    out.insert(format!("{name}_us"), json!(start.elapsed().as_secs_f64() * 1e6 / READS as f64));
    out.insert(format!("{name}_objects"), json!(objects));
}
