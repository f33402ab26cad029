//! See `wharf_engine::fuzz::inspect_component`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wharf_engine::fuzz::inspect_component(data));
