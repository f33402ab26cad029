//! Components that are ready to be instantiated. Owns checking, compiling and mapping, one
//! artifact per digest however many plugins use it, and the only unsafe call of the project:
//! mapping native code that this host compiled itself.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use wasmtime::component::Component;
use wharf_core::Reason;

use crate::config::{EngineConfig, MEMORIES_PER_PERMIT, TABLES_PER_PERMIT};
use crate::cwasm::CompiledStore;
use crate::failure::{EngineError, LoadError};
use crate::inspect::{Inspection, digest, inspect_component};

/// From this size on an instance is dear to make.
const DEAR_BYTES: u64 = 1 << 20;

/// A compiled component. Dropping the last user unmaps its code.
pub struct Artifact {
    pub(crate) component: Component,
    inspection: Inspection,
    from_cache: bool,
    compile_time: Duration,
}

impl std::fmt::Debug for Artifact {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Artifact").field("digest", &self.inspection.digest).finish_non_exhaustive()
    }
}

impl Artifact {
    /// `sha256:` and the digest of the component's bytes in hex.
    pub fn digest(&self) -> &str {
        &self.inspection.digest
    }

    /// Names of its imports.
    pub fn imports(&self) -> &[String] {
        &self.inspection.imports
    }

    /// Names of its exports.
    pub fn exports(&self) -> &[String] {
        &self.inspection.exports
    }

    /// Bytes of the component (not of its machine code).
    pub fn size(&self) -> u64 {
        self.inspection.size
    }

    /// Bytes of memory that an instance has before it runs.
    pub fn initial_memory(&self) -> u64 {
        self.inspection.initial_memory
    }

    /// Was the machine code found in the cache?
    pub fn from_cache(&self) -> bool {
        self.from_cache
    }

    /// What compiling took, or mapping where the code was found in the cache.
    pub fn compile_time(&self) -> Duration {
        self.compile_time
    }

    /// Is an instance dear to make? Told by size: from 1 MiB on a component brings the runtime of
    /// a language with it, which an instance has to set up and to page in.
    pub fn dear(&self) -> bool {
        self.inspection.size >= DEAR_BYTES
    }

    /// How many shares of the pool an instance takes: components of scripting languages have
    /// more memories and tables than one share holds.
    pub(crate) fn permits(&self) -> u32 {
        self.component.resources_required().map_or(1, |needs| {
            let memories = needs.num_memories.div_ceil(MEMORIES_PER_PERMIT);
            memories.max(needs.num_tables.div_ceil(TABLES_PER_PERMIT)).max(1)
        })
    }
}

/// All artifacts of an engine that are in use.
pub(crate) struct Artifacts {
    engine: wasmtime::Engine,
    max_bytes: u64,
    compiled: Option<CompiledStore>,
    /// By digest. Entries whose artifact is gone are removed with every load, so the map is
    /// bounded by the artifacts in use.
    loaded: Mutex<HashMap<String, Weak<Artifact>>>,
    /// One compilation at a time.
    compiling: Arc<tokio::sync::Mutex<()>>,
}

impl Artifacts {
    pub(crate) fn new(engine: wasmtime::Engine, config: &EngineConfig) -> Result<Self, EngineError> {
        let compiled = match &config.cache_dir {
            Some(folder) => Some(
                CompiledStore::open(folder, &engine.precompile_compatibility_hash())
                    .map_err(|source| EngineError::Cache { path: folder.clone(), source })?,
            ),
            None => None,
        };
        let max_bytes = config.max_component_bytes;
        Ok(Self { engine, max_bytes, compiled, loaded: Mutex::default(), compiling: Arc::default() })
    }

    /// How many are in use.
    pub(crate) fn count(&self) -> usize {
        self.loaded.lock().values().filter(|artifact| artifact.strong_count() > 0).count()
    }

    /// Finds or makes the artifact of some bytes. Cancel safe: what was begun on a blocking
    /// thread runs to its end and is kept in the cache on disk.
    pub(crate) async fn load(self: &Arc<Self>, wasm: Arc<[u8]>, blocking: &Handle) -> Result<Arc<Artifact>, LoadError> {
        let size = wasm.len() as u64;
        if size > self.max_bytes {
            let message = format!("the component has {size} bytes, at most {} are accepted", self.max_bytes);
            return Err(LoadError::new(Reason::ComponentTooLarge, message));
        }
        let (this, bytes) = (Arc::clone(self), Arc::clone(&wasm));
        if let Some(artifact) = joined(blocking.spawn_blocking(move || this.known(&digest(&bytes)))).await? {
            return Ok(artifact);
        }
        let turn = Arc::clone(&self.compiling).lock_owned().await;
        let this = Arc::clone(self);
        joined(blocking.spawn_blocking(move || {
            let made = this.find_or_make(&wasm);
            drop(turn);
            made
        }))
        .await?
    }

    fn known(&self, digest: &str) -> Option<Arc<Artifact>> {
        self.loaded.lock().get(digest).and_then(Weak::upgrade)
    }

    fn find_or_make(&self, wasm: &[u8]) -> Result<Arc<Artifact>, LoadError> {
        // Another load may have made it while this one waited for its turn.
        if let Some(artifact) = self.known(&digest(wasm)) {
            return Ok(artifact);
        }
        let inspection = inspect_component(wasm)?;
        let started = Instant::now();
        let (component, from_cache) = match self.map_compiled(&inspection.digest) {
            Some(component) => (component, true),
            None => (self.compile(wasm, &inspection.digest)?, false),
        };
        let artifact = Arc::new(Artifact { component, inspection, from_cache, compile_time: started.elapsed() });
        let mut loaded = self.loaded.lock();
        loaded.retain(|_, artifact| artifact.strong_count() > 0);
        loaded.insert(artifact.digest().to_owned(), Arc::downgrade(&artifact));
        Ok(artifact)
    }

    /// The component from the cache on disk. Trouble with the cache is logged and never fails
    /// a load: the component is compiled again.
    fn map_compiled(&self, digest: &str) -> Option<Component> {
        let store = self.compiled.as_ref()?;
        let mapped = store.find(digest).map_err(Trouble::Io).and_then(|path| match path {
            Some(path) => map(&self.engine, &path).map(Some).map_err(Trouble::Code),
            None => Ok(None),
        });
        mapped.unwrap_or_else(|trouble| {
            tracing::warn!(digest, %trouble, "a compiled component could not be used and is made again");
            if let Err(error) = store.remove(digest) {
                tracing::warn!(digest, %error, "a compiled component could not be removed");
            }
            None
        })
    }

    /// Compiles, keeps the code on disk, and uses it from there: pages of a file can be given
    /// back by the system when memory is short.
    fn compile(&self, wasm: &[u8], digest: &str) -> Result<Component, LoadError> {
        let component = Component::new(&self.engine, wasm).map_err(|e| LoadError::caused(Reason::CompileFailed, &e))?;
        let Some(store) = &self.compiled else { return Ok(component) };
        let kept = component
            .serialize()
            .map_err(Trouble::Code)
            .and_then(|code| store.put(digest, &code).map_err(Trouble::Io))
            .and_then(|path| map(&self.engine, &path).map_err(Trouble::Code));
        Ok(kept.unwrap_or_else(|trouble| {
            tracing::warn!(digest, %trouble, "a compiled component could not be kept");
            component
        }))
    }
}

async fn joined<T>(work: JoinHandle<T>) -> Result<T, LoadError> {
    work.await.map_err(|e| match e.is_panic() {
        true => LoadError::new(Reason::CompileFailed, "the compiler crashed on this component"),
        false => LoadError::new(Reason::Cancelled, "the host is stopping"),
    })
}

/// What can go wrong with the cache on disk.
#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error("{0}")]
    Io(io::Error),
    #[error("{0:#}")]
    Code(wasmtime::Error),
}

#[expect(unsafe_code, reason = "mapping machine code cannot be checked by the compiler; see SAFETY")]
fn map(engine: &wasmtime::Engine, path: &Path) -> wasmtime::Result<Component> {
    // SAFETY: the file must be what wasmtime itself made for a compatible engine, and must not
    // change while it is mapped. Both callers pass a path of `CompiledStore` whose contents
    // were written by `put` from `Component::serialize`, and which `find` has compared with
    // its checksum or `put` has just written. The folder has mode 0700, files are replaced
    // only by rename and never written in place, and no file from outside is ever put there.
    unsafe { Component::deserialize_file(engine, path) }
}
