//! "Did you mean": the known word that is closest to a mistyped one. Owns the distance and
//! when it is close enough; bounded work whatever the input is.

/// Words longer than this have no suggestion.
const MAX_CHARS: usize = 40;

/// The known word that `word` was probably meant to be.
pub fn closest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let typed: Vec<char> = word.chars().take(MAX_CHARS + 1).flat_map(char::to_lowercase).collect();
    if typed.is_empty() || typed.len() > MAX_CHARS {
        return None;
    }
    let lower = |k: &str| k.to_lowercase().chars().collect::<Vec<_>>();
    let same_start = |k: &str| typed.len().min(k.len()) >= 3 && (typed.starts_with(&lower(k)) || lower(k).starts_with(&typed));
    let (slips, other_start, best) = known.into_iter().map(|k| (distance(&typed, &lower(k)), !same_start(k), k)).min()?;
    // One slip in a short word, up to three in a long one; or only the ending differs (`added`).
    let near = slips <= 1 + (typed.len().saturating_sub(2) / 4).min(2);
    let ending = slips <= 2 && !other_start;
    (near || ending).then_some(best)
}

/// Edits between two words: insert, remove, replace, and swap of neighbours.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let at = |line: &[usize], k: usize| line.get(k).copied().unwrap_or(usize::MAX / 2);
            let mut best = (at(&above, j) + usize::from(x != y)).min(at(&above, j + 1) + 1).min(at(&row, j) + 1);
            if i > 0 && j > 0 && a.get(i - 1) == Some(y) && b.get(j - 1) == Some(x) {
                best = best.min(at(&before, j - 1) + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut above, row);
    }
    above.last().copied().unwrap_or(a.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggestions() {
        let known = ["name", "namespaces", "labelSelector", "events", "kind"];
        for (word, want) in [
            ("nmae", Some("name")),
            ("Name", Some("name")),
            ("namespace", Some("namespaces")),
            ("labelselector", Some("labelSelector")),
            ("label-selector", Some("labelSelector")),
            ("event", Some("events")),
            ("knid", Some("kind")),
            ("replicas", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(closest(word, known), want, "{word}");
        }
        assert_eq!(closest("added", ["add", "update", "delete"]), Some("add"));
        assert_eq!(closest("deleted", ["add", "update", "delete"]), Some("delete"));
        assert_eq!(closest(&"x".repeat(1 << 20), known), None);
    }

    #[test]
    fn distances() {
        for (a, b, want) in [("", "", 0), ("abc", "abc", 0), ("abc", "acb", 1), ("abc", "", 3), ("", "ab", 2), ("kitten", "sitting", 3)] {
            let chars = |s: &str| s.chars().collect::<Vec<_>>();
            assert_eq!(distance(&chars(a), &chars(b)), want, "{a} {b}");
        }
    }
}
