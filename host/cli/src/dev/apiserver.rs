//! `wharf apiserver`: the embedded API server alone, until a signal. Owns its flags' meaning and the kubeconfig file; serving is
//! `wharf_devserver`'s.

use std::io::{ErrorKind, Write as _};
use std::path::Path;

use serde::Deserialize;
use tempfile::NamedTempFile;
use wharf_devserver::fault::Faults;
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
    let faults = Faults::new(args.fault_seed);
    Ok(ServerOptions { address: args.bind, tls, anonymous, tokens, authorization: access, faults, ..ServerOptions::new(api) })
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
    Server::start(options).await.map_err(|error| {
        let is_address = matches!(error.kind(), ErrorKind::AddrInUse | ErrorKind::AddrNotAvailable);
        let told = CliError::from_anyhow(exit::UNAVAILABLE, anyhow::Error::new(error).context("start the API server"));
        // What is wrong with a file says itself what to do.
        if is_address { told.hint("name an address that is free by --bind") } else { told }
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

/// Writes the administrator's kubeconfig, for its owner only. It replaces one of an earlier server, and nothing else.
///
/// # Errors
/// A file that somebody may still need, or one that cannot be written.
pub(super) fn write_kubeconfig(file: &Path, running: &Running) -> Result<(), CliError> {
    put(file, &running.kubeconfig())
}

fn put(file: &Path, text: &str) -> Result<(), CliError> {
    let failed =
        |error: std::io::Error| CliError { source: Some(error.into()), ..CliError::new(exit::CONFIG, format!("write {}", file.display())) };
    match std::fs::read(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(failed(error)),
        Ok(present) if is_replaceable(&present) => {}
        Ok(_) => {
            let what = format!("{} is not a kubeconfig of an earlier server: it is left as it is", file.display());
            return Err(CliError::new(exit::CONFIG, what).hint("name another file by --kubeconfig, or remove this one"));
        }
    }
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut beside = NamedTempFile::new_in(folder).map_err(failed)?;
    beside.write_all(text.as_bytes()).map_err(failed)?;
    // Whoever waits for the file finds it whole.
    beside.persist(file).map_err(|error| failed(error.error))?;
    Ok(())
}

/// What is read of a kubeconfig.
#[derive(Deserialize)]
struct Kubeconfig {
    clusters: Vec<Named>,
    users: Vec<Named>,
    contexts: Vec<Named>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

/// Whether nothing is lost with a file: it is empty, or has what a kubeconfig of this command has and no more.
fn is_replaceable(present: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(present) else { return false };
    let only = |all: &[Named], name: &str| matches!(all, [one] if one.name == name);
    text.trim().is_empty()
        || serde_saphyr::from_str::<Kubeconfig>(text)
            .is_ok_and(|config| only(&config.clusters, "wharf") && only(&config.users, "admin") && only(&config.contexts, "wharf"))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[derive(clap::Parser)]
    struct Typed {
        #[command(flatten)]
        args: ApiserverArgs,
    }

    #[tokio::test]
    async fn a_kubeconfig_replaces_only_one_of_an_earlier_server() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config");
        let unrelated = folder.path().join("config.part");
        std::fs::write(&unrelated, "mine").unwrap();
        let typed = Typed::parse_from(["apiserver", "--bind", "127.0.0.1:0"]);
        for _ in 0..2 {
            let running = start(options(&typed.args).unwrap()).await.unwrap();
            write_kubeconfig(&file, &running).unwrap();
            assert_eq!(std::fs::read_to_string(&file).unwrap(), running.kubeconfig());
            stop(running).await.unwrap();
        }
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let own = std::fs::read_to_string(&file).unwrap();
        let foreign = [
            own.replace("name: wharf", "name: production"),
            own.replace("name: admin", "name: me"),
            "clusters: []\nusers: []\ncontexts: []\n".to_owned(),
            "notes of mine".to_owned(),
        ];
        for text in foreign {
            std::fs::write(&file, &text).unwrap();
            let error = put(&file, &own).unwrap_err();
            assert_eq!(error.code, exit::CONFIG, "{text}");
            assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
        }
        std::fs::write(&file, "").unwrap();
        put(&file, &own).unwrap();
        assert_eq!(std::fs::read_to_string(&unrelated).unwrap(), "mine");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[tokio::test]
    async fn only_an_address_is_named_by_bind() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        std::fs::write(&data, "kind: ConfigMap\n".repeat(500)).unwrap();
        let failed = async |typed: &[&str]| {
            let typed = Typed::parse_from([&["apiserver"], typed].concat());
            start(options(&typed.args).unwrap()).await.err().unwrap()
        };
        let error = failed(&["--bind", "127.0.0.1:0", "--data", data.to_str().unwrap()]).await;
        let told = crate::report::render(&error);
        assert_eq!((error.code, error.message.as_str(), error.hint.as_str()), (exit::UNAVAILABLE, "start the API server", ""));
        assert!(told.contains("Move it away to begin with an empty one"), "{told}");
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = taken.local_addr().unwrap().to_string();
        let error = failed(&["--bind", &address]).await;
        let told = crate::report::render(&error);
        assert!(told.contains(&format!("listen on {address}: ")) && error.hint.contains("--bind"), "{told}");
    }

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
