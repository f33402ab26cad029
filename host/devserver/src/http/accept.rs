//! Which representation a client is answered in: JSON or YAML; whole, as a Table, or metadata only.
//!
//! Pure. The first acceptable clause of the header wins, as in the real server; protobuf and CBOR are never offered, and every client
//! that prefers them names JSON too.

use serde_json::Map;

use crate::status::Status;

/// How an answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Json,
    Yaml,
}

/// What is shown of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Whole,
    Table,
    Metadata,
    MetadataList,
}

/// The version of `meta.k8s.io` in which a Table or metadata is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MetaVersion {
    V1,
    V1Beta1,
}

/// What a client gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) format: Format,
    pub(crate) form: Form,
    pub(crate) meta: MetaVersion,
    /// `application/json;pretty=1`; the parameter of the query is read elsewhere.
    pub(crate) pretty: bool,
}

/// Where the answer to a request without a header, and errors when nothing fits, come from.
pub(crate) const PLAIN: Wanted = Wanted { format: Format::Json, form: Form::Whole, meta: MetaVersion::V1, pretty: false };

/// What can be offered for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Offer {
    /// A document or a review: no other form than itself.
    Document,
    /// An object or a list.
    Objects,
    /// Events: no YAML, since it has no frames.
    Events,
}

const MEDIA_TYPES: &str = "application/json, application/yaml";

impl Form {
    /// The kind that is named in errors.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Self::Whole => "",
            Self::Table => "Table",
            Self::Metadata => "PartialObjectMetadata",
            Self::MetadataList => "PartialObjectMetadataList",
        }
    }
}

impl MetaVersion {
    /// `meta.k8s.io/v1`.
    pub(crate) fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "meta.k8s.io/v1",
            Self::V1Beta1 => "meta.k8s.io/v1beta1",
        }
    }
}

impl Format {
    /// The value of Content-Type.
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Yaml => "application/yaml",
        }
    }
}

/// Chooses by an Accept header; several headers are joined by commas.
///
/// # Errors
/// 406 in one of two wordings: no media type is known, or a known one with a form that is not.
pub(crate) fn negotiate(accept: Option<&str>, offer: Offer) -> Result<Wanted, Status> {
    let Some(accept) = accept.filter(|accept| !accept.trim().is_empty()) else { return Ok(PLAIN) };
    let mut known_type = false;
    for clause in clauses(accept) {
        let Some(format) = clause.format(offer) else { continue };
        known_type = true;
        if let Some(wanted) = clause.wanted(format, offer) {
            return Ok(wanted);
        }
    }
    Err(not_acceptable(known_type))
}

/// For error bodies: the header's choice, else JSON.
pub(crate) fn error_format(accept: Option<&str>) -> Format {
    accept.and_then(|accept| clauses(accept).iter().find_map(|clause| clause.format(Offer::Document))).unwrap_or(Format::Json)
}

/// The version of the first form that the header names; plain JSON before it is `None`. `choices` are the other forms of a document
/// (aggregated discovery) by version, group and kind.
pub(crate) fn first_of<'a>(accept: Option<&str>, choices: &[(&'a str, &str, &str)]) -> Option<&'a str> {
    for clause in clauses(accept?) {
        if clause.format(Offer::Document) != Some(Format::Json) {
            continue;
        }
        let kind = clause.param("as")?;
        let found = choices
            .iter()
            .find(|(version, group, name)| clause.param("v") == Some(version) && clause.param("g") == Some(group) && kind == *name);
        if let Some((version, _, _)) = found {
            return Some(version);
        }
    }
    None
}

/// 406: something was asked for that this answer cannot be.
pub(crate) fn wrong_shape(message: String) -> Status {
    Status::new(406, "NotAcceptable", message)
}

fn not_acceptable(known_type: bool) -> Status {
    if known_type {
        return Status::new(406, "NotAcceptable", format!("only the following media types are accepted: {MEDIA_TYPES}"));
    }
    let mut status = Status::new(406, "NotAcceptable", format!("406: Not Acceptable\n\nAvailable representations: {MEDIA_TYPES}"));
    status.details = Some(Map::new());
    status
}

/// One clause: `application/json;as=Table;v=v1;g=meta.k8s.io;q=0.9`.
#[derive(Debug)]
struct Clause<'a> {
    kind: &'a str,
    subtype: &'a str,
    params: Vec<(&'a str, &'a str)>,
    quality: f32,
}

impl<'a> Clause<'a> {
    fn param(&self, name: &str) -> Option<&'a str> {
        self.params.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    fn format(&self, offer: Offer) -> Option<Format> {
        match (self.kind, self.subtype) {
            ("*" | "application", "*") | ("application", "json") => Some(Format::Json),
            ("application", "yaml") if offer != Offer::Events => Some(Format::Yaml),
            _ => None,
        }
    }

    fn wanted(&self, format: Format, offer: Offer) -> Option<Wanted> {
        let pretty = self.param("pretty") == Some("1");
        // Streams of JSON may be asked for by name; nothing else streams.
        if self.param("stream").is_some_and(|stream| stream != "watch" || offer != Offer::Events) {
            return None;
        }
        let Some(form) = self.param("as") else {
            return Some(Wanted { pretty, format, ..PLAIN });
        };
        if offer == Offer::Document || self.param("g") != Some("meta.k8s.io") {
            return None;
        }
        let form = match form {
            "Table" => Form::Table,
            "PartialObjectMetadata" => Form::Metadata,
            "PartialObjectMetadataList" => Form::MetadataList,
            _ => return None,
        };
        let meta = match self.param("v")? {
            "v1" => MetaVersion::V1,
            "v1beta1" => MetaVersion::V1Beta1,
            _ => return None,
        };
        Some(Wanted { format, form, meta, pretty })
    }
}

/// The clauses, best first: by quality, then the less general first, else as written.
fn clauses(accept: &str) -> Vec<Clause<'_>> {
    let mut clauses: Vec<Clause<'_>> = accept.split(',').filter_map(clause).collect();
    clauses.sort_by(|a, b| {
        b.quality
            .total_cmp(&a.quality)
            .then_with(|| (a.kind == "*").cmp(&(b.kind == "*")))
            .then_with(|| (a.subtype == "*").cmp(&(b.subtype == "*")))
    });
    clauses
}

fn clause(text: &str) -> Option<Clause<'_>> {
    let mut parts = text.split(';').map(str::trim);
    let (kind, subtype) = parts.next()?.split_once('/')?;
    let mut clause = Clause { kind, subtype, params: Vec::new(), quality: 1.0 };
    for part in parts {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let (name, value) = (name.trim(), value.trim().trim_matches('"'));
        if name == "q" {
            clause.quality = value.parse().ok().filter(|quality: &f32| quality.is_finite()).unwrap_or(1.0);
        } else {
            clause.params.push((name, value));
        }
    }
    (clause.quality > 0.0).then_some(clause)
}

#[cfg(test)]
mod tests {
    use super::{Form, Format, MetaVersion, Offer, PLAIN, Wanted, error_format, first_of, negotiate};

    const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";

    #[test]
    fn chooses_what_real_clients_expect() {
        let table = Wanted { form: Form::Table, ..PLAIN };
        let metadata = Wanted { form: Form::Metadata, ..PLAIN };
        let yaml = Wanted { format: Format::Yaml, ..PLAIN };
        for (accept, offer, want) in [
            (None, Offer::Objects, PLAIN),
            (Some(""), Offer::Objects, PLAIN),
            (Some("*/*"), Offer::Objects, PLAIN),
            (Some("application/json, */*"), Offer::Objects, PLAIN),
            (Some("application/vnd.kubernetes.protobuf,application/json"), Offer::Objects, PLAIN),
            (Some("application/vnd.kubernetes.protobuf, */*"), Offer::Events, PLAIN),
            (Some("application/json;q=0.9,application/cbor;q=1"), Offer::Objects, PLAIN),
            (Some("application/vnd.kubernetes.protobuf;stream=watch,application/json;stream=watch"), Offer::Events, PLAIN),
            (Some(TABLE), Offer::Objects, table),
            (Some(TABLE), Offer::Events, table),
            (Some(TABLE), Offer::Document, PLAIN),
            (Some("application/json;as=Table;g=meta.k8s.io;v=v1beta1"), Offer::Objects, Wanted { meta: MetaVersion::V1Beta1, ..table }),
            (
                Some(
                    "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
                ),
                Offer::Events,
                metadata,
            ),
            (Some("application/json;as=Nope;g=meta.k8s.io;v=v1,application/json"), Offer::Objects, PLAIN),
            (Some("application/yaml"), Offer::Objects, yaml),
            (Some("application/yaml;q=0.5,application/json"), Offer::Objects, PLAIN),
            (Some("*/*,application/yaml"), Offer::Objects, yaml),
            (Some("application/yaml,application/json"), Offer::Events, PLAIN),
            (Some("text/html;q=0.9, application/json;pretty=1"), Offer::Objects, Wanted { pretty: true, ..PLAIN }),
        ] {
            assert_eq!(negotiate(accept, offer), Ok(want), "{accept:?} {offer:?}");
        }
    }

    #[test]
    fn refuses_in_two_wordings() {
        for (accept, offer, want) in [
            ("application/xml", Offer::Objects, "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml"),
            ("application/cbor", Offer::Objects, "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml"),
            (
                "application/json;q=0",
                Offer::Objects,
                "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml",
            ),
            ("application/yaml", Offer::Events, "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml"),
            (
                "application/json;as=Nope;g=meta.k8s.io;v=v1",
                Offer::Objects,
                "only the following media types are accepted: application/json, application/yaml",
            ),
            (
                "application/json;as=Table;g=meta.k8s.io;v=v2",
                Offer::Objects,
                "only the following media types are accepted: application/json, application/yaml",
            ),
            (
                "application/json;as=Table",
                Offer::Objects,
                "only the following media types are accepted: application/json, application/yaml",
            ),
            (
                "application/json;stream=watch",
                Offer::Objects,
                "only the following media types are accepted: application/json, application/yaml",
            ),
        ] {
            let status = negotiate(Some(accept), offer).expect_err(accept);
            assert_eq!((status.code, status.reason, status.message.as_str()), (406, "NotAcceptable", want), "{accept}");
        }
    }

    #[test]
    fn errors_fall_back_to_json() {
        assert_eq!(error_format(Some("application/xml")), Format::Json);
        assert_eq!(error_format(Some("application/yaml")), Format::Yaml);
        assert_eq!(error_format(Some(TABLE)), Format::Json);
        assert_eq!(error_format(None), Format::Json);
    }

    #[test]
    fn finds_the_first_form_of_a_document() {
        let choices = [("v2", "apidiscovery.k8s.io", "APIGroupDiscoveryList"), ("v2beta1", "apidiscovery.k8s.io", "APIGroupDiscoveryList")];
        let both = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";
        for (accept, want) in [
            (Some(both), Some("v2")),
            (Some("application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"), Some("v2beta1")),
            (Some("application/json;g=apidiscovery.k8s.io;v=v3;as=APIGroupDiscoveryList,application/json"), None),
            (Some("application/json,application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"), None),
            (Some("application/json"), None),
            (None, None),
        ] {
            assert_eq!(first_of(accept, &choices), want, "{accept:?}");
        }
    }
}
