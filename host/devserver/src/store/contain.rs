//! Contains panics of the database, which panics on pages that it cannot read. Owns the panic hook for as long as the work goes on; never
//! knows what the work is.

use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::thread;

use parking_lot::Mutex;

/// Whoever puts the hook back must be the one who took it last.
static HOOK: Mutex<()> = Mutex::new(());

/// Does something; a panic of it is an error with its message, and is not printed. Those of other threads are told as ever. What the work
/// had in its hands must not be relied on after a panic.
///
/// # Errors
/// The message of the panic.
pub(super) fn contained<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    let caught = || panic::catch_unwind(AssertUnwindSafe(work));
    // A thread that panics cannot replace the hook.
    let result = if thread::panicking() { caught() } else { quietly(caught) };
    result.map_err(|panic| message(&*panic))
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("it made the database panic").to_owned()
}

/// Prints nothing about panics of this thread. The work must not unwind.
fn quietly<T>(work: impl FnOnce() -> T) -> T {
    let _turn = HOOK.lock();
    let before = Arc::new(panic::take_hook());
    let (others, this) = (Arc::clone(&before), thread::current().id());
    panic::set_hook(Box::new(move |info| {
        if thread::current().id() != this {
            others(info);
        }
    }));
    let result = work();
    drop(panic::take_hook());
    // Put back as it was, not wrapped once more: nobody else holds it any more.
    if let Some(before) = Arc::into_inner(before) {
        panic::set_hook(before);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        assert_eq!(contained(|| 7), Ok(7));
        assert_eq!(contained(|| panic!("of {}", 8)), Err::<(), _>("of 8".to_owned()));
        assert_eq!(contained(|| panic!("plain")), Err::<(), _>("plain".to_owned()));
    }
}
