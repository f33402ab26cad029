//! The machine code of one component: linked once for all plugins that use it, mapped while it is used, and unmapped when
//! it is not. Owns when that is, and the only unsafe call of the project: mapping native code that this host compiled
//! itself. Never compiles, and never knows a plugin.

use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::time::Instant;
use wasmtime::component::{Component, InstancePre, Linker};
use wharf_core::{Reason, Strike};

use crate::bindings::ControllerIndices;
use crate::failure::LoadError;
use crate::host::Ctx;
use crate::task;

/// A component whose imports were looked up.
pub(crate) struct Linked {
    pub(crate) pre: InstancePre<Ctx>,
    pub(crate) indices: ControllerIndices,
}

/// The code of a component.
pub(crate) struct Code {
    linker: Arc<Linker<Ctx>>,
    /// Where it comes back from: the very file that was checked, also when it has lost its name. Without one it stays.
    file: Option<Arc<File>>,
    state: Mutex<State>,
}

struct State {
    mapped: Option<Component>,
    /// Only of what is mapped.
    linked: Option<Arc<Linked>>,
    /// When it was asked for last.
    used: Instant,
}

impl Code {
    /// Of a component that was mapped from this file.
    pub(crate) fn new(linker: Arc<Linker<Ctx>>, component: Component, file: Option<File>) -> Self {
        let state = Mutex::new(State { mapped: Some(component), linked: None, used: Instant::now() });
        Self { linker, file: file.map(Arc::new), state }
    }

    /// The code, if it is there. Costs next to nothing.
    fn ready(&self) -> Option<Arc<Linked>> {
        let mut state = self.state.lock();
        let linked = state.linked.clone()?;
        state.used = Instant::now();
        Some(linked)
    }

    /// Maps and links it where it is not. Blocking, but a millisecond only; some for the largest.
    ///
    /// # Errors
    /// `WorldMismatch`, or `HostError` if it cannot be mapped any more.
    pub(crate) fn link(&self) -> Result<Arc<Linked>, LoadError> {
        // Others who need it wait: it is mapped once.
        let mut state = self.state.lock();
        state.used = Instant::now();
        if let Some(linked) = &state.linked {
            return Ok(Arc::clone(linked));
        }
        let component = match (&state.mapped, &self.file) {
            (Some(component), _) => component.clone(),
            (None, Some(file)) => map(self.linker.engine(), file).map_err(|error| gone(&error))?,
            (None, None) => return Err(gone(&wasmtime::Error::msg("it has no file"))),
        };
        let world = |error: wasmtime::Error| LoadError::caused(Reason::WorldMismatch, &error);
        let pre = self.linker.instantiate_pre(&component).map_err(world)?;
        let indices = ControllerIndices::new(&pre).map_err(world)?;
        let linked = Arc::new(Linked { pre, indices });
        (state.mapped, state.linked) = (Some(component), Some(Arc::clone(&linked)));
        Ok(linked)
    }

    /// The same for those who must not block. Cancel safe.
    pub(crate) async fn linked(self: &Arc<Self>, blocking: &Handle) -> Result<Arc<Linked>, Strike> {
        if let Some(linked) = self.ready() {
            return Ok(linked);
        }
        let code = Arc::clone(self);
        match task::join(blocking.spawn_blocking(move || code.link())).await {
            Ok(linked) => linked.map_err(|LoadError { reason, message }| Strike { reason, message }),
            Err(lost) => Err(lost.strike()),
        }
    }

    /// Bytes that are mapped now.
    pub(crate) fn mapped(&self) -> u64 {
        let state = self.state.lock();
        state.mapped.as_ref().map_or(0, |component| {
            let image = component.image_range();
            (image.end as usize).saturating_sub(image.start as usize) as u64
        })
    }

    /// Unmaps it if no instance needs it and nobody has asked for it for so long.
    pub(crate) fn cool(&self, unused: Duration) {
        let cold = {
            let mut state = self.state.lock();
            // Whoever wants one more has to take the lock.
            let needed = state.linked.as_ref().is_some_and(|linked| Arc::strong_count(linked) > 1);
            if needed || self.file.is_none() || state.used.elapsed() < unused {
                return;
            }
            (state.mapped.take(), state.linked.take())
        };
        drop(cold);
    }
}

fn gone(error: &wasmtime::Error) -> LoadError {
    let LoadError { reason, message } = LoadError::caused(Reason::HostError, error);
    LoadError { reason, message: format!("its machine code cannot be mapped any more: {message}") }
}

#[expect(unsafe_code, reason = "mapping machine code cannot be checked by the compiler; see SAFETY")]
pub(crate) fn map(engine: &wasmtime::Engine, file: &File) -> wasmtime::Result<Component> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    // SAFETY: the file must be what wasmtime itself made for a compatible engine, and must not
    // change while it is mapped. All callers pass a file of `CompiledStore` whose contents
    // were made by `Component::serialize` here or by `compile_stdin` in a process of this very
    // program, and which `find` has compared with its checksum or `put` or `keep` has just
    // written; or a file in memory that only such a process, which has ended, has written. It is
    // mapped by its descriptor, so that it is the file that was looked at. The folder has mode
    // 0700, files are replaced only by rename and never written in place, and no file from
    // outside is ever put there.
    unsafe { Component::deserialize_file(engine, path) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_without_a_file_stays() {
        let engine = wasmtime::Engine::default();
        let component = Component::new(&engine, wat::parse_str("(component)").unwrap()).unwrap();
        let code = Code::new(Arc::new(Linker::new(&engine)), component, None);
        code.cool(Duration::ZERO);
        assert!(code.mapped() > 0);
    }
}
