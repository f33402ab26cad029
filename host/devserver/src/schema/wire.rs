//! Protobuf's wire format: numbers, lengths and fields of a message. Owns reading them within the bounds of the input; knows no
//! types. Nothing is copied or allocated.

/// The text of every error here; where the input is wrong helps nobody.
pub(super) const BROKEN: &str = "proto: cannot parse invalid wire-format data";

/// A message that is read field by field.
#[derive(Debug, Clone, Copy)]
pub(super) struct Message<'a> {
    rest: &'a [u8],
}

/// A field's value as it lies there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Wire<'a> {
    Varint(u64),
    Fixed64([u8; 8]),
    Fixed32([u8; 4]),
    /// Text, bytes, a message or packed numbers.
    Bytes(&'a [u8]),
}

impl<'a> Message<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The next field's number and value; none at the end.
    ///
    /// # Errors
    /// If the bytes are no message.
    pub(super) fn next(&mut self) -> Result<Option<(u32, Wire<'a>)>, &'static str> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let number = u32::try_from(tag >> 3).ok().filter(|number| (1..1 << 29).contains(number)).ok_or(BROKEN)?;
        let value = match tag & 7 {
            0 => Wire::Varint(self.varint()?),
            1 => Wire::Fixed64(self.array()?),
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| BROKEN)?;
                Wire::Bytes(self.take(length)?)
            }
            5 => Wire::Fixed32(self.array()?),
            // Groups have not been written for twenty years.
            _ => return Err(BROKEN),
        };
        Ok(Some((number, value)))
    }

    /// The next number of packed ones; none at the end.
    ///
    /// # Errors
    /// If it does not end.
    pub(super) fn next_packed(&mut self) -> Result<Option<u64>, &'static str> {
        if self.rest.is_empty() { Ok(None) } else { self.varint().map(Some) }
    }

    /// The next eight bytes of packed ones; none at the end.
    ///
    /// # Errors
    /// If there are fewer.
    pub(super) fn next_eight(&mut self) -> Result<Option<[u8; 8]>, &'static str> {
        if self.rest.is_empty() { Ok(None) } else { self.array().map(Some) }
    }

    fn varint(&mut self) -> Result<u64, &'static str> {
        let mut value = 0_u64;
        for place in 0..10 {
            let (byte, rest) = self.rest.split_first().ok_or(BROKEN)?;
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << (7 * place);
            if *byte < 0x80 {
                // The tenth byte has room for one bit.
                return if place == 9 && *byte > 1 { Err(BROKEN) } else { Ok(value) };
            }
        }
        Err(BROKEN)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], &'static str> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(BROKEN)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], &'static str> {
        self.take(N)?.try_into().map_err(|_| BROKEN)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fields_come_one_by_one() {
        let bytes = [0x08, 0x96, 0x01, 0x12, 2, b'h', b'i', 0x1d, 1, 0, 0, 0, 0x21, 1, 0, 0, 0, 0, 0, 0, 0];
        let mut message = Message::new(&bytes);
        assert_eq!(message.next().unwrap(), Some((1, Wire::Varint(150))));
        assert_eq!(message.next().unwrap(), Some((2, Wire::Bytes(b"hi"))));
        assert_eq!(message.next().unwrap(), Some((3, Wire::Fixed32([1, 0, 0, 0]))));
        assert_eq!(message.next().unwrap(), Some((4, Wire::Fixed64([1, 0, 0, 0, 0, 0, 0, 0]))));
        assert_eq!(message.next().unwrap(), None);
        let mut minus = Message::new(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]);
        assert_eq!(minus.next_packed().unwrap(), Some(u64::MAX));
    }

    #[test]
    fn what_is_no_message_is_an_error() {
        for bytes in
            [&[0x08][..], &[0x08, 0x80], &[0x12, 5, 1], &[0x0b], &[0x00, 0], &[0x09, 1], &[0x12, 0xff, 0xff, 0xff, 0xff, 0x0f], &[0xff; 11]]
        {
            assert_eq!(Message::new(bytes).next(), Err(BROKEN), "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn junk_ends(bytes: Vec<u8>) {
            let mut message = Message::new(&bytes);
            let mut fields = 0;
            while let Ok(Some(_)) = message.next() { fields += 1; }
            prop_assert!(fields <= bytes.len());
        }
    }
}
