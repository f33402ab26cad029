//! The engine from outside: good guests, bad ones and hostile ones, on real components.

#[cfg(test)]
mod cache;
#[cfg(test)]
mod caps;
#[cfg(test)]
mod cluster;
#[cfg(test)]
mod cold;
mod compiler;
#[cfg(test)]
mod encode;
#[cfg(test)]
#[path = "../../../../tests/fuzz/feed.rs"]
mod feed;
#[cfg(test)]
mod guest_memory;
#[cfg(test)]
mod guests;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod load;
#[cfg(test)]
mod mutations;
#[cfg(test)]
mod reuse;
#[cfg(test)]
mod runtime;
#[cfg(test)]
mod support;
#[cfg(test)]
mod wit;
