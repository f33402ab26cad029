//! What one revision of a plugin is subscribed to, attached to the shared informers.
//!
//! Owns the registrations (dropping the last one of an informer stops its watch) and what their stores
//! hold for the plugin. Never calls a guest and never blocks; how changes get to the dispatcher is
//! `announcer`'s.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use wharf_cache::{Attach, ChangeHandler, Content, InformerSpec, InformerState, Informers, Pending, Registration, Scope, View};
use wharf_core::diff::{EventSet, Rules, Verdict};
use wharf_core::grant::Namespaces;
use wharf_core::ledger::{Ledger, Slot};
use wharf_core::mapping::Mapping;
use wharf_core::plugin::Subscription;
use wharf_core::{Event, Gvk, Object, ObjectKey, Reason, TargetKey};

use super::announcer::Announcer;
use super::dispatcher::Dispatcher;

/// The subscriptions of one revision, by kind: a plugin has at most one per kind.
#[derive(Default)]
pub struct Subscribed {
    kinds: HashMap<Gvk, Kind>,
}

/// What a store says of a key.
#[derive(Debug)]
pub enum Present {
    /// The dispatcher was told of this state.
    Settled(Option<Found>),
    /// The store has just changed here and is about to tell the dispatcher.
    Changing(Option<Found>),
}

/// An object in a store. Both parts are read in one step: a moment later another object may
/// have the slot.
#[derive(Debug)]
pub struct Found {
    /// The object.
    pub object: Arc<Object>,
    /// Where it is.
    pub slot: Slot,
}

impl Present {
    /// The object, told or not.
    pub fn latest(self) -> Option<Found> {
        match self {
            Self::Settled(object) | Self::Changing(object) => object,
        }
    }
}

/// What the filters say of a change, from the old state and the new one.
pub(super) type Judge<'a> = dyn Fn(Option<&Arc<Object>>, &Arc<Object>) -> Verdict + 'a;

/// What a store holds: the key, where, and the object.
pub(super) type Stored = (TargetKey, Slot, Arc<Object>);

struct Kind {
    subscription: Arc<Subscription>,
    /// Does the document name the kind? Only then objects outside of namespaces are delivered,
    /// should the kind turn out to have such.
    named: bool,
    events: EventSet,
    attached: Vec<Attached>,
}

struct Attached {
    scope: Scope,
    registration: Registration,
    announcer: Arc<Announcer>,
}

impl Subscribed {
    /// Attaches to the shared informers, starting those that do not run yet. Nothing is
    /// announced to the dispatcher before [`Self::activate`].
    pub fn attach(
        subscriptions: Vec<Subscription>,
        named: impl Fn(&Subscription) -> bool,
        informers: &Informers,
        dispatcher: &Arc<Dispatcher>,
    ) -> Self {
        let kinds = subscriptions.into_iter().map(Arc::new).map(|subscription| {
            let scopes = match &subscription.namespaces {
                Namespaces::All => vec![Scope::All],
                Namespaces::Some(names) => names.iter().cloned().map(Scope::Namespace).collect(),
            };
            let attached = scopes.into_iter().map(|scope| {
                let announcer = Arc::new(Announcer::new(Arc::clone(&subscription), Arc::downgrade(dispatcher)));
                let handler: Arc<dyn ChangeHandler> = Arc::<Announcer>::clone(&announcer);
                let spec = spec(&subscription, scope.clone());
                let registration = informers.attach_with(spec, handler, Attach { resync: subscription.resync });
                Attached { scope, registration, announcer }
            });
            let attached = attached.collect();
            let events = subscription.events.iter().copied().collect();
            let named = named(&subscription);
            ((*subscription.kind).clone(), Kind { subscription, named, events, attached })
        });
        Self { kinds: kinds.collect() }
    }

    /// Bytes of the stores that serve it, of each its part.
    pub fn share(&self) -> u64 {
        self.attached().map(|attached| attached.registration.share()).sum()
    }

    /// Waits until the state of every watch is known: synced, sleeping (no such kind), or
    /// refused. Cancel safe.
    pub async fn settle(&self) {
        for attached in self.attached() {
            attached.registration.settle().await;
        }
    }

    /// From now on changes go to the dispatcher. What came before must be enqueued by the
    /// caller, from [`Self::keys`], after this. Call it under the dispatcher's lock.
    ///
    /// What `old`, which serves until now, has heard of a store is known to the ledger: a change that the same store is just
    /// telling one after the other is not told twice.
    pub fn activate(&self, old: &Self) {
        for attached in self.attached() {
            // What is moving is told nothing meanwhile, and counts anew where it comes to.
            let place = Some(attached.registration.view().array()).filter(|(_, stays)| *stays);
            let same = old.attached().filter(|old| place == Some(old.registration.view().array()));
            attached.announcer.activate(same.map(|old| old.announcer.heard()).max().unwrap_or_default());
        }
    }

    /// Stops announcing; the registrations stay until this value is dropped.
    pub fn deactivate(&self) {
        for attached in self.attached() {
            attached.announcer.deactivate();
        }
    }

    /// The subscriptions, in no particular order.
    pub fn subscriptions(&self) -> impl Iterator<Item = &Subscription> {
        self.kinds.values().map(|kind| &*kind.subscription)
    }

    /// The subscription that a key belongs to.
    pub fn subscription(&self, key: &TargetKey) -> Option<&Subscription> {
        self.kind(key).map(|kind| &*kind.subscription)
    }

    /// A subscribed kind, if the plugin does not want to be told of its own writes there.
    pub fn ignoring_own_writes(&self, kind: &Gvk) -> Option<Arc<Gvk>> {
        let subscription = &self.kinds.get(kind)?.subscription;
        subscription.ignore_own_writes.then(|| Arc::clone(&subscription.kind))
    }

    /// The object of a key as the store has it now, and whether the dispatcher has heard of
    /// that state. Call it under the dispatcher's lock.
    pub fn object(&self, key: &TargetKey) -> Present {
        let TargetKey::Object { key: object, .. } = key else { return Present::Settled(None) };
        let Some(attached) = self.kind(key).and_then(|kind| kind.attached_for(object)) else { return Present::Settled(None) };
        let look = attached.registration.view().look(object);
        let found = look.object.map(|(object, slot)| Found { object, slot });
        match look.pending {
            Pending::Move => Present::Changing(found),
            Pending::Since(sequence) if sequence > attached.announcer.heard() => Present::Changing(found),
            Pending::Since(_) | Pending::Nothing => Present::Settled(found),
        }
    }

    /// Does a subscription match this object?
    pub fn matches(&self, key: &TargetKey, object: &Object) -> bool {
        self.kind(key).is_some_and(|kind| matches(&kind.subscription, object))
    }

    /// Is the key's watch refused, so that its state cannot be trusted? Such keys sleep.
    pub fn asleep(&self, key: &TargetKey) -> bool {
        matches!(self.watch(key), Some(InformerState::Failing { reason, .. }) if reason.is_refusal())
    }

    /// How the watch does that tells of the key, if one does.
    pub fn watch(&self, key: &TargetKey) -> Option<InformerState> {
        let TargetKey::Object { key: object, .. } = key else { return None };
        self.kind(key).and_then(|kind| kind.attached_for(object)).map(|attached| attached.registration.state())
    }

    /// Is a watch refused for lack of rights, so that there may be objects that nobody was called for?
    pub fn is_refused(&self) -> bool {
        let refused = |state| matches!(state, InformerState::Failing { reason, .. } if reason.is_refusal());
        self.attached().any(|attached| refused(attached.registration.state()))
    }

    /// Why the plugin is not told of something it is subscribed to: the first watch that
    /// cannot work, with its reason.
    pub fn trouble(&self) -> Option<(Reason, String)> {
        self.trouble_of(|_| true)
    }

    /// The subscriptions in words, in order.
    pub fn words(&self) -> Vec<String> {
        let mut words: Vec<String> = self.subscriptions().map(|s| format!("{}={}", s.name, s.kind)).collect();
        words.sort();
        words
    }

    /// The same as [`Self::trouble`] of the watches that [`Self::settle`] waits for; that there is no room for one goes first.
    pub fn unsettled(&self) -> Option<(Reason, String)> {
        let no_room = |registration: &Registration| {
            matches!(registration.state(), InformerState::Failing { reason: Reason::CacheBudgetExceeded, .. }) && !registration.settled()
        };
        self.trouble_of(no_room).or_else(|| self.trouble_of(|registration| !registration.settled()))
    }

    fn trouble_of(&self, concerns: impl Fn(&Registration) -> bool) -> Option<(Reason, String)> {
        self.kinds.values().find_map(|kind| {
            let mut attached = kind.attached.iter().filter(|attached| concerns(&attached.registration));
            attached.find_map(|attached| match attached.registration.state() {
                InformerState::Sleeping { reason } => Some((reason, format!("{}: {}", kind.subscription.kind, reason.summary()))),
                InformerState::Failing { reason, message } => Some((reason, format!("{}: {message}", kind.subscription.kind))),
                InformerState::Starting | InformerState::Synced | InformerState::Stopped => None,
            })
        })
    }

    /// Runs `decide` with the rules of the key's subscription; without one nothing matches.
    pub fn with_rules<T>(&self, key: &TargetKey, verdict: &Judge<'_>, decide: impl FnOnce(&Rules<'_, Arc<Object>>) -> T) -> T {
        match self.kind(key) {
            Some(kind) => {
                let matches = |object: &Arc<Object>| matches(&kind.subscription, object);
                decide(&Rules { matches: &matches, events: kind.events, verdict })
            }
            None => decide(&Rules { matches: &|_| false, events: EventSet::default(), verdict }),
        }
    }

    /// The keys of all objects in the stores, for kinds that are delivered at all.
    pub fn keys(&self) -> Vec<TargetKey> {
        let kinds = self.kinds.values().filter(|kind| !kind.subscription.events.is_empty());
        kinds
            .flat_map(|kind| {
                kind.attached
                    .iter()
                    .flat_map(|attached| attached.registration.view().list(None))
                    .map(|object| TargetKey::object(Arc::clone(&kind.subscription.kind), object.key().clone()))
            })
            .collect()
    }

    /// The keys of all objects in the stores that are not settled in this ledger, for kinds that
    /// are delivered at all.
    pub(super) fn unknown_to(&self, ledger: &Ledger<TargetKey, Arc<Object>>) -> Vec<TargetKey> {
        let kinds = self.kinds.values().filter(|kind| !kind.subscription.events.is_empty());
        let stored = kinds.flat_map(|kind| kind.attached.iter().flat_map(|attached| stored(kind, attached)));
        stored.filter(|(_, slot, _)| !ledger.holds(*slot)).map(|(key, ..)| key).collect()
    }

    /// Is the place of this key delivered at all, whatever is there?
    pub(super) fn covers(&self, key: &TargetKey) -> bool {
        let TargetKey::Object { key: object, .. } = key else { return false };
        self.kind(key).is_some_and(|kind| !kind.subscription.events.is_empty() && kind.attached_for(object).is_some())
    }

    /// Is the state of every watch known? See [`Self::settle`].
    pub fn settled(&self) -> bool {
        self.attached().all(|attached| attached.registration.settled())
    }

    /// All that the stores hold: key, place and object. Reads one store after the other, when
    /// their turn comes; costs a walk over each.
    pub(super) fn stored(&self) -> impl Iterator<Item = Stored> {
        self.kinds.values().flat_map(|kind| kind.attached.iter().flat_map(|attached| stored(kind, attached)))
    }

    /// All that the stores hold of kinds that are mapped to others.
    pub(super) fn sources(&self) -> impl Iterator<Item = Stored> {
        let kinds = self.kinds.values().filter(|kind| kind.subscription.map.is_some());
        kinds.flat_map(|kind| kind.attached.iter().flat_map(|attached| stored(kind, attached)))
    }

    /// How the kind of a key is mapped to another, if it is.
    pub(super) fn mapping(&self, key: &TargetKey) -> Option<(&Subscription, &Mapping)> {
        let subscription = self.subscription(key)?;
        subscription.map.as_ref().map(|map| (subscription, map))
    }

    /// The number of the store that an announcer tells of, and what it holds; `None` for an
    /// announcer of other subscriptions.
    pub(super) fn stored_by(&self, announcer: &Announcer) -> Option<(u32, impl Iterator<Item = Stored>)> {
        let mut all = self.kinds.values().flat_map(|kind| kind.attached.iter().map(move |attached| (kind, attached)));
        let (kind, attached) = all.find(|(_, attached)| std::ptr::eq(&raw const *attached.announcer, announcer))?;
        Some((attached.registration.view().array().0, stored(kind, attached)))
    }

    /// The numbers by which the ledger tells the stores apart; `staying` leaves out stores that a
    /// registration is about to leave.
    pub fn arrays(&self, staying: bool) -> BTreeSet<u32> {
        let arrays = self.attached().map(|attached| attached.registration.view().array());
        arrays.filter(|(_, stays)| *stays || !staying).map(|(array, _)| array).collect()
    }

    /// Have the stores seen all that was told of the same kinds and places before?
    pub fn has_seen(&self, before: &Self) -> bool {
        let mut pairs = self.kinds.iter().flat_map(|(kind, new)| {
            let old = before.kinds.get(kind).into_iter().flat_map(|old| &old.attached);
            old.flat_map(|old| new.attached.iter().map(move |new| (old, new)))
        });
        pairs.all(|(old, new)| {
            let apart = matches!((&old.scope, &new.scope), (Scope::Namespace(a), Scope::Namespace(b)) if a != b);
            // What has nothing to follow now will be behind for ever, and tells nothing either.
            let follows = matches!(new.registration.state(), InformerState::Synced);
            apart || !follows || new.registration.view().has_seen(&old.registration.view())
        })
    }

    /// Up to which version each kind and place was told, by name.
    pub(super) fn told(&self) -> BTreeMap<String, u64> {
        let told = |(kind, attached): (&Gvk, &Attached)| (place(kind, &attached.scope), attached.registration.view().told());
        self.places().map(told).filter(|(_, version)| *version > 0).collect()
    }

    /// Have the stores seen what another host has told of the same kinds and places?
    pub(super) fn has_reached(&self, told: &BTreeMap<String, u64>) -> bool {
        self.places().all(|(kind, attached)| {
            let version = told.get(&place(kind, &attached.scope));
            // What follows nothing now would be behind for ever.
            let follows = matches!(attached.registration.state(), InformerState::Synced);
            version.is_none_or(|version| !follows || attached.registration.view().has_reached(*version))
        })
    }

    /// Is it the store of this slot that tells of the key?
    pub(super) fn is_told_by(&self, slot: Slot, key: &TargetKey) -> bool {
        let TargetKey::Object { key: object, .. } = key else { return false };
        let attached = self.kind(key).and_then(|kind| kind.attached_for(object));
        attached.is_some_and(|attached| attached.announcer.is_active() && attached.registration.view().array().0 == slot.array)
    }

    /// Is it this announcer that tells of the key?
    pub(super) fn tells(&self, announcer: &Announcer, key: &TargetKey) -> bool {
        let TargetKey::Object { key: object, .. } = key else { return false };
        let attached = self.kind(key).and_then(|kind| kind.attached_for(object));
        attached.is_some_and(|attached| std::ptr::eq(&raw const *attached.announcer, announcer))
    }

    /// The objects of a kind and place, if this plugin may read them from the cache: the
    /// subscription covers them, no selector hides some, and nothing of them is redacted.
    pub fn view(&self, kind: &Gvk, namespace: Option<&str>) -> Option<View> {
        let kind = self.kinds.get(kind)?;
        let attached = kind.attached.iter().find(|attached| match (&attached.scope, namespace) {
            (Scope::All, _) => true,
            (Scope::Namespace(scope), Some(namespace)) => **scope == *namespace,
            (Scope::Namespace(_), None) => false,
        })?;
        let synced = matches!(attached.registration.state(), InformerState::Synced);
        let whole = !narrowed(&kind.subscription) && !kind.subscription.redacted;
        (synced && whole).then(|| attached.registration.view())
    }

    fn kind(&self, key: &TargetKey) -> Option<&Kind> {
        let TargetKey::Object { kind, .. } = key else { return None };
        self.kinds.get(&**kind)
    }

    fn places(&self) -> impl Iterator<Item = (&Gvk, &Attached)> {
        self.kinds.iter().flat_map(|(gvk, kind)| kind.attached.iter().map(move |attached| (gvk, attached)))
    }

    fn attached(&self) -> impl Iterator<Item = &Attached> {
        self.kinds.values().flat_map(|kind| &kind.attached)
    }
}

impl Kind {
    fn attached_for(&self, key: &ObjectKey) -> Option<&Attached> {
        self.attached.iter().find(|attached| match &attached.scope {
            Scope::All => true,
            Scope::Namespace(namespace) => key.namespace.as_deref().map_or(self.named, |place| place == &**namespace),
        })
    }
}

fn place(kind: &Gvk, scope: &Scope) -> String {
    match scope {
        Scope::All => format!("{kind} *"),
        Scope::Namespace(namespace) => format!("{kind} {namespace}"),
    }
}

fn stored(kind: &Kind, attached: &Attached) -> impl Iterator<Item = Stored> {
    let target = Arc::clone(&kind.subscription.kind);
    let all = attached.registration.view().slotted().into_iter();
    all.map(move |(object, slot)| (TargetKey::object(Arc::clone(&target), object.key().clone()), slot, object))
}

/// Is the object the subscription's: by its namespaces and its selectors?
pub(super) fn matches(subscription: &Subscription, object: &Object) -> bool {
    // `events: []` caches a kind for reading: nothing of it is ever delivered.
    !subscription.events.is_empty() && covers(subscription, object)
}

pub(super) fn covers(subscription: &Subscription, object: &Object) -> bool {
    let covered = object.key().namespace.as_ref().is_none_or(|namespace| subscription.namespaces.contains(namespace));
    covered && object.matches_fields(&subscription.field_selector) && object.matches_labels(&subscription.label_selector)
}

/// A watch with a selector of its own reports DELETED both for gone and for unmatched, so
/// only a subscription that does not want `delete` puts its selectors into the watch.
fn narrowed(subscription: &Subscription) -> bool {
    let selects = !subscription.label_selector.is_empty() || !subscription.field_selector.is_empty();
    selects && !subscription.events.is_empty() && !subscription.events.contains(&Event::Delete)
}

fn spec(subscription: &Subscription, scope: Scope) -> InformerSpec {
    let (label_selector, field_selector) = if narrowed(subscription) {
        (subscription.label_selector.to_string(), subscription.field_selector.to_string())
    } else {
        Default::default()
    };
    let content = if subscription.redacted { Content::Redacted } else { Content::Full };
    InformerSpec { kind: (*subscription.kind).clone(), scope, label_selector, field_selector, content }
}
