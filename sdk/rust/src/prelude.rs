//! What nearly every plugin uses: `use wharf_sdk::prelude::*;`.

pub use crate::cluster::{self, ApiError, EventType};
pub use crate::{Change, Description, Event, Failure, Handler, ObjectRef, Outcome, Result, Subscription, log};
