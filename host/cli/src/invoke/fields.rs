//! A JSON object whose values stay the text that they were written as. Owns the order of
//! fields and what setting one does; never reads a number, so none can change.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// Names and JSON texts, in their order.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields(Vec<(String, String)>);

impl Fields {
    /// The fields of a JSON text; `None` if it is no object.
    pub(super) fn of(json: &str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    /// The JSON text of a field.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, json)| json.as_str())
    }

    /// The value of a field that is a text, and not an empty one.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.get(name)?).ok().filter(|text: &String| !text.is_empty())
    }

    /// Sets a field to a text.
    pub(super) fn set_text(&mut self, name: &str, text: &str) {
        self.set(name, quoted(text));
    }

    /// Sets a field to a JSON text, where it stood before or else at the end.
    pub(super) fn set(&mut self, name: &str, json: String) {
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = json,
            None => self.0.push((name.to_owned(), json)),
        }
    }
}

impl fmt::Display for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (name, json)) in self.0.iter().enumerate() {
            write!(f, "{}{}:{json}", if i == 0 { "{" } else { "," }, quoted(name))?;
        }
        f.write_str(if self.0.is_empty() { "{}" } else { "}" })
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each;
        impl<'de> Visitor<'de> for Each {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Fields::default();
                while let Some((name, json)) = map.next_entry::<String, Box<RawValue>>()? {
                    fields.set(&name, json.get().to_owned());
                }
                Ok(fields)
            }
        }
        deserializer.deserialize_map(Each)
    }
}

/// A JSON text without the white space that means nothing, as a server sends it.
pub(super) fn compact(json: &str) -> String {
    let (mut quoted, mut escaped) = (false, false);
    let means_something = |c: &char| {
        if quoted {
            quoted = escaped || *c != '"';
            escaped = !escaped && *c == '\\';
            return true;
        }
        quoted = *c == '"';
        !matches!(c, ' ' | '\t' | '\n' | '\r')
    };
    json.chars().filter(means_something).collect()
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_their_order_stay() {
        let mut fields = Fields::of(r#"{"z":[1e400, 0.10],"a":{"n":1},"z\u0061":"","a":2E+0}"#).unwrap();
        assert_eq!(fields.to_string(), r#"{"z":[1e400, 0.10],"a":2E+0,"za":""}"#);
        assert_eq!((fields.get("a"), fields.text("a"), fields.text("za"), fields.get("b")), (Some("2E+0"), None, None, None));
        fields.set_text("za", "\"");
        fields.set("b", "null".to_owned());
        assert_eq!(fields.to_string(), r#"{"z":[1e400, 0.10],"a":2E+0,"za":"\"","b":null}"#);
        assert_eq!((fields.text("za").as_deref(), Fields::default().to_string().as_str()), (Some("\""), "{}"));
        assert!(Fields::of("[]").is_none() && Fields::of("1").is_none());
    }

    #[test]
    fn white_space_goes_but_for_that_of_texts() {
        assert_eq!(compact("{ \"a b\\\" c\" :\n\t[ 1 , \" \\\\\" ,\r\n2 ] }"), "{\"a b\\\" c\":[1,\" \\\\\",2]}");
    }
}
