//! The contract's own rules: every item has a comment, and no toolchain stumbles over a type.

use wit_parser::{Resolve, Type, TypeDefKind};

use crate::encode;

fn contract() -> Resolve {
    let mut resolve = Resolve::default();
    resolve.push_dir(encode::root().unwrap().join("wit")).unwrap();
    resolve
}

#[test]
fn every_item_has_a_comment() {
    let resolve = contract();
    let mut items = Vec::new();
    for (_, world) in &resolve.worlds {
        items.push((world.name.clone(), &world.docs));
    }
    for (_, interface) in &resolve.interfaces {
        let name = interface.name.clone().unwrap();
        items.push((name.clone(), &interface.docs));
        items.extend(interface.functions.values().map(|function| (format!("{name}.{}", function.name), &function.docs)));
    }
    for (_, ty) in &resolve.types {
        // Types without a name are written in place; aliases come from `use`.
        let Some(name) = ty.name.clone().filter(|_| !matches!(ty.kind, TypeDefKind::Type(_))) else { continue };
        let inside = |part: &str| format!("{name}.{part}");
        match &ty.kind {
            TypeDefKind::Record(record) => items.extend(record.fields.iter().map(|field| (inside(&field.name), &field.docs))),
            TypeDefKind::Variant(variant) => items.extend(variant.cases.iter().map(|case| (inside(&case.name), &case.docs))),
            TypeDefKind::Enum(cases) => items.extend(cases.cases.iter().map(|case| (inside(&case.name), &case.docs))),
            _ => {}
        }
        items.push((name, &ty.docs));
    }
    assert!(items.len() > 100, "{} items", items.len());
    let silent: Vec<_> = items.iter().filter(|(_, docs)| docs.contents.as_deref().unwrap_or("").trim().is_empty()).collect();
    assert!(silent.is_empty(), "{silent:?}");
}

#[test]
fn no_type_that_toolchains_disagree_about() {
    let resolve = contract();
    for (_, ty) in &resolve.types {
        assert!(!matches!(ty.kind, TypeDefKind::Resource | TypeDefKind::Handle(_)), "{:?} is a resource", ty.name);
        if let TypeDefKind::Record(record) = &ty.kind {
            let wide = record.fields.iter().find(|field| matches!(field.ty, Type::U64 | Type::S64));
            assert!(wide.is_none(), "{:?}.{wide:?} has 64 bits", ty.name);
        }
    }
    for (_, interface) in &resolve.interfaces {
        for function in interface.functions.values() {
            let wide = function.params.iter().any(|param| matches!(param.ty, Type::U64 | Type::S64));
            assert!(!wide && !matches!(function.result, Some(Type::U64 | Type::S64)), "{} has 64 bits", function.name);
        }
    }
}
