//! The bindings of the C SDK. Owns the generator's options and where its files go.

use std::path::{Path, PathBuf};

use anyhow::Result;
use wit_bindgen_core::Files;

use super::{Generated, world};

/// Where the bindings live, from the root of the repository.
const FOLDER: &str = "sdk/c/bindings";

/// A header, a source, and an object file with the component's type, which is all that an
/// encoder needs to know.
pub(super) fn generate(wit: &Path) -> Result<Vec<Generated>> {
    let (mut resolve, world) = world(wit)?;
    let mut files = Files::default();
    wit_bindgen_c::Opts::default().build().generate(&mut resolve, world, &mut files)?;
    let generated = files.iter().map(|(name, contents)| Generated { path: PathBuf::from(FOLDER).join(name), contents: contents.to_vec() });
    Ok(generated.collect())
}
