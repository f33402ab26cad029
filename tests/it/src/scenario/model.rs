//! The language of the scenarios: what may stand in a YAML file. Owns the words and their
//! defaults; what they do is in `steps`. `${ns}` in the text is the scenario's own
//! namespace, which has the name of the file.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::{Map, Value};
use wharf_testkit::Kind;

/// One file.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Scenario {
    /// What is shown, in one sentence.
    pub description: String,
    /// True if the scenario stops the API server or counts its watches of a shared kind.
    #[serde(default)]
    pub own_cluster: bool,
    /// Set if only one of the two API servers can play it.
    #[serde(default)]
    pub only: Option<Only>,
    /// More namespaces, by suffix: `b` makes `${ns}-b`.
    #[serde(default)]
    pub namespaces: Vec<String>,
    /// How the plugins folder is laid out.
    #[serde(default)]
    pub folder: Layout,
    /// More flags of `wharf run`.
    #[serde(default)]
    pub host_args: Vec<String>,
    /// Settings of the host, as in its configuration file.
    #[serde(default)]
    pub host_config: Map<String, Value>,
    /// ServiceAccount of `${ns}` that the host runs as; without one it has all rights. One of
    /// the objects in `before`.
    #[serde(default)]
    pub host_account: Option<String>,
    /// Objects that exist before the host starts.
    #[serde(default)]
    pub before: Vec<Value>,
    /// Plugins that are there when the host starts.
    #[serde(default)]
    pub plugins: Vec<Plugin>,
    /// What happens then.
    pub steps: Vec<Step>,
}

impl Scenario {
    /// Whether this API server plays it.
    pub fn runs_on(&self, server: Kind) -> bool {
        self.only.as_ref().is_none_or(|only| (only.server == ServerName::Real) == (server == Kind::Real))
    }

    /// Reads a scenario that will run in a namespace.
    ///
    /// # Errors
    /// Shows the line that is wrong.
    pub fn parse(text: &str, namespace: &str) -> Result<Self> {
        serde_saphyr::from_str(&text.replace("${ns}", namespace)).context("the scenario is not valid")
    }
}

/// The only API server that can play a scenario.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Only {
    /// Which.
    pub server: ServerName,
    /// Why the other one cannot.
    pub why: String,
}

/// An API server, as files and names of tests have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ServerName {
    /// etcd and kube-apiserver.
    Real,
    /// `wharf apiserver`.
    Embedded,
}

/// How the plugins folder is laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Layout {
    /// Plain files, replaced by renaming.
    #[default]
    Files,
    /// As the kubelet mounts a ConfigMap: links through `..data`, which is swapped.
    ConfigMap,
}

/// A Plugin document and its component.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Plugin {
    /// Name of the document; the file is `NAME.yaml`, or as `file` says.
    pub name: String,
    /// Component in `target/guests`, without `.wasm`; copied as `NAME.wasm`.
    #[serde(default)]
    pub guest: Option<String>,
    /// The document's `spec`; `component` is filled in.
    #[serde(default)]
    pub spec: Map<String, Value>,
    /// The document's text, if it must be wrong in a special way.
    #[serde(default)]
    pub text: Option<String>,
    /// File name of the document without `.yaml`, if not the plugin's name.
    #[serde(default)]
    pub file: Option<String>,
    /// The reason that it is refused with; otherwise it must go into service.
    #[serde(default)]
    pub refused: Option<String>,
    /// A manifest without name that makes the plugin's guest answer `done`: how `quiesce`
    /// knows that everything before was seen. Default: a ConfigMap.
    #[serde(default)]
    pub sentinel: Option<Value>,
}

/// An object by kind and name.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Reference {
    /// Default `v1`.
    #[serde(default = "v1")]
    pub api_version: String,
    /// Default `ConfigMap`.
    #[serde(default = "config_map")]
    pub kind: String,
    /// Default `${ns}`; `""` for cluster-scoped kinds.
    #[serde(default)]
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
}

/// One step.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Step {
    /// Server-side apply of manifests; waits until the API server serves their kind.
    Apply(Vec<Value>),
    /// JSON merge patch.
    Patch(Patch),
    /// Deletes an object that must be there.
    Delete(Reference),
    /// Writes a document (and its component, if `guest` is there) and waits for the result.
    WritePlugin(Plugin),
    /// Replaces the component's bytes and waits until the new revision serves.
    SwapPlugin(Swap),
    /// Replaces the component's bytes by ones that are no component, and waits until they
    /// are refused.
    BreakPlugin(String),
    /// Removes document and component and waits until the host has noticed.
    RemovePlugin(String),
    /// Installs the custom resource, as `wharf crd` prints it.
    InstallCrd,
    /// Applies a plugin as a custom resource and waits for the result. Its component is the entry
    /// `component.wasm` of the ConfigMap of its name, unless `spec` says otherwise; `guest` puts it
    /// there.
    ApplyPlugin(Plugin),
    /// Deletes such a resource and waits until the host has noticed.
    DeletePlugin(String),
    /// Puts a component into a ConfigMap.
    ApplyComponent(Component),
    /// Cuts the host's connections to the API server and refuses new ones.
    CutWatch,
    /// Lets the API server's answers reach the host at so many bytes a second, for each connection.
    SlowApiServer(u64),
    /// Lets the host connect again, and as fast as it can.
    RestoreWatch,
    /// Stops the API server (`ownCluster` only).
    StopApiServer,
    /// Starts it again (`ownCluster` only).
    StartApiServer,
    /// Lets time go by: the length of a failure that is simulated, never a wait for
    /// something.
    Outage(Seconds),
    /// Waits until a plugin has a call in flight.
    Busy(String),
    /// Sends a signal to the host.
    Signal(SignalName),
    /// Starts a host again, after the last one ended.
    StartHost,
    /// Which calls a key had.
    ExpectCalls(ExpectCalls),
    /// A line of the host's log, anywhere so far.
    ExpectLog(Fields),
    /// After a quiesce: no such line so far.
    ExpectNoLog(Fields),
    /// An object of the cluster.
    ExpectObject(ExpectObject),
    /// An object that is gone, or goes.
    ExpectNoObject(Reference),
    /// A series of the host's metrics.
    ExpectMetric(ExpectMetric),
    /// Watches of a resource by the API server's count, without those that it has itself.
    ExpectWatches(ExpectWatches),
    /// Answer of a health path.
    ExpectHealth(ExpectHealth),
    /// What a command of `wharf` says of the host.
    Wharf(Wharf),
    /// A command of `wharf` against the host that goes on, until the next one or the end of the scenario.
    WharfGoesOn(Vec<String>),
    /// Texts that this command has printed, in this order.
    WharfSays(Vec<String>),
    /// A command of kubectl in `${ns}`, which must succeed.
    Kubectl(Vec<String>),
    /// How the host ends.
    ExpectExit(ExpectExit),
    /// Until the plugin (all, if empty) has seen all changes and its queue is empty.
    Quiesce(Vec<String>),
    /// Starts a steady stream of writes in the background.
    Churn(Churn),
    /// Waits until so many more writes of the stream were made.
    Churned(u64),
    /// Ends the stream and checks that nothing was lost or doubled.
    VerifyChurn(VerifyChurn),
}

/// A merge patch of an object.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Patch {
    /// The object.
    pub object: Reference,
    /// What changes.
    pub to: Value,
}

/// A new component for a plugin.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Swap {
    /// The plugin.
    pub plugin: String,
    /// Component in `target/guests`.
    pub guest: String,
    /// No host runs that could take it into service now.
    #[serde(default)]
    pub offline: bool,
}

/// A component in a ConfigMap of `${ns}`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Component {
    /// The ConfigMap.
    pub name: String,
    /// The entry of `binaryData`.
    #[serde(default = "component_wasm")]
    pub key: String,
    /// Component in `target/guests`.
    pub guest: String,
}

/// A time.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Seconds {
    /// Its length.
    pub seconds: u64,
}

/// A signal.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SignalName {
    /// SIGTERM.
    Term,
    /// SIGKILL, and waits for the end.
    Kill,
}

/// Fields by name, and what must be in them. A scalar must be equal (`null`: absent);
/// `{contains: text}` and `{not: value}` say themselves what they are.
pub(super) type Fields = BTreeMap<String, Value>;

/// Calls of one key.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExpectCalls {
    /// Name of the plugin in `${ns}`, or `namespace/name`.
    pub plugin: String,
    /// Default `${ns}`; `""` for cluster-scoped objects.
    #[serde(default)]
    pub namespace: Option<String>,
    /// Name of the object.
    pub name: String,
    /// The calls, each by some of its fields.
    #[serde(default)]
    pub calls: Vec<Fields>,
    /// How they are compared.
    #[serde(default)]
    pub mode: Mode,
}

/// How calls are compared. Each comparison looks only at the calls that no earlier step of
/// the same key has used up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Mode {
    /// Exactly these come next, in this order; there may be more later.
    #[default]
    Exact,
    /// Exactly these and then no more: quiesces first.
    Only,
    /// These come in this order, with others between.
    Contains,
    /// After a quiesce there is none that matches any of these.
    Never,
}

/// An object and what is in it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExpectObject {
    /// Default `v1`.
    #[serde(default = "v1")]
    pub api_version: String,
    /// Default `ConfigMap`.
    #[serde(default = "config_map")]
    pub kind: String,
    /// Default `${ns}`.
    #[serde(default)]
    pub namespace: Option<String>,
    /// Without a name any object of the namespace will do.
    #[serde(default)]
    pub name: Option<String>,
    /// By RFC 6901 pointer.
    #[serde(default)]
    pub fields: Fields,
}

/// A metric.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExpectMetric {
    /// With its suffix, for example `_total`.
    pub name: String,
    /// Labels that must be there; the sum of all such series counts.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Exactly.
    #[serde(default)]
    pub equals: Option<f64>,
    /// Or at least.
    #[serde(default)]
    pub at_least: Option<f64>,
}

/// A number of watches.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExpectWatches {
    /// API group; empty for the core group.
    #[serde(default)]
    pub group: String,
    /// Plural name.
    pub resource: String,
    /// How many.
    pub count: u64,
}

/// A health answer.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExpectHealth {
    /// For example `/readyz`.
    pub path: String,
    /// Status code.
    pub code: u16,
}

/// A command of `wharf` against the host. It is run again until its end is as expected, unless it
/// changes something (`once`).
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Wharf {
    /// After `wharf`.
    pub args: Vec<String>,
    /// Exit code.
    #[serde(default)]
    pub code: i32,
    /// Texts that standard output contains, in this order.
    #[serde(default)]
    pub out: Vec<String>,
    /// Texts that standard error contains, in this order.
    #[serde(default)]
    pub err: Vec<String>,
    /// Texts that standard output does not contain.
    #[serde(default)]
    pub not: Vec<String>,
    /// Run it once.
    #[serde(default)]
    pub once: bool,
}

/// An end of the host.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExpectExit {
    /// The exit code.
    pub code: i32,
    /// Within so many seconds.
    #[serde(default = "thirty")]
    pub within_seconds: u64,
}

/// A stream of writes to ConfigMaps `stream-0`, `stream-1`, … in `${ns}`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Churn {
    /// Number of objects, written in turn.
    pub objects: u64,
    /// Writes per second.
    pub per_second: u64,
    /// Every so many writes is a delete instead; 0: none.
    #[serde(default)]
    pub delete_every: u64,
    /// What every write has besides `data.value`, for example labels or other data.
    #[serde(default)]
    pub manifest: Map<String, Value>,
}

/// The balance of a stream.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VerifyChurn {
    /// The plugins whose calls are checked, each by itself.
    pub plugins: Vec<String>,
    /// At least so many revisions of each must have taken part.
    #[serde(default)]
    pub revisions: usize,
}

fn v1() -> String {
    "v1".to_owned()
}

fn config_map() -> String {
    "ConfigMap".to_owned()
}

fn component_wasm() -> String {
    "component.wasm".to_owned()
}

fn thirty() -> u64 {
    30
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_steps_of_all_shapes() {
        let text = "
description: a
plugins: [{name: p, guest: probe, spec: {limits: {cpu: 1s}}}]
steps:
  - apply: [{kind: ConfigMap, metadata: {name: x, namespace: '${ns}'}}]
  - cutWatch
  - outage: {seconds: 20}
  - expectCalls: {plugin: p, name: x, calls: [{event: add, attempt: 1, detail: {contains: no}}]}
  - quiesce: []
";
        let scenario = Scenario::parse(text, "here").unwrap();
        assert_eq!(scenario.steps.len(), 5);
        assert!(matches!(&scenario.steps[0], Step::Apply(list) if list[0]["metadata"]["namespace"] == "here"));
        assert!(matches!(scenario.steps[1], Step::CutWatch));
        assert!(matches!(&scenario.steps[3], Step::ExpectCalls(calls) if calls.calls[0]["attempt"] == 1));
    }

    #[test]
    fn names_wrong_words() {
        let error = Scenario::parse("description: a\nsteps: [{expectExit: {cod: 0}}]", "x").unwrap_err();
        assert!(format!("{error:#}").contains("cod"), "{error:#}");
    }
}
