//! See `wharf_devserver::fuzz::token`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wharf_devserver::fuzz::token(data));
