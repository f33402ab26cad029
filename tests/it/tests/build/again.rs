//! The same source built twice, in two folders and from nothing: where `wharf build` promises
//! the same bytes, they are the same.

use std::fs;

use anyhow::{Result, ensure};

use crate::support::{Scratch, succeeds};

#[test]
fn rust_go_and_c_give_the_same_bytes_in_any_folder() -> Result<()> {
    let scratch = Scratch::new()?;
    for plugin in ["label-guard", "label-guard-go", "label-guard-c"] {
        let mut built = Vec::new();
        for name in ["one", "ein anderer Ordner/für zwei"] {
            let folder = scratch.plugin(plugin, &format!("{name}/{plugin}"))?;
            let output = folder.join("plugin.wasm");
            let said = succeeds(scratch.build(&folder)?.arg("--output").arg(&output))?;
            ensure!(said.out.contains(", reproducible:"), "{plugin} promises nothing: {}", said.out);
            built.push(fs::read(&output)?);
        }
        let [one, two] = built.as_slice() else { anyhow::bail!("two builds") };
        ensure!(one == two, "{plugin}: {} and {} bytes, which differ", one.len(), two.len());
    }
    Ok(())
}
