//! Who is served next, of all plugins of a host: tenants by their weights, and the plugins of
//! a tenant alike. Owns who is a tenant (the plugin's namespace) and what it weighs; the rules
//! are `wharf-queue`'s, and the engine asks.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use wharf_core::plugin::PluginName;
use wharf_engine::{Call, CpuMeter, EngineConfig, Lane, Scheduler, Slots, TICK, Ticker};
use wharf_queue::{Holder, Meter, Player, Shares, Turns};

/// Shares guest threads and instances among tenants and their plugins.
#[derive(Debug)]
pub struct Fairness {
    turns: Turns,
    shares: Shares,
    weights: BTreeMap<String, u32>,
    ticker: Arc<OnceLock<Ticker>>,
}

impl Fairness {
    /// For an engine with this configuration; a tenant without a weight has 1.
    pub fn new(engine: &EngineConfig, weights: BTreeMap<String, u32>) -> Arc<Self> {
        let ticker = Arc::new(OnceLock::<Ticker>::new());
        let hurry = Arc::clone(&ticker);
        let turns = Turns::new(engine.threads, TICK, move || {
            if let Some(ticker) = hurry.get() {
                ticker.cut_short();
            }
        });
        Arc::new(Self { turns, shares: Shares::new(engine.live()), weights, ticker })
    }
}

impl Scheduler for Fairness {
    fn short(&self) -> bool {
        self.shares.short()
    }

    fn started(&self, ticker: Ticker) {
        // One engine has one ticker.
        let _first = self.ticker.set(ticker);
    }

    fn lane(&self, plugin: &PluginName, slots: u32) -> Arc<dyn Lane> {
        let (tenant, name) = (&*plugin.namespace, &*plugin.name);
        let weight = self.weights.get(tenant).copied().unwrap_or(1);
        let (player, holder) = (self.turns.player(tenant, weight, name), self.shares.holder(tenant, weight, name, slots));
        Arc::new(PluginLane { player, holder })
    }
}

struct PluginLane {
    player: Player,
    holder: Holder,
}

impl Lane for PluginLane {
    fn slots(&self, slots: u32) -> Pin<Box<dyn Future<Output = Slots> + Send>> {
        let share = self.holder.acquire(slots);
        Box::pin(async move {
            let slots: Slots = Box::new(share.await);
            slots
        })
    }

    fn turns(&self, call: Call, meter: Arc<CpuMeter>) -> Call {
        Box::pin(self.player.turns(call, Measured(meter)))
    }

    fn charge(&self, spent: Duration) {
        self.player.charge(spent);
    }
}

/// The engine's meter, for the turns.
struct Measured(Arc<CpuMeter>);

impl Meter for Measured {
    fn spent(&self) -> Duration {
        self.0.spent()
    }

    fn yielded(&self) -> bool {
        self.0.yielded()
    }

    fn waited(&self, long: Duration) {
        self.0.waited(long);
    }
}
