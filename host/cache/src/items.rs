//! Cuts the body of a list into its items while it comes in. Owns the place in the text
//! and what an item has so far; never holds a page, never looks into an item, and reads
//! the rest of the list (its envelope) only when it is complete.

use std::borrow::Cow;

use bytes::Bytes;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::scan::Scan;

/// Takes the chunks of one body and gives out its items.
///
/// Holds the chunk that was pushed last, the beginning of an item that came in earlier
/// chunks, and the envelope: everything outside of `items`. Each byte is looked at once,
/// wherever the chunks end.
#[derive(Debug)]
pub(crate) struct ListReader {
    /// Bytes of an item, at most.
    limit: usize,
    chunk: Bytes,
    /// Up to where the chunk has been read.
    at: usize,
    /// An item of which the beginning came in earlier chunks.
    carry: Vec<u8>,
    /// The item in hand is the one in `carry`; otherwise it begins at `from` in the chunk.
    carried: bool,
    from: usize,
    /// The list without its items: `items` is empty in here.
    envelope: Vec<u8>,
    /// Where the member in hand begins in the envelope.
    mark: usize,
    place: Place,
    scan: Scan,
    kind: Box<str>,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// The list's first brace.
    Start,
    /// The name of a member, or the end.
    Name,
    /// The rest of a name.
    InName,
    Colon(Member),
    Value(Member),
    /// The rest of a value.
    InValue(Member),
    /// A comma or the end.
    AfterValue,
    /// An item; the end too if it is the first.
    Item {
        first: bool,
    },
    /// The rest of an item.
    InItem,
    AfterItem,
    /// Nothing.
    End,
}

/// The members that are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Member {
    Items,
    Kind,
    Other,
}

/// Everything about a list but its items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Envelope {
    /// Empty if the list does not say.
    pub(crate) api_version: Box<str>,
    /// Empty if the list does not say.
    pub(crate) kind: Box<str>,
    pub(crate) resource_version: Box<str>,
    /// How to get the next page; `None` on the last one.
    pub(crate) next: Option<Box<str>>,
    /// Objects after this page, if the server says so: it does not where selectors are.
    pub(crate) remaining: Option<u64>,
}

/// Why a body is no list.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ListError {
    #[error("an object in the list has more than {limit} bytes")]
    ItemTooLarge { limit: usize },
    #[error("what stands around the list's items has more than {} bytes", ListReader::MAX_ENVELOPE)]
    EnvelopeTooLarge,
    #[error("the server answered with a Table, not with a list of objects")]
    Table,
    #[error("this is no list of objects in JSON: {found} where {wanted} should be")]
    Syntax { found: String, wanted: &'static str },
    #[error("the answer ends before the list does")]
    Truncated,
    #[error("this is no list of objects: {0}")]
    Envelope(#[from] serde_json::Error),
}

impl ListReader {
    /// Everything outside of `items`, in bytes, at most.
    pub(crate) const MAX_ENVELOPE: usize = 1 << 20;
    /// A buffer larger than this is given back: one huge object must not keep its memory
    /// for the rest of the list.
    const KEEP: usize = 1 << 20;

    /// A reader for items of at most `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            chunk: Bytes::new(),
            at: 0,
            carry: Vec::new(),
            carried: false,
            from: 0,
            envelope: Vec::new(),
            mark: 0,
            place: Place::Start,
            scan: Scan::default(),
            kind: Box::default(),
        }
    }

    /// Adds what came from the body. The chunk before must have been read to its end, that
    /// is until [`Self::advance`] gave false.
    pub(crate) fn push(&mut self, chunk: Bytes) {
        (self.chunk, self.at) = (chunk, 0);
    }

    /// Goes on to the end of the next item; false if more bytes are needed.
    ///
    /// # Errors
    /// When this is no list, or something in it is too large. The body is of no use after that.
    pub(crate) fn advance(&mut self) -> Result<bool, ListError> {
        if std::mem::take(&mut self.carried) {
            self.carry.clear();
            self.carry.shrink_to(Self::KEEP);
        }
        let Some(from) = self.run()? else { return Ok(false) };
        self.from = from;
        if !self.carry.is_empty() {
            self.carry.extend_from_slice(self.chunk.get(from..self.at).unwrap_or_default());
            self.carried = true;
        }
        Ok(true)
    }

    /// The item that [`Self::advance`] came to the end of, as it stands in the text.
    pub(crate) fn item(&self) -> &[u8] {
        if self.carried { &self.carry } else { self.chunk.get(self.from..self.at).unwrap_or_default() }
    }

    /// The list's kind, if that member has come already; empty before.
    pub(crate) fn kind(&self) -> &str {
        &self.kind
    }

    /// The body has ended: what the list said beside its items.
    ///
    /// # Errors
    /// When the list is not complete, or is none.
    pub(crate) fn finish(self) -> Result<Envelope, ListError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct List<'a> {
            #[serde(borrow, default)]
            api_version: Cow<'a, str>,
            #[serde(borrow, default)]
            kind: Cow<'a, str>,
            #[serde(borrow)]
            metadata: Meta<'a>,
            // Without it this is something else, not a list of nothing; two are an error.
            #[serde(rename = "items")]
            _items: IgnoredAny,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Meta<'a> {
            #[serde(borrow, default)]
            resource_version: Cow<'a, str>,
            #[serde(borrow, default, rename = "continue")]
            next: Cow<'a, str>,
            #[serde(default)]
            remaining_item_count: Option<u64>,
        }
        if self.place != Place::End {
            return Err(ListError::Truncated);
        }
        let list: List<'_> = serde_json::from_slice(&self.envelope)?;
        Ok(Envelope {
            api_version: list.api_version.into(),
            kind: list.kind.into(),
            resource_version: list.metadata.resource_version.into(),
            next: Some(list.metadata.next).filter(|next| !next.is_empty()).map(Into::into),
            remaining: list.metadata.remaining_item_count,
        })
    }

    /// Reads to the end of an item and gives where in the chunk it, or its rest, begins; or
    /// to the end of the chunk.
    fn run(&mut self) -> Result<Option<usize>, ListError> {
        loop {
            let Some(&byte) = self.chunk.get(self.at) else { return Ok(None) };
            match self.place {
                Place::InItem => {
                    let from = self.at;
                    if self.in_item()? {
                        return Ok(Some(from));
                    }
                }
                Place::InName | Place::InValue(_) => self.part()?,
                Place::Item { .. } | Place::AfterItem if byte.is_ascii_whitespace() => self.at += 1,
                Place::Item { first: true } | Place::AfterItem if byte == b']' => self.envelope_byte(byte, Place::AfterValue)?,
                Place::AfterItem if byte == b',' => {
                    self.at += 1;
                    self.place = Place::Item { first: false };
                }
                Place::Item { .. } if !matches!(byte, b',' | b']' | b'}' | b':') => {
                    self.scan = Scan::default();
                    self.place = Place::InItem;
                }
                Place::Item { .. } => return Err(unexpected(byte, "an object")),
                Place::AfterItem => return Err(unexpected(byte, "',' or ']'")),
                _ => self.between(byte)?,
            }
        }
    }

    /// Reads on in an item; true once it is complete.
    fn in_item(&mut self) -> Result<bool, ListError> {
        let rest = self.chunk.get(self.at..).unwrap_or_default();
        let (used, done) = self.scan.run(rest);
        if self.carry.len().saturating_add(used) > self.limit {
            return Err(ListError::ItemTooLarge { limit: self.limit });
        }
        if done {
            self.place = Place::AfterItem;
        } else {
            self.carry.extend_from_slice(rest.get(..used).unwrap_or_default());
        }
        self.at += used;
        Ok(done)
    }

    /// Reads on in a name or value of the envelope.
    fn part(&mut self) -> Result<(), ListError> {
        let rest = self.chunk.get(self.at..).unwrap_or_default();
        let (used, done) = self.scan.run(rest);
        if self.envelope.len().saturating_add(used) > Self::MAX_ENVELOPE {
            return Err(ListError::EnvelopeTooLarge);
        }
        self.envelope.extend_from_slice(rest.get(..used).unwrap_or_default());
        self.at += used;
        if !done {
            return Ok(());
        }
        let text = self.envelope.get(self.mark..).unwrap_or_default();
        self.place = match self.place {
            Place::InName => Place::Colon(Member::of(text)?),
            Place::InValue(Member::Kind) => {
                // Another type than a string is an error of the envelope, at its end.
                self.kind = serde_json::from_slice(text).unwrap_or_default();
                if *self.kind == *"Table" {
                    return Err(ListError::Table);
                }
                Place::AfterValue
            }
            _ => Place::AfterValue,
        };
        Ok(())
    }

    /// One byte between the names and values of the envelope.
    fn between(&mut self, byte: u8) -> Result<(), ListError> {
        let wanted = match self.place {
            place if byte.is_ascii_whitespace() => return self.envelope_byte(byte, place),
            Place::Start if byte == b'{' => return self.envelope_byte(byte, Place::Name),
            Place::Name if byte == b'"' => return self.begin(Place::InName),
            Place::Name | Place::AfterValue if byte == b'}' => return self.envelope_byte(byte, Place::End),
            Place::AfterValue if byte == b',' => return self.envelope_byte(byte, Place::Name),
            Place::Colon(member) if byte == b':' => return self.envelope_byte(byte, Place::Value(member)),
            Place::Value(Member::Items) if byte == b'[' => return self.envelope_byte(byte, Place::Item { first: true }),
            Place::Value(member) if !matches!(byte, b',' | b'}' | b']' | b':') => return self.begin(Place::InValue(member)),
            Place::Start => "'{'",
            Place::Name => "a name",
            Place::Colon(_) => "':'",
            Place::Value(_) => "a value",
            Place::End => "the end",
            _ => "',' or '}'",
        };
        Err(unexpected(byte, wanted))
    }

    fn begin(&mut self, place: Place) -> Result<(), ListError> {
        (self.mark, self.scan, self.place) = (self.envelope.len(), Scan::default(), place);
        Ok(())
    }

    fn envelope_byte(&mut self, byte: u8, next: Place) -> Result<(), ListError> {
        if self.envelope.len() >= Self::MAX_ENVELOPE {
            return Err(ListError::EnvelopeTooLarge);
        }
        self.envelope.push(byte);
        self.at += 1;
        self.place = next;
        Ok(())
    }
}

impl Member {
    /// Tells a name, in its quotes.
    ///
    /// # Errors
    /// When only a Table has such a member: its rows are not to be collected.
    fn of(name: &[u8]) -> Result<Self, ListError> {
        let name: Cow<'_, str> = serde_json::from_slice(name)?;
        match &*name {
            "items" => Ok(Self::Items),
            "kind" => Ok(Self::Kind),
            "rows" | "columnDefinitions" => Err(ListError::Table),
            _ => Ok(Self::Other),
        }
    }
}

fn unexpected(byte: u8, wanted: &'static str) -> ListError {
    ListError::Syntax { found: format!("'{}'", byte.escape_ascii()), wanted }
}

#[cfg(test)]
mod tests;
