//! What the handler is told: the states of the event's object and the cluster around it. Owns
//! what follows from the event's word: which states there are, and whether the object is still
//! in the cluster.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use wharf_core::{Cause, Delivery, Event, Gvk, Object, Removal};

use super::args::{CauseWord, EventWord, InvokeArgs, RemovalWord};
use super::given::{Given, Numbers};
use super::input::{self, wrong};
use super::memory::Memory;
use super::scope::Scopes;
use crate::report::CliError;

/// A call to be made.
#[derive(Debug)]
pub(super) struct Case {
    /// Which function.
    pub(super) event: Event,
    /// Kind of the object.
    pub(super) kind: Arc<Gvk>,
    /// The object now; in `delete` its final state.
    pub(super) current: Arc<Object>,
    /// The object at the last call.
    pub(super) previous: Option<Arc<Object>>,
    /// Why `delete` is called.
    pub(super) removal: Removal,
    /// Why the host is calling.
    pub(super) cause: Cause,
    /// How often it was tried.
    pub(super) attempt: u32,
}

impl Case {
    /// Reads the files of the event and of the cluster.
    ///
    /// # Errors
    /// The first file that is wrong, or an option that the event does not have.
    pub(super) fn read(args: &InvokeArgs) -> Result<(Self, Scopes, Memory), CliError> {
        let (event, removal) = words(args)?;
        let mut current = Given::read(&args.object, &input::one(&args.object, true)?)?;
        let old = args.old.as_deref().map(|file| Ok((file, Given::read(file, &input::one(file, false)?)?))).transpose()?;
        let mut with = Vec::new();
        for (file, json) in input::all(&args.with)? {
            with.push((Given::read(&file, &json)?, file));
        }
        let around = with.iter().map(|(given, _)| given);
        let scopes = Scopes::of(around.clone().chain([&current]).chain(old.as_ref().map(|(_, given)| given)));
        let mut numbers = Numbers::after(around.chain([&current]).chain(old.as_ref().map(|(_, given)| given)));
        current.place(&args.object, &scopes)?;
        let previous = old.map(|(file, given)| old_state(file, given, &mut current, &scopes, &mut numbers)).transpose()?;
        let kind = Arc::new(current.kind.clone());
        let current = current.into_object(&args.object, &mut numbers)?;
        let previous = previous.or_else(|| (event == Event::Update).then(|| Arc::clone(&current)));
        let mut objects = Vec::new();
        for (mut given, file) in with {
            given.place(&file, &scopes)?;
            let kind = given.kind.clone();
            objects.push((kind, given.into_object(&file, &mut numbers)?, file));
        }
        let mut memory = Memory::new(numbers);
        for (kind, object, file) in objects {
            let name = format!("{kind} {}", object.key());
            if !memory.put(&kind, object) {
                return Err(wrong(format!("{}: {name} is there twice", file.display())).hint("give each object of the cluster once"));
            }
        }
        // What the files say of the cluster comes first: it may be newer than what was delivered.
        if event != Event::Delete || removal == Removal::Unmatched {
            memory.put(&kind, Arc::clone(&current));
        }
        let case = Self { event, kind, current, previous, removal, cause: cause(args.cause), attempt: args.attempt };
        Ok((case, scopes, memory))
    }

    /// The call, for a subscription.
    pub(super) fn delivery(&self, subscription: &str) -> Delivery {
        Delivery {
            event: self.event,
            kind: Arc::clone(&self.kind),
            key: self.current.key().clone(),
            uid: Arc::clone(self.current.uid()),
            subscription: subscription.into(),
            removal: self.removal,
            final_state_unknown: false,
            cause: self.cause,
            attempt: self.attempt,
            queued: Duration::ZERO,
            current: Some(Arc::clone(&self.current)),
            previous: self.previous.clone(),
        }
    }
}

/// The old state: another state of the same object.
fn old_state(file: &Path, mut old: Given, current: &mut Given, scopes: &Scopes, numbers: &mut Numbers) -> Result<Arc<Object>, CliError> {
    old.place(file, scopes)?;
    if (&old.kind, &old.key) != (&current.kind, &current.key) {
        let message = format!("{}: {} {} is not {} {}", file.display(), old.kind, old.key, current.kind, current.key);
        return Err(wrong(message).hint("--old is an earlier state of the object of --object"));
    }
    if old.uid.is_empty() && current.uid.is_empty() {
        current.set_uid(&numbers.uid());
    }
    if old.uid.is_empty() {
        old.set_uid(&current.uid);
    } else if current.uid.is_empty() {
        current.set_uid(&old.uid);
    }
    if old.uid != current.uid {
        let message = format!("{}: the uid is {}, and that of --object is {}", file.display(), old.uid, current.uid);
        return Err(wrong(message).hint("two uids are two objects: a host would call delete, then add"));
    }
    old.into_object(file, numbers)
}

/// What the words mean, and which of them go together.
fn words(args: &InvokeArgs) -> Result<(Event, Removal), CliError> {
    let event = match args.event {
        EventWord::Add => Event::Add,
        EventWord::Update => Event::Update,
        EventWord::Delete => Event::Delete,
    };
    if event == Event::Add && args.old.is_some() {
        return Err(wrong("--old: there is no earlier state in add").hint("leave it out, or use --event update"));
    }
    let removal = match (event, args.removal) {
        (Event::Delete, None | Some(RemovalWord::Gone)) => Removal::Gone,
        (Event::Delete, Some(RemovalWord::Unmatched)) => Removal::Unmatched,
        (Event::Delete, Some(RemovalWord::Replaced)) => Removal::Replaced,
        (_, None) => Removal::None,
        (_, Some(_)) => return Err(wrong("--removal: only delete has one").hint("leave it out, or use --event delete")),
    };
    Ok((event, removal))
}

const fn cause(word: CauseWord) -> Cause {
    match word {
        CauseWord::InitialList => Cause::InitialList,
        CauseWord::Watch => Cause::Watch,
        CauseWord::Resync => Cause::Resync,
        CauseWord::Requeue => Cause::Requeue,
        CauseWord::Retry => Cause::Retry,
        CauseWord::Reload => Cause::Reload,
        CauseWord::ChangedOffline => Cause::ChangedOffline,
        CauseWord::Related => Cause::Related,
        CauseWord::Manual => Cause::Manual,
        CauseWord::Schedule => Cause::Schedule,
    }
}

#[cfg(test)]
mod tests;
