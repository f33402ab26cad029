//! From the logging crates of the ecosystem to the host's log, each behind a feature of its
//! name. Owns their installation; the lines themselves are [`log`](crate::log)'s.

#[cfg(feature = "log")]
mod facade;
#[cfg(feature = "tracing")]
mod trace;

/// Makes this crate the receiver of what `log` and `tracing` produce, where nobody else is.
/// Cheap after the first time.
pub(crate) fn install() {
    #[cfg(any(feature = "log", feature = "tracing"))]
    {
        static ONCE: std::sync::Once = std::sync::Once::new();
        ONCE.call_once(|| {
            #[cfg(feature = "log")]
            facade::install();
            #[cfg(feature = "tracing")]
            trace::install();
        });
    }
}
