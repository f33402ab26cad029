//! The command line of wharf: what was typed, what it means, what is printed, and how the
//! process ends. Prints and exits; decides nothing about plugins or clusters.

pub mod args;
mod build;
mod compile;
mod completion;
mod crd;
mod describe;
mod dev;
mod drain;
pub mod exit;
mod explain;
mod get;
#[cfg(test)]
mod golden;
mod host;
mod inspect;
mod invoke;
mod logs;
mod order;
mod rbac;
mod report;
mod retry;
mod run;
mod signals;
mod table;
mod top;
mod validate;
mod version;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};
use report::CliError;
use wharf_runtime::admin::operate::OrderWord;

/// Runs one command line, given with the program's name, to its exit code.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are data, everything else is wrong usage; clap knows which.
            let code = if error.use_stderr() { exit::USAGE } else { exit::OK };
            let _closed = error.print();
            return ExitCode::from(code);
        }
    };
    match execute(cli.command) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            report::print_error(&error);
            ExitCode::from(error.code)
        }
    }
}

fn execute(command: Command) -> Result<u8, CliError> {
    match command {
        Command::Run(args) => run::run(*args),
        Command::Dev(args) => dev::run(&args),
        Command::Apiserver(args) => dev::apiserver(&args),
        Command::Build(args) => build::run(&args),
        Command::Validate(args) => validate::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Compile(args) => compile::run(&args),
        Command::Invoke(args) => invoke::run(&args),
        Command::Get(args) => get::get(*args),
        Command::Watch(args) => get::watch(*args),
        Command::Explain(args) => explain::run(args),
        Command::Retry(args) => retry::run(args),
        Command::Describe(args) => describe::run(args),
        Command::Top(args) => top::run(args),
        Command::Logs(args) => logs::run(args),
        Command::LogLevel(args) => logs::level(args),
        Command::Reload(args) => order::run(args, OrderWord::Reload),
        Command::Rollback(args) => order::rollback(args),
        Command::History(args) => get::history(args),
        Command::Pause(args) => order::run(args, OrderWord::Pause),
        Command::Resume(args) => order::run(args, OrderWord::Resume),
        Command::Drain(args) => drain::run(args),
        Command::Rbac(args) => rbac::run(&args),
        Command::Crd => crd::run(),
        Command::Completion(args) => completion::completion(&args),
        Command::Man(args) => completion::man(&args),
        Command::Version(args) => version::run(&args),
    }
}

/// A small runtime for the commands that only ask something.
fn block_on<T>(future: impl Future<Output = T>) -> Result<T, CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError { source: Some(error.into()), ..CliError::new(exit::USAGE, "start the async runtime") })?;
    Ok(runtime.block_on(future))
}
