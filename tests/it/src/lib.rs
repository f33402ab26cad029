//! What the tests across crates share: the language of the scenarios in `tests/scenarios`
//! and the harness that plays them against a real API server and a real host.

pub mod scenario;
