//! The clock that interrupts guests. Owns one thread of the operating system that moves the
//! epoch on; never a task of a runtime, because a guest that spins may sit on the very thread
//! that drives the timers.

use std::io;
use std::thread::{self, Thread};
use std::time::Duration;

use wasmtime::EngineWeak;

/// How often a guest on the processor gives it back and is checked against its budget.
pub const TICK: Duration = Duration::from_millis(5);

/// The shortest tick: giving the thread back costs a guest some microseconds.
const SHORTEST: Duration = Duration::from_micros(250);

/// Ends ticks early.
#[derive(Clone, Debug)]
pub struct Ticker(Thread);

impl Ticker {
    /// Guests that compute give their threads back now, or in a quarter of a millisecond if
    /// they have just done so. Cheap; may be called for an engine that is gone.
    pub fn cut_short(&self) {
        self.0.unpark();
    }
}

/// Starts the ticker; it ends by itself once the engine is gone.
pub(crate) fn start(engine: EngineWeak) -> io::Result<Ticker> {
    let ticker = thread::Builder::new().name("wharf-epoch".to_owned()).spawn(move || {
        while let Some(engine) = engine.upgrade() {
            engine.increment_epoch();
            drop(engine);
            pause();
            // Whoever unparked it meanwhile waits no longer.
            thread::park_timeout(TICK - SHORTEST);
        }
    })?;
    Ok(Ticker(ticker.thread().clone()))
}

#[expect(clippy::disallowed_methods, reason = "on a thread of its own; being unparked must not end this")]
fn pause() {
    thread::sleep(SHORTEST);
}
