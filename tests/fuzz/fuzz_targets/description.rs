//! See `wharf_core::fuzz::description`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wharf_core::fuzz::description(data));
