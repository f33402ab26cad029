//! The host's settings, resolved. Owns what each value may be and what follows from it;
//! where values come from and which one wins is in `layers`.

use std::collections::BTreeSet;
use std::net::Ipv6Addr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tracing_subscriber::EnvFilter;
use wharf_core::grant::Namespaces;
use wharf_core::plugin::fields::{Node, Problems, excerpt};
use wharf_core::plugin::{Limits, PluginName};

use super::engine::{self, EngineSettings};
use super::layers::Layers;
use super::origins::Origins;
use super::settings::{Layer, SETTINGS};
use super::way::{self, Way};
use crate::dispatch::{BreakerPolicy, KeepFailed};
use crate::lease::{Contradiction, Timing};
use crate::plugins::ceilings::Ceilings;
use crate::telemetry::LogFormat;

/// The environment variable that names the file where no flag does.
pub const CONFIG_ENV: &str = "WHARF_CONFIG";

const DEFAULTS_HINT: &str = "lower defaults.limits, or raise ceilings.limits";

/// Longer paths do not fit into a Unix socket's address.
const MAX_SOCKET_PATH: usize = 100;

/// Everything that the host was told, checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Folder with documents and components.
    pub plugins_directory: PathBuf,
    /// May a component without a document run?
    pub allow_bare: bool,
    /// Is a folder with a `plugin.yaml` a plugin?
    pub plugin_folders: bool,
    /// Does the host make ServiceAccounts that plugins name and nobody has made? No setting: for those who bring an API server
    /// of their own, where rights are not looked at.
    pub makes_accounts: bool,
    /// Plugins from custom resources.
    pub cluster_plugins: ClusterPlugins,
    /// Limits where neither document nor component says anything.
    pub limits: Limits,
    /// What tenants may have at most.
    pub ceilings: CeilingSettings,
    /// How guests run.
    pub engine: EngineSettings,
    /// How the informers work.
    pub informers: InformerSettings,
    /// What becomes of calls that fail.
    pub failures: FailureSettings,
    /// Bytes of the history of each plugin; 0: none is kept.
    pub history_bytes: usize,
    /// Folder that the host writes to.
    pub data_directory: PathBuf,
    /// What survives the host.
    pub checkpoint: CheckpointSettings,
    /// Which of several hosts calls plugins.
    pub election: ElectionSettings,
    /// The control socket.
    pub control_socket: PathBuf,
    /// Which API server, and as whom.
    pub way: Way,
    /// Where metrics are served: `:port` (all addresses), `address:port`, or `0` (nowhere).
    pub metrics_bind_address: String,
    /// Where health is served, likewise.
    pub health_probe_bind_address: String,
    /// A filter in `tracing_subscriber`'s notation, known to be readable.
    pub log_level: String,
    /// How lines look.
    pub log_format: LogFormat,
    /// Bytes of the lines that are kept; 0: none are.
    pub log_buffer: usize,
    /// Time for calls in flight when the host stops.
    pub drain_deadline: Duration,
}

/// The settings of the custom resources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterPlugins {
    /// Are they a source?
    pub enabled: bool,
    /// Those of which namespaces.
    pub namespaces: Namespaces,
}

/// What tenants may have at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CeilingSettings {
    /// Of plugins and their limits.
    pub plugins: Ceilings,
    /// Requests of a tenant's plugins to the API server; 0: as many as they like.
    pub requests_per_second: u32,
    /// Lines of a plugin's guests that are written.
    pub log_lines_per_second: u32,
}

/// The settings of informers; what is not here has no knob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InformerSettings {
    /// The least length of a watch, 10 s to an hour.
    pub watch_timeout: Duration,
    /// More namespaces of a kind are one watch.
    pub widen_after: usize,
    /// How long an informer outlives its last user, up to an hour.
    pub linger: Duration,
    /// Bytes for the objects of all informers; `None`: a part of the memory that there is.
    pub max_bytes: Option<u64>,
}

/// What becomes of calls that fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailureSettings {
    /// So many strikes in a row park a key.
    pub strikes: u32,
    /// A key that is parked by strikes is tried again after this time, 1 s to a day.
    pub park: Duration,
    /// From so many failing keys on a plugin is told of no further object.
    pub max_keys: usize,
    /// What of failed calls is kept.
    pub kept: KeepFailed,
    /// For how long a plugin is not called whose calls strike as a whole; 0 to an hour, and 1 s to a day.
    pub breaker: BreakerPolicy,
}

/// The settings of checkpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointSettings {
    /// Are there any?
    pub enabled: bool,
    /// Where; the data folder unless something else was said.
    pub directory: PathBuf,
    /// Most of what is kept, 1 MiB to 64 GiB.
    pub max_bytes: u64,
    /// The part of it for last states; may be 0.
    pub body_bytes: u64,
}

/// The settings of the election of a leader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElectionSettings {
    /// Is there one?
    pub enabled: bool,
    /// The lease's name.
    pub name: String,
    /// Its namespace; `None`: that of the connection.
    pub namespace: Option<String>,
    /// How long things take; they do not contradict each other.
    pub timing: Timing,
    /// Is the lease given back at the end?
    pub release: bool,
}

impl Settings {
    /// Puts the layers together. `file` is the path of `--config`; without it the one in
    /// `WHARF_CONFIG`, if any. Reads that file, blocking; at most 1 MiB of it. An empty
    /// environment variable counts as absent.
    ///
    /// # Errors
    /// A [`ConfigError`](super::ConfigError) with all mistakes of all layers.
    pub fn resolve(flags: Layer, env: &dyn Fn(&str) -> Option<String>, file: Option<&Path>) -> anyhow::Result<(Self, Origins)> {
        let named = env(CONFIG_ENV).filter(|path| !path.is_empty()).map(PathBuf::from);
        let path = file.map(Path::to_owned).or(named);
        let mut layers = Layers::new(flags, env, path);
        let settings = settings(&mut layers);
        let origins = layers.finish()?;
        // Without a problem every setting has a value: this cannot happen.
        let settings = settings.ok_or_else(|| anyhow::anyhow!("the settings are incomplete"))?;
        Ok((settings, origins))
    }

    /// The answer of `--print-config`: YAML that can be used as the file again, with the
    /// origin of each value behind it.
    pub fn print(&self, origins: &Origins) -> String {
        origins.to_string()
    }
}

/// The data folder of a host, from what `wharf get` was given, else the default.
pub fn data_directory(data_dir: Option<&Path>) -> PathBuf {
    let default = SETTINGS.iter().find(|s| s.path == "dataDirectory").and_then(|s| s.default).unwrap_or_default();
    data_dir.unwrap_or(Path::new(default)).to_owned()
}

/// The control socket of a host, from what `wharf get` was given, else the defaults.
pub fn control_socket(data_dir: Option<&Path>, control_socket: Option<&Path>) -> PathBuf {
    control_socket.map_or_else(|| data_directory(data_dir).join("wharf.sock"), Path::to_owned)
}

fn settings(layers: &mut Layers<'_>) -> Option<Settings> {
    // All are read before the first `?`, so that all problems are found.
    let path = |node: &Node<'_>, problems: &mut Problems| not_empty(node, problems).map(PathBuf::from);
    let seconds = |from, to| Duration::from_secs(from)..=Duration::from_secs(to);
    let plugins_dir = layers.pick("plugins.directory", path);
    let allow_bare = layers.pick("plugins.allowBare", |n, p| n.flag(p));
    let plugin_folders = layers.pick("plugins.folders", |n, p| n.flag(p));
    let cluster = layers.pick("sources.cluster.enabled", |n, p| n.flag(p));
    let cluster_namespaces = layers.pick("sources.cluster.namespaces", namespaces);
    let memory = layers.pick("defaults.limits.memory", |n, p| n.bytes(&Limits::MEMORY, p));
    let deadline = layers.pick("defaults.limits.deadline", |n, p| n.duration(&Limits::DEADLINE, p));
    let cpu = layers.pick("defaults.limits.cpu", |n, p| n.duration(&Limits::CPU, p));
    let concurrency = layers.pick("defaults.limits.concurrency", |n, p| n.integer(&Limits::CONCURRENCY, p));
    let ceilings = ceilings(layers);
    let engine = engine::pick(layers);
    let watch_timeout = layers.pick("informers.watchTimeout", |n, p| n.duration(&seconds(10, 3600), p));
    let widen_after = layers.pick("informers.widenAfter", |n, p| n.integer(&(0..=10_000), p));
    let linger = layers.pick("informers.linger", |n, p| n.duration(&seconds(0, 3600), p));
    let informer_bytes = layers.pick("informers.maxBytes", |n, p| n.bytes(&(0..=1 << 40), p));
    let strikes = layers.pick("failures.strikes", |n, p| n.integer(&(1..=1000), p));
    let park = layers.pick("failures.parkedFor", |n, p| n.duration(&seconds(1, 24 * 3600), p));
    let max_keys = layers.pick("failures.maxKeys", |n, p| n.integer(&(1..=1_000_000), p));
    let kept_calls = layers.pick("failures.keptCalls", |n, p| n.integer(&(0..=100), p));
    let kept_bytes = layers.pick("failures.keptBytes", |n, p| n.bytes(&(4 << 10..=64 << 20), p));
    let kept_secrets = layers.pick("failures.keptSecretData", |n, p| n.flag(p));
    let open_for = layers.pick("failures.breaker.openFor", |n, p| n.duration(&seconds(0, 3600), p));
    let max_open_for = layers.pick("failures.breaker.maxOpenFor", |n, p| n.duration(&seconds(1, 24 * 3600), p));
    let history = layers.pick("historyPerPlugin", |n, p| n.bytes(&(0..=16 << 20), p));
    let data_dir = layers.pick("dataDirectory", path);
    let enabled = layers.pick("checkpoint.enabled", |n, p| n.flag(p));
    let max_bytes = layers.pick("checkpoint.maxBytes", |n, p| n.bytes(&(1 << 20..=64 << 30), p));
    let body_bytes = layers.pick("checkpoint.bodyBytes", |n, p| n.bytes(&(0..=64 << 30), p));
    let checkpoint_dir = layers.pick("checkpoint.directory", path);
    let election = election(layers);
    let socket = layers.pick("controlSocket", socket_path);
    let way = way::pick(layers);
    let metrics = layers.pick("metricsBindAddress", bind_address);
    let health = layers.pick("healthProbeBindAddress", bind_address);
    let log_level = layers.pick("logLevel", filter);
    let words = [("auto", LogFormat::Auto), ("text", LogFormat::Text), ("json", LogFormat::Json), ("short", LogFormat::Short)];
    let log_format = layers.pick("logFormat", |n, p| n.choice(&words, p));
    let log_buffer = layers.pick("logBuffer", |n, p| n.bytes(&(0..=64 << 20), p));
    let drain_deadline = layers.pick("drainDeadline", |n, p| n.duration(&seconds(1, 600), p));
    let data_dir = data_dir?;
    let control_socket = match socket {
        Some(path) => path,
        None => layers.derive("controlSocket", control_socket(Some(&data_dir), None).to_string_lossy().into(), socket_path)?,
    };
    let limits = Limits { memory: memory?, deadline: deadline?, cpu: cpu?, concurrency: u32::try_from(concurrency?).ok()? };
    let ceilings = ceilings?;
    let above: Vec<String> = ceilings.plugins.exceeded(&limits.into()).iter().map(|limit| format!("defaults.{limit}")).collect();
    if !above.is_empty() {
        let message = format!("the defaults are above the ceilings: {}", above.join("\n"));
        layers.contradict("ceilings.limits", message, DEFAULTS_HINT.to_owned());
    }
    let breaker = BreakerPolicy { open_for: open_for?, max_open_for: max_open_for? };
    if breaker.open_for > breaker.max_open_for {
        let message = "failures.breaker.openFor is above it".to_owned();
        layers.contradict("failures.breaker.maxOpenFor", message, "raise it, or lower failures.breaker.openFor".to_owned());
    }
    Some(Settings {
        plugins_directory: plugins_dir?,
        allow_bare: allow_bare?,
        plugin_folders: plugin_folders?,
        makes_accounts: false,
        cluster_plugins: ClusterPlugins { enabled: cluster?, namespaces: cluster_namespaces? },
        limits,
        ceilings,
        engine: engine?,
        informers: InformerSettings {
            watch_timeout: watch_timeout?,
            widen_after: usize::try_from(widen_after?).ok()?,
            linger: linger?,
            max_bytes: Some(informer_bytes?).filter(|bytes| *bytes > 0),
        },
        failures: FailureSettings {
            strikes: u32::try_from(strikes?).ok()?,
            park: park?,
            max_keys: usize::try_from(max_keys?).ok()?,
            kept: KeepFailed {
                calls: usize::try_from(kept_calls?).ok()?,
                bytes: usize::try_from(kept_bytes?).ok()?,
                secret_data: kept_secrets?,
            },
            breaker,
        },
        history_bytes: usize::try_from(history?).ok()?,
        checkpoint: CheckpointSettings {
            enabled: enabled?,
            directory: checkpoint_dir.unwrap_or_else(|| data_dir.clone()),
            max_bytes: max_bytes?,
            body_bytes: body_bytes?,
        },
        data_directory: data_dir,
        election: election?,
        control_socket,
        way: way?,
        metrics_bind_address: metrics?,
        health_probe_bind_address: health?,
        log_level: log_level?,
        log_format: log_format?,
        log_buffer: usize::try_from(log_buffer?).ok()?,
        drain_deadline: drain_deadline?,
    })
}

fn ceilings(layers: &mut Layers<'_>) -> Option<CeilingSettings> {
    let plugins = layers.pick("ceilings.pluginsPerTenant", |n, p| n.integer(&(1..=100_000), p));
    let memory = layers.pick("ceilings.limits.memory", |n, p| n.bytes(&Limits::MEMORY, p));
    let deadline = layers.pick("ceilings.limits.deadline", |n, p| n.duration(&Limits::DEADLINE, p));
    let cpu = layers.pick("ceilings.limits.cpu", |n, p| n.duration(&Limits::CPU, p));
    let concurrency = layers.pick("ceilings.limits.concurrency", |n, p| n.integer(&Limits::CONCURRENCY, p));
    let requests = layers.pick("ceilings.requestsPerSecond", |n, p| n.integer(&(0..=100_000), p));
    let lines = layers.pick("ceilings.logLinesPerSecond", |n, p| n.integer(&(1..=100_000), p));
    let limits = Limits { memory: memory?, deadline: deadline?, cpu: cpu?, concurrency: u32::try_from(concurrency?).ok()? };
    let plugins = Ceilings { plugins_per_tenant: usize::try_from(plugins?).ok()?, limits };
    let (requests_per_second, log_lines_per_second) = (u32::try_from(requests?).ok()?, u32::try_from(lines?).ok()?);
    Some(CeilingSettings { plugins, requests_per_second, log_lines_per_second })
}

fn election(layers: &mut Layers<'_>) -> Option<ElectionSettings> {
    let time = |n: &Node<'_>, p: &mut Problems| n.duration(&(Duration::from_secs(1)..=Duration::from_secs(3600)), p);
    let enabled = layers.pick("leaderElection.enabled", |n, p| n.flag(p));
    let name = layers.pick("leaderElection.leaseName", object_name);
    let namespace = layers.pick("leaderElection.leaseNamespace", object_name);
    let lease = layers.pick("leaderElection.leaseDuration", time);
    let renew = layers.pick("leaderElection.renewDeadline", time);
    let retry = layers.pick("leaderElection.retryPeriod", time);
    let release = layers.pick("leaderElection.releaseOnCancel", |n, p| n.flag(p));
    let timing = Timing { lease: lease?, renew: renew?, retry: retry? };
    if let Err(Contradiction { setting, message, hint }) = timing.check() {
        layers.contradict(&format!("leaderElection.{setting}"), message, hint);
    }
    Some(ElectionSettings { enabled: enabled?, name: name?, namespace, timing, release: release? })
}

/// What the name of a lease may be; a namespace has no dots besides.
fn object_name(node: &Node<'_>, problems: &mut Problems) -> Option<String> {
    let letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let rule = |text: &str| {
        text.len() <= 253 && text.starts_with(letter) && text.ends_with(letter) && text.chars().all(|c| letter(c) || matches!(c, '-' | '.'))
    };
    node.checked(rule, "name of an object", "write lower case letters, digits, - and .", problems).map(str::to_owned)
}

pub(super) fn not_empty<'v>(node: &Node<'v>, problems: &mut Problems) -> Option<&'v str> {
    node.checked(|text| !text.is_empty() && !text.contains('\0'), "value", "give it a value, or leave it out", problems)
}

/// Names with commas between; none is all.
fn namespaces(node: &Node<'_>, problems: &mut Problems) -> Option<Namespaces> {
    let text = node.text(problems)?;
    let names: BTreeSet<&str> = text.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
    match names.iter().find(|name| PluginName::new(name, "any").is_none()) {
        Some(wrong) => {
            let hint = "write names of namespaces with commas between, or nothing for all";
            problems.invalid(node.at(), format!("{} is no namespace", excerpt(wrong)), hint);
            None
        }
        None if names.is_empty() => Some(Namespaces::All),
        None => Some(Namespaces::Some(names.into_iter().map(Into::into).collect())),
    }
}

fn socket_path(node: &Node<'_>, problems: &mut Problems) -> Option<PathBuf> {
    let text = not_empty(node, problems)?;
    if text.len() > MAX_SOCKET_PATH {
        let hint = format!("at most {MAX_SOCKET_PATH}: set controlSocket to a short path");
        problems.invalid(node.at(), format!("the socket's path has {} bytes", text.len()), hint);
        return None;
    }
    Some(text.into())
}

fn filter(node: &Node<'_>, problems: &mut Problems) -> Option<String> {
    let level = |word: &str| ["off", "error", "warn", "info", "debug", "trace"].contains(&word.to_ascii_lowercase().as_str());
    // A bare word that is no level would be taken for a target, and a mistyped level never
    // noticed. ASCII only: the parser of the filter panics on other letters.
    let rule = |text: &str| {
        let parts = text.split(',').all(|part| level(part.trim()) || part.contains('='));
        parts && text.is_ascii() && EnvFilter::try_new(text).is_ok()
    };
    node.checked(rule, "log filter", "write error, warn, info, debug or trace, and after commas target=level", problems).map(str::to_owned)
}

/// `:port`, `address:port`, or `0` (also as a number).
fn bind_address(node: &Node<'_>, problems: &mut Problems) -> Option<String> {
    if node.value().as_u64() == Some(0) {
        return Some("0".to_owned());
    }
    let text = node.text(problems)?;
    let host = |host: &str| match host.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']').is_some_and(|ip| ip.parse::<Ipv6Addr>().is_ok()),
        None => host.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-')),
    };
    let good = text == "0" || text.rsplit_once(':').is_some_and(|(name, port)| host(name) && port.parse::<u16>().is_ok());
    if !good {
        problems.invalid(node.at(), format!("{} is no address", excerpt(text)), "write :port, address:port, or 0 to turn it off");
    }
    good.then(|| text.to_owned())
}
