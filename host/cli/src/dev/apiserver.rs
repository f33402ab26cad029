//! `wharf apiserver`: the embedded API server alone, until a signal. Owns its flags' meaning and the kubeconfig file; serving is
//! `wharf_devserver`'s.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use wharf_devserver::{Anonymous, ApiOptions, Authorization as Access, Running, Server, ServerOptions, StoreOptions, Tls, Token};
use wharf_runtime::telemetry::logging::{self, LogFormat};

use super::run::absolute;
use crate::args::{ApiserverArgs, Authorization};
use crate::exit;
use crate::report::{CliError, print_data};
use crate::signals::Signals;

/// Where the kubeconfig lies if nothing else is said.
const KUBECONFIG: &str = "wharf-apiserver.kubeconfig";
/// Bytes of log that are kept for nobody: there is no control API here.
const NO_BUFFER: usize = 0;

pub(crate) fn run(args: &ApiserverArgs) -> Result<u8, CliError> {
    let format: LogFormat = args.log_format.parse().map_err(|error| CliError::from_anyhow(exit::USAGE, error))?;
    let _log = logging::init(format, &args.log_level, NO_BUFFER).map_err(|error| CliError::from_anyhow(exit::USAGE, error))?;
    let options = options(args)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError { source: Some(error.into()), ..CliError::new(exit::SOFTWARE, "start the async runtime") })?;
    runtime.block_on(async {
        let mut signals = Signals::new()
            .map_err(|error| CliError { source: Some(error.into()), ..CliError::new(exit::SOFTWARE, "listen for signals") })?;
        let running = start(options).await?;
        let file = args.kubeconfig.clone().unwrap_or_else(|| std::env::temp_dir().join(KUBECONFIG));
        write_kubeconfig(&file, &running)?;
        print_data(&format!("{}\nexport KUBECONFIG={}\n", running.url(), absolute(&file).display()))?;
        signals.next().await;
        stop(running).await?;
        Ok(exit::OK)
    })
}

fn options(args: &ApiserverArgs) -> Result<ServerOptions, CliError> {
    let tokens = match &args.token_file {
        None => Vec::new(),
        Some(file) => {
            let unreadable = |error: String| CliError::new(exit::CONFIG, format!("--token-file {}: {error}", file.display()));
            let text = std::fs::read_to_string(file).map_err(|error| unreadable(error.to_string()))?;
            tokens_of(&text).map_err(unreadable)?
        }
    };
    let access = match args.authorization {
        Authorization::AlwaysAllow => Access::AlwaysAllow,
        Authorization::Rbac => Access::Rbac,
    };
    let tls = match (args.insecure, &args.cert_dir) {
        (true, _) => Tls::Off,
        (false, None) => Tls::Memory,
        (false, Some(folder)) => Tls::Folder(folder.clone()),
    };
    let anonymous = if args.insecure { Anonymous::Admin } else { Anonymous::Allowed };
    let history = usize::try_from(args.history).unwrap_or(usize::MAX);
    let api = ApiOptions {
        store: StoreOptions { history, data: args.data.clone(), first_version: args.first_version },
        controllers: !args.no_controllers,
    };
    Ok(ServerOptions { address: args.bind, tls, anonymous, tokens, authorization: access, ..ServerOptions::new(api) })
}

/// Lines `token,user,uid,"group1,group2"`; uid and groups may be missing, as with kube-apiserver.
fn tokens_of(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let (fields, groups) =
            line.split_once('"').map_or((line, ""), |(fields, groups)| (fields, groups.trim_end().trim_end_matches('"')));
        let mut fields = fields.split(',').map(str::trim);
        let (token, user) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
        if token.is_empty() || user.is_empty() {
            return Err(format!("line {}: write token,user,uid,\"group1,group2\"", number + 1));
        }
        let uid = fields.next().unwrap_or_default();
        // One group needs no quotes.
        let groups = if groups.is_empty() { fields.next().unwrap_or_default() } else { groups };
        let groups = groups.split(',').map(str::trim).filter(|group| !group.is_empty()).map(str::to_owned).collect();
        tokens.push(Token { token: token.to_owned(), user: user.to_owned(), uid: uid.to_owned(), groups });
    }
    Ok(tokens)
}

/// Starts the server.
///
/// # Errors
/// The address is taken, or a file cannot be used.
pub(super) async fn start(options: ServerOptions) -> Result<Running, CliError> {
    let bind = options.address;
    Server::start(options).await.map_err(|error| {
        CliError::from_anyhow(exit::UNAVAILABLE, anyhow::Error::new(error).context(format!("start the API server on {bind}")))
            .hint("name an address that is free by --bind (with --insecure on loopback only), or a file that can be written by --data")
    })
}

/// Stops it, and writes what is not on disk yet.
///
/// # Errors
/// What could not be written.
pub(super) async fn stop(running: Running) -> Result<(), CliError> {
    let failed = |error: std::io::Error| CliError { source: Some(error.into()), ..CliError::new(exit::SOFTWARE, "stop the API server") };
    running.stop().await.map_err(failed)
}

/// Writes the administrator's kubeconfig, for its owner only. It replaces what is there.
pub(super) fn write_kubeconfig(file: &Path, running: &Running) -> Result<PathBuf, CliError> {
    let failed =
        |error: std::io::Error| CliError { source: Some(error.into()), ..CliError::new(exit::CONFIG, format!("write {}", file.display())) };
    let beside = file.with_extension("part");
    match std::fs::remove_file(&beside) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    let mut open = std::fs::OpenOptions::new();
    let mut written = open.create_new(true).write(true).mode(0o600).open(&beside).map_err(failed)?;
    written.write_all(running.kubeconfig().as_bytes()).map_err(failed)?;
    // Whoever waits for the file finds it whole.
    std::fs::rename(&beside, file).map_err(failed)?;
    Ok(file.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_read_as_kube_apiserver_does() {
        let tokens = tokens_of("t1,admin,a-uid,\"system:masters,b\"\n\nt2,bob\nt3,eve,e,team\n").unwrap();
        let groups: Vec<_> = tokens.iter().map(|token| (token.user.as_str(), token.uid.as_str(), token.groups.join("+"))).collect();
        assert_eq!(
            groups,
            [("admin", "a-uid", "system:masters+b".to_owned()), ("bob", "", String::new()), ("eve", "e", "team".to_owned())]
        );
        assert!(tokens_of("t1").unwrap_err().starts_with("line 1"));
    }
}
