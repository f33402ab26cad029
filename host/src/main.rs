//! The wharf binary: allocator, TLS provider, command line. Nothing else.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Fails only if a provider was installed before, which nobody does in this process.
    let _first = rustls::crypto::ring::default_provider().install_default();
    wharf_cli::main(std::env::args_os())
}
