//! A command of `wharf` that goes on while the scenario does: `wharf logs -f`, `wharf get -w`. Owns what
//! it has printed; it ends with the scenario at the latest.

use anyhow::{Context as _, Result, bail};
use tokio::io::AsyncReadExt as _;
use tokio::process::ChildStdout;
use tokio::time::timeout;
use wharf_testkit::{Host, Process};

use super::run::DEADLINE;
use super::steps::missing_in_order;

/// A command that runs.
pub(super) struct Beside {
    line: String,
    out: ChildStdout,
    printed: String,
    _process: Process,
}

impl Beside {
    /// Starts it.
    pub(super) fn start(host: &Host, args: &[String]) -> Result<Self> {
        let mut process = host.wharf_goes_on(args)?;
        let out = process.child().stdout.take().context("there is no pipe")?;
        Ok(Self { line: format!("wharf {}", args.join(" ")), out, printed: String::new(), _process: process })
    }

    /// Waits until it has printed these texts, in this order.
    pub(super) async fn says(&mut self, wanted: &[String]) -> Result<()> {
        let (out, printed) = (&mut self.out, &mut self.printed);
        let read = async {
            let mut bytes = vec![0; 16 << 10];
            while missing_in_order(printed, wanted).is_some() {
                match out.read(&mut bytes).await? {
                    0 => bail!("it has ended"),
                    count => printed.push_str(&String::from_utf8_lossy(bytes.get(..count).unwrap_or_default())),
                }
            }
            Ok(())
        };
        let result = timeout(DEADLINE, read).await.unwrap_or_else(|_| bail!("it says nothing more"));
        result.with_context(|| format!("{}: {wanted:?} was expected, and it printed:\n{}", self.line, self.printed))
    }
}
