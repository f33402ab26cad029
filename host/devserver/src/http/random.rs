//! Names that nobody can guess and that never come twice.

use rand::RngExt as _;

/// Any number of random bytes.
pub(crate) fn bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0_u8; N];
    rand::rng().fill(&mut bytes);
    bytes
}

/// 160 bits as hexadecimal digits.
pub(crate) fn token() -> String {
    bytes::<20>().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A UUID of version 4.
pub(crate) fn uuid() -> String {
    let bits = (u128::from_be_bytes(bytes::<16>()) & !(0xf << 76) & !(0b11 << 62)) | (0x4 << 76) | (0b10 << 62);
    let part = |shift: u32, mask: u128| (bits >> shift) & mask;
    format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        part(96, 0xffff_ffff),
        part(80, 0xffff),
        part(64, 0xffff),
        part(48, 0xffff),
        part(0, 0xffff_ffff_ffff)
    )
}

#[cfg(test)]
mod tests {
    use super::{token, uuid};

    #[test]
    fn a_uuid_has_its_version_and_variant() {
        for _ in 0..100 {
            let id = uuid();
            let parts: Vec<&str> = id.split('-').collect();
            assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [8, 4, 4, 4, 12], "{id}");
            assert!(parts[2].starts_with('4'), "{id}");
            assert!(parts[3].starts_with(['8', '9', 'a', 'b']), "{id}");
        }
    }

    #[test]
    fn tokens_differ() {
        assert_eq!(token().len(), 40);
        assert_ne!(token(), token());
    }
}
