//! Sharing among many, in two levels: groups by weight, then the members of a group.
//!
//! [`Turns`] shares computing: at most so many compute at a time, and of those who want, the
//! next is of the group, and in it of the member, that has computed least. [`Shares`] shares a
//! number of equal things that are held for long: what becomes free goes to the group, and in
//! it to the member, that holds least, and the last one is kept for a group that holds none.
//!
//! Both know their groups and members by name only. They have no task, no channel and no tick:
//! whoever ends wakes whoever is next.

mod level;
mod shares;
mod turn;
mod turns;

pub use shares::{Acquire, Holder, Share, Shares, SharesStats};
pub use turn::{Meter, Turn};
pub use turns::{Player, Turns};
