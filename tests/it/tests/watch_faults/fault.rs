//! The kinds of trouble. Owns how each is made, and how it is seen that it took effect;
//! when it happens is the run's.

use std::fmt;
use std::time::Duration;

use anyhow::Result;
use rand::RngExt as _;
use rand::rngs::StdRng;
use tokio::sync::watch;
use tokio::time::timeout;
use wharf_core::Reason;

use crate::figures::Counts;
use crate::run::Scene;
use crate::trouble::{Asks, BodyTrouble};

/// One kind of trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// Connections end after a random number of bytes.
    CutMidway,
    /// Connections end, and for a while there are no new ones.
    Refused,
    /// Connections stay, but nothing comes any more.
    Hang,
    /// Everything comes slowly.
    Slow,
    /// 429 to everything.
    TooManyRequests,
    /// 500 to everything.
    InternalError,
    /// 410 to every request.
    Gone,
    /// A body ends early, as if it were complete.
    Truncated,
    /// Bytes in a body that are no text.
    Garbled,
    /// etcd forgets what the informer would go on from.
    Compaction,
    /// The API server stops in order and comes back.
    Restart,
    /// The API server is killed and comes back.
    Kill,
}

/// An effect has to come within this time. The waits of an informer grow to half a minute.
const EFFECT: Duration = Duration::from_secs(40);

impl Fault {
    /// All of them. Those of a run are in pairs that together do not make an informer wait for long.
    pub(crate) const ALL: [Self; 12] = [
        Self::CutMidway,
        Self::TooManyRequests,
        Self::Truncated,
        Self::InternalError,
        Self::Slow,
        Self::Compaction,
        Self::Refused,
        Self::Hang,
        Self::Garbled,
        Self::Gone,
        Self::Restart,
        Self::Kill,
    ];

    /// Those that befall one run alone.
    pub(crate) fn of_a_run() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|fault| !matches!(fault, Self::Restart | Self::Kill))
    }

    /// Makes the trouble, waits until it has taken effect, and ends it. False if it has not
    /// in time.
    ///
    /// # Errors
    /// If the run's writer or cluster fails.
    pub(crate) async fn befall(self, scene: &Scene, random: &mut StdRng) -> Result<bool> {
        let (proxy, trouble) = (&scene.proxy, &scene.trouble);
        let effect = match self {
            Self::CutMidway => {
                let counts = proxy.counts();
                let before = counts.borrow().cut_midway;
                proxy.cut_after(random.random_range(1..60_000));
                comes(counts, |counts| counts.cut_midway > before).await
            }
            Self::Refused => {
                let (asks, counts) = (trouble.asks(), proxy.counts());
                let (broken, cut) = (asks.borrow().broken, counts.borrow().cut);
                proxy.cut();
                comes(counts, |counts| counts.cut > cut).await && comes(asks, |asks| asks.broken > broken + 1).await
            }
            Self::Hang => hang(scene, random).await,
            Self::Slow => {
                let counts = proxy.counts();
                let before = counts.borrow().slowed;
                proxy.slow_down(random.random_range(4_000..40_000));
                comes(counts, |counts| counts.slowed > before + 20_000).await
            }
            Self::TooManyRequests => refuse(scene, 429).await,
            Self::InternalError => refuse(scene, 500).await,
            Self::Gone => refuse(scene, 410).await,
            Self::Truncated => {
                let asks = trouble.asks();
                let before = asks.borrow().truncated;
                trouble.disturb(BodyTrouble::Truncate(random.random_range(1..5_000)));
                comes(asks, |asks| asks.truncated > before).await
            }
            Self::Garbled => garble(scene).await,
            Self::Compaction => return compaction(scene).await,
            Self::Restart | Self::Kill => false,
        };
        scene.heal();
        Ok(effect)
    }
}

/// Takes effect once something was withheld, and informers have asked anew by themselves.
async fn hang(scene: &Scene, random: &mut StdRng) -> bool {
    let (asks, counts) = (scene.trouble.asks(), scene.proxy.counts());
    let before = counts.borrow().withheld;
    scene.proxy.hang();
    let withheld = comes(counts, |counts| counts.withheld > before).await;
    let begun = asks.borrow().begun;
    let effect = withheld && comes(asks, |asks| asks.begun > begun + 1).await;
    // What was withheld comes after all, or never.
    if random.random_bool(0.5) {
        scene.proxy.cut();
    }
    effect
}

/// Refuses everything for a while; takes effect once one informer was refused twice, so has
/// tried again.
async fn refuse(scene: &Scene, status: u16) -> bool {
    let asks = scene.trouble.asks();
    let before = asks.borrow().refused_each.clone();
    scene.trouble.refuse(status);
    // Open watches would not ask for seconds.
    scene.proxy.cut();
    scene.proxy.restore();
    let again = |asks: &Asks| {
        let mut refused = asks.refused_each.iter().filter(|((code, _), _)| *code == status);
        refused.any(|(each, count)| *count > before.get(each).copied().unwrap_or_default() + 1)
    };
    comes(asks, again).await
}

/// Takes effect once an informer has failed because of it. The first body that is hit may be one
/// that nobody needs any more: then another one is.
async fn garble(scene: &Scene) -> bool {
    const TRIES: u32 = 5;
    const NOTICED: Duration = Duration::from_secs(5);
    let unreadable = |counts: &Counts| counts.failures.get(&Reason::Undecodable).copied().unwrap_or_default();
    let mut counts = scene.metrics.counts();
    let before = unreadable(&counts.borrow());
    for _ in 0..TRIES {
        let asks = scene.trouble.asks();
        let garbled = asks.borrow().garbled;
        scene.trouble.disturb(BodyTrouble::Garble);
        if !comes(asks, |asks| asks.garbled > garbled).await {
            return false;
        }
        if timeout(NOTICED, counts.wait_for(|counts| unreadable(counts) > before)).await.is_ok_and(|found| found.is_ok()) {
            return true;
        }
    }
    false
}

/// Takes effect once an informer was told that its version is too old. Who is just listing when
/// it happens needs no version, so there may have to be another time.
async fn compaction(scene: &Scene) -> Result<bool> {
    const TRIES: u32 = 3;
    let expired = |counts: &Counts| counts.failures.get(&Reason::WatchExpired).copied().unwrap_or_default();
    for _ in 0..TRIES {
        let counts = scene.metrics.counts();
        comes(scene.metrics.counts(), |counts| counts.following.values().all(|follows| *follows)).await;
        let before = expired(&counts.borrow());
        scene.proxy.cut();
        scene.writer.more(20).await?;
        scene.cluster.compact().await?;
        // A revision behind the compacted one must be there, or nothing that is needed is missing.
        scene.writer.more(2).await?;
        scene.heal();
        if comes(counts, |counts| expired(counts) > before).await {
            return Ok(true);
        }
    }
    Ok(false)
}

async fn comes<T>(mut counts: watch::Receiver<T>, wanted: impl FnMut(&T) -> bool) -> bool {
    timeout(EFFECT, counts.wait_for(wanted)).await.is_ok_and(|found| found.is_ok())
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CutMidway => "connections cut midway",
            Self::Refused => "connections refused",
            Self::Hang => "connections that hang",
            Self::Slow => "slow connections",
            Self::TooManyRequests => "429 to everything",
            Self::InternalError => "500 to everything",
            Self::Gone => "410 to everything",
            Self::Truncated => "a body cut short",
            Self::Garbled => "a body with garbage",
            Self::Compaction => "etcd compacted behind a cut",
            Self::Restart => "the API server restarted",
            Self::Kill => "the API server killed",
        })
    }
}
