//! The one list of causes. A reason has the same name in a log line, a metric label, an
//! error message, a condition and docs/errors.md; its summary and hint live here, once.

use std::fmt;

macro_rules! reasons {
    ($($(#[doc = $doc:literal])+ $name:ident => $hint:literal,)+) => {
        /// The machine name of a cause.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Reason {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Reason {
            /// All reasons, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// The CamelCase name.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)+ }
            }

            /// The one with a name.
            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|reason| reason.as_str() == name)
            }

            /// What it means, in one sentence.
            pub const fn summary(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc,)+).trim_ascii(),)+ }
            }

            /// Does it stand for an API server that answers, and says no to who asks?
            pub const fn is_refusal(self) -> bool {
                matches!(self, Self::Unauthorized | Self::Forbidden)
            }

            /// Is a call that ended so nobody's fault? It is made again, and counts against neither its key nor its plugin.
            pub const fn is_excused(self) -> bool {
                matches!(self, Self::ServerUnavailable | Self::GuestMemoryShort)
            }

            /// What to do about it.
            pub const fn hint(self) -> &'static str {
                match self { $(Self::$name => $hint,)+ }
            }
        }
    };
}

reasons! {
    /// The Plugin document has wrong, missing or contradicting fields.
    DocumentInvalid => "run `wharf validate FILE` and correct every line that it names",
    /// The document uses a field or a capability that this version of wharf does not have.
    NotSupported => "remove the field, or use a version of wharf that has it",
    /// Two sources define a plugin of the same namespace and name.
    DuplicatePlugin => "rename or remove one of the two documents",
    /// The component's file, or its entry in a ConfigMap, is not there or cannot be read.
    ComponentNotFound => "check spec.component: a file is looked for below the plugins folder, a ConfigMap in the plugin's namespace",
    /// The component is larger than the host accepts.
    ComponentTooLarge => "build it with optimisation for size and without debug information, or raise engine.maxComponent",
    /// The bytes are not a valid WebAssembly component.
    ComponentInvalid => "build a component (not a core module) against the world in wit/; `wharf inspect` shows what a file is",
    /// The component does not export what a plugin must, or with other types.
    WorldMismatch => "build it against wharf:plugin in a version that this host serves; `wharf inspect` shows its world",
    /// The component imports something that this host does not offer.
    ImportUnknown => "build it for a world of wharf:plugin; `wharf inspect` lists its imports",
    /// The component imports or asks for something that the Plugin document does not grant.
    GrantMissing => "add the grants that the message names to the Plugin document, if the plugin should have them",
    /// The plugin asks for more than the operator of the host allows.
    CeilingExceeded => "ask for less, or ask the operator of the host: ceilings in its configuration",
    /// The component could not be compiled, or not within the limits of compiling.
    CompileFailed => "look at the message: a component that needs so much must become smaller, or compile.* larger; one that crashes the compiler is worth a report to its author; other plugins are not affected",
    /// The component's `describe` failed or answered something unusable.
    DescribeFailed => "run `wharf inspect` on the component to see what it says",
    /// The component refused its configuration.
    ConfigInvalid => "correct spec.config as the message says",
    /// No instance of the component could be made.
    InstantiateFailed => "see the message; if memory was refused, raise limits.memory above what `wharf inspect` shows that an instance begins with",
    /// The guest trapped.
    Trap => "look at the guest's log lines before it; it is a bug of the plugin",
    /// The guest's stack overflowed.
    StackOverflow => "look for unbounded recursion in the plugin",
    /// The call took longer than limits.deadline.
    DeadlineExceeded => "make the handler faster, split the work with requeue-after, or raise limits.deadline",
    /// The call used more processor time than limits.cpu.
    CpuExceeded => "look for an endless loop in the plugin, or raise limits.cpu",
    /// The guest needed more memory than limits.memory.
    MemoryExceeded => "look for unbounded growth in the plugin, or raise limits.memory",
    /// The guests of all plugins have so much memory together that there was none left for this call.
    GuestMemoryShort => "nothing, if it passes: the call is made again; else see with `wharf top` who has it, and raise engine.guestMemory and the host's memory",
    /// The guest handed more data to the host in one call than is allowed, or too many handles.
    HostCallLimit => "hand over less at once, or raise engine.guests.hostCallBytes or engine.guests.handles",
    /// An error inside the host during a call.
    HostError => "report it with the log lines around it",
    /// The host ended the call because it is stopping.
    Cancelled => "nothing: the key is worked on again",
    /// The plugin failed with a reason that its description does not list.
    Other => "see the message; list the reason in `describe` to count it by itself",
    /// So many keys of the plugin fail that it is told of no further object until some succeed.
    TooManyFailures => "`wharf get failures` shows them; correct the plugin or the objects, or raise failures.maxKeys",
    /// The plugin's calls fail, one after the other, without a success between.
    CallsFailing => "`wharf get failures` shows why; correct the plugin or the objects, or go back with `wharf rollback`",
    /// So many calls of the plugin trap or go beyond a limit that it is not called for a while, and then with one call for a trial.
    BreakerOpen => "`wharf get failures` shows why; correct the plugin and bring the new component, or go back with `wharf rollback`; `wharf retry` and `wharf reload` try at once",
    /// The kind does not exist on the server (yet).
    KindNotFound => "install its CustomResourceDefinition; the plugin starts by itself as soon as it is there",
    /// The API server does not accept the credentials.
    Unauthorized => "check the token, certificate or exec plugin that says who asks; what was renewed is read again within 10 s",
    /// The API server refused for lack of rights.
    Forbidden => "grant the rights by RBAC to the identity that the message names",
    /// The ServiceAccount in whose name the plugin asks the API server does not exist.
    ServiceAccountNotFound => "create it, or correct spec.serviceAccountName; `wharf rbac` prints it with the rights that it needs, and it is found by itself",
    /// What a subscription asks for would not fit into the memory that the host has for cached objects.
    CacheBudgetExceeded => "narrow the subscription: fewer namespaces, or (where `events` leaves out delete) a selector; or raise informers.maxBytes and the host's memory",
    /// The API server cannot be reached or is not able to answer.
    ServerUnavailable => "check the connection and the server; wharf keeps trying",
    /// The watch was too old to go on; everything is listed again.
    WatchExpired => "nothing: no change is lost",
    /// The server sent something that is no Kubernetes object.
    Undecodable => "look at the object in the message; the informer lists again until it can be read",
    /// What plugins were told cannot be written to the data folder, or not be read from it.
    CheckpointUnusable => "look at the disk of the data folder: room, rights, faults; events are handled meanwhile, and after a restart all over again",
    /// A revision was withdrawn, because it was worse than the one before or an operator did not want it.
    RolledBack => "correct the plugin and bring the new component; `wharf reload` takes the same one once more",
    /// The last revisions of plugins cannot be written to the data folder, or not be read from it.
    RevisionsUnusable => "look at the disk of the data folder: room, rights, faults; what serves goes on, but cannot be gone back to",
    /// The lease of the leader could not be renewed in time, or somebody else has it.
    LeaseLost => "nothing, if another host leads now; else look at the API server and the connection: the process ends, and stands by when it is started again",
    /// The host could not read a folder, file or setting of its own.
    HostConfigInvalid => "correct the setting that the message names; `wharf run --print-config` shows where each comes from",
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
