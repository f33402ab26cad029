//! What the handler is told: the states of the event's object and the cluster around it. Owns
//! what follows from the event's word: which states there are, and whether the object is still
//! in the cluster.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use wharf_core::{Cause, Delivery, Event, Gvk, Object, Removal};

use super::args::{CauseWord, EventWord, InvokeArgs, RemovalWord};
use super::given::{Given, Numbers};
use super::input::{self, wrong};
use super::memory::Memory;
use super::saved::Saved;
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
    /// The state of a `delete` is an older one.
    pub(super) final_state_unknown: bool,
    /// For which subscription, if that was said.
    pub(super) subscription: Option<String>,
    /// What is to be said of what was given.
    pub(super) note: Option<String>,
}

/// What was given of the call itself, by options or in one file.
struct Told {
    saved: Saved,
    /// Where the object, and its old state, are from.
    files: (PathBuf, PathBuf),
    /// It is all that a host told: nothing is filled in.
    whole: bool,
}

impl Told {
    fn read(args: &InvokeArgs) -> Result<Self, CliError> {
        if let Some(file) = &args.call {
            return Ok(Self { saved: Saved::read(file)?, files: (file.clone(), file.clone()), whole: true });
        }
        let (Some(event), Some(object)) = (args.event, &args.object) else {
            return Err(wrong("--event and --object are missing").hint("or give a call by --call"));
        };
        let saved = Saved {
            event,
            cause: args.cause,
            removal: args.removal,
            attempt: args.attempt,
            subscription: args.subscription.clone(),
            final_state_unknown: false,
            object: input::one(object, true)?,
            old: args.old.as_deref().map(|file| input::one(file, false)).transpose()?,
            note: None,
        };
        Ok(Self { saved, files: (object.clone(), args.old.clone().unwrap_or_default()), whole: false })
    }
}

impl Case {
    /// Reads the files of the event and of the cluster.
    ///
    /// # Errors
    /// The first file that is wrong, or an option that the event does not have.
    pub(super) fn read(args: &InvokeArgs) -> Result<(Self, Scopes, Memory), CliError> {
        let Told { saved, files: (file, old_file), whole } = Told::read(args)?;
        let (event, removal) = words(&saved)?;
        let mut current = Given::read(&file, &saved.object)?;
        let old = saved.old.as_deref().map(|json| Ok((&*old_file, Given::read(&old_file, json)?))).transpose()?;
        let mut with = Vec::new();
        for (file, json) in input::all(&args.with)? {
            with.push((Given::read(&file, &json)?, file));
        }
        let around = with.iter().map(|(given, _)| given);
        let scopes = Scopes::of(around.clone().chain([&current]).chain(old.as_ref().map(|(_, given)| given)));
        let mut numbers = Numbers::after(around.chain([&current]).chain(old.as_ref().map(|(_, given)| given)));
        current.place(&file, &scopes)?;
        let previous = old.map(|(file, given)| old_state(file, given, &mut current, &scopes, &mut numbers)).transpose()?;
        let kind = Arc::new(current.kind.clone());
        let current = current.into_object(&file, &mut numbers)?;
        let previous = previous.or_else(|| (event == Event::Update && !whole).then(|| Arc::clone(&current)));
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
        let Saved { attempt, final_state_unknown, subscription, note, .. } = saved;
        let cause = cause(saved.cause);
        let case = Self { event, kind, current, previous, removal, cause, attempt, final_state_unknown, subscription, note };
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
            final_state_unknown: self.final_state_unknown,
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
fn words(told: &Saved) -> Result<(Event, Removal), CliError> {
    let event = match told.event {
        EventWord::Add => Event::Add,
        EventWord::Update => Event::Update,
        EventWord::Delete => Event::Delete,
    };
    if event == Event::Add && told.old.is_some() {
        return Err(wrong("--old: there is no earlier state in add").hint("leave it out, or use --event update"));
    }
    let removal = match (event, told.removal) {
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
