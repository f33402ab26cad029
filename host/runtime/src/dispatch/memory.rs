//! What memory a plugin holds, by what it is for: the account that `wharf top` and the metrics show. Owns what counts to
//! which part; frees nothing. Parts that plugins share are divided by those who share them, so that the sum over all
//! plugins is what they cost together.

use super::dispatcher::Dispatcher;

/// What a key costs while it waits (docs/sizing.md).
const WAITING_KEY: usize = 300;

/// Bytes, by what they are for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Machine code and the first contents of memories, mapped from the cache of compiled components: the system can take
    /// these pages back. Shared by the plugins of a component.
    pub code: u64,
    /// Linear memory of the instances of the revision that serves, idle ones included.
    pub instances: u64,
    /// The ledger and the queue.
    pub keys: u64,
    /// What `wharf explain` shows.
    pub history: u64,
    /// Failed calls that are kept with what they were told.
    pub failures: u64,
    /// Changes that it is still to be told of one by one.
    pub backlog: u64,
    /// Objects of the watches that serve it; shared by all whom they serve.
    pub cache: u64,
}

impl Memory {
    /// Names and bytes, in this order.
    pub const fn parts(&self) -> [(&'static str, u64); 7] {
        let Self { code, instances, keys, history, failures, backlog, cache } = *self;
        [
            ("code", code),
            ("instances", instances),
            ("keys", keys),
            ("history", history),
            ("failures", failures),
            ("backlog", backlog),
            ("cache", cache),
        ]
    }

    /// All of it.
    pub fn total(&self) -> u64 {
        self.parts().iter().map(|(_, bytes)| bytes).sum()
    }
}

impl Dispatcher {
    /// What memory the plugin holds now. Costs a walk over the ledger, at 64 keys a step.
    pub fn memory(&self) -> Memory {
        let serving = self.serving();
        let revision = serving.as_ref().map(|serving| &serving.revision);
        let queue = self.queue.stats();
        let (ledger, subscribed) = {
            let state = self.state.lock();
            (state.ledger.bytes(), state.subscribed.clone())
        };
        Memory {
            code: revision.map_or(0, |revision| revision.code()),
            instances: revision.map_or(0, |revision| revision.used().memory),
            keys: (ledger + (queue.depth + queue.waiting) * WAITING_KEY) as u64,
            history: self.history.bytes() as u64,
            failures: self.kept.bytes() as u64,
            backlog: self.every.bytes() as u64,
            cache: subscribed.share(),
        }
    }
}
