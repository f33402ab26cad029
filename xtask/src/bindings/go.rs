//! The bindings of the Go SDK. Owns the generator's options, and what is changed in its
//! output: where the runtime support is imported from, and what only WebAssembly compiles.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use wit_bindgen_core::Files;

use super::{Generated, world};

/// Where the bindings live, from the root of the repository.
const FOLDER: &str = "sdk/go/internal/bindings";
const PACKAGE: &str = "github.com/wharf-dev/wharf/sdk/go/internal/bindings";

/// The generator's own support packages, and the SDK's, which tell the adapter when the host
/// must not be called and need no download.
const SUPPORT: [(&str, &str); 2] = [
    ("go.bytecodealliance.org/pkg/wit/runtime", "github.com/wharf-dev/wharf/sdk/go/internal/witruntime"),
    ("go.bytecodealliance.org/pkg/wit/types", "github.com/wharf-dev/wharf/sdk/go/internal/wittypes"),
];

/// Numbers that the code takes for addresses: `go vet` would warn of each, in every plugin.
const ADDRESSES: [&str; 4] = ["uintptr(", "returnArea)", "exportReturnArea)", "arg0)"];

/// The file with the exported functions.
const EXPORTS: &str = "wit_exports.go";

pub(super) fn generate(wit: &Path) -> Result<Vec<Generated>> {
    let (mut resolve, world) = world(wit)?;
    let options = wit_bindgen_go::Opts { format: wit_bindgen_go::Format::False, pkg_name: Some(PACKAGE.to_owned()), ..Default::default() };
    let mut files = Files::default();
    options.build().generate(&mut resolve, world, &mut files)?;
    let mut generated = Vec::new();
    for (name, contents) in files.iter() {
        let path = PathBuf::from(FOLDER).join(name);
        let contents = std::str::from_utf8(contents).context("the generator made no text")?;
        let contents = if name.ends_with(".go") { format(&adapt(name, contents))? } else { format!("{contents}\n").into_bytes() };
        generated.push(Generated { path, contents });
    }
    Ok(generated)
}

/// The generated code as the SDK needs it.
fn adapt(name: &str, code: &str) -> String {
    let mut code = code.to_owned();
    for (theirs, ours) in SUPPORT {
        code = code.replace(theirs, ours);
    }
    for address in ADDRESSES {
        code = code.replace(&format!("unsafe.Pointer({address}"), &format!("witRuntime.Pointer({address}"));
    }
    if !name.ends_with(EXPORTS) {
        return code;
    }
    // `cabi_post_…`: the host must not be called there, and the collector may want the clock.
    let code = code.replace("syncExportPinner.Unpin()", "witRuntime.PostReturn(&syncExportPinner)");
    format!("//go:build wasm\n\n{code}")
}

/// Through gofmt, which Go brings along.
fn format(code: &str) -> Result<Vec<u8>> {
    let mut gofmt = Command::new("gofmt")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot run gofmt, which the Go bindings are formatted with; install Go 1.26")?;
    let mut input = gofmt.stdin.take().context("gofmt has no standard input")?;
    let code = code.to_owned();
    // On a thread of its own: gofmt may answer before it has read everything.
    let writer = std::thread::spawn(move || input.write_all(code.as_bytes()));
    let output = gofmt.wait_with_output().context("cannot read what gofmt says")?;
    if !output.status.success() {
        bail!("gofmt does not understand the generated bindings: {}", output.status);
    }
    match writer.join() {
        Ok(written) => written.context("cannot hand the bindings to gofmt")?,
        Err(_) => bail!("the thread that feeds gofmt panicked"),
    }
    Ok(output.stdout)
}
