//! Every SDK against the same cases: `cargo test --workspace --test conformance -- rust/` runs
//! those of one language, `WHARF_UPDATE=1` and no filter writes docs/languages.md anew.

#[path = "conformance/mod.rs"]
mod conformance;

fn main() -> anyhow::Result<std::process::ExitCode> {
    conformance::main()
}
