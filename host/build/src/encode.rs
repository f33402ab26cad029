//! From a core module to a component. Owns the steps of the encoder; what goes in (adapters,
//! the world) is decided by the languages.

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};

use crate::contract::{self, WASI_PREVIEW1};
use crate::error::BuildError;
use crate::wasi;

/// What the encoder must know about a module.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Plan<'a> {
    /// Tell the module its world: compilers that know nothing of WIT leave it out.
    pub(crate) embed_world: bool,
    /// The adapter for WASI preview 1.
    pub(crate) preview1: Option<Adapter<'a>>,
    /// Leave imports of WASI 0.2 to the host.
    pub(crate) keep_wasi: bool,
    /// How the language's SDK exports what a plugin must.
    pub(crate) fix: &'a str,
}

/// A module that stands between a guest and what it imports.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Adapter<'a> {
    /// Its text.
    pub(crate) wat: &'a [u8],
    /// A package with one world: what it uses of the contract.
    pub(crate) wit: &'a [u8],
}

/// Makes a component of a core module, and checks both against the contract.
///
/// # Errors
/// [`BuildError::Contract`] with everything that is wrong, or [`BuildError::Encode`].
pub(crate) fn component(module: &[u8], plan: &Plan<'_>) -> Result<Vec<u8>, BuildError> {
    contract::check_module(module, plan.fix)?;
    let failed = |error| refused(&error);
    let mut module = module.to_vec();
    if plan.embed_world {
        let (resolve, world) = contract::controller()?;
        embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).map_err(failed)?;
    }
    let stubbed = if plan.keep_wasi { None } else { wasi::stub(&module)? };
    let mut encoder = ComponentEncoder::default().validate(true);
    encoder = match &stubbed {
        Some(stubbed) => encoder.module(&stubbed.module).and_then(|e| e.adapter(wasi::STUB, &stubbed.stub)),
        None => encoder.module(&module),
    }
    .map_err(failed)?;
    if let Some(adapter) = plan.preview1 {
        encoder = encoder.adapter(WASI_PREVIEW1, &adapter.module()?).map_err(failed)?;
    }
    let component = encoder.encode().map_err(failed)?;
    contract::check_component(&component, plan.fix)?;
    Ok(component)
}

impl Adapter<'_> {
    /// The module with its world in it.
    fn module(&self) -> Result<Vec<u8>, BuildError> {
        let wrong = |why: &dyn std::fmt::Display| BuildError::Encode { why: format!("the WASI adapter: {why:#}") };
        let mut module = wat::parse_bytes(self.wat).map_err(|e| wrong(&e))?.into_owned();
        let (mut resolve, _) = contract::controller()?;
        let package = resolve.push_source("adapter.wit", &String::from_utf8_lossy(self.wit)).map_err(|e| wrong(&e))?;
        let world = resolve.select_world(&[package], None).map_err(|e| wrong(&e))?;
        embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).map_err(|e| wrong(&e))?;
        Ok(module)
    }
}

fn refused(error: &dyn std::fmt::Display) -> BuildError {
    BuildError::Encode { why: format!("{error:#}") }
}
