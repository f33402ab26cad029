//! Where compiled components are kept between two calls. Owns the choice of the folder; that
//! nobody else can write into it is the engine's to see to.

use std::ffi::OsString;
use std::path::PathBuf;

use super::args::InvokeArgs;

/// The folder's own name, as in a host's data folder.
const NAME: &str = "cwasm";

/// The folder that the arguments name, else `wharf` in the user's cache folder; `None` where
/// nothing shall be kept, or where it is not known.
pub(super) fn folder(args: &InvokeArgs, env: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    if args.no_cache {
        return None;
    }
    if let Some(folder) = &args.cache_dir {
        return Some(folder.join(NAME));
    }
    let absolute = |name| env(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let caches = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(caches.join("wharf").join(NAME))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: InvokeArgs,
    }

    #[test]
    fn the_users_cache_unless_told_otherwise() {
        for (args, env, want) in [
            (&[][..], &[("HOME", "/home/me")][..], Some("/home/me/.cache/wharf/cwasm")),
            (&[], &[("HOME", "/home/me"), ("XDG_CACHE_HOME", "/c")], Some("/c/wharf/cwasm")),
            (&[], &[("HOME", "/home/me"), ("XDG_CACHE_HOME", "c")], Some("/home/me/.cache/wharf/cwasm")),
            (&[], &[], None),
            (&["--no-cache"], &[("HOME", "/home/me")], None),
            (&["--cache-dir", ".wharf"], &[], Some(".wharf/cwasm")),
        ] {
            let fixed = ["wharf", "x.wasm", "--event=add", "--object=o.yaml"];
            let cli = Cli::try_parse_from(fixed.iter().chain(args)).unwrap();
            let get = |name: &str| env.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value));
            assert_eq!(folder(&cli.args, get), want.map(PathBuf::from), "{args:?} {env:?}");
        }
    }
}
