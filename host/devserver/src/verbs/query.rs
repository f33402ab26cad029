//! The parameters of a request's query, as the real server reads them.
//!
//! Knows no parameter's meaning.

/// Decoded parameters in order; the first of a name counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Query {
    pairs: Vec<(String, String)>,
}

impl Query {
    /// Reads a raw query (`a=b&c`, percent and plus decoded). Never fails: what is no pair is a name without a value. A pair with a bad
    /// escape or a semicolon is left out, as Go's parser does.
    pub(crate) fn parse(raw: &str) -> Self {
        let pairs = raw
            .split('&')
            .filter(|part| !part.is_empty() && !part.contains(';'))
            .filter_map(|part| {
                let (name, value) = part.split_once('=').unwrap_or((part, ""));
                Some((decode(name)?, decode(value)?))
            })
            .collect();
        Self { pairs }
    }

    /// These parameters, which need no decoding.
    pub(crate) fn of(pairs: &[(&str, &str)]) -> Self {
        Self { pairs: pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect() }
    }

    /// The first value of a name.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(key, _)| key == name).map(|(_, value)| &**value)
    }

    /// `watch`: "false" (any case) and "0" mean no; everything else, empty too, means yes. Absent means no.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
    }

    /// All values of a name (`dryRun` may come several times).
    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        self.pairs.iter().filter(|(key, _)| key == name).map(|(_, value)| &**value).collect()
    }
}

/// Undoes percent and plus; `None` for an escape that is none. What is no UTF-8 is replaced.
fn decode(text: &str) -> Option<String> {
    if !text.contains(['%', '+']) {
        return Some(text.to_owned());
    }
    let mut bytes = text.bytes();
    let mut out = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'+' => b' ',
            b'%' => {
                let (high, low) = (hex(bytes.next()?)?, hex(bytes.next()?)?);
                high << 4 | low
            }
            other => other,
        });
    }
    Some(String::from_utf8(out).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded() {
        for (raw, name, expected) in [
            ("", "a", None),
            ("?", "a", None),
            ("&&a=1", "a", Some("1")),
            ("a=1&a=2", "a", Some("1")),
            ("a", "a", Some("")),
            ("a=", "a", Some("")),
            ("a=b=c", "a", Some("b=c")),
            ("labelSelector=i+in+(0,1),g", "labelSelector", Some("i in (0,1),g")),
            ("labelSelector=g%3D1", "labelSelector", Some("g=1")),
            ("a=%2B+%c3%A4", "a", Some("+ ä")),
            ("%61=1", "a", Some("1")),
            ("a=%", "a", None),
            ("a=%4", "a", None),
            ("a=%zz&a=2", "a", Some("2")),
            ("a=1;b=2&c=3", "a", None),
            ("a=%ff", "a", Some("\u{fffd}")),
            ("a=ä%", "a", None),
        ] {
            assert_eq!(Query::parse(raw).get(name), expected, "{raw}");
        }
        assert_eq!(Query::parse("dryRun=All&x=1&dryRun=B").all("dryRun"), ["All", "B"]);
    }

    #[test]
    fn flags_are_read_as_go_does() {
        for (raw, expected) in [
            ("", false),
            ("watch", true),
            ("watch=", true),
            ("watch=1", true),
            ("watch=true", true),
            ("watch=no", true),
            ("watch=0", false),
            ("watch=false", false),
            ("watch=FALSE", false),
            ("watch=00", true),
        ] {
            assert_eq!(Query::parse(raw).flag("watch"), expected, "{raw}");
        }
    }
}
