//! `wharf completion` and `wharf man`: what shells and `man` need to know, made from the command
//! line itself. Owns where it goes; never what it says.

use std::fs;
use std::path::Path;

use clap::CommandFactory as _;
use clap_complete::{Shell, generate};

use crate::args::{Cli, CompletionArgs, ManArgs};
use crate::exit;
use crate::report::{CliError, print_data};

pub(crate) fn completion(args: &CompletionArgs) -> Result<u8, CliError> {
    print_data(&script(args.shell)?)?;
    Ok(exit::OK)
}

pub(crate) fn man(args: &ManArgs) -> Result<u8, CliError> {
    match &args.dir {
        None => print_data(&text(page(Cli::command()))?)?,
        Some(folder) => pages(folder)?,
    }
    Ok(exit::OK)
}

fn script(shell: Shell) -> Result<String, CliError> {
    let mut out = Vec::new();
    generate(shell, &mut Cli::command(), "wharf", &mut out);
    text(Ok(out))
}

/// A page for `wharf`, and one for each command: `wharf-get.1`.
fn pages(folder: &Path) -> Result<(), CliError> {
    let write = |name: &str, page: std::io::Result<Vec<u8>>| {
        let path = folder.join(format!("{name}.1"));
        page.and_then(|page| fs::write(&path, page))
            .map_err(|error| CliError { source: Some(error.into()), ..CliError::new(exit::USAGE, format!("write {}", path.display())) })
    };
    write("wharf", page(Cli::command()))?;
    let mut command = Cli::command();
    command.build();
    for sub in command.get_subcommands() {
        let name = format!("wharf-{}", sub.get_name());
        write(&name, page(sub.clone()))?;
    }
    Ok(())
}

fn page(command: clap::Command) -> std::io::Result<Vec<u8>> {
    let mut out = Vec::new();
    clap_mangen::Man::new(command).render(&mut out)?;
    Ok(out)
}

fn text(out: std::io::Result<Vec<u8>>) -> Result<String, CliError> {
    let made = out.map_err(anyhow::Error::from).and_then(|out| Ok(String::from_utf8(out)?));
    made.map_err(|error| CliError { source: Some(error.into()), ..CliError::new(exit::USAGE, "it could not be made") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shell_knows_every_command() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::PowerShell, Shell::Elvish] {
            let script = script(shell).unwrap();
            for command in Cli::command().get_subcommands() {
                assert!(script.contains(command.get_name()), "{shell} {}", command.get_name());
            }
        }
    }

    #[test]
    fn there_is_a_page_for_each_command() {
        let folder = tempfile::tempdir().unwrap();
        pages(folder.path()).unwrap();
        let count = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(count, Cli::command().get_subcommands().count() + 1);
        let page = fs::read_to_string(folder.path().join("wharf-rollback.1")).unwrap();
        assert!(page.contains("to\\-revision") && page.contains("wharf\\-rollback"), "{page}");
        assert!(pages(&folder.path().join("none")).is_err());
    }
}
