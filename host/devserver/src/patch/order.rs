//! The order of a merged list: what a patch says about its items first, the order they had before for the others.
//!
//! Owns how items are recognised (by merge key, or as themselves). Merges no item.

use std::collections::HashMap;

use serde_json::Value;

/// Arranges `merged`: items named in `wanted` come in that order, the others in the order of `server`; the two rows are interleaved by
/// taking the next wanted item, unless both next items were on the server before and the other one stood in front.
pub(super) fn arrange(merged: Vec<Value>, wanted: &[String], server: &[String], identity: impl Fn(&Value) -> String) -> Vec<Value> {
    let (wanted, server) = (Places::of(wanted), Places::of(server));
    let (mut named, mut others): (Vec<Item>, Vec<Item>) = (Vec::new(), Vec::new());
    for value in merged {
        let identity = identity(&value);
        let item = Item { server: server.get(&identity), wanted: wanted.get(&identity), value };
        if item.wanted.is_some() { named.push(item) } else { others.push(item) }
    }
    named.sort_by_key(|item| item.wanted);
    others.sort_by_key(|item| item.server);

    let mut all = Vec::with_capacity(named.len() + others.len());
    let (mut named, mut others) = (named.into_iter().peekable(), others.into_iter().peekable());
    loop {
        let other_first = match (named.peek(), others.peek()) {
            (None, None) => return all,
            (Some(_), None) => false,
            (None, Some(_)) => true,
            (Some(named), Some(other)) => matches!((other.server, named.server), (Some(other), Some(named)) if other < named),
        };
        let next = if other_first { others.next() } else { named.next() };
        all.extend(next.map(|item| item.value));
    }
}

struct Item {
    wanted: Option<usize>,
    server: Option<usize>,
    value: Value,
}

/// Where identities stand in a list, the first time.
struct Places<'a>(HashMap<&'a str, usize>);

impl<'a> Places<'a> {
    fn of(list: &'a [String]) -> Self {
        let mut places = HashMap::with_capacity(list.len());
        for (place, identity) in list.iter().enumerate() {
            places.entry(identity.as_str()).or_insert(place);
        }
        Self(places)
    }

    fn get(&self, identity: &str) -> Option<usize> {
        self.0.get(identity).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_interleaved() {
        let texts = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        // server, wanted, merged by then, result
        let cases = [
            ("A B C", "X", "A B C X", "X A B C"),
            ("A B C", "B X", "A B C X", "A B X C"),
            ("A B C", "X B", "A B C X", "X A B C"),
            ("A B C", "C A", "A B C", "B C A"),
            ("A B C", "A X C", "A B C X", "A X B C"),
            ("A B C", "C X A", "A B C X", "B C X A"),
            ("A B C", "C B A", "A B C", "C B A"),
            ("", "B A", "A B", "B A"),
            ("A B", "", "B A", "A B"),
        ];
        for (server, wanted, merged, want) in cases {
            let merged = texts(merged).into_iter().map(Value::String).collect();
            let got = arrange(merged, &texts(wanted), &texts(server), |value| value.as_str().unwrap().to_owned());
            let got: Vec<&str> = got.iter().map(|value| value.as_str().unwrap()).collect();
            assert_eq!(got.join(" "), want, "{wanted} on {server}");
        }
    }
}
