//! Quantities (`100m`, `64Mi`) as values of rules: exact arithmetic. Their notation is `schema`'s; prints nothing.

/// A number in billionths, which is as fine as Kubernetes keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Quantity(i128);

const ONE: i128 = 1_000_000_000;

impl Quantity {
    /// Reads a quantity as the API does; `None` if it is none.
    pub(super) fn parse(text: &str) -> Option<Self> {
        crate::schema::Quantity::parse(text).ok().map(|read| Self(read.nanos()))
    }

    pub(super) fn of(whole: i64) -> Option<Self> {
        i128::from(whole).checked_mul(ONE).map(Self)
    }

    pub(super) fn plus(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }

    pub(super) fn minus(self, other: Self) -> Option<Self> {
        self.0.checked_sub(other.0).map(Self)
    }

    pub(super) fn sign(self) -> i64 {
        i64::try_from(self.0.signum()).unwrap_or(0)
    }

    /// Itself if it is a whole number.
    pub(super) fn whole(self) -> Option<i64> {
        if self.0.checked_rem(ONE)? != 0 {
            return None;
        }
        i64::try_from(self.0.checked_div(ONE)?).ok()
    }

    pub(super) fn approximate(self) -> f64 {
        self.0 as f64 / ONE as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_compares() {
        let read = |text| Quantity::parse(text);
        for (a, b) in
            [("1", "1000m"), ("1Ki", "1024"), ("1.5Gi", "1536Mi"), ("1e3", "1k"), ("-1", "-1000m"), ("0.1", "100m"), (".5", "500m")]
        {
            assert_eq!(read(a), read(b), "{a} and {b}");
            assert!(read(a).is_some(), "{a}");
        }
        assert!(read("1Mi") > read("1M"));
        assert_eq!(read("1500m").and_then(Quantity::whole), None);
        assert_eq!(read("2k").and_then(Quantity::whole), Some(2000));
        assert_eq!(read("1e99"), read("9223372036854775807"), "what is too large is capped");
        for text in ["", "-", "1Xi", "Mi", "1.2.3", "1 Mi"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
