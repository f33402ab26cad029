//! What it would cost to watch, asked before it is done. Owns the estimate: a page as a sample, and
//! the number of objects that are left. Decides nothing about other informers and keeps no object.

use std::time::Duration;

use tokio::time::Instant;
use wharf_core::Reason;
use wharf_core::quantity::format_bytes;

use super::driver::{OBJECTS_PER_TURN, Reflector};
use super::step::ListRequest;
use crate::budget::{Short, cost};
use crate::classify::{Class, Failure};
use crate::decode::undecodable;
use crate::items::ListReader;
use crate::spec::{Content, InformerSpec};

/// Objects whose size is looked at.
const SAMPLE: u32 = 100;

/// What was counted is believed for so long, if there is no more room than there was.
const COUNTED: Duration = Duration::from_secs(300);

/// What was too much when it was counted.
pub(super) struct Counted {
    at: Instant,
    free: u64,
    failure: Failure,
}

/// What there would be in the store.
struct Estimate {
    objects: u64,
    /// The counting ended there, since it was too much already.
    at_least: bool,
    /// The server did not say how many, and was asked for all of their metadata.
    counted: bool,
    /// Bytes of the sample.
    sampled: u64,
    sample: u64,
}

impl Estimate {
    fn bytes(&self) -> u64 {
        let bytes = u128::from(self.sampled) * u128::from(self.objects) / u128::from(self.sample.max(1));
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}

impl Reflector<'_> {
    /// May the first state be read? Sets its memory aside then. Costs a page of a list, once; where a
    /// selector keeps the server from saying how many there are, a list of their metadata too.
    ///
    /// # Errors
    /// [`Class::OverBudget`] if it would not fit; or why the server cannot be asked.
    pub(super) async fn admit(&mut self) -> Result<(), Failure> {
        if self.admitted || self.budget.limit().is_none() || self.shared.spec.names_one() {
            return Ok(());
        }
        // Counting costs the server a list: it is not done again as long as there is no more room.
        let known = self.counted.as_ref();
        if let Some(known) = known.filter(|known| known.at.elapsed() < COUNTED && self.budget.free(self.shared.id) <= known.free) {
            return Err(known.failure.clone());
        }
        let estimate = self.estimate().await?;
        let fits = self.budget.set_aside(self.shared.id, &self.shared.store, estimate.bytes());
        if let Err(short) = fits {
            let failure = self.too_much(&estimate, short);
            self.counted = estimate.counted.then(|| Counted { at: Instant::now(), free: short.free, failure: failure.clone() });
            return Err(failure);
        }
        self.admitted = true;
        Ok(())
    }

    async fn estimate(&self) -> Result<Estimate, Failure> {
        let (mut sample, mut sampled) = (0_u64, 0_u64);
        let request = page(None, Some(SAMPLE), None);
        let page = self.read_list(&request, |object| {
            sample += 1;
            sampled += cost(&object);
        });
        let page = page.await?;
        let (objects, at_least, counted) = match (page.next, page.remaining) {
            (None, _) => (sample, false, false),
            (Some(_), Some(remaining)) => (sample.saturating_add(remaining), false, false),
            (Some(_), None) => {
                let fit = self.budget.free(self.shared.id) / (sampled / sample.max(1)).max(1);
                let objects = self.count(fit.saturating_add(1)).await?;
                (objects, objects > fit, true)
            }
        };
        Ok(Estimate { objects, at_least, counted, sampled, sample })
    }

    /// How many objects there are, up to `most`.
    async fn count(&self, most: u64) -> Result<u64, Failure> {
        let (what, resource) = (&*self.what("list"), self.resource()?);
        let spec = InformerSpec { content: Content::Metadata, ..self.shared.spec.clone() };
        let (mut count, mut request) = (0_u64, page(Some("0"), None, None));
        loop {
            let mut body = self.source.list(what, resource, &spec, &request).await?;
            let mut reader = ListReader::new(self.options.max_object_bytes);
            while let Some(chunk) = body.next(what).await? {
                reader.push(chunk);
                while reader.advance().map_err(|error| undecodable(what, &error))? {
                    count += 1;
                    if count >= most {
                        return Ok(count);
                    }
                    if count.is_multiple_of(OBJECTS_PER_TURN as u64) {
                        tokio::task::yield_now().await;
                    }
                }
            }
            match reader.finish().map_err(|error| undecodable(what, &error))?.next {
                // A server without a cache pages whatever it is asked.
                Some(token) => request = page(None, Some(self.options.page_size), Some(token)),
                None => return Ok(count),
            }
        }
    }

    fn too_much(&self, estimate: &Estimate, short: Short) -> Failure {
        let Short { limit, free } = short;
        let text = format!(
            "{}: {} {} objects of about {} would take {}, but of the {} for all cached objects only {} are free",
            self.what("list"),
            if estimate.at_least { "at least" } else { "about" },
            estimate.objects,
            rounded(estimate.sampled / estimate.sample.max(1)),
            rounded(estimate.bytes()),
            rounded(limit),
            rounded(free),
        );
        Failure::new(Class::OverBudget, text)
    }
}

fn page(resource_version: Option<&str>, limit: Option<u32>, token: Option<Box<str>>) -> ListRequest {
    let resource_version = resource_version.map(Into::into);
    // The reason is counted for full lists only.
    ListRequest { resource_version, exact: false, limit, token, first: false, reason: Reason::CacheBudgetExceeded }
}

/// Bytes for people: no more than four digits.
fn rounded(bytes: u64) -> String {
    let unit = if bytes >= 10 << 30 {
        1 << 30
    } else if bytes >= 10 << 20 {
        1 << 20
    } else {
        1 << 10
    };
    format_bytes(bytes.div_ceil(unit) * unit)
}
