//! The promises of dispatch, checked over random histories.
//!
//! A store follows a small cluster through a watch that may miss events; plugins have a
//! subscription, a ledger and a queue of keys; calls take time and anything may happen
//! while one runs. A witness beside each plugin knows nothing of the ledger and says when
//! a promise is broken. A twin of each ledger, which is never told of slots, must agree with
//! it after every step. A failing history is made short and printed. Then the rules are
//! broken on purpose, one by one, to show that the witness can fail.
//!
//! What ledgers know is written down now and then; a host that crashes begins again with that.
//!
//! `WHARF_HISTORIES` sets how many histories are played (3000 by default).

#[cfg(test)]
mod broken;
#[cfg(test)]
mod disk;
#[cfg(test)]
mod history;
#[cfg(test)]
mod object;
#[cfg(test)]
mod plugin;
#[cfg(test)]
mod promises;
#[cfg(test)]
mod rng;
#[cfg(test)]
mod store;
#[cfg(test)]
mod twin;
#[cfg(test)]
mod witness;
#[cfg(test)]
mod world;
