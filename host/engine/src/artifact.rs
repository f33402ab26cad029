//! Components that were checked and compiled. Owns both, and one artifact per digest however many plugins use it;
//! their machine code is `code`'s.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use rustix::fs::{MemfdFlags, memfd_create};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use wasmtime::component::{Component, Linker};
use wharf_core::Reason;

use crate::code::{Code, map};
use crate::compiler::{Compiler, Failure};
use crate::config::{Compile, EngineConfig, MEMORIES_PER_PERMIT, TABLES_PER_PERMIT};
use crate::cwasm::{CompiledStore, Draft};
use crate::failure::{EngineError, LoadError};
use crate::host::Ctx;
use crate::inspect::{Inspection, digest, inspect_component, inspect_known, must_be_component};

/// From this size on an instance is dear to make.
const DEAR_BYTES: u64 = 1 << 20;

/// A compiled component. Its code is mapped as long as there are instances, and some time longer; dropping the last user
/// unmaps it at once.
pub struct Artifact {
    pub(crate) code: Arc<Code>,
    permits: u32,
    inspection: Inspection,
    from_cache: bool,
    compile_time: Duration,
    /// As long as somebody has them.
    bytes: Mutex<Weak<[u8]>>,
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

    /// The bytes that it was made of, from whoever has them already: plugins of one component need not have a copy each.
    pub fn share(&self, wasm: Arc<[u8]>) -> Arc<[u8]> {
        let mut bytes = self.bytes.lock();
        if let Some(had) = bytes.upgrade() {
            return had;
        }
        *bytes = Arc::downgrade(&wasm);
        wasm
    }

    /// Whoever may come to have the bytes keeps their place, even when they are gone.
    fn forget(&self) {
        let mut bytes = self.bytes.lock();
        if bytes.strong_count() == 0 {
            *bytes = Weak::<[u8; 0]>::new();
        }
    }

    /// Bytes of its machine code and what belongs to it; 0 while it is not mapped.
    pub fn mapped(&self) -> u64 {
        self.code.mapped()
    }

    /// How many shares of the pool an instance takes: components of scripting languages have
    /// more memories and tables than one share holds.
    pub(crate) fn permits(&self) -> u32 {
        self.permits
    }
}

fn permits(component: &Component) -> u32 {
    component.resources_required().map_or(1, |needs| {
        let memories = needs.num_memories.div_ceil(MEMORIES_PER_PERMIT);
        memories.max(needs.num_tables.div_ceil(TABLES_PER_PERMIT)).max(1)
    })
}

/// All artifacts of an engine that are in use.
pub(crate) struct Artifacts {
    engine: wasmtime::Engine,
    linker: Arc<Linker<Ctx>>,
    max_bytes: u64,
    level: Compile,
    compiler: Option<Compiler>,
    compiled: Option<CompiledStore>,
    /// By digest. Entries whose artifact is gone are removed with every load, so the map is
    /// bounded by the artifacts in use.
    loaded: Mutex<HashMap<String, Weak<Artifact>>>,
    /// One compilation at a time.
    compiling: tokio::sync::Mutex<()>,
    /// Where files are read and bytes are hashed.
    blocking: Handle,
}

impl Artifacts {
    pub(crate) fn new(linker: Linker<Ctx>, config: &EngineConfig, blocking: Handle) -> Result<Self, EngineError> {
        let engine = linker.engine().clone();
        let compiled = match &config.cache_dir {
            Some(folder) => Some(
                CompiledStore::open(folder, config.cache_bytes, &engine.precompile_compatibility_hash())
                    .map_err(|source| EngineError::Cache { path: folder.clone(), source })?,
            ),
            None if config.compiler.is_some() => {
                return Err(EngineError::Setup("a compiling process needs a cache folder".to_owned()));
            }
            None => None,
        };
        let (max_bytes, level, compiler) = (config.max_component_bytes, config.compile, config.compiler.clone());
        let (loaded, compiling) = (Mutex::default(), tokio::sync::Mutex::default());
        let linker = Arc::new(linker);
        Ok(Self { engine, linker, max_bytes, level, compiler, compiled, loaded, compiling, blocking })
    }

    /// How many are in use.
    pub(crate) fn count(&self) -> usize {
        self.loaded.lock().values().filter(|artifact| artifact.strong_count() > 0).count()
    }

    /// Finds or makes the artifact of some bytes. Cancel safe: what was begun runs to its end
    /// and is kept in the cache on disk, for whoever asks next.
    pub(crate) async fn load(self: &Arc<Self>, wasm: Arc<[u8]>) -> Result<Arc<Artifact>, LoadError> {
        let size = wasm.len() as u64;
        if size > self.max_bytes {
            let message = format!("the component has {size} bytes, at most {} are accepted", self.max_bytes);
            return Err(LoadError::new(Reason::ComponentTooLarge, message));
        }
        joined(tokio::spawn(Arc::clone(self).find_or_make(wasm))).await?
    }

    /// Unmaps what no instance needs and nobody has used for so long.
    pub(crate) fn cool(&self, unused: Duration) {
        let artifacts: Vec<_> = self.loaded.lock().values().filter_map(Weak::upgrade).collect();
        for artifact in artifacts {
            artifact.code.cool(unused);
            artifact.forget();
        }
    }

    fn known(&self, digest: &str) -> Option<Arc<Artifact>> {
        self.loaded.lock().get(digest).and_then(Weak::upgrade)
    }

    async fn find_or_make(self: Arc<Self>, wasm: Arc<[u8]>) -> Result<Arc<Artifact>, LoadError> {
        let bytes = Arc::clone(&wasm);
        let digest = self.apart(move |_| digest(&bytes)).await?;
        if let Some(artifact) = self.known(&digest) {
            return Ok(artifact);
        }
        let started = Instant::now();
        let (bytes, name) = (Arc::clone(&wasm), digest.clone());
        let found = self.apart(move |this| this.find(&bytes, &name)).await?;
        if let Some((compiled, inspection)) = found {
            return Ok(self.add(compiled, inspection, true, started));
        }
        let _turn = self.compiling.lock().await;
        // Another load may have made it while this one waited for its turn.
        if let Some(artifact) = self.known(&digest) {
            return Ok(artifact);
        }
        let (bytes, confined) = (Arc::clone(&wasm), self.compiler.is_some());
        // What only the compiler can tell it does where it can do no harm.
        self.apart(move |_| if confined { must_be_component(&bytes) } else { inspect_component(&bytes).map(drop) }).await??;
        let started = Instant::now();
        let compiled = self.compile(Arc::clone(&wasm), &digest).await?;
        let inspection = self.apart(move |_| inspect_known(&wasm, &digest)).await??;
        Ok(self.add(compiled, inspection, false, started))
    }

    /// Of two loads of the same bytes both have one artifact.
    fn add(&self, (component, file): Compiled, inspection: Inspection, from_cache: bool, started: Instant) -> Arc<Artifact> {
        let mut loaded = self.loaded.lock();
        loaded.retain(|_, artifact| artifact.strong_count() > 0);
        if let Some(artifact) = loaded.get(&inspection.digest).and_then(Weak::upgrade) {
            return artifact;
        }
        let permits = permits(&component);
        let code = Arc::new(Code::new(Arc::clone(&self.linker), component, file));
        let artifact = Arc::new(Artifact {
            code,
            permits,
            inspection,
            from_cache,
            compile_time: started.elapsed(),
            bytes: Mutex::new(Weak::<[u8; 0]>::new()),
        });
        loaded.insert(artifact.digest().to_owned(), Arc::downgrade(&artifact));
        artifact
    }

    /// Does something slow where it holds up nobody.
    async fn apart<T: Send + 'static>(self: &Arc<Self>, work: impl FnOnce(&Self) -> T + Send + 'static) -> Result<T, LoadError> {
        let this = Arc::clone(self);
        joined(self.blocking.spawn_blocking(move || work(&this))).await
    }

    /// The component from the cache on disk. Trouble with the cache is logged and never fails
    /// a load: the component is compiled again.
    fn find(&self, wasm: &[u8], digest: &str) -> Option<(Compiled, Inspection)> {
        let store = self.compiled.as_ref()?;
        let mapped = store.find(digest).map_err(Trouble::Io).and_then(|file| match file {
            Some(file) => map(&self.engine, &file).map(|component| Some((component, Some(file)))).map_err(Trouble::Code),
            None => Ok(None),
        });
        let found = mapped.unwrap_or_else(|trouble| {
            tracing::warn!(digest, %trouble, "a compiled component could not be used and is made again");
            if let Err(error) = store.remove(digest) {
                tracing::warn!(digest, %error, "a compiled component could not be removed");
            }
            None
        });
        // What was compiled is valid.
        Some((found?, inspect_known(wasm, digest).ok()?))
    }

    async fn compile(self: &Arc<Self>, wasm: Arc<[u8]>, digest: &str) -> Result<Compiled, LoadError> {
        let code = digest.to_owned();
        let Some(compiler) = &self.compiler else {
            return self.apart(move |this| this.compile_here(&wasm, &code)).await?;
        };
        let trouble = match self.apart(Self::draft).await? {
            Ok((draft, file)) => match compiler.compile(Arc::clone(&wasm), self.level, file).await {
                Ok(()) => match self.apart(move |this| this.keep(&code, draft)).await? {
                    Ok(component) => return Ok(component),
                    Err(trouble) => trouble.to_string(),
                },
                Err(Failure::Component(error)) => return Err(error),
                Err(Failure::Output(why)) => why,
            },
            Err(error) => error.to_string(),
        };
        // A folder that is full or gone is no reason to serve nothing.
        tracing::warn!(digest, trouble, "a compiled component could not be kept");
        let failed = |why: String| LoadError::new(Reason::CompileFailed, format!("no place for its machine code: {why}"));
        let memory = self.apart(|_| memory()).await?.map_err(|error| failed(error.to_string()))?;
        let output = memory.try_clone().map_err(|error| failed(error.to_string()))?;
        match compiler.compile(wasm, self.level, output).await {
            Ok(()) => self.apart(move |this| this.map_memory(memory)).await?,
            Err(Failure::Component(error)) => Err(error),
            Err(Failure::Output(why)) => Err(failed(why)),
        }
    }

    fn draft(&self) -> io::Result<(Draft, File)> {
        let store = self.compiled.as_ref().ok_or(io::ErrorKind::NotFound)?;
        let draft = store.draft()?;
        let file = draft.file()?;
        Ok((draft, file))
    }

    /// Pages of a file can be given back by the system when memory is short: the code is used from there.
    fn keep(&self, digest: &str, draft: Draft) -> Result<Compiled, Trouble> {
        let store = self.compiled.as_ref().ok_or(io::ErrorKind::NotFound).map_err(|kind| Trouble::Io(kind.into()))?;
        self.mapped(store.keep(digest, draft).map_err(Trouble::Io)?)
    }

    fn mapped(&self, file: File) -> Result<Compiled, Trouble> {
        Ok((map(&self.engine, &file).map_err(Trouble::Code)?, Some(file)))
    }

    fn map_memory(&self, file: File) -> Result<Compiled, LoadError> {
        self.mapped(file).map_err(|trouble| LoadError::new(Reason::CompileFailed, trouble.to_string()))
    }

    /// Compiles in this process.
    fn compile_here(&self, wasm: &[u8], digest: &str) -> Result<Compiled, LoadError> {
        let component = Component::new(&self.engine, wasm).map_err(|e| LoadError::caused(Reason::CompileFailed, &e))?;
        let Some(store) = &self.compiled else { return Ok((component, None)) };
        let kept = component.serialize().map_err(Trouble::Code).and_then(|code| store.put(digest, &code).map_err(Trouble::Io));
        kept.and_then(|file| self.mapped(file)).or_else(|trouble| {
            tracing::warn!(digest, %trouble, "a compiled component could not be kept");
            Ok((component, None))
        })
    }
}

/// A component, and the file that it was mapped from.
type Compiled = (Component, Option<File>);

/// A file that only this process has.
fn memory() -> io::Result<File> {
    Ok(File::from(memfd_create("component", MemfdFlags::CLOEXEC)?))
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
