//! Waiting for a task on another runtime. Owns the rule that a task whose waiter goes away is
//! ended, and the two ways in which a task can fail to answer.

use tokio::task::JoinHandle;
use wharf_core::{Reason, Strike};

use crate::failure::{HostFault, Stop};

/// Why a task did not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lost {
    /// It panicked; the panic's own message is in the host's log.
    Panicked,
    /// Its runtime is stopping.
    Stopping,
}

impl Lost {
    pub(crate) fn strike(self) -> Strike {
        match self {
            Self::Panicked => Strike { reason: Reason::HostError, message: PANICKED.to_owned() },
            Self::Stopping => Strike { reason: Reason::Cancelled, message: Stop::Cancelled.to_string() },
        }
    }
}

impl From<Lost> for wasmtime::Error {
    fn from(lost: Lost) -> Self {
        match lost {
            Lost::Panicked => HostFault(PANICKED.to_owned()).into(),
            Lost::Stopping => Stop::Cancelled.into(),
        }
    }
}

const PANICKED: &str = "a host function panicked";

/// Waits for a task. If the waiting is dropped, the task is ended.
pub(crate) async fn join<T>(task: JoinHandle<T>) -> Result<T, Lost> {
    let mut task = AbortOnDrop(task);
    (&mut task.0).await.map_err(|e| if e.is_panic() { Lost::Panicked } else { Lost::Stopping })
}

struct AbortOnDrop<T>(JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
