//! The table of hostile calls: what a guest does while it runs, and what that is called.

use wharf_core::{Event, Reason};

use super::case::{Ask, Case};
use crate::support::Get;

const ADD: Ask = Ask::Call(Event::Add);
const UPDATE: Ask = Ask::Call(Event::Update);
const DELETE: Ask = Ask::Call(Event::Delete);
/// Which of the two budgets of a part of a call ends first depends on how busy the machine is.
const TIME: &[Reason] = &[Reason::CpuExceeded, Reason::DeadlineExceeded];
const LIMIT: &[Reason] = &[Reason::HostCallLimit];
const MEMORY: &[Reason] = &[Reason::MemoryExceeded];
const STACK: &[Reason] = &[Reason::StackOverflow];
const TRAP: &[Reason] = &[Reason::Trap];
const UNMADE: &[Reason] = &[Reason::InstantiateFailed];
const UNTOLD: &[Reason] = &[Reason::DescribeFailed];

pub(super) fn table() -> Vec<Case> {
    [time(), memory(), host_calls(), answers(), instances()].into_iter().flatten().collect()
}

fn time() -> Vec<Case> {
    vec![
        Case::new("endless loop, processor time", "loop", ADD, &[Reason::CpuExceeded]).cpu(20),
        Case::new("endless loop, deadline", "loop", ADD, &[Reason::DeadlineExceeded]).deadline(20),
        Case::new("asks for the time for ever", "calls-for-ever", ADD, &[Reason::CpuExceeded]).cpu(20),
        Case::new("logs for ever", "calls-for-ever", UPDATE, &[Reason::CpuExceeded]).cpu(20),
        Case::new("reads its object for ever", "calls-for-ever", DELETE, &[Reason::CpuExceeded]).cpu(20),
        Case::new("fills 60 MiB for ever", "fills", ADD, &[Reason::CpuExceeded]).cpu(20),
        Case::new("loops where the host wants memory", "realloc-loops", ADD, &[Reason::CpuExceeded]).cpu(20),
        Case::new("loops after its answer", "post-return", ADD, &[Reason::CpuExceeded]).cpu(20),
        Case { get: || Get::Hang, ..Case::new("waits in a host call for ever", "waits", ADD, &[Reason::ServerUnavailable]) }.deadline(200),
    ]
}

fn memory() -> Vec<Case> {
    vec![
        Case::new("memory bomb", "memory-bomb", ADD, MEMORY),
        Case::new("memory bomb of four memories", "memories", ADD, MEMORY),
        Case::new("table bomb", "table-bomb", ADD, MEMORY),
        Case::new("table bomb of two tables", "table-bomb", UPDATE, MEMORY),
        Case::new("deep recursion", "recursion", ADD, STACK),
        Case::new("deep recursion through a table", "recursion", UPDATE, STACK),
        Case::new("deep recursion in describe", "recursion", Ask::Describe, STACK),
    ]
}

fn host_calls() -> Vec<Case> {
    vec![
        Case::new("handle bomb, the host's", "wasi", UPDATE, LIMIT),
        Case::new("handle bomb, its own, a million", "handles", ADD, LIMIT),
        Case::new("handle bomb, its own, endless", "handles", UPDATE, LIMIT),
        Case::new("log line of 8 MiB", "log-huge", ADD, LIMIT),
        // Let pass: lines beyond the first 200 are counted and dropped.
        Case::new("log flood", "log-flood", ADD, &[]),
        Case::new("300,000 pointers at once", "strings", ADD, LIMIT),
        Case::new("log line that is not UTF-8", "not-utf8", UPDATE, TRAP),
        Case::new("log line beyond its memory", "wrong-arguments", DELETE, TRAP),
        Case::new("log level that does not exist", "wrong-arguments", ADD, TRAP),
        Case::new("state that does not exist", "wrong-arguments", UPDATE, TRAP),
        Case::new("host call from inside cabi_realloc", "realloc-calls", ADD, TRAP),
        Case::new("cabi_realloc beyond its memory", "realloc-lies", ADD, TRAP),
        Case::new("host call from a post-return", "post-return", DELETE, TRAP),
        Case::new("component that is called back", "reenters", ADD, TRAP),
    ]
}

fn answers() -> Vec<Case> {
    vec![
        Case::new("fault message of 8 MiB", "huge-answers", ADD, LIMIT),
        Case::new("fault reason of 8 MiB", "huge-answers", UPDATE, LIMIT),
        Case::new("fault message of 4 GiB", "huge-answers", DELETE, TRAP),
        Case::new("65,536 errors that are one MiB", "huge-answers", Ask::Validate, LIMIT),
        Case::new("description of 32 MiB", "huge-answers", Ask::Describe, LIMIT),
        Case::new("description of 300 KiB", "describe-long", Ask::Describe, UNTOLD),
        Case::new("description of 200,000 brackets", "describe-deep", Ask::Describe, UNTOLD),
        Case::new("description that is not JSON", "describe-no-json", Ask::Describe, UNTOLD),
        Case::new("description that is not UTF-8", "not-utf8", Ask::Describe, TRAP),
        Case::new("errors that are not UTF-8", "not-utf8", Ask::Validate, TRAP),
        Case::new("fault message that is not UTF-8", "not-utf8", ADD, TRAP),
        Case::new("fault reason that is cut in a letter", "not-utf8", DELETE, TRAP),
        Case::new("result that does not exist", "wrong-cases", ADD, TRAP),
        Case::new("outcome that does not exist", "wrong-cases", UPDATE, TRAP),
        Case::new("failure that does not exist", "wrong-cases", DELETE, TRAP),
        Case::new("verdict that does not exist", "wrong-cases", Ask::Validate, TRAP),
        Case::new("description beyond its memory", "wrong-cases", Ask::Describe, TRAP),
        Case::new("answer at an odd address", "wrong-arguments", Ask::Validate, TRAP),
        Case::new("answer at the end of its memory", "wrong-arguments", Ask::Describe, TRAP),
        Case::new("trap", "trap", ADD, TRAP),
        Case::new("trap in describe", "describe-traps", Ask::Describe, TRAP),
        Case::new("trap after its answer", "post-return", UPDATE, TRAP),
    ]
}

fn instances() -> Vec<Case> {
    vec![
        Case::new("start function that traps", "start-traps", ADD, UNMADE),
        Case::new("start function that loops", "start-loop", ADD, TIME),
        Case::new("start function that takes all memory", "start-grows", ADD, UNMADE),
        Case::new("start function that calls itself", "start-recursion", ADD, UNMADE),
        Case::new("start function that calls the host", "start-calls", ADD, UNMADE),
        Case::new("data outside of its memory", "data-outside", ADD, UNMADE),
        Case::new("exports of other types", "wrong-types", Ask::Describe, &[Reason::WorldMismatch]),
    ]
}
