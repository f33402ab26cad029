//! The host's own configuration.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use wharf_core::grant::Namespaces;
use wharf_core::plugin::Limits;
use wharf_engine::{Caps, Compiler, EngineConfig};

use crate::config::{
    CeilingSettings, CheckpointSettings, ClusterPlugins, CompileSettings, ElectionSettings, EngineSettings, FailureSettings,
    InformerSettings, Layer, Origin, SETTINGS, Settings, Way, control_socket, environment_table, example_yaml,
};
use crate::dispatch::{BreakerPolicy, KeepFailed};
use crate::lease::Timing;
use crate::plugins::ceilings::Ceilings;
use crate::telemetry::LogFormat;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/host.example.yaml");

fn no_env(_: &str) -> Option<String> {
    None
}

fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("host.yaml");
    std::fs::write(&path, format!("apiVersion: config.wharf.dev/v1alpha1\nkind: HostConfiguration\n{text}")).unwrap();
    (dir, path)
}

#[test]
fn defaults() {
    let (settings, origins) = Settings::resolve(Layer::default(), &no_env, None).unwrap();
    let want = Settings {
        plugins_directory: "/etc/wharf/plugins".into(),
        allow_bare: false,
        plugin_folders: false,
        makes_accounts: false,
        cluster_plugins: ClusterPlugins { enabled: false, namespaces: Namespaces::All },
        limits: Limits::default(),
        ceilings: CeilingSettings {
            plugins: Ceilings {
                plugins_per_tenant: 1000,
                limits: Limits { memory: 256 << 20, deadline: Duration::from_secs(60), cpu: Duration::from_secs(10), concurrency: 64 },
            },
            requests_per_second: 200,
            log_lines_per_second: 500,
        },
        engine: EngineSettings {
            instances: 256,
            threads: std::thread::available_parallelism().unwrap().get().saturating_sub(1).max(1),
            tenant_weights: BTreeMap::new(),
            calls_per_instance: 1000,
            instance_age: Duration::from_secs(600),
            keep_instances: Duration::from_secs(60),
            keep_code: Duration::from_secs(60),
            max_component: 64 << 20,
            code_cache: 2 << 30,
            guest_memory: None,
            guests: Caps::default(),
            compile: CompileSettings { cpu: Duration::from_secs(60), deadline: Duration::from_secs(180), memory: 2 << 30, code: 1 << 30 },
        },
        informers: InformerSettings { watch_timeout: Duration::from_secs(300), widen_after: 4, linger: Duration::ZERO, max_bytes: None },
        failures: FailureSettings {
            strikes: 5,
            park: Duration::from_secs(1800),
            max_keys: 10_000,
            kept: KeepFailed { calls: 10, bytes: 1 << 20, secret_data: false },
            breaker: BreakerPolicy::default(),
        },
        history_bytes: 128 << 10,
        data_directory: "/var/lib/wharf".into(),
        checkpoint: CheckpointSettings { enabled: true, directory: "/var/lib/wharf".into(), max_bytes: 256 << 20, body_bytes: 64 << 20 },
        election: ElectionSettings { enabled: false, name: "wharf".to_owned(), namespace: None, timing: Timing::default(), release: true },
        control_socket: "/var/lib/wharf/wharf.sock".into(),
        way: Way::default(),
        metrics_bind_address: ":8080".to_owned(),
        health_probe_bind_address: ":8081".to_owned(),
        log_level: "info".to_owned(),
        log_format: LogFormat::Auto,
        log_buffer: 1 << 20,
        drain_deadline: Duration::from_secs(30),
    };
    assert_eq!(settings, want);
    assert!(SETTINGS.iter().all(|setting| origins.of(setting.path) == Some(&Origin::Default)), "a setting is never read");
}

#[test]
fn the_example_is_the_defaults() {
    let text = std::fs::read_to_string(EXAMPLE).unwrap();
    assert!(text == example_yaml(), "write this to deploy/host.example.yaml:\n{}", example_yaml());
    let (settings, origins) = Settings::resolve(Layer::default(), &no_env, Some(Path::new(EXAMPLE))).unwrap();
    assert_eq!(settings, Settings::resolve(Layer::default(), &no_env, None).unwrap().0);
    for setting in SETTINGS {
        let from_file = matches!(origins.of(setting.path), Some(Origin::File { .. }));
        assert_eq!(from_file, setting.default.is_some(), "{}", setting.path);
    }
    // What is only a comment can be taken in.
    let text = text.replace("# controlSocket:", "controlSocket:").replace("# kubeconfig:", "kubeconfig:").replace("# context:", "context:");
    let (_dir, path) = file(text.split_once("kind: HostConfiguration\n").unwrap().1);
    let (settings, _) = Settings::resolve(Layer::default(), &no_env, Some(&path)).unwrap();
    assert_eq!((settings.way.context.as_deref(), settings.control_socket.as_path()), (Some("staging"), Path::new("/run/wharf/wharf.sock")));
}

#[test]
fn weights_of_tenants() {
    let of = |text: &str| {
        let env = |name: &str| (name == "WHARF_TENANT_WEIGHTS").then(|| text.to_owned());
        Settings::resolve(Layer::default(), &env, None).map(|(settings, _)| settings.engine.tenant_weights)
    };
    let some = BTreeMap::from([("team-a".to_owned(), 3), ("team-b".to_owned(), 100)]);
    assert_eq!(of("team-a=3, team-b=100,").unwrap(), some);
    for wrong in ["team-a", "team-a=0", "team-a=101", "=2", "team-a=x"] {
        let message = of(wrong).unwrap_err().to_string();
        assert!(message.contains("is no list of weights") && message.contains("WHARF_TENANT_WEIGHTS"), "{message}");
    }
}

/// What the settings say is what the engine is made with, and the defaults of both are the same.
#[test]
fn the_engine_is_told() {
    let (defaults, _) = Settings::resolve(Layer::default(), &no_env, None).unwrap();
    let own = EngineConfig { cache_dir: Some("/c".into()), compiler: Some(Compiler::this_program()), ..EngineConfig::default() };
    let own = EngineConfig { guest_memory: crate::memory::available().map(|bytes| bytes / 4), ..own };
    assert_eq!(defaults.engine.config(Path::new("/c")), own);
    let (_dir, path) = file(
        "engine: {callsPerInstance: 7, instanceAge: 2m, keepInstances: 0s, keepCode: 3m, maxComponent: 1Mi, codeCache: 1Gi, guestMemory: 1Gi, guests: {\
         startDeadline: 1s, startCpu: 20ms, hostCallBytes: 2Mi, handles: 50, tableElements: 3000, objectBytes: 3Mi, pageBytes: 5Mi, \
         logLines: 9, events: 8}}\ncompile: {cpu: 2s, deadline: 4s, memory: 256Mi, code: 2Mi}\n",
    );
    let (settings, _) = Settings::resolve(Layer::default(), &no_env, Some(&path)).unwrap();
    let second = Duration::from_secs(1);
    let told = EngineConfig {
        calls_per_instance: 7,
        instance_age: 120 * second,
        keep_idle: Duration::ZERO,
        keep_mapped: 180 * second,
        max_component_bytes: 1 << 20,
        cache_bytes: 1 << 30,
        guest_memory: Some(1 << 30),
        caps: Caps {
            start_deadline: second,
            start_cpu: Duration::from_millis(20),
            host_call_bytes: 2 << 20,
            handles: 50,
            table_elements: 3000,
            object_bytes: 3 << 20,
            page_bytes: 5 << 20,
            log_lines: 9,
            events: 8,
        },
        compiler: Some(Compiler { cpu: 2 * second, wall: 4 * second, memory: 256 << 20, code: 2 << 20, ..Compiler::this_program() }),
        ..own
    };
    assert_eq!(settings.engine.config(Path::new("/c")), told);
}

/// Wherever the values come from.
#[test]
fn the_times_of_an_election_must_go_together() {
    let env = |name: &str| (name == "WHARF_LEADER_ELECT_RENEW_DEADLINE").then(|| "5s".to_owned());
    let (_dir, path) =
        file("leaderElection: {enabled: true, leaseName: blue, leaseNamespace: here, retryPeriod: 1s}\ncheckpoint: {directory: /c}\n");
    let flags = Layer { leader_elect_lease: Some("7s".to_owned()), ..Layer::default() };
    let (settings, _) = Settings::resolve(flags, &env, Some(&path)).unwrap();
    let second = Duration::from_secs(1);
    let timing = Timing { lease: 7 * second, renew: 5 * second, retry: second };
    let wanted = ElectionSettings { enabled: true, name: "blue".into(), namespace: Some("here".into()), timing, release: true };
    assert_eq!((settings.election, settings.checkpoint.directory.as_path()), (wanted, Path::new("/c")));
    let flags = Layer { leader_elect_lease: Some("5s".to_owned()), leader_elect_name: Some("No Name".to_owned()), ..Layer::default() };
    let error = Settings::resolve(flags, &env, None).unwrap_err().to_string();
    assert!(error.contains("leaderElection.leaseDuration: 5s is not more than the renewDeadline of 5s"), "{error}");
    assert!(error.contains("hint: make leaseDuration longer") && error.contains("--leader-elect-resource-name"), "{error}");
}

#[test]
fn a_breaker_can_be_switched_off_and_opens_no_longer_than_the_most() {
    let of = |first: &str, max: &str| {
        let (first, max) = (Some(first.to_owned()), Some(max.to_owned()));
        Settings::resolve(Layer { failures_open_for: first, failures_max_open_for: max, ..Layer::default() }, &no_env, None)
    };
    assert_eq!(of("0s", "1m").unwrap().0.failures.breaker.open_for, Duration::ZERO);
    assert!(of("1m", "1m").is_ok());
    let error = of("2m", "1m").unwrap_err().to_string();
    assert!(error.contains("failures.breaker.maxOpenFor") && error.contains("hint: raise it"), "{error}");
}

/// Each line names a setting that there is.
#[test]
fn ceilings_below_the_defaults_need_lower_defaults() {
    let (_dir, path) = file("ceilings: {limits: {memory: 16Mi, cpu: 50ms, deadline: 1s}}\n");
    let error = Settings::resolve(Layer::default(), &no_env, Some(&path)).unwrap_err().to_string();
    for setting in ["memory", "cpu", "deadline"] {
        assert!(error.contains(&format!("defaults.limits.{setting}: ")), "{error}");
    }
    assert!(!error.contains("\nlimits.") && error.contains("hint: lower defaults.limits, or raise ceilings.limits"), "{error}");
    let (_dir, path) = file("ceilings: {limits: {memory: 16Mi}}\ndefaults: {limits: {memory: 8Mi}}\n");
    assert_eq!(Settings::resolve(Layer::default(), &no_env, Some(&path)).unwrap().0.limits.memory, 8 << 20);
}

#[test]
fn namespaces_of_custom_resources() {
    let of = |text: &str| {
        let env = |name: &str| (name == "WHARF_PLUGIN_NAMESPACES").then(|| text.to_owned());
        Settings::resolve(Layer::default(), &env, None).map(|(settings, _)| settings.cluster_plugins.namespaces)
    };
    assert_eq!(of(" ,").unwrap(), Namespaces::All);
    assert_eq!(of("team-b, team-a,team-a").unwrap(), Namespaces::Some(vec!["team-a".into(), "team-b".into()]));
    for wrong in ["*", "Team", "a b"] {
        let message = of(wrong).unwrap_err().to_string();
        assert!(message.contains("is no namespace") && message.contains("WHARF_PLUGIN_NAMESPACES"), "{message}");
    }
}

#[test]
fn flag_over_environment_over_file_over_default() {
    let (_dir, path) = file("logLevel: warn\nengine: {instances: 7, threads: 3}\ndrainDeadline: 5s\nplugins:\n  allowBare: true\n");
    let env = |name: &str| match name {
        "WHARF_LOG_LEVEL" => Some("debug".to_owned()),
        "WHARF_ENGINE_INSTANCES" => Some("8".to_owned()),
        "WHARF_CONTEXT" => Some(String::new()),
        _ => None,
    };
    let flags = Layer { log_level: Some("trace".to_owned()), data_directory: Some("/d".into()), ..Layer::default() };
    let (settings, origins) = Settings::resolve(flags, &env, Some(&path)).unwrap();
    assert_eq!((settings.log_level.as_str(), settings.engine.instances, settings.engine.threads), ("trace", 8, 3));
    assert_eq!((settings.drain_deadline, settings.allow_bare, settings.way.context), (Duration::from_secs(5), true, None));
    assert_eq!(settings.control_socket, Path::new("/d/wharf.sock"));
    assert_eq!(origins.of("logLevel"), Some(&Origin::Flag));
    assert_eq!(origins.of("engine.instances"), Some(&Origin::Env));
    assert_eq!(origins.of("plugins.allowBare"), Some(&Origin::File { path: path.clone(), line: 7 }));
    let printed = origins.to_string();
    assert_eq!(printed.replace(&path.display().to_string(), "host.yaml"), include_str!("printed.yaml"));
    // What is printed can be used as the file.
    std::fs::write(&path, printed).unwrap();
    let (again, _) = Settings::resolve(Layer::default(), &no_env, Some(&path)).unwrap();
    assert_eq!((again.control_socket, again.log_level), (settings.control_socket, settings.log_level));
}

#[test]
fn the_environment_may_name_the_file() {
    let (_dir, path) = file("logFormat: json\n");
    let env = |name: &str| (name == "WHARF_CONFIG").then(|| path.display().to_string());
    assert_eq!(Settings::resolve(Layer::default(), &env, None).unwrap().0.log_format, LogFormat::Json);
    let (_dir, other) = file("logFormat: text\n");
    assert_eq!(Settings::resolve(Layer::default(), &env, Some(&other)).unwrap().0.log_format, LogFormat::Text);
}

#[test]
fn addresses_and_sockets() {
    for text in ["0", ":0", "127.0.0.1:9", "[::1]:9", "localhost:9"] {
        let flags = Layer { metrics_bind_address: Some(text.to_owned()), ..Layer::default() };
        let (settings, _) = Settings::resolve(flags, &no_env, None).unwrap();
        assert_eq!(settings.metrics_bind_address, text);
    }
    for text in ["", "1", ":", ":65536", "a b:9", "::1:9", "[x]:9"] {
        let flags = Layer { metrics_bind_address: Some(text.to_owned()), ..Layer::default() };
        assert!(Settings::resolve(flags, &no_env, None).is_err(), "{text}");
    }
    let (_dir, path) = file("metricsBindAddress: 0\n");
    assert_eq!(Settings::resolve(Layer::default(), &no_env, Some(&path)).unwrap().0.metrics_bind_address, "0");
    assert_eq!(control_socket(None, None), Path::new("/var/lib/wharf/wharf.sock"));
    assert_eq!(control_socket(Some(Path::new("a")), None), Path::new("a/wharf.sock"));
    assert_eq!(control_socket(Some(Path::new("a")), Some(Path::new("b"))), Path::new("b"));
}

#[test]
fn all_mistakes_of_all_layers() {
    let (_dir, path) = file(
        "plugin: {}\nplugins: {directroy: /x, allowBare: maybe}\ndefaults:\n  limits: {memory: 1Gi, timeout: 3s}\nengine: 4\nlogLevel: loud\ncontext:\nlogFormat: tetx\n",
    );
    let env = |name: &str| match name {
        "WHARF_ALLOW_BARE" => Some("yes".to_owned()),
        "WHARF_ENGINE_THREADS" => Some("many".to_owned()),
        "WHARF_LOG_LEVEL" => Some("a=b=c".to_owned()),
        "WHARF_DEFAULT_CPU" => Some("1ms".to_owned()),
        _ => None,
    };
    let flags = Layer {
        default_memory: Some("1".to_owned()),
        metrics_bind_address: Some("8080".to_owned()),
        data_directory: Some("d".repeat(120).into()),
        drain_deadline: Some("1d".to_owned()),
        plugins_directory: Some("".into()),
        ..Layer::default()
    };
    let error = Settings::resolve(flags, &env, Some(&path)).unwrap_err().to_string();
    assert_eq!(error.replace(&path.display().to_string(), "host.yaml") + "\n", include_str!("host-mistakes.txt"));
}

#[test]
fn files_that_are_none() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("host.yaml");
    let say = |text: Option<&str>| {
        match text {
            Some(text) => std::fs::write(&path, text).unwrap(),
            None => std::fs::remove_file(&path).unwrap(),
        }
        let error = Settings::resolve(Layer::default(), &no_env, Some(&path)).unwrap_err().to_string();
        error.replace(&path.display().to_string(), "host.yaml")
    };
    let one = "write one, of apiVersion config.wharf.dev/v1alpha1 and kind HostConfiguration";
    assert_eq!(say(Some("")), format!("host.yaml: 0 documents in the file [HostConfigInvalid]\n  hint: {one}"));
    let two = say(Some("kind: x\n---\nkind: y\n"));
    assert!(two.starts_with(&format!("host.yaml:1:1: 2 documents in the file [HostConfigInvalid]\n  hint: {one}\n")), "{two}");
    assert_eq!(
        say(Some("kind: Pod\napiVersion: v1\n")),
        "host.yaml:1:1: /kind: kind Pod is not known here [HostConfigInvalid]\n  hint: known: HostConfiguration\n\
         host.yaml:2:1: /apiVersion: apiVersion v1 is not known here [HostConfigInvalid]\n  hint: known: config.wharf.dev/v1alpha1"
    );
    assert_eq!(say(Some("a: [")), "host.yaml:1:4: no YAML: unclosed bracket '[' [HostConfigInvalid]");
    assert_eq!(say(None), "host.yaml: cannot be read: No such file or directory (os error 2) [HostConfigInvalid]");
}

#[test]
fn every_setting_is_in_the_table_of_variables() {
    let table = environment_table();
    assert_eq!(table.lines().count(), SETTINGS.len() + 1);
    assert!(table.starts_with("WHARF_CONFIG  "));
}

#[test]
fn a_token_comes_from_flag_or_environment_and_is_never_shown() {
    let env = |name: &str| (name == "WHARF_TOKEN").then(|| "from-env".to_owned());
    let flags = Layer { token: Some("from-flag".to_owned().into()), ..Layer::default() };
    for (flags, want, word) in [(Layer::default(), "from-env", "WHARF_TOKEN"), (flags, "from-flag", "--token")] {
        let (settings, origins) = Settings::resolve(flags, &env, None).unwrap();
        assert_eq!(settings.way.token.as_ref().map(crate::config::Secret::expose), Some(want));
        let shown = format!("{}{settings:?}{origins:?}", settings.print(&origins));
        assert!(shown.contains(word) && !shown.contains(want), "{shown}");
    }
    let (_dir, path) = file("token: abc\n");
    assert!(Settings::resolve(Layer::default(), &no_env, Some(&path)).is_err(), "a token in the file is refused");
}

#[test]
fn the_way_alone_looks_at_nothing_else() {
    let env = |name: &str| match name {
        "WHARF_DRAIN_DEADLINE" => Some("soon".to_owned()),
        "WHARF_SERVER" => Some("https://one:1".to_owned()),
        "WHARF_INSECURE_SKIP_TLS_VERIFY" => Some("true".to_owned()),
        _ => None,
    };
    let way = Way::resolve(Layer::default(), &env).unwrap();
    assert_eq!((way.server.as_deref(), way.insecure_skip_tls_verify), (Some("https://one:1"), true));
    for server in ["one:1", "ftp://one", "https://user:hidden@one", "https://one?x=1", ""] {
        let flags = Layer { server: Some(server.to_owned()), ..Layer::default() };
        let error = Way::resolve(flags, &no_env).unwrap_err().to_string();
        assert!(error.contains("--server") && !error.contains("hidden"), "{error}");
    }
}
