//! What a program holds, in a form that can be compared with what the server has. Owns the
//! sum; never looks at more than a name and a version.

/// Number of objects, and a sum over all of them that does not depend on their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Content {
    /// How many.
    pub objects: u64,
    digest: u64,
}

impl Content {
    /// Counts one object in the state of a resourceVersion.
    pub fn add(&mut self, namespace: &str, name: &str, resource_version: &str) {
        let parts = [namespace, "/", name, "=", resource_version];
        self.digest = self.digest.wrapping_add(fnv1a(parts.iter().flat_map(|part| part.bytes())));
        self.objects += 1;
    }

    /// The sum as reports have it: JSON numbers are not wide enough.
    pub fn hex(self) -> String {
        format!("{:016x}", self.digest)
    }
}

/// FNV-1a of 64 bits, which Go has in its library.
fn fnv1a(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_the_hash_of_the_go_library() {
        assert_eq!(fnv1a("".bytes()), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a("foobar".bytes()), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn order_does_not_matter_and_versions_do() {
        let of = |objects: &[(&str, &str)]| {
            let mut content = Content::default();
            objects.iter().for_each(|(name, version)| content.add("n", name, version));
            content
        };
        assert_eq!(of(&[("a", "1"), ("b", "2")]), of(&[("b", "2"), ("a", "1")]));
        assert_ne!(of(&[("a", "1"), ("b", "2")]), of(&[("a", "2"), ("b", "1")]));
    }
}
