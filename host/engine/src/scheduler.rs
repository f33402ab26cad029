//! Who has an instance, and who computes next, in the engine's words. Owns the two traits, and
//! a scheduler for engines that serve one user: first come, first served. Never knows why one
//! is served before another.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use wharf_core::Strike;
use wharf_core::plugin::PluginName;

use crate::call::{Answer, Usage};
use crate::epoch::Ticker;
use crate::limits::CpuMeter;

/// Decides whom an engine serves next.
pub trait Scheduler: Send + Sync + 'static {
    /// Called once, when the engine starts: with this, calls that compute can be asked to give
    /// their turns back before the tick is over.
    fn started(&self, _ticker: Ticker) {}

    /// Asked when somebody waits for slots: would it help if others gave up the instances that
    /// they keep for their next calls?
    fn short(&self) -> bool {
        true
    }

    /// The lane of a plugin; all revisions of a plugin are of one plugin. No instance of this
    /// revision takes more than `slots` slots of the pool.
    fn lane(&self, plugin: &PluginName, slots: u32) -> Arc<dyn Lane>;
}

/// Where the calls of a plugin wait: for an instance, and for their turns on the guest threads.
pub trait Lane: Send + Sync + 'static {
    /// Waits for slots of the pool; dropping the answer gives them back. Must be cancel safe.
    fn slots(&self, slots: u32) -> Pin<Box<dyn Future<Output = Slots> + Send>>;

    /// A call that is polled only when it is its turn; the meter tells what it has computed, and
    /// whether it wants to go on after a tick of computing.
    fn turns(&self, call: Call, meter: Arc<CpuMeter>) -> Call;

    /// The host has computed for the plugin outside of a call: it counts as if it had been in one.
    fn charge(&self, _spent: Duration) {}
}

/// Slots of the pool that are held.
pub type Slots = Box<dyn Send + Sync>;

/// A call on its way.
pub type Call = Pin<Box<dyn Future<Output = CallEnd> + Send>>;

/// How a call ended; only the engine looks into it.
pub struct CallEnd {
    pub(crate) result: Result<Answer, Strike>,
    pub(crate) usage: Usage,
}

/// First come, first served; and computing is shared as the threads happen to do it.
pub(crate) struct FirstCome(pub(crate) Arc<Semaphore>);

impl Scheduler for FirstCome {
    fn lane(&self, _plugin: &PluginName, _slots: u32) -> Arc<dyn Lane> {
        Arc::new(Self(Arc::clone(&self.0)))
    }
}

impl Lane for FirstCome {
    fn slots(&self, slots: u32) -> Pin<Box<dyn Future<Output = Slots> + Send>> {
        let semaphore = Arc::clone(&self.0);
        Box::pin(async move {
            // Never closed.
            let held: Slots = match semaphore.acquire_many_owned(slots).await {
                Ok(permits) => Box::new(permits),
                Err(_closed) => Box::new(()),
            };
            held
        })
    }

    fn turns(&self, call: Call, _meter: Arc<CpuMeter>) -> Call {
        call
    }
}
