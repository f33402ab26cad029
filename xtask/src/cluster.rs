//! `cargo xtask cluster`: builds the tools of the test cluster from the Go module in
//! `tests/cluster`, once per version, and the module's own program. Owns the build flags and the stamp that says what
//! was built; running a cluster is the testkit's.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use wharf_testkit::{Cluster, paths};

use crate::step::{name, run, step};

const TOOLS: [&str; 3] = ["kube-apiserver", "server", "kubectl"];
const PROGRESS: Duration = Duration::from_secs(10);

/// Builds kube-apiserver, etcd (`server`) and kubectl into `target/cluster/bin`, unless
/// they are there in the wanted version. Takes about five minutes with empty caches.
///
/// # Errors
/// If Go is missing or too old, or the build fails.
pub(crate) fn build(root: &Path) -> Result<()> {
    let module = root.join("tests").join("cluster");
    let tools = paths::cluster_tools();
    let stamp_file = tools.join("built-from");
    let read = |file: &str| fs::read_to_string(module.join(file)).with_context(|| format!("read tests/cluster/{file}"));
    let (go_mod, go_sum) = (read("go.mod")?, read("go.sum")?);
    let flags = linker_flags(&go_mod)?;
    let stamp = format!("{:016x}\n", fnv1a(&[&flags, &go_mod, &go_sum]));
    let present = TOOLS.iter().all(|tool| tools.join(tool).is_file());
    if present && fs::read_to_string(&stamp_file).is_ok_and(|old| old == stamp) {
        return Ok(());
    }
    step("build kube-apiserver, etcd and kubectl (once; about five minutes)", || {
        check_go(&go_mod)?;
        fs::create_dir_all(&tools).with_context(|| format!("make {}", tools.display()))?;
        if stamp_file.exists() {
            fs::remove_file(&stamp_file).context("remove the old stamp")?;
        }
        let mut command = Command::new("go");
        command.current_dir(&module).env("CGO_ENABLED", "0").env("GOTOOLCHAIN", "local").env("GOFLAGS", "-mod=readonly -buildvcs=false");
        command.args(["build", "-v", "-trimpath", "-ldflags", &flags, "-o"]).arg(&tools).arg("tool");
        watch(&mut command)?;
        fs::write(&stamp_file, stamp).context("write the stamp")
    })
}

/// Builds the client checks of `tests/cluster/informers` beside the tools; Go knows whether there
/// is anything to do.
///
/// # Errors
/// If Go is missing, or the build fails.
pub(crate) fn build_informers(root: &Path) -> Result<()> {
    let tools = paths::cluster_tools();
    fs::create_dir_all(&tools).with_context(|| format!("make {}", tools.display()))?;
    let mut command = Command::new("go");
    // As the tools are built: then what they share is compiled once.
    command.env("CGO_ENABLED", "0").env("GOTOOLCHAIN", "local").env("GOFLAGS", "-mod=readonly -buildvcs=false");
    command.current_dir(root.join("tests").join("cluster")).args(["build", "-trimpath", "-o"]).arg(tools.join("informers"));
    step("build informers", || run(command.arg("./informers")))
}

/// Starts a cluster and keeps it until Ctrl-C.
///
/// # Errors
/// If it does not come up.
pub(crate) fn stay() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    runtime.block_on(async {
        let cluster = Cluster::start().await?;
        println!("The API server is ready. Use it with:\n\n  export KUBECONFIG={}", cluster.kubeconfig().display());
        println!("  export PATH={}:$PATH\n\nCtrl-C stops it.", paths::cluster_tools().display());
        tokio::signal::ctrl_c().await.context("wait for Ctrl-C")?;
        cluster.stop().await
    })
}

/// The version that the binaries tell: without these flags kubectl says v0.0.0.
fn linker_flags(go_mod: &str) -> Result<String> {
    let version = word_after(go_mod, "require k8s.io/kubernetes ").context("tests/cluster/go.mod names no version of Kubernetes")?;
    let mut numbers = version.trim_start_matches('v').split('.');
    let (Some(major), Some(minor)) = (numbers.next(), numbers.next()) else { bail!("{version} is no version") };
    Ok(format!(
        "-s -w -X k8s.io/component-base/version.gitVersion={version} -X k8s.io/component-base/version.gitMajor={major} \
         -X k8s.io/component-base/version.gitMinor={minor} -X k8s.io/client-go/pkg/version.gitVersion={version}"
    ))
}

/// Fails with the command that installs Go, if it is not there or older than go.mod asks.
fn check_go(go_mod: &str) -> Result<()> {
    let wanted = word_after(go_mod, "go ").context("tests/cluster/go.mod names no version of Go")?;
    let how = format!(
        "install Go {wanted} or newer, for example: curl -fsSL https://go.dev/dl/go{wanted}.linux-amd64.tar.gz | sudo tar -C /usr/local -xz && export PATH=/usr/local/go/bin:$PATH"
    );
    let output = Command::new("go").args(["env", "GOVERSION"]).env("GOTOOLCHAIN", "local").output();
    let output = output.with_context(|| format!("Go is needed for the test cluster; {how}"))?;
    let found = String::from_utf8_lossy(&output.stdout).trim().trim_start_matches("go").to_owned();
    ensure!(numbers(&found) >= numbers(&wanted), "Go {found} is too old; {how}");
    Ok(())
}

/// Runs a verbose Go build and says now and then how far it is.
fn watch(command: &mut Command) -> Result<()> {
    let mut child = command.stderr(Stdio::piped()).spawn().with_context(|| format!("cannot start {}", name(command)))?;
    let stderr = child.stderr.take().context("the build has no output")?;
    let (start, mut last, mut packages, mut tail) = (Instant::now(), Instant::now(), 0_u32, Vec::new());
    for line in BufReader::new(stderr).lines() {
        let line = line.context("read the build's output")?;
        packages += 1;
        if last.elapsed() > PROGRESS {
            last = Instant::now();
            eprintln!("    {packages} packages in {} s, now {line}", start.elapsed().as_secs());
        }
        if tail.len() == 20 {
            tail.remove(0);
        }
        tail.push(line);
    }
    let status = child.wait().context("wait for the build")?;
    ensure!(status.success(), "{} ended with {status}:\n{}", name(command), tail.join("\n"));
    Ok(())
}

fn word_after(text: &str, prefix: &str) -> Option<String> {
    let line = text.lines().find_map(|line| line.strip_prefix(prefix))?;
    line.split_whitespace().next().map(str::to_owned)
}

/// `1.26.8` as numbers that compare.
fn numbers(version: &str) -> Vec<u32> {
    version.split('.').map_while(|part| part.parse().ok()).collect()
}

/// A hash that stays the same over compilers; it guards against mistakes, not attacks.
fn fnv1a(texts: &[&str]) -> u64 {
    let bytes = texts.iter().flat_map(|text| text.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_come_from_the_module() {
        let go_mod = "module x\n\ngo 1.26.0\n\nrequire k8s.io/kubernetes v1.36.3 // indirect\n";
        assert_eq!(word_after(go_mod, "go ").as_deref(), Some("1.26.0"));
        let flags = linker_flags(go_mod).unwrap();
        assert!(flags.contains("gitVersion=v1.36.3") && flags.contains("gitMinor=36"), "{flags}");
        assert!(linker_flags("module x").is_err());
    }

    #[test]
    fn versions_compare_as_numbers() {
        for (found, wanted, enough) in
            [("1.26.8", "1.26.0", true), ("1.9", "1.26.0", false), ("1.27rc1", "1.26.0", false), ("", "1.26", false)]
        {
            assert_eq!(numbers(found) >= numbers(wanted), enough, "{found}");
        }
    }

    #[test]
    fn the_stamp_sees_every_part() {
        assert_ne!(fnv1a(&["a", "b"]), fnv1a(&["ab", ""]));
        assert_eq!(fnv1a(&["a"]), fnv1a(&["a"]));
    }
}
