//! The one table of the host's settings: names, defaults and what they mean. Documentation,
//! the example file and the layers come from it; what a value may be is checked in `host`.

use std::path::PathBuf;

use serde_json::Value;

use super::way::Secret;

/// How a text from a flag or the environment becomes a value of the file's kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// As it is.
    Text,
    /// Digits.
    Integer,
    /// `true` or `false`.
    Flag,
}

impl Shape {
    /// The value that a text stands for.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn read(self, text: &str) -> Result<Value, String> {
        match self {
            Self::Text => Ok(text.into()),
            Self::Integer => text.parse::<u64>().map(Value::from).map_err(|_| format!("{text:?} is no whole number")),
            Self::Flag => text.parse::<bool>().map(Value::from).map_err(|_| format!("{text:?} is neither true nor false")),
        }
    }
}

/// A value of a flag, as the command line parser hands it over.
pub(super) trait Given {
    /// The value as the file would have it.
    ///
    /// # Errors
    /// What is wrong with it.
    fn given(&self, shape: Shape) -> Result<Value, String>;
}

impl Given for String {
    fn given(&self, shape: Shape) -> Result<Value, String> {
        shape.read(self)
    }
}

impl Given for PathBuf {
    fn given(&self, _: Shape) -> Result<Value, String> {
        self.to_str().map(Value::from).ok_or_else(|| format!("{self:?} is no UTF-8"))
    }
}

impl Given for bool {
    fn given(&self, _: Shape) -> Result<Value, String> {
        Ok((*self).into())
    }
}

impl Given for u32 {
    fn given(&self, _: Shape) -> Result<Value, String> {
        Ok((*self).into())
    }
}

impl Given for usize {
    fn given(&self, _: Shape) -> Result<Value, String> {
        Ok((*self).into())
    }
}

/// One setting.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its place in the file, with dots.
    pub path: &'static str,
    /// Its flag, if it has one.
    pub flag: Option<&'static str>,
    /// Its environment variable.
    pub env: &'static str,
    /// The default as text; `None` where there is none, or where it follows from others.
    pub default: Option<&'static str>,
    /// A value as it could be, for documentation.
    pub example: &'static str,
    /// What it means, what may be written, and what follows from it.
    pub doc: &'static str,
    pub(super) shape: Shape,
}

impl Setting {
    /// RFC 6901 pointer of its place in the file.
    pub(super) fn pointer(&self) -> String {
        format!("/{}", self.path.replace('.', "/"))
    }
}

macro_rules! settings {
    ($($field:ident: $kind:ty = $path:literal, $flag:expr, $env:literal, $shape:ident, $default:expr, $example:literal, $doc:literal;)+) => {
        /// The settings, in the order of the file.
        pub const SETTINGS: &[Setting] = &[$(Setting {
            path: $path, flag: $flag, env: $env, default: $default, example: $example, doc: $doc, shape: Shape::$shape,
        },)+];

        /// What was given on the command line. It is checked together with the environment
        /// and the file, so that all mistakes come at once. The fields that have no flag are
        /// for programs that start a host themselves.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Layer {
            $(#[doc = $doc] pub $field: Option<$kind>,)+
            /// Token that says who the host is. No setting, because it is a secret: it is never
            /// read from the file and never printed. Flag `--token`, environment `WHARF_TOKEN`.
            pub token: Option<Secret>,
        }

        impl Layer {
            pub(super) fn get(&self, setting: &Setting) -> Option<Result<Value, String>> {
                match setting.path {
                    $($path => self.$field.as_ref().map(|value| value.given(setting.shape)),)+
                    _ => None,
                }
            }
        }
    };
}

settings! {
    plugins_directory: PathBuf = "plugins.directory", Some("--plugins-dir"), "WHARF_PLUGINS_DIR", Text, Some("/etc/wharf/plugins"), "/etc/wharf/plugins",
        "Folder with Plugin documents (*.yaml, *.yml) and components (*.wasm). It is watched: what is changed there is loaded while the host runs.";
    allow_bare: bool = "plugins.allowBare", Some("--allow-bare"), "WHARF_ALLOW_BARE", Flag, Some("false"), "true",
        "Also run a component that no Plugin document names. It gets no grants, and what it subscribes to in the namespace `default`, with the host's own identity. For development.";
    plugin_folders: bool = "plugins.folders", Some("--plugin-folders"), "WHARF_PLUGIN_FOLDERS", Flag, Some("false"), "true",
        "Also take each folder in the plugins directory that has a plugin.yaml for a plugin, with its component beside it; and the directory itself if it has one. Nothing else is read there.";
    cluster_plugins: bool = "sources.cluster.enabled", Some("--cluster-plugins"), "WHARF_CLUSTER_PLUGINS", Flag, Some("false"), "true",
        "Also run the plugins that are custom resources (plugins.wharf.dev; `wharf crd` installs the kind). Who may write one decides what the host runs.";
    plugin_namespaces: String = "sources.cluster.namespaces", Some("--plugin-namespaces"), "WHARF_PLUGIN_NAMESPACES", Text, Some(""), "team-a,team-b",
        "Only the custom resources of these namespaces, with commas between; nothing is all of them.";
    default_memory: String = "defaults.limits.memory", None, "WHARF_DEFAULT_MEMORY", Text, Some("64Mi"), "32Mi",
        "Memory of one instance where neither the document nor the component says anything; 1Mi to 256Mi. A guest that wants more is ended with MemoryExceeded.";
    default_deadline: String = "defaults.limits.deadline", None, "WHARF_DEFAULT_DEADLINE", Text, Some("10s"), "2s",
        "Wall time of one call, host calls included, where neither the document nor the component says anything; 10ms to 1m. A longer call is ended with DeadlineExceeded.";
    default_cpu: String = "defaults.limits.cpu", None, "WHARF_DEFAULT_CPU", Text, Some("200ms"), "100ms",
        "Processor time of one call where neither the document nor the component says anything; 5ms to 10s. A call that needs more is ended with CpuExceeded.";
    default_concurrency: u32 = "defaults.limits.concurrency", None, "WHARF_DEFAULT_CONCURRENCY", Integer, Some("4"), "8",
        "Calls of one plugin at the same time where neither the document nor the component says anything; 1 to 64. Calls for one object never overlap, whatever this is.";
    ceiling_plugins: u32 = "ceilings.pluginsPerTenant", None, "WHARF_CEILING_PLUGINS_PER_TENANT", Integer, Some("1000"), "10",
        "Plugins that one tenant (the namespace of a plugin) may have; 1 to 100000. Those that come when there are so many are refused (CeilingExceeded) until others go; a lower ceiling takes none away.";
    ceiling_memory: String = "ceilings.limits.memory", None, "WHARF_CEILING_MEMORY", Text, Some("256Mi"), "128Mi",
        "The most that spec.limits.memory, or the component itself, may ask for; 1Mi to 256Mi. A plugin that asks for more is refused (CeilingExceeded).";
    ceiling_deadline: String = "ceilings.limits.deadline", None, "WHARF_CEILING_DEADLINE", Text, Some("1m"), "10s",
        "The same of spec.limits.deadline; 10ms to 1m.";
    ceiling_cpu: String = "ceilings.limits.cpu", None, "WHARF_CEILING_CPU", Text, Some("10s"), "1s",
        "The same of spec.limits.cpu; 5ms to 10s.";
    ceiling_concurrency: u32 = "ceilings.limits.concurrency", None, "WHARF_CEILING_CONCURRENCY", Integer, Some("64"), "8",
        "The same of spec.limits.concurrency; 1 to 64.";
    ceiling_requests: u32 = "ceilings.requestsPerSecond", None, "WHARF_CEILING_REQUESTS_PER_SECOND", Integer, Some("200"), "50",
        "Requests to the API server that the plugins of one tenant may make in a second; 0 to 100000, where 0 sets no bound. Twice as many may come at once; then requests wait for up to a second, and beyond that the plugin is told that it is throttled. What is read from the cache is no request, and Events have bounds of their own.";
    ceiling_log_lines: u32 = "ceilings.logLinesPerSecond", None, "WHARF_CEILING_LOG_LINES_PER_SECOND", Integer, Some("500"), "100",
        "Lines that the guests of one plugin may log in a second; 1 to 100000. Four times as many may come at once; those beyond are dropped, and counted in wharf_guest_log_lines_dropped_total.";
    engine_instances: u32 = "engine.instances", Some("--engine-instances"), "WHARF_ENGINE_INSTANCES", Integer, Some("256"), "64",
        "Guest instances that may be alive at once, over all plugins; 1 to 4096. Each reserves 8 GiB of address space, not memory. Further calls wait.";
    engine_threads: usize = "engine.threads", Some("--engine-threads"), "WHARF_ENGINE_THREADS", Integer, Some("0"), "2",
        "Threads that run guests; 0 to 256. 0 is one less than the machine has processors, and at least one, so that watches and probes are never starved.";
    engine_tenant_weights: String = "engine.tenantWeights", None, "WHARF_TENANT_WEIGHTS", Text, Some(""), "team-a=3,team-b=2",
        "Tenants (the namespaces of plugins) that get more than others where there is not enough for all: NAMESPACE=WEIGHT with commas between, weights 1 to 100. A tenant that is not named has 1; one with 3 gets three times the processor time and the instances of one with 1.";
    engine_calls_per_instance: u32 = "engine.callsPerInstance", None, "WHARF_ENGINE_CALLS_PER_INSTANCE", Integer, Some("1000"), "100",
        "Calls that one instance answers before it is thrown away; 1 to 1000000. A plugin with `isolation: fresh` has a new one for each.";
    engine_instance_age: String = "engine.instanceAge", None, "WHARF_ENGINE_INSTANCE_AGE", Text, Some("10m"), "1m",
        "How long one instance answers calls before it is thrown away; 1s to 24h.";
    engine_keep_instances: String = "engine.keepInstances", None, "WHARF_ENGINE_KEEP_INSTANCES", Text, Some("1m"), "5m",
        "How long an instance that is dear to make (JavaScript, Python, Go; or any of a plugin with `isolation: warm`) waits for its plugin's next call; 0s to 1h. Others go as soon as their plugin's queue is empty.";
    engine_keep_code: String = "engine.keepCode", None, "WHARF_ENGINE_KEEP_CODE", Text, Some("1m"), "10m",
        "How long the machine code of a component stays mapped when no instance needs it; 0s to 24h. It comes back in about a millisecond, for the largest components in a few.";
    engine_max_component: String = "engine.maxComponent", None, "WHARF_ENGINE_MAX_COMPONENT", Text, Some("64Mi"), "16Mi",
        "The largest component that is accepted; 64Ki to 256Mi. Larger ones are refused (ComponentTooLarge) before they are read.";
    engine_code_cache: String = "engine.codeCache", None, "WHARF_ENGINE_CODE_CACHE", Text, Some("2Gi"), "512Mi",
        "Most of what the folder with compiled components may hold; 64Mi to 1024Gi. What was not used for longest goes first, and is compiled again when it is needed.";
    engine_guest_memory: String = "engine.guestMemory", None, "WHARF_ENGINE_GUEST_MEMORY", Text, Some("0"), "512Mi",
        "Memory that the instances of all plugins may have together; 0 to 1024Gi. One tenant may have eight ninths of it. Instances that idle are given up first; a guest that then gets no more is called again later (GuestMemoryShort), which counts as nobody's failure. 0 is a quarter of the container's memory limit, or of the machine's memory.";
    guests_start_deadline: String = "engine.guests.startDeadline", None, "WHARF_GUESTS_START_DEADLINE", Text, Some("5s"), "10s",
        "Wall time to make an instance, and for each of the calls `validate-config` and `describe`; 100ms to 1m.";
    guests_start_cpu: String = "engine.guests.startCpu", None, "WHARF_GUESTS_START_CPU", Text, Some("500ms"), "2s",
        "Processor time for each of the same; 10ms to 10s.";
    guests_host_call_bytes: String = "engine.guests.hostCallBytes", None, "WHARF_GUESTS_HOST_CALL_BYTES", Text, Some("1Mi"), "4Mi",
        "What a guest may hand to the host in one host call, or answer; 64Ki to 64Mi. A guest that hands over more is ended with HostCallLimit.";
    guests_handles: u32 = "engine.guests.handles", None, "WHARF_GUESTS_HANDLES", Integer, Some("1000"), "100",
        "Handles that an instance may hold; 10 to 100000.";
    guests_table_elements: u32 = "engine.guests.tableElements", None, "WHARF_GUESTS_TABLE_ELEMENTS", Integer, Some("20000"), "100000",
        "Elements of one table of an instance (functions that are called through pointers); 1000 to 1000000. All tables of an instance together have three times as many.";
    guests_object_bytes: String = "engine.guests.objectBytes", None, "WHARF_GUESTS_OBJECT_BYTES", Text, Some("4Mi"), "2Mi",
        "The largest answer to `cluster.get` and to a write; 64Ki to 64Mi. Of a larger object the guest has to ask for fields.";
    guests_page_bytes: String = "engine.guests.pageBytes", None, "WHARF_GUESTS_PAGE_BYTES", Text, Some("16Mi"), "4Mi",
        "The largest page of `cluster.list-objects`; 64Ki to 256Mi.";
    guests_log_lines: u32 = "engine.guests.logLines", None, "WHARF_GUESTS_LOG_LINES", Integer, Some("200"), "50",
        "Lines that one call may log; 1 to 10000. Those beyond are dropped, and counted in wharf_guest_log_lines_dropped_total.";
    guests_events: u32 = "engine.guests.events", None, "WHARF_GUESTS_EVENTS", Integer, Some("100"), "10",
        "Kubernetes Events that one call may record; 1 to 1000.";
    compile_cpu: String = "compile.cpu", None, "WHARF_COMPILE_CPU", Text, Some("1m"), "5m",
        "Processor time to compile one component, in a process of its own; 1s to 1h, in whole seconds. A component that needs more is refused (CompileFailed).";
    compile_deadline: String = "compile.deadline", None, "WHARF_COMPILE_DEADLINE", Text, Some("3m"), "10m",
        "Wall time for the same; 1s to 2h.";
    compile_memory: String = "compile.memory", None, "WHARF_COMPILE_MEMORY", Text, Some("2Gi"), "512Mi",
        "Memory for the same; 128Mi to 64Gi. It counts for the container's limit while something is compiled; when memory runs out, this process goes first.";
    compile_code: String = "compile.code", None, "WHARF_COMPILE_CODE", Text, Some("1Gi"), "256Mi",
        "The largest machine code of one component; 1Mi to 16Gi.";
    informers_watch_timeout: String = "informers.watchTimeout", None, "WHARF_INFORMERS_WATCH_TIMEOUT", Text, Some("5m"), "100s",
        "Watches ask for this length up to twice as much; 10s to 1h. Set it below half of the idle limit of a load balancer in between, which would cut watches without a word.";
    informers_widen_after: u32 = "informers.widenAfter", None, "WHARF_INFORMERS_WIDEN_AFTER", Integer, Some("4"), "16",
        "If more namespaces than this of one kind are asked for, one watch of the whole cluster serves them all, if the host may list it; 0 to 10000. It holds the objects of all namespaces.";
    informers_linger: String = "informers.linger", None, "WHARF_INFORMERS_LINGER", Text, Some("0s"), "1m",
        "How long a watch is kept that no plugin needs any more; 0s to 1h.";
    informers_max_bytes: String = "informers.maxBytes", None, "WHARF_INFORMERS_MAX_BYTES", Text, Some("0"), "2Gi",
        "Memory for the objects of all watches; 0 to 1024Gi. A plugin whose subscriptions would not fit into what is left is refused (CacheBudgetExceeded) before anything of them is read; what is watched already may grow beyond it. 0 is 60 % of the container's memory limit, or of the machine's memory.";
    failures_strikes: u32 = "failures.strikes", None, "WHARF_FAILURES_STRIKES", Integer, Some("5"), "3",
        "So many calls in a row that trap, or that the host ends, park a key; 1 to 1000. A parked key waits for a change of its object, for `wharf retry`, for a new revision, or for parkedFor.";
    failures_parked_for: String = "failures.parkedFor", None, "WHARF_FAILURES_PARKED_FOR", Text, Some("30m"), "10m",
        "A key that was parked by such calls is tried again after this time; 1s to 24h. One that the plugin gave up for good is not.";
    failures_max_keys: u32 = "failures.maxKeys", None, "WHARF_FAILURES_MAX_KEYS", Integer, Some("10000"), "1000",
        "From so many failing keys on a plugin is told of no further object, until some of them succeed; 1 to 1000000. What it was told of before goes on, and nothing is dropped.";
    failures_kept_calls: u32 = "failures.keptCalls", None, "WHARF_FAILURES_KEPT_CALLS", Integer, Some("10"), "50",
        "So many failed calls of each plugin are kept in memory with what they were told, the newest of each key, for `wharf get failedcalls` and `wharf invoke --call`; 0 to 100, where 0 keeps none.";
    failures_kept_bytes: String = "failures.keptBytes", None, "WHARF_FAILURES_KEPT_BYTES", Text, Some("1Mi"), "4Mi",
        "Memory for them, of each plugin; 4Ki to 64Mi. Objects of more than 256 KiB in one call are never kept.";
    failures_kept_secret_data: bool = "failures.keptSecretData", None, "WHARF_FAILURES_KEPT_SECRET_DATA", Flag, Some("false"), "true",
        "Keep the values of Secrets in them too; whoever may use the control socket can then read them. Without it only the names of the values are kept.";
    failures_open_for: String = "failures.breaker.openFor", None, "WHARF_FAILURES_BREAKER_OPEN_FOR", Text, Some("30s"), "1m",
        "A plugin is not called for this time when five calls in a row, or more than 20 % of the last 50, trap or are ended by the host, and not for one key alone; 0s to 1h, where 0s never holds a plugin back. Then one call is tried: if it strikes again, the time is doubled. Changes are noted meanwhile, and nothing is lost.";
    failures_max_open_for: String = "failures.breaker.maxOpenFor", None, "WHARF_FAILURES_BREAKER_MAX_OPEN_FOR", Text, Some("30m"), "10m",
        "The time is doubled up to this; 1s to 24h, not below openFor.";
    history_per_plugin: String = "historyPerPlugin", None, "WHARF_HISTORY_PER_PLUGIN", Text, Some("128Ki"), "1Mi",
        "Memory for what was decided about a plugin's keys lately, which `wharf explain` shows; 0 to 16Mi, where 0 keeps nothing. 128Ki are about two thousand decisions.";
    data_directory: PathBuf = "dataDirectory", Some("--data-dir"), "WHARF_DATA_DIR", Text, Some("/var/lib/wharf"), "/var/lib/wharf",
        "Folder that the host writes to: compiled components, what plugins were told (see checkpoint), and the control socket. It should survive the host, and no two hosts may share it. If it is lost, components are compiled again and plugins are told of everything anew.";
    checkpoint_enabled: bool = "checkpoint.enabled", None, "WHARF_CHECKPOINT_ENABLED", Flag, Some("true"), "false",
        "Write down in the data folder what plugins were told, so that the next host tells them of changes only. Without it every start is a first start.";
    checkpoint_max_bytes: String = "checkpoint.maxBytes", None, "WHARF_CHECKPOINT_MAX_BYTES", Text, Some("256Mi"), "64Mi",
        "Most of what is written down, at about 100 bytes for each plugin and object; 1Mi to 64Gi. The file can be twice as large. Objects that there is no room for are new to the next host.";
    checkpoint_body_bytes: String = "checkpoint.bodyBytes", None, "WHARF_CHECKPOINT_BODY_BYTES", Text, Some("64Mi"), "0",
        "The part of it for last states, compressed, of objects whose plugin wants to be told of deletes; 0 to 64Gi, at most half of maxBytes. They are what a handler sees of an object that was deleted while no host ran. Secrets are never among them.";
    checkpoint_directory: PathBuf = "checkpoint.directory", None, "WHARF_CHECKPOINT_DIRECTORY", Text, None, "/var/lib/wharf-checkpoint",
        "Folder that the checkpoint is in. Without it: the data folder. Hosts that elect a leader share this folder and no other, and their revisions are kept in it too; only the leader opens the file.";
    leader_elect: bool = "leaderElection.enabled", Some("--leader-elect"), "WHARF_LEADER_ELECT", Flag, Some("false"), "true",
        "Call plugins only as long as this host holds a lease; until then stand by with everything loaded. For two hosts or more. A host that loses the lease ends with exit code 75.";
    leader_elect_name: String = "leaderElection.leaseName", Some("--leader-elect-resource-name"), "WHARF_LEADER_ELECT_RESOURCE_NAME", Text, Some("wharf"), "wharf-blue",
        "Name of the lease. Hosts with the same name in the same namespace elect one of them; they must have the same plugins.";
    leader_elect_namespace: String = "leaderElection.leaseNamespace", Some("--leader-elect-resource-namespace"), "WHARF_LEADER_ELECT_RESOURCE_NAMESPACE", Text, None, "wharf-system",
        "Namespace of the lease. Without it: the pod's own, or that of the kubeconfig's context.";
    leader_elect_lease: String = "leaderElection.leaseDuration", Some("--leader-elect-lease-duration"), "WHARF_LEADER_ELECT_LEASE_DURATION", Text, Some("15s"), "30s",
        "A lease that has not changed for so long may be taken; 1s to 1h, in whole seconds, more than renewDeadline. So long nobody calls plugins after a leader was killed.";
    leader_elect_renew: String = "leaderElection.renewDeadline", Some("--leader-elect-renew-deadline"), "WHARF_LEADER_ELECT_RENEW_DEADLINE", Text, Some("10s"), "20s",
        "A leader that was not able to renew its lease for so long stops to call plugins; 1s to 1h, more than 1.2 times retryPeriod. Calls in flight have half of what is left to leaseDuration.";
    leader_elect_retry: String = "leaderElection.retryPeriod", Some("--leader-elect-retry-period"), "WHARF_LEADER_ELECT_RETRY_PERIOD", Text, Some("2s"), "4s",
        "Time between two attempts to get or to renew the lease; 1s to 1h.";
    leader_elect_release: bool = "leaderElection.releaseOnCancel", None, "WHARF_LEADER_ELECT_RELEASE_ON_CANCEL", Flag, Some("true"), "false",
        "Give the lease back at the end of the host, after everything was drained and written down, so that the next leader need not wait until it has run out.";
    control_socket: PathBuf = "controlSocket", Some("--control-socket"), "WHARF_CONTROL_SOCKET", Text, None, "/run/wharf/wharf.sock",
        "Where `wharf get` asks: a Unix socket (at most 100 bytes), or a loopback address like 127.0.0.1:9440, whose token the host writes to control.token in the data folder. Without it: wharf.sock in the data folder. Whoever may open it sees all plugins.";
    kubeconfig: PathBuf = "kubeconfig", Some("--kubeconfig"), "WHARF_KUBECONFIG", Text, None, "/etc/wharf/kubeconfig",
        "File that says where the API server is and who the host is. Without it: the file that KUBECONFIG names, ~/.kube/config, or the pod's own ServiceAccount.";
    context: String = "context", Some("--context"), "WHARF_CONTEXT", Text, None, "staging",
        "Context of the kubeconfig. Without it: its current one.";
    server: String = "server", Some("--server"), "WHARF_SERVER", Text, None, "https://10.0.0.1:6443",
        "URL of the API server, for example where there is no kubeconfig. Wins over the kubeconfig's.";
    token_file: PathBuf = "tokenFile", Some("--token-file"), "WHARF_TOKEN_FILE", Text, None, "/run/secrets/wharf/token",
        "File with the token that says who the host is; wins over all credentials of the kubeconfig, and is read again when it changes. The token itself can be given by --token or WHARF_TOKEN, which win over this file; it is no setting of this file, because it is a secret.";
    certificate_authority: PathBuf = "certificateAuthority", Some("--certificate-authority"), "WHARF_CERTIFICATE_AUTHORITY", Text, None, "/etc/wharf/ca.crt",
        "PEM file with the certificates that the API server's is checked against; wins over the kubeconfig's, and is read again when it changes.";
    insecure_skip_tls_verify: bool = "insecureSkipTlsVerify", Some("--insecure-skip-tls-verify"), "WHARF_INSECURE_SKIP_TLS_VERIFY", Flag, Some("false"), "true",
        "Do not check the API server's certificate: anybody on the way can read and change everything. For tests.";
    metrics_bind_address: String = "metricsBindAddress", Some("--metrics-bind-address"), "WHARF_METRICS_BIND_ADDRESS", Text, Some(":8080"), "127.0.0.1:8080",
        "Where /metrics is served: `:port` on all addresses, or `address:port`. 0 turns it off.";
    health_probe_bind_address: String = "healthProbeBindAddress", Some("--health-probe-bind-address"), "WHARF_HEALTH_PROBE_BIND_ADDRESS", Text, Some(":8081"), "127.0.0.1:8081",
        "Where /livez and /readyz are served: `:port` on all addresses, or `address:port`. 0 turns them off, and with them the probes of a Deployment.";
    log_level: String = "logLevel", Some("--log-level"), "WHARF_LOG_LEVEL", Text, Some("info"), "info,wharf::call=debug",
        "What is logged: error, warn, info, debug or trace, and after commas target=level for parts. debug writes a line for each call.";
    log_format: String = "logFormat", Some("--log-format"), "WHARF_LOG_FORMAT", Text, Some("auto"), "json",
        "How it is logged: text, json, or auto, which is text on a terminal and json otherwise.";
    log_buffer: String = "logBuffer", None, "WHARF_LOG_BUFFER", Text, Some("1Mi"), "8Mi",
        "Memory for the lines that were logged lately, of all plugins together, which `wharf logs` shows; 0 to 64Mi, where 0 keeps none. 1Mi are some thousand lines.";
    drain_deadline: String = "drainDeadline", Some("--drain-deadline"), "WHARF_DRAIN_DEADLINE", Text, Some("30s"), "10s",
        "Time for calls in flight to end when the host is asked to stop; 1s to 10m. What has not ended then is cancelled and worked on at the next start. A pod's terminationGracePeriodSeconds must be longer.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_one_rule() {
        assert!(SETTINGS.len() < 96, "keep it small");
        for (i, setting) in SETTINGS.iter().enumerate() {
            if let Some(flag) = setting.flag {
                let env = format!("WHARF_{}", flag.strip_prefix("--").unwrap().replace('-', "_").to_uppercase());
                assert_eq!(setting.env, env);
            }
            assert!(setting.doc.ends_with('.') && !setting.doc.contains('\n'), "{}", setting.path);
            assert!(SETTINGS.iter().skip(i + 1).all(|other| other.path != setting.path && other.env != setting.env));
            assert!(setting.shape.read(setting.example).is_ok(), "{}", setting.path);
        }
    }

    #[test]
    fn paths_that_are_no_text_are_refused() {
        use std::os::unix::ffi::OsStringExt;
        let path = PathBuf::from(std::ffi::OsString::from_vec(vec![b'a', 0xff]));
        assert_eq!(path.given(Shape::Text), Err(r#""a\xFF" is no UTF-8"#.to_owned()));
    }
}
