//! See `wharf_core::fuzz::pointers`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wharf_core::fuzz::pointers(data));
