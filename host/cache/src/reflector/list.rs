//! A page of a list: from its bytes to the store, as they come. Never holds more of it than the
//! object that is being read, the chunks that the socket's reader has taken, and one batch of
//! objects for the store.

use wharf_core::Object;

use super::driver::{OBJECTS_PER_TURN, Reflector};
use super::step::{Input, ListRequest};
use crate::classify::Failure;
use crate::decode::{Decoder, undecodable};
use crate::items::{Envelope, ListReader};

impl Reflector<'_> {
    /// Gets one page and puts it into the store.
    pub(super) async fn list(&mut self, request: &ListRequest) -> Input {
        if request.first {
            if let Err(failure) = self.admit().await {
                return Input::ListFailed(failure);
            }
            self.shared.begin_list(request.reason, request.resource_version.is_none());
        }
        let mut batch = Vec::with_capacity(OBJECTS_PER_TURN);
        let read = self.read_list(request, |object| {
            batch.push(object);
            if batch.len() == OBJECTS_PER_TURN {
                self.shared.listed(std::mem::replace(&mut batch, Vec::with_capacity(OBJECTS_PER_TURN)));
            }
        });
        let read = read.await;
        // What came before a break is true all the same.
        self.shared.listed(batch);
        match read {
            Ok(page) => Input::Page { resource_version: page.resource_version, next: page.next },
            Err(failure) => Input::ListFailed(failure),
        }
    }

    /// Gets one page and hands each object on, in the order of the list. Other tasks get
    /// a turn between batches.
    pub(super) async fn read_list(&self, request: &ListRequest, mut each: impl FnMut(Object)) -> Result<Envelope, Failure> {
        let what = &*self.what("list");
        let mut body = self.source.list(what, self.resource()?, &self.shared.spec, request).await?;
        let mut reader = ListReader::new(self.options.max_object_bytes);
        let (mut count, mut named) = (0_usize, None);
        while let Some(chunk) = body.next(what).await? {
            self.shared.heard();
            reader.push(chunk);
            while reader.advance().map_err(|error| undecodable(what, &error))? {
                let item = reader.item();
                if count == 0 {
                    named = Some(Decoder::names_kind(item));
                    // Servers that write built-in kinds put the list's kind before its items.
                    self.decoder.list_kind(what, reader.kind(), named)?;
                }
                each(self.decoder.item(what, item)?);
                count += 1;
                if count.is_multiple_of(OBJECTS_PER_TURN) {
                    tokio::task::yield_now().await;
                }
            }
        }
        let page = reader.finish().map_err(|error| undecodable(what, &error))?;
        self.decoder.envelope(what, &page)?;
        self.decoder.list_kind(what, &page.kind, named)?;
        Ok(page)
    }
}
