//! Contains panics of the database, which panics on pages that it cannot read. Owns that they are not printed; never knows what the
//! work is.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

/// The hook that asks [`QUIET`] is set once and stays: whoever replaced it for a moment could meet somebody else who does.
static HOOK: Once = Once::new();

thread_local! {
    /// Are panics of this thread somebody's to tell?
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Does something; a panic of it is an error with its message, and is not printed. Those of other threads are told as ever. What the work
/// had in its hands must not be relied on after a panic.
///
/// # Errors
/// The message of the panic.
pub(super) fn contained<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                before(info);
            }
        }));
    });
    let before = QUIET.replace(true);
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    QUIET.set(before);
    result.map_err(|panic| message(&*panic))
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("it made the database panic").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        assert_eq!(contained(|| 7), Ok(7));
        assert_eq!(contained(|| panic!("of {}", 8)), Err::<(), _>("of 8".to_owned()));
        assert_eq!(contained(|| panic!("plain")), Err::<(), _>("plain".to_owned()));
        assert!(!QUIET.get(), "later ones are told");
    }
}
