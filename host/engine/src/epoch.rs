//! The clock that interrupts guests. Owns one thread of the operating system that moves the
//! epoch on; never a task of a runtime, because a guest that spins may sit on the very thread
//! that drives the timers.

use std::io;
use std::time::Duration;

use wasmtime::EngineWeak;

/// How often a guest on the processor gives it back and is checked against its budget.
pub(crate) const TICK: Duration = Duration::from_millis(5);

/// Starts the ticker; it ends by itself once the engine is gone.
pub(crate) fn start(engine: EngineWeak) -> io::Result<()> {
    std::thread::Builder::new().name("wharf-epoch".to_owned()).spawn(move || {
        while let Some(engine) = engine.upgrade() {
            engine.increment_epoch();
            drop(engine);
            // Nobody unparks this thread: a plain sleep of one tick.
            std::thread::park_timeout(TICK);
        }
    })?;
    Ok(())
}
