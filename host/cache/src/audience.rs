//! The seats of one informer. Owns the order in which they are told and the index that keeps
//! an event of one namespace from the handlers of all others; never filters by selectors.

use std::collections::HashMap;
use std::iter::from_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use wharf_core::ObjectKey;

use crate::change::Change;
use crate::filter::Filter;
use crate::seat::{Calling, Seat};

/// Who is told of what an informer's store goes through. Behind the apply lock.
#[derive(Default)]
pub(crate) struct Audience {
    /// Those who see objects of every namespace, in the order of their numbers, as the others are.
    all: Vec<Member>,
    /// Those who see one namespace of a wider informer. Bounded by the registrations.
    by_namespace: HashMap<Arc<str>, Vec<Member>>,
    count: usize,
    /// The same for those who do not have the lock.
    counted: Arc<AtomicUsize>,
}

struct Member {
    seat: Arc<Seat>,
    filter: Option<Filter>,
}

impl Audience {
    /// Adds a seat that sees through a filter.
    pub(crate) fn add(&mut self, seat: Arc<Seat>, filter: Option<Filter>) {
        let namespace: Option<Arc<str>> = filter.as_ref().and_then(Filter::namespace).map(Into::into);
        let members = match namespace {
            Some(namespace) => self.by_namespace.entry(namespace).or_default(),
            None => &mut self.all,
        };
        let at = members.partition_point(|member| member.seat.id < seat.id);
        members.insert(at, Member { seat, filter });
        self.count += 1;
        self.counted.store(self.count, Ordering::Relaxed);
    }

    /// Takes a seat away; false if it was not there.
    pub(crate) fn remove(&mut self, id: u64) -> bool {
        let before = self.count;
        let mut keep = |members: &mut Vec<Member>| {
            let length = members.len();
            members.retain(|member| member.seat.id != id);
            self.count -= length - members.len();
            !members.is_empty()
        };
        keep(&mut self.all);
        self.by_namespace.retain(|_, members| keep(members));
        self.counted.store(self.count, Ordering::Relaxed);
        self.count < before
    }

    /// Where the number of seats stands.
    pub(crate) fn counted(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.counted)
    }

    /// Number of seats.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Tells those whom the change's namespace concerns: who was attached first hears first, wherever it has been since.
    pub(crate) fn announce(&self, change: &Change<'_>) {
        let _calling = Calling::handlers();
        for member in self.concerned(change.key) {
            member.seat.tell(member.filter.as_ref(), change);
        }
    }

    /// Does something with each seat.
    pub(crate) fn each(&self, mut tell: impl FnMut(&Seat)) {
        let _calling = Calling::handlers();
        for member in self.members() {
            tell(&member.seat);
        }
    }

    fn members(&self) -> impl Iterator<Item = &Member> {
        self.all.iter().chain(self.by_namespace.values().flatten())
    }

    /// An object outside of namespaces concerns everybody.
    fn concerned(&self, key: &ObjectKey) -> Box<dyn Iterator<Item = &Member> + '_> {
        match &key.namespace {
            None if self.by_namespace.is_empty() => Box::new(self.all.iter()),
            None => {
                let mut all: Vec<&Member> = self.members().collect();
                all.sort_unstable_by_key(|member| member.seat.id);
                Box::new(all.into_iter())
            }
            Some(namespace) => match self.by_namespace.get(namespace) {
                None => Box::new(self.all.iter()),
                Some(some) => Box::new(in_order(&self.all, some)),
            },
        }
    }
}

/// Two groups as one, by the numbers of the seats.
fn in_order<'a>(all: &'a [Member], some: &'a [Member]) -> impl Iterator<Item = &'a Member> {
    let (mut all, mut some) = (all.iter().peekable(), some.iter().peekable());
    from_fn(move || match (all.peek(), some.peek()) {
        (Some(one), Some(other)) if other.seat.id < one.seat.id => some.next(),
        (None, _) => some.next(),
        (Some(_), _) => all.next(),
    })
}
