//! Ways to a real API server, and what `get` and `watch` show of it: the real binary against
//! kube-apiserver with etcd.

mod connect_proxy;
mod connections;
mod looks;
mod requests;
mod support;
