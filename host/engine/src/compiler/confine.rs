//! What the compiling process may ask of the kernel: memory, threads, the clock, and its three files. Owns the list; what is
//! not on it is refused, so that a compiler that a component has taken over reaches no file, no network and no process.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch, apply_filter,
};

/// Needs no look at its arguments.
const ALLOWED: &[libc::c_long] = &[
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_close,
    libc::SYS_fstat,
    libc::SYS_lseek,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_membarrier,
    libc::SYS_futex,
    // As the other filter answers it.
    libc::SYS_clone3,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_getrandom,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_getrusage,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// Refuses the rest from now on, for this thread and those that it starts.
///
/// # Errors
/// Where the kernel, or this library for its processor, cannot do that.
pub(super) fn confine() -> Result<(), Box<dyn std::error::Error>> {
    // Its flags are in memory, where a filter cannot look: whoever is told that it does not exist takes the old call.
    let (missing, arch) = (SeccompAction::Errno(libc::ENOSYS.unsigned_abs()), TargetArch::try_from(std::env::consts::ARCH)?);
    let newer = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    let no_clone3: BpfProgram = SeccompFilter::new(newer, SeccompAction::Allow, missing, arch)?.try_into()?;
    let rest = program()?;
    apply_filter(&no_clone3)?;
    apply_filter(&rest)?;
    Ok(())
}

fn program() -> Result<BpfProgram, Box<dyn std::error::Error>> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
    let dword = SeccompCmpArgLen::Dword;
    // Code comes out of this process as bytes: nothing that it writes does it run.
    let executable = u64::from(libc::PROT_EXEC.unsigned_abs());
    let not_executable = SeccompCondition::new(2, dword.clone(), SeccompCmpOp::MaskedEq(executable), 0)?;
    for call in [libc::SYS_mmap, libc::SYS_mprotect] {
        rules.insert(call, vec![SeccompRule::new(vec![not_executable.clone()])?]);
    }
    // Threads only: a process of its own would have limits of its own.
    let thread = u64::from(libc::CLONE_THREAD.unsigned_abs());
    let threads = SeccompCondition::new(0, dword.clone(), SeccompCmpOp::MaskedEq(thread), thread)?;
    rules.insert(libc::SYS_clone, vec![SeccompRule::new(vec![threads])?]);
    // To abort is to send this signal to itself; others do not come from here.
    let abort = SeccompCondition::new(2, dword.clone(), SeccompCmpOp::Eq, u64::from(libc::SIGABRT.unsigned_abs()))?;
    rules.insert(libc::SYS_tgkill, vec![SeccompRule::new(vec![abort])?]);
    // Limits are read for the size of stacks, and never set.
    let reads = SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, 0)?;
    rules.insert(libc::SYS_prlimit64, vec![SeccompRule::new(vec![reads])?]);
    // Names of threads, and of mappings.
    let names = [libc::PR_SET_NAME, libc::PR_SET_VMA].map(|what| {
        let named = SeccompCondition::new(0, dword.clone(), SeccompCmpOp::Eq, u64::from(what.unsigned_abs()))?;
        SeccompRule::new(vec![named])
    });
    rules.insert(libc::SYS_prctl, names.into_iter().collect::<Result<_, _>>()?);
    let refused = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let filter = SeccompFilter::new(rules, refused, SeccompAction::Allow, TargetArch::try_from(std::env::consts::ARCH)?)?;
    Ok(filter.try_into()?)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{ErrorKind, Write as _};
    use std::net::{TcpStream, UdpSocket};
    use std::os::unix::net::UnixStream;
    use std::process::Command;
    use std::thread;

    use super::*;

    /// The filter is that of a thread, which ends with it.
    fn confined<T: Send>(work: impl FnOnce() -> T + Send) -> T {
        let inside = || {
            confine().unwrap();
            work()
        };
        thread::scope(|scope| scope.spawn(inside).join().unwrap())
    }

    #[test]
    fn neither_files_nor_the_network_nor_processes_are_in_reach() {
        let folder = tempfile::tempdir().unwrap();
        let refused = confined(|| {
            [
                File::open("/etc/hostname").err(),
                File::create(folder.path().join("x")).err(),
                std::fs::remove_dir(folder.path()).err(),
                TcpStream::connect(("127.0.0.1", 1)).err(),
                UdpSocket::bind(("127.0.0.1", 0)).err(),
                UnixStream::connect(folder.path().join("socket")).err(),
                Command::new("/bin/true").status().err(),
                rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::CONT).err().map(Into::into),
            ]
        });
        let refused = refused.map(|error| error.map(|error| error.kind()));
        assert_eq!(refused, [Some(ErrorKind::PermissionDenied); 8]);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_a_compiler_needs_is() {
        let mut file = tempfile::tempfile().unwrap();
        let made = confined(|| {
            let large = vec![1_u8; 64 << 20];
            file.write_all(&large[..1 << 20]).unwrap();
            let sum = thread::spawn(move || large.iter().map(|byte| u64::from(*byte)).sum::<u64>());
            (sum.join().unwrap(), thread::available_parallelism().is_ok())
        });
        assert_eq!(made, (64 << 20, true));
    }
}
