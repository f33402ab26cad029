//! A real API server and a real host for tests and for the demo.
//!
//! Owns the life of the processes that a test needs: etcd and kube-apiserver on free
//! ports in a temporary folder, a proxy that can be cut, and the `wharf` binary with its
//! log read line by line. Everything waits on conditions, and nothing outlives the
//! process that started it. Never builds anything: `cargo xtask setup` does.

mod api;
mod cluster;
mod credentials;
mod host;
mod log;
pub mod paths;
mod ports;
mod process;
mod proxy;
mod scratch;
mod stream;
mod wait;

pub use api::{Api, Target};
pub use cluster::{Cluster, Kind};
pub use host::{Call, Host, HostOptions};
pub use log::{Line, Log};
pub use ports::free_port;
pub use process::{Process, Signal};
pub use proxy::{Proxy, ProxyCounts};
pub use scratch::scratch;
pub use stream::{Books, Stream, StreamOptions};
pub use wait::until;
