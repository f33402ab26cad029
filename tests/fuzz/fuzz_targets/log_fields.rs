//! See `wharf_engine::fuzz::log_fields`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wharf_engine::fuzz::log_fields(data));
