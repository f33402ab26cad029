//! The plugin's configuration: `spec.config` of the Plugin document. Fixed for the life of
//! an instance.

use std::fmt;

use serde::de::DeserializeOwned;

use crate::backend;

/// The whole configuration as a type; `{}` where the document has none. The handler itself
/// is read so; this is for [`Handler::describe`](crate::Handler::describe), which has no
/// handler yet.
///
/// # Errors
/// If it does not have the form of `T`.
pub fn config<T: DeserializeOwned>() -> Result<T, ConfigError> {
    read(&backend::config_json())
}

/// The text as a type, in which every field must be known.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, ConfigError> {
    let mut json = serde_json::Deserializer::from_str(text);
    let mut unknown = Vec::new();
    let value = serde_ignored::deserialize(&mut json, |path| unknown.push(format!("`{path}`")));
    let value = value.and_then(|value| json.end().map(|()| value)).map_err(|error| ConfigError::within(text, error))?;
    if unknown.is_empty() { Ok(value) } else { Err(ConfigError::unknown(&unknown)) }
}

/// The value at an RFC 6901 pointer of the configuration.
///
/// # Errors
/// If there is a value of another type.
pub fn config_value<T: DeserializeOwned>(pointer: &str) -> Result<Option<T>, ConfigError> {
    let parse = |json: String| serde_json::from_str(&json).map_err(|error| ConfigError::new(pointer, error));
    backend::config_get(pointer).map(parse).transpose()
}

/// The JSON text at an RFC 6901 pointer of the configuration.
pub fn config_raw(pointer: &str) -> Option<String> {
    backend::config_get(pointer)
}

/// The configuration does not have the asked for type.
#[derive(Debug)]
pub struct ConfigError {
    /// Where, and what.
    text: String,
    source: Option<serde_json::Error>,
}

impl ConfigError {
    pub(crate) fn new(pointer: &str, source: serde_json::Error) -> Self {
        Self { text: format!("config{pointer}: {source}"), source: Some(source) }
    }

    /// Names the field, which the JSON reader does not: it only says how far it came.
    fn within(text: &str, source: serde_json::Error) -> Self {
        let field = field_at(text, source.line(), source.column()).map(|name| format!("{name}: ")).unwrap_or_default();
        Self { text: format!("config: {field}{source}"), source: Some(source) }
    }

    fn unknown(fields: &[String]) -> Self {
        Self { text: format!("config: unknown field {}", fields.join(", ")), source: None }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for ConfigError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| source as _)
    }
}

/// The field of the outermost object that a place in a JSON text belongs to, as it is written
/// there.
fn field_at(text: &str, line: usize, column: usize) -> Option<&str> {
    let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let (mut depth, mut name, mut string, mut escaped) = (0_usize, None, None, false);
    for (at, byte) in text.bytes().enumerate().take(before.saturating_add(column)) {
        match (byte, string) {
            (_, Some(_)) if escaped => escaped = false,
            (b'\\', Some(_)) => escaped = true,
            (b'"', Some(start)) => {
                string = None;
                if depth == 1 && text.get(at.saturating_add(1)..).is_some_and(|rest| rest.trim_start().starts_with(':')) {
                    name = text.get(start..at);
                }
            }
            (b'"', None) => string = Some(at.saturating_add(1)),
            (b'{' | b'[', None) => depth = depth.saturating_add(1),
            (b'}' | b']', None) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    name.filter(|_| depth > 0)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Settings {
        name: String,
        tags: Vec<String>,
        inner: Inner,
    }

    #[derive(Debug, Default, Deserialize)]
    #[serde(default)]
    struct Inner {
        size: u8,
    }

    #[test]
    fn what_does_not_fit_is_refused_with_the_name_of_the_field() {
        for (text, start) in [
            (r#"{"name": 1}"#, "config: name: invalid type: integer"),
            (r#"{"name": "a\"b:", "tags": ["x", 7]}"#, "config: tags: invalid type: integer"),
            (r#"{"inner": {"size": "x"}, "name": "a"}"#, "config: inner: invalid type: string"),
            ("{\n \"name\": \"a\",\n \"tags\": null\n}", "config: tags: invalid type: null"),
            (r#"{"tag": [], "inner": {"sizes": 1}}"#, "config: unknown field `tag`, `inner.sizes`"),
            ("[]x", "config: "),
            ("1", "config: invalid type: integer"),
        ] {
            let said = read::<Settings>(text).unwrap_err().to_string();
            assert!(said.starts_with(start), "{text}: {said}");
        }
        let good = read::<Settings>(r#"{"name": "a", "tags": ["b"], "inner": {"size": 3}}"#).unwrap();
        assert_eq!((good.name.as_str(), good.tags.len(), good.inner.size), ("a", 1, 3));
    }
}
