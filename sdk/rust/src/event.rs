//! The event of the running call: the delivery, and typed access to the object now and as
//! it was. The object's bytes stay on the host until asked for.

use std::fmt;
use std::time::Duration;

use serde::de::DeserializeOwned;

use crate::backend::{self, Revision};
use crate::delivery::{Change, Delivery};
use crate::object::ObjectRef;

/// A change of one object, shown to a handler. Only useful during the call that it was
/// made for.
#[derive(Debug)]
pub struct Event {
    change: Change,
    delivery: Delivery,
}

impl Event {
    pub(crate) const fn new(change: Change, delivery: Delivery) -> Self {
        Self { change, delivery }
    }

    /// Which function of the handler is called.
    pub const fn change(&self) -> Change {
        self.change
    }

    /// Everything that the host says about the call.
    pub const fn delivery(&self) -> &Delivery {
        &self.delivery
    }

    /// The object that the call is for.
    pub const fn key(&self) -> &ObjectRef {
        &self.delivery.key
    }

    /// `metadata.name`.
    pub fn name(&self) -> &str {
        &self.delivery.key.name
    }

    /// `metadata.namespace`; empty for cluster-scoped kinds.
    pub fn namespace(&self) -> &str {
        self.delivery.key.namespace.as_deref().unwrap_or_default()
    }

    /// The object now; in `delete` its final state, which may be absent after a restart of
    /// the host.
    pub const fn current(&self) -> View {
        View(Revision::Current)
    }

    /// The object at the last successful call (or as filtered since). Absent in `add`, and
    /// maybe after a restart of the host.
    pub const fn previous(&self) -> View {
        View(Revision::Previous)
    }

    /// The value at an RFC 6901 pointer of the current object: `event.get::<u32>("/spec/replicas")`.
    /// `None` if nothing is there, or a JSON null that the type does not take.
    ///
    /// # Errors
    /// If there is a value of another type.
    pub fn get<T: DeserializeOwned>(&self, pointer: &str) -> Result<Option<T>, ReadError> {
        self.current().get(pointer)
    }

    /// The JSON text at a pointer of the current object, as it stands there: numbers keep
    /// all their digits.
    pub fn raw(&self, pointer: &str) -> Option<String> {
        self.current().raw(pointer)
    }

    /// The whole current object.
    ///
    /// # Errors
    /// If it does not have the form of `T`.
    pub fn object<T: DeserializeOwned>(&self) -> Result<Option<T>, ReadError> {
        self.current().object()
    }

    /// A label of the current object.
    ///
    /// # Errors
    /// If its value is no string.
    pub fn label(&self, key: &str) -> Result<Option<String>, ReadError> {
        self.current().label(key)
    }

    /// An annotation of the current object.
    ///
    /// # Errors
    /// If its value is no string.
    pub fn annotation(&self, key: &str) -> Result<Option<String>, ReadError> {
        self.current().annotation(key)
    }

    /// Does what is at a pointer differ between previous and current? True where there is
    /// no previous.
    pub fn changed(&self, pointer: &str) -> bool {
        self.changed_any(&[pointer])
    }

    /// [`Event::changed`] for at least one of several pointers, in one crossing.
    pub fn changed_any(&self, pointers: &[&str]) -> bool {
        backend::event_changed(pointers).contains(&true)
    }

    /// [`Event::changed`] for each of several pointers, in one crossing; at most 256 are
    /// compared, what is behind them counts as changed.
    pub fn changed_each(&self, pointers: &[&str]) -> Vec<bool> {
        backend::event_changed(pointers)
    }

    /// Wall time left before the host ends this call.
    pub fn remaining(&self) -> Duration {
        Duration::from_millis(backend::event_remaining_ms().into())
    }
}

/// The object of the event as it is or as it was.
#[derive(Clone, Copy, Debug)]
pub struct View(Revision);

impl View {
    /// The value at an RFC 6901 pointer; `None` if nothing is there, or a JSON null that the
    /// type does not take.
    ///
    /// # Errors
    /// If there is a value of another type.
    pub fn get<T: DeserializeOwned>(self, pointer: &str) -> Result<Option<T>, ReadError> {
        backend::event_get(self.0, pointer).map_or(Ok(None), |json| present(pointer, &json))
    }

    /// The values at several pointers, in one crossing; as many as there are pointers.
    ///
    /// # Errors
    /// If one of the values has another type.
    pub fn get_many<T: DeserializeOwned>(self, pointers: &[&str]) -> Result<Vec<Option<T>>, ReadError> {
        let values = backend::event_get_many(self.0, pointers);
        pointers.iter().zip(values).map(|(pointer, json)| json.map_or(Ok(None), |json| present(pointer, &json))).collect()
    }

    /// The JSON text at an RFC 6901 pointer, as it stands there. `None` if nothing is there,
    /// if this state is absent, or if the pointer is none.
    pub fn raw(self, pointer: &str) -> Option<String> {
        backend::event_get(self.0, pointer)
    }

    /// [`View::raw`] for several pointers, in one crossing; as many as there are pointers,
    /// of which the host looks up 256 at most.
    pub fn raw_many(self, pointers: &[&str]) -> Vec<Option<String>> {
        backend::event_get_many(self.0, pointers)
    }

    /// The whole object as JSON text; `None` if it is absent. Costs its size.
    pub fn json(self) -> Option<String> {
        backend::event_json(self.0)
    }

    /// The whole object; `None` if it is absent. Costs its size: prefer [`View::get`].
    ///
    /// # Errors
    /// If it does not have the form of `T`.
    pub fn object<T: DeserializeOwned>(self) -> Result<Option<T>, ReadError> {
        backend::event_json(self.0).map(|json| parse("", &json)).transpose()
    }

    /// A label.
    ///
    /// # Errors
    /// If its value is no string.
    pub fn label(self, key: &str) -> Result<Option<String>, ReadError> {
        self.get(&format!("/metadata/labels/{}", escape(key)))
    }

    /// An annotation.
    ///
    /// # Errors
    /// If its value is no string.
    pub fn annotation(self, key: &str) -> Result<Option<String>, ReadError> {
        self.get(&format!("/metadata/annotations/{}", escape(key)))
    }
}

/// A part of the object does not have the asked for type.
#[derive(Debug)]
pub struct ReadError {
    pointer: String,
    source: serde_json::Error,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.pointer.is_empty() { "the object" } else { &self.pointer };
        write!(f, "{what} cannot be read: {}", self.source)
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// A JSON null counts as absent for a type that has no null itself.
fn present<T: DeserializeOwned>(pointer: &str, json: &str) -> Result<Option<T>, ReadError> {
    match parse(pointer, json) {
        Ok(value) => Ok(Some(value)),
        Err(_) if json == "null" => Ok(None),
        Err(error) => Err(error),
    }
}

fn parse<T: DeserializeOwned>(pointer: &str, json: &str) -> Result<T, ReadError> {
    serde_json::from_str(json).map_err(|source| ReadError { pointer: pointer.to_owned(), source })
}

/// One reference token of a pointer.
fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
