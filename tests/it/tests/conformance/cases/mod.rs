//! The cases, one file per topic. Each says what the guest is told and what must come of it.

mod calls;
mod cluster;
mod config;
mod delivery;
mod error;
mod event;
mod label_guard;
mod limits;
mod log;
mod outcome;
mod setup;
mod size;
mod system;
mod text;
mod typed;

use super::case::Case;
use super::language::Language;

pub(crate) use label_guard::label_guard;

/// The cases of the conformance guest, for one language.
pub(crate) fn all(language: &Language) -> Vec<Case> {
    let traits = &language.traits;
    let topics = [
        delivery::cases(),
        event::cases(),
        typed::cases(traits),
        text::cases(),
        size::cases(),
        log::cases(traits),
        config::cases(),
        outcome::cases(),
        error::cases(traits),
        cluster::cases(),
        limits::cases(traits),
        calls::cases(),
        system::cases(),
        setup::cases(),
    ];
    topics.into_iter().flatten().collect()
}
