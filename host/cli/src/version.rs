//! `wharf version`: which versions meet in this binary.

use crate::args::{InspectOutput, VersionArgs};
use crate::report::{CliError, print_data};

pub(crate) fn run(args: &VersionArgs) -> Result<u8, CliError> {
    let version = env!("CARGO_PKG_VERSION");
    let (wit, wasmtime) = (wharf_engine::WIT_PACKAGE, wharf_engine::WASMTIME_VERSION);
    let text = match args.output {
        InspectOutput::Text => format!("wharf {version}\ncontract {wit}\nwasmtime {wasmtime}\n"),
        InspectOutput::Json => format!("{}\n", serde_json::json!({"wharf": version, "contract": wit, "wasmtime": wasmtime})),
    };
    print_data(&text)?;
    Ok(crate::exit::OK)
}
