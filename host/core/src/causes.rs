//! An error and what it was caused by, as texts. Owns that nothing is said twice: wrappers often
//! print their source themselves.

use std::error::Error;

/// The texts of an error and its causes, from the outside in, less those that the one before contains.
pub fn causes(error: &(dyn Error + 'static)) -> Vec<String> {
    let mut texts = vec![error.to_string()];
    let mut source = error.source();
    while let Some(error) = source {
        let text = error.to_string();
        if texts.last().is_none_or(|before| !before.contains(&text)) {
            texts.push(text);
        }
        source = error.source();
    }
    texts
}

/// The same in one line.
pub fn one_line(error: &(dyn Error + 'static)) -> String {
    causes(error).join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Layer(&'static str, #[source] Option<Box<Layer>>);

    #[test]
    fn what_was_said_is_not_said_again() {
        let of = |texts: &[&'static str]| {
            let wrap = |inner: Option<Box<Layer>>, text: &&'static str| Some(Box::new(Layer(text, inner)));
            one_line(&*texts.iter().rev().fold(None, wrap).unwrap())
        };
        for (texts, want) in [
            (&["a", "b"][..], "a: b"),
            (
                &["ServiceError: client error (Connect)", "client error (Connect)", "refused"],
                "ServiceError: client error (Connect): refused",
            ),
            (&["io: refused", "refused", "refused"], "io: refused"),
            (&["a", "b", "a"], "a: b: a"),
        ] {
            assert_eq!(of(texts), want);
        }
    }
}
