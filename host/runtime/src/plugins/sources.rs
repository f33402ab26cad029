//! All sources of plugins as one. Owns when the set is looked at again, and nothing of what is in
//! it: documents come from the sources, what is known of their ConfigMaps from `config_maps`.

use futures::future::select_all;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use wharf_cache::Informers;

use super::config_maps::ConfigMaps;
use super::desired::{Extent, Wishes};

/// Follows some sources and tells what they wish together.
///
/// Nothing is told before each of them has looked once, so that a name that two of them have never
/// begins to serve from one of them. A source that cannot be read later keeps its last wishes.
///
/// Ends when it is stopped, or when a source has ended: a defect, which ends what it told.
pub fn follow(sources: Vec<watch::Receiver<Wishes>>, informers: Informers, stop: CancellationToken) -> watch::Receiver<Wishes> {
    let (sender, receiver) = watch::channel(Wishes::default());
    tokio::spawn(async move {
        let merge = merge(sources, ConfigMaps::new(informers), sender);
        let _stopped = stop.run_until_cancelled(merge).await;
    });
    receiver
}

async fn merge(mut sources: Vec<watch::Receiver<Wishes>>, mut config_maps: ConfigMaps, sender: watch::Sender<Wishes>) {
    loop {
        let mut wishes = Wishes::merged(sources.iter_mut().map(|source| source.borrow_and_update().clone()));
        if wishes.extent > Extent::Nothing {
            config_maps.note(&mut wishes);
            sender.send_if_modified(|last| {
                let changed = *last != wishes;
                *last = wishes;
                changed
            });
        }
        let any = select_all(sources.iter_mut().map(|source| Box::pin(source.changed())));
        tokio::select! {
            (changed, ..) = any => if changed.is_err() { return },
            () = config_maps.changed() => config_maps.quiet().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use wharf_cache::NoMetrics;
    use wharf_core::Reason;
    use wharf_core::plugin::PluginName;

    use super::*;
    use crate::plugins::desired::{Origin, Refusal, Wish};

    /// A hub that nobody answers; nothing here asks.
    fn informers() -> Informers {
        let config = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
        Informers::new(kube::Client::try_from(config).unwrap(), wharf_cache::Options::default(), Arc::new(NoMetrics))
    }

    fn wishes(extent: Extent, file: &str) -> Wishes {
        let desired = Err(Refusal::new(Reason::ComponentNotFound, "x"));
        let wish = Wish { origin: Origin::File(file.into()), generation: None, desired };
        Wishes { extent, plugins: BTreeMap::from([(PluginName::new("a", file).unwrap(), wish)]), unreadable: BTreeMap::new() }
    }

    #[tokio::test]
    async fn nothing_is_told_before_every_source_has_looked() {
        let (one, first) = watch::channel(wishes(Extent::Whole, "one"));
        let (two, second) = watch::channel(Wishes::default());
        let mut all = follow(vec![first, second], informers(), CancellationToken::new());
        one.send_replace(wishes(Extent::Whole, "other"));
        tokio::task::yield_now().await;
        assert_eq!(*all.borrow(), Wishes::default());
        two.send_replace(wishes(Extent::Part, "two"));
        all.changed().await.unwrap();
        let told = all.borrow_and_update().clone();
        assert_eq!((told.extent, told.plugins.len()), (Extent::Part, 2));
        // The same again is no news, and what one source says does not touch the other.
        two.send_replace(wishes(Extent::Part, "two"));
        two.send_replace(wishes(Extent::Whole, "two"));
        all.changed().await.unwrap();
        assert_eq!((all.borrow().extent, all.borrow().plugins.len()), (Extent::Whole, 2));
    }

    #[tokio::test]
    async fn a_source_that_ends_ends_the_set() {
        let (one, first) = watch::channel(wishes(Extent::Whole, "one"));
        let mut all = follow(vec![first], informers(), CancellationToken::new());
        all.changed().await.unwrap();
        drop(one);
        assert!(all.changed().await.is_err());
    }
}
