//! The outside of a component that is only looked at or measured: there is none.

use async_trait::async_trait;
use wharf_core::Gvk;

use crate::ports::{ApiError, CallInfo, DeleteOptions, Document, Level, ListOptions, ObjectRef, Page, Ports, WriteOptions, Written};

/// Keeps no log line and answers every use of the cluster with `unavailable`.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoPorts;

fn nothing<T>() -> Result<T, ApiError> {
    Err(ApiError::Unavailable("there is no cluster here".to_owned()))
}

#[async_trait]
impl Ports for NoPorts {
    fn log_enabled(&self, _: Level) -> bool {
        false
    }
    fn log(&self, _: &CallInfo, _: Level, _: &str, _: &[(String, String)]) {}
    async fn place(&self, _: &Gvk) -> Result<bool, ApiError> {
        nothing()
    }
    async fn get(&self, _: &Gvk, _: Option<&str>, _: &str, _: bool) -> Result<Document, ApiError> {
        nothing()
    }
    async fn list(&self, _: &Gvk, _: ListOptions) -> Result<Page, ApiError> {
        nothing()
    }
    async fn create(&self, _: &ObjectRef, _: String, _: WriteOptions) -> Result<Written, ApiError> {
        nothing()
    }
    async fn apply(&self, _: &ObjectRef, _: String, _: WriteOptions) -> Result<Written, ApiError> {
        nothing()
    }
    async fn merge_patch(&self, _: &ObjectRef, _: String, _: WriteOptions) -> Result<Written, ApiError> {
        nothing()
    }
    async fn delete(&self, _: &ObjectRef, _: DeleteOptions) -> Result<(), ApiError> {
        nothing()
    }
    fn record_event(&self, _: &ObjectRef, _: bool, _: &str, _: &str) {}
}
