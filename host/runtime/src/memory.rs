//! How much memory this process may have: the limit of its control groups, or the machine's. Owns where
//! that is written; decides nothing by it. Linux only: elsewhere nothing is known.

use std::fs;
use std::path::{Path, PathBuf};

/// Where a control group of version 2 has its files.
const CGROUPS: &str = "/sys/fs/cgroup";

/// Bytes; `None` if nothing says. Reads a few small files, blocking.
pub(crate) fn available() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = limit_files(&groups).into_iter().filter_map(|path| fs::read_to_string(path).ok()?.trim().parse().ok());
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| total(&text));
    limits.chain(machine).min()
}

/// The files with the limits of the groups that a process is in, as `/proc/self/cgroup` names them, and of those
/// around them. In a container the groups are often named as outside, where these paths do not
/// exist; the container's own group is the root then.
fn limit_files(groups: &str) -> Vec<PathBuf> {
    let mut files = vec![Path::new(CGROUPS).join("memory.max"), Path::new(CGROUPS).join("memory/memory.limit_in_bytes")];
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (root, file) = match controllers {
            "" => (Path::new(CGROUPS).to_owned(), "memory.max"),
            "memory" => (Path::new(CGROUPS).join("memory"), "memory.limit_in_bytes"),
            _ => continue,
        };
        if path.contains("..") {
            continue;
        }
        let group = root.join(path.trim_start_matches('/'));
        let below = group.ancestors().take_while(|folder| **folder != root && folder.starts_with(&root));
        files.extend(below.map(|folder| folder.join(file)));
    }
    files
}

/// `MemTotal` of `/proc/meminfo`.
fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_the_group_and_of_those_around_it() {
        let names = |groups| limit_files(groups).iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
        let own = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
        assert_eq!(names("0::/\n"), own);
        assert_eq!(names("0::/a/b\n")[2..], ["/sys/fs/cgroup/a/b/memory.max", "/sys/fs/cgroup/a/memory.max"]);
        assert_eq!(
            names("9:memory:/docker/x\n1:cpu:/y\n")[2..],
            ["/sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes", "/sys/fs/cgroup/memory/docker/memory.limit_in_bytes"]
        );
        assert_eq!(names("nonsense\n0::../..\n"), own, "no way out");
    }

    #[test]
    fn memory_of_the_machine() {
        assert_eq!(total("MemTotal:       24689764 kB\nMemFree: 1 kB\n"), Some(24_689_764 * 1024));
        assert_eq!(total("MemFree: 1 kB\n"), None);
    }
}
