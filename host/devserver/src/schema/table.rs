//! Reads the generated table (`data/kubernetes.txt`), once per process. Owns its grammar, which `tests/cluster/kinds` writes and
//! describes; what is asked of the table is asked through [`super::types`]. Never looks at an object.

use std::collections::HashMap;
use std::sync::OnceLock;

use serde_json::Value;

use super::types::{Field, Kind, Numbered, Place, TypeId};
use super::{ListKind, MergeKind};

/// The whole file: resources (read by `kind`), then kinds and types (read here).
pub(crate) const TEXT: &str = include_str!("../../data/kubernetes.txt");

/// A struct of the table.
#[derive(Debug)]
pub(super) struct Struct {
    pub(super) name: &'static str,
    /// Those of inlined types included, in the order of their names.
    pub(super) fields: Vec<Field>,
    /// In their order.
    pub(super) numbers: Vec<(u32, Numbered)>,
    inlined: Vec<TypeId>,
    /// Owned as a whole.
    pub(super) atomic: bool,
}

/// What the table says of a place.
#[derive(Debug)]
pub(super) struct PlaceData {
    pub(super) kind: Kind,
    pub(super) pointer: bool,
    pub(super) omits_empty: bool,
    pub(super) omits_zero: bool,
    pub(super) list: ListKind,
    pub(super) merge: MergeKind,
    pub(super) replaces: bool,
    pub(super) atomic: bool,
    pub(super) default: Option<Value>,
}

impl PlaceData {
    const fn new(kind: Kind) -> Self {
        Self {
            kind,
            pointer: false,
            omits_empty: false,
            omits_zero: false,
            list: ListKind::Atomic,
            merge: MergeKind::Replace,
            replaces: false,
            atomic: false,
            default: None,
        }
    }
}

/// The types.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) kinds: HashMap<(&'static str, &'static str), TypeId>,
    pub(super) structs: Vec<Struct>,
    pub(super) places: Vec<PlaceData>,
    pub(super) object_meta: TypeId,
    pub(super) json_schema: TypeId,
    /// For a place that is none, which cannot be.
    pub(super) anything: PlaceData,
}

/// The table, which is read when it is first asked for.
pub(super) fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    // A test holds that the file is whole; were it not, there would be no types rather than no program.
    TABLE.get_or_init(|| parse(TEXT).unwrap_or_else(|_| Table::empty()))
}

impl Table {
    fn empty() -> Self {
        let (kinds, none) = (HashMap::new(), TypeId(u32::MAX));
        Self { kinds, structs: Vec::new(), places: Vec::new(), object_meta: none, json_schema: none, anything: PlaceData::new(Kind::Any) }
    }
}

/// Reads the kinds and types; the error is the line that could not be read.
fn parse(text: &'static str) -> Result<Table, &'static str> {
    let mut ids = HashMap::new();
    let mut table = Table::empty();
    for line in text.lines().filter_map(|line| line.strip_prefix("type ")) {
        let (name, atomic) = line.strip_suffix(" atomic").map_or((line, false), |name| (name, true));
        let id = TypeId(u32::try_from(table.structs.len()).map_err(|_| name)?);
        ids.insert(name, id);
        table.structs.push(Struct { name, fields: Vec::new(), numbers: Vec::new(), inlined: Vec::new(), atomic });
        table.places.push(PlaceData::new(Kind::Struct(id)));
    }
    let mut current = None;
    for line in text.lines() {
        let mut words = line.split(' ');
        match words.next() {
            Some("#" | "group" | "version" | "resource" | "subresource" | "deprecated") => {}
            Some("type") => current = words.next().and_then(|name| ids.get(name)).copied(),
            Some("kind") => {
                let (Some(version), Some(kind), Some(name)) = (words.next(), words.next(), words.next()) else { return Err(line) };
                table.kinds.insert((version, kind), *ids.get(name).ok_or(line)?);
            }
            _ => {
                let id = current.ok_or(line)?;
                table.read_field(id, line, &ids).ok_or(line)?;
            }
        }
    }
    table.settle();
    table.object_meta = *ids.get("meta/v1.ObjectMeta").ok_or("type meta/v1.ObjectMeta")?;
    table.json_schema = *ids.get("apiextensions/v1.JSONSchemaProps").ok_or("type apiextensions/v1.JSONSchemaProps")?;
    Ok(table)
}

impl Table {
    fn read_field(&mut self, owner: TypeId, line: &'static str, ids: &HashMap<&'static str, TypeId>) -> Option<()> {
        let mut words = line.split(' ');
        let (number, name, word) = (words.next()?.parse::<u32>().ok()?, words.next()?, words.next()?);
        let kind_word = word.trim_end_matches(['*', '?', '!']);
        let marks = word.strip_prefix(kind_word)?;
        let kind = self.read_kind(kind_word, ids)?;
        let mut data = PlaceData::new(kind);
        data.pointer = marks.contains('*');
        data.omits_empty = marks.contains('?');
        data.omits_zero = marks.contains('!');
        for flag in words {
            match flag.split_once('=').unwrap_or((flag, "")) {
                ("merge", "") => data.merge = MergeKind::Union,
                ("merge", key) => data.merge = MergeKind::ByKey(key.to_owned()),
                // For those that make patches: a patch names the keys itself.
                ("retainKeys", _) => {}
                ("replace", _) => data.replaces = true,
                ("set", _) => data.list = ListKind::Set,
                ("map", keys) => data.list = ListKind::Map(keys.split(',').map(str::to_owned).collect()),
                ("atomic", _) => data.atomic = true,
                ("default", value) => data.default = Some(serde_json::from_str(value).ok()?),
                _ => return None,
            }
        }
        let owner_data = self.structs.get_mut(owner.0 as usize)?;
        if name == "-" {
            let Kind::Struct(inlined) = kind else { return None };
            owner_data.inlined.push(inlined);
            if number > 0 {
                owner_data.numbers.push((number, Numbered::Inlined(inlined)));
            }
            return Some(());
        }
        let field = Field { name, place: Self::add(&mut self.places, data)? };
        owner_data.fields.push(field);
        if number > 0 {
            owner_data.numbers.push((number, Numbered::Field(field)));
        }
        Some(())
    }

    fn read_kind(&mut self, word: &str, ids: &HashMap<&'static str, TypeId>) -> Option<Kind> {
        if let Some(items) = word.strip_prefix("[]") {
            let items = PlaceData::new(self.read_kind(items, ids)?);
            return Self::add(&mut self.places, items).map(Kind::List);
        }
        if let Some(values) = word.strip_prefix("{}") {
            let values = PlaceData::new(self.read_kind(values, ids)?);
            return Self::add(&mut self.places, values).map(Kind::Map);
        }
        Some(match word {
            "ExtraValue" => Kind::ExtraValue,
            "string" => Kind::String,
            "bool" => Kind::Bool,
            "int32" => Kind::Int32,
            "int64" => Kind::Int64,
            "float64" => Kind::Float64,
            "bytes" => Kind::Bytes,
            "Time" => Kind::Time,
            "MicroTime" => Kind::MicroTime,
            "Quantity" => Kind::Quantity,
            "IntOrString" => Kind::IntOrString,
            "RawExtension" | "FieldsV1" | "JSON" => Kind::Any,
            "JSONSchemaPropsOrBool" => Kind::SchemaOrBool,
            "JSONSchemaPropsOrArray" => Kind::SchemaOrArray,
            "JSONSchemaPropsOrStringArray" => Kind::SchemaOrStringArray,
            name => Kind::Struct(*ids.get(name)?),
        })
    }

    fn add(places: &mut Vec<PlaceData>, data: PlaceData) -> Option<Place> {
        let place = Place(u32::try_from(places.len()).ok()?);
        places.push(data);
        Some(place)
    }

    /// Gives each type the fields of those inlined into it, and sorts.
    fn settle(&mut self) {
        let whole: Vec<Vec<Field>> = (0..self.structs.len()).map(|at| self.all_fields(at, 0)).collect();
        for (data, mut fields) in self.structs.iter_mut().zip(whole) {
            fields.sort_by_key(|field| field.name);
            data.fields = fields;
            data.numbers.sort_by_key(|(number, _)| *number);
        }
    }

    fn all_fields(&self, at: usize, depth: u8) -> Vec<Field> {
        let Some(data) = self.structs.get(at).filter(|_| depth < 8) else { return Vec::new() };
        let inlined = data.inlined.iter().flat_map(|id| self.all_fields(id.0 as usize, depth + 1));
        data.fields.iter().copied().chain(inlined).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn the_table_is_whole() {
        let table = parse(TEXT).unwrap();
        assert!(table.structs.len() > 400 && table.kinds.len() > 70, "{} types, {} kinds", table.structs.len(), table.kinds.len());
        for data in &table.structs {
            for pair in data.fields.windows(2) {
                assert_ne!(pair[0].name, pair[1].name, "twice in {}", data.name);
            }
            for pair in data.numbers.windows(2) {
                assert_ne!(pair[0].0, pair[1].0, "twice in {}", data.name);
            }
        }
    }

    #[test]
    fn a_line_that_cannot_be_read_is_told() {
        let head = "type meta/v1.ObjectMeta\ntype apiextensions/v1.JSONSchemaProps\n";
        for line in ["1 a nothing", "x a string", "1 a string newflag", "1 a", "1 - string", "kind v1 A", "kind v1 A b"] {
            let text: &'static str = Box::leak(format!("{head}{line}").into_boxed_str());
            assert_eq!(parse(text).unwrap_err(), line);
        }
        assert!(parse("type a/v1.A\n").is_err(), "no ObjectMeta");
    }
}
