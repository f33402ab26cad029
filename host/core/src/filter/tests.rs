//! Expressions: what they answer, what is refused, and that nothing makes them costly.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::Gvk;

fn eval(text: &str, old: &serde_json::Value, object: &serde_json::Value) -> Result<bool, String> {
    let expression = Expression::compile(text).map_err(|e| format!("{e} ({})", e.hint))?;
    let old = (!old.is_null()).then(|| old.to_string());
    expression.eval(old.as_deref(), &object.to_string()).map_err(|e| e.to_string())
}

fn deployment() -> serde_json::Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "generation": 3, "labels": {"app": "web", "tier/x": "front", "0": "zero"}, "annotations": {"é\n": "ü\t"}},
        "spec": {"replicas": 3, "ratio": 1.5, "big": 18_446_744_073_709_551_615_u64, "paused": false, "none": null,
                 "containers": [{"name": "a", "image": "img:1"}, {"name": "b", "image": "img:2"}], "numbers": [1, 2, 3], "empty": []},
        "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Progressing", "status": "False"}]},
    })
}

#[test]
fn answers() {
    let new = deployment();
    let mut old = deployment();
    old["spec"]["replicas"] = json!(2);
    old["spec"]["containers"][1]["image"] = json!("img:0");
    for (text, want) in [
        ("true", true),
        ("old == null", false),
        ("object.spec.replicas != old.spec.replicas", true),
        ("object.metadata == old.metadata", true),
        ("object.spec == old.spec", false),
        ("object.spec.replicas > 2 && object.spec.replicas <= 3", true),
        ("object.spec.replicas == 3.0 && object.spec.ratio < 2", true),
        ("object.spec.big == 18446744073709551615u", true),
        ("object.spec.big > object.spec.replicas", true),
        ("object.spec.none == null && has(object.spec.none)", true),
        ("!object.spec.paused", true),
        ("has(object.spec.replicas) && !has(object.spec.nothing)", true),
        ("has(object.metadata.labels.app)", true),
        ("\"app\" in object.metadata.labels && !(\"x\" in object.metadata.labels)", true),
        ("object.metadata.labels[\"tier/x\"] == 'front' && object.metadata.labels['0'] == \"zero\"", true),
        ("object.metadata.annotations['é\\n'] == 'ü\\t'", true),
        ("object.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')", true),
        ("object.status.conditions.all(c, c.status == 'True')", false),
        ("object.status.conditions.exists_one(c, c.status == 'True')", true),
        ("object.spec.containers.all(c, old.spec.containers.exists(o, o.name == c.name && o.image == c.image))", false),
        ("object.spec.containers.map(c, c.image) == ['img:1', 'img:2']", true),
        ("object.spec.containers.map(c, c.name == 'b', c.image) == ['img:2']", true),
        ("object.spec.containers.filter(c, c.name == 'b').size() == 1", true),
        ("object.spec.numbers == [1, 2.0, 3u]", true),
        ("2 in object.spec.numbers && !(4 in object.spec.numbers)", true),
        ("object.spec.numbers[1] == 2 && size(object.spec.empty) == 0", true),
        ("object.spec.numbers + [4] == [1, 2, 3, 4]", true),
        ("object.metadata.labels.all(key, key != 'x')", true),
        ("object.metadata.name.startsWith('w') && object.metadata.name.endsWith('b') && object.metadata.name.contains('e')", true),
        ("object.metadata.name + '-' + string(object.spec.replicas) == 'web-3'", true),
        ("int('7') + 1 == 8 && double('0.5') == 0.5 && int(2.9) == 2", true),
        ("size('äö') == 2", true),
        ("-object.spec.replicas == -3 && 7 % 4 == 3 && 7 / 2 == 3 && 2 * 3 - 1 == 5", true),
        ("object.spec.paused ? false : object.spec.replicas == 3", true),
        // A side that decides makes up for the other's error.
        ("object.nothing == 1 || true", true),
        ("false && object.nothing == 1", false),
        ("object.spec.containers.exists(c, c.nothing == 1 || c.name == 'b')", true),
    ] {
        assert_eq!(eval(text, &old, &new), Ok(want), "{text}");
    }
    assert_eq!(eval("old == null", &json!(null), &new), Ok(true));
    assert_eq!(eval("old == null || old.spec != object.spec", &json!(null), &new), Ok(true));
}

#[test]
fn errors_of_an_evaluation() {
    for (text, want) in [
        ("old.spec.replicas == 1", "/spec/replicas is looked for in a null"),
        ("object.nothing.at.all == 1", "there is no field /nothing/at/all"),
        ("has(object.nothing.at)", "there is no field /nothing"),
        ("has(object.spec.replicas.x)", "/spec/replicas/x is looked for in a int"),
        ("object.spec.replicas", "the answer is a int, not true or false"),
        ("object.spec.numbers[7] == 1", "there is no element 7"),
        ("object.spec.numbers['0'] == 1", "[] does not go with list and string"),
        ("object.spec.replicas && true", "&& does not go with int"),
        ("object.spec.replicas < 'a'", "< does not go with int and string"),
        ("object.spec.replicas + 1.5 == 2", "+ does not go with int and double"),
        ("object.spec.replicas / 0 == 1", "division by zero"),
        ("9223372036854775807 + object.spec.replicas > 0", "a number is too large"),
        ("object.spec.replicas.all(x, true)", "a loop does not go with int"),
        ("object.spec.containers.all(c, c.nothing)", "there is no field /nothing"),
        ("object.spec.containers.map(c, c.nothing) == []", "there is no field /nothing"),
    ] {
        assert_eq!(eval(text, &json!(null), &deployment()), Err(want.to_owned()), "{text}");
    }
}

#[test]
fn what_is_refused() {
    let deep = format!("{}1{} == 1", "(".repeat(200), ")".repeat(200));
    let long = format!("object.a == '{}'", "x".repeat(Expression::MAX_BYTES));
    let many = format!("[{}] == []", "1,".repeat(500));
    let names = "(known are object (the object now), old (its state before, or null) and the variables of loops)";
    let functions = "(known are has, size, contains, startsWith, endsWith, string, int, double, all, exists, exists_one, filter and map)";
    let cel = "(write it in CEL, for example object.spec.replicas != old.spec.replicas)";
    for (text, want) in [
        ("", "the expression is empty (write one, for example object.spec != old.spec, or remove the field)".to_owned()),
        ("object.spec.replicas + 1", "the expression is neither true nor false (compare it with something)".to_owned()),
        ("size(object.spec)", "the expression is neither true nor false (compare it with something)".to_owned()),
        ("new.spec == 1", format!("new is not known in a filter {names}")),
        ("object.spec.all(x, y)", format!("y is not known in a filter {names}")),
        ("object.metadata.name.matches('a.*')", format!("the function matches is not known in a filter {functions}")),
        ("object.metadata.name.contains()", format!("the function contains takes other values {functions}")),
        ("timestamp('x') == null", format!("the function timestamp is not known in a filter {functions}")),
        ("object.a == {'b': 1}", "maps cannot be written in a filter (compare their fields one by one)".to_owned()),
        ("object.a == b'x'", "bytes are not supported in a filter (JSON has only text)".to_owned()),
        (
            "object.a.all(a, a.all(b, b.all(c, c)))",
            "loops are nested too deeply (at most 2, one in the other; or decide in the handler)".to_owned(),
        ),
        (&long, format!("{} bytes are too many for an expression (at most 2048)", long.len())),
        (&many, "the expression has too many parts (make it shorter, or decide in the handler)".to_owned()),
    ] {
        assert_eq!(eval(text, &json!(null), &json!({})), Err(want), "{text}");
    }
    assert_eq!(eval(&deep, &json!(null), &json!({})), Ok(true), "parentheses alone nest nothing");
    for text in ["object.", "object.a ==", "object.a = 1", "\"", "a b", "1 +* 2", "has(object)", "[1].all(1, true)", "é"] {
        let refused = eval(text, &json!(null), &json!({})).unwrap_err();
        assert!(refused.starts_with("this is no expression") && refused.ends_with(cel), "{text}: {refused}");
    }
}

/// The costliest that can be written, on the largest object that there can be, ends soon.
#[test]
fn no_expression_is_costly() {
    let list: Vec<String> = (0..200_000).map(|n| format!("{n}\n")).collect();
    let object = json!({"list": list, "lists": [list], "text": "x\n".repeat(300_000)});
    for text in [
        "object.list.all(a, object.list.all(b, a != b + 'x'))",
        "object.list.all(a, a in object.list)",
        "object.lists.map(l, l.filter(x, true)).all(f, f.all(y, y in f))",
        "object.lists.all(f, (f + f).all(y, y in f))",
        "[object.text].all(t, [1,2,3,4,5,6,7,8,9].all(a, t != t + t && t + t + t + t + t + t != t))",
        "[object.text].map(t, t + t).map(t, t + t).map(t, t + t).map(t, t + t).map(t, t + t).map(t, t + t).map(t, t + t) == []",
        "[[1,1,1,1,1,1,1,1]].map(l, l + l + l + l).map(l, l + l + l + l).map(l, l + l + l + l).map(l, l + l + l + l).map(l, l + l + l + l).map(l, l + l + l + l).map(l, l + l + l + l).map(l, l + l + l + l).map(l, l + l + l + l) == []",
        "object.list.map(a, object.list) == [] || object.list.all(a, object.list == object.lists[0])",
    ] {
        let expression = Expression::compile(text).unwrap();
        let json = object.to_string();
        let answer = expression.eval(Some(&json), &json);
        assert_eq!(answer.map_err(|e| e.to_string()), Err("the expression costs too much on this object".to_owned()), "{text}");
    }
}

fn object(json: &serde_json::Value) -> Object {
    let mut json = json.clone();
    json["metadata"]["name"] = json!("a");
    Object::parse(&json.to_string(), &Gvk::new("", "v1", "ConfigMap")).unwrap()
}

#[test]
fn which_filter_drops() {
    let filters = |pointers: &[&str], expressions: &[&str]| Filters {
        only_if_changed: pointers.iter().map(|p| Pointer::parse(p).unwrap()).collect(),
        expressions: expressions.iter().map(|e| Arc::new(Expression::compile(e).unwrap())).collect(),
    };
    let a = object(&json!({"data": {"x": "1"}, "metadata": {"labels": {"l": "1"}}}));
    let b = object(&json!({"data": {"x": "1"}, "metadata": {"labels": {"l": "2"}}}));
    let c = object(&json!({"metadata": {"labels": {"l": "2"}}}));
    let mut failed = 0;
    let mut drops = |filters: &Filters, old: Option<&Object>, new: &Object| filters.drops(old, new, |_, _| failed += 1);
    let data = filters(&["/data"], &[]);
    assert_eq!(drops(&data, None, &a), None, "nothing to compare with");
    assert_eq!(drops(&data, Some(&a), &b), Some(Dropped::OnlyIfChanged));
    assert_eq!(drops(&data, Some(&b), &c), None, "the value went");
    assert_eq!(drops(&data, Some(&c), &c), Some(Dropped::OnlyIfChanged), "absent before and after");
    let both = filters(&["/data", "/metadata/labels"], &[]);
    assert_eq!(drops(&both, Some(&a), &b), None);
    assert_eq!(drops(&Filters::default(), Some(&a), &b), None);
    let labelled = filters(&["/metadata/labels"], &["object.metadata.labels.l == '2'", "old == null || has(old.data)"]);
    assert_eq!(drops(&labelled, None, &a), Some(Dropped::Filter));
    assert_eq!(drops(&labelled, None, &b), None);
    assert_eq!(drops(&labelled, Some(&c), &b), Some(Dropped::OnlyIfChanged));
    assert_eq!(drops(&labelled, Some(&a), &b), None);
    let broken = filters(&[], &["old.data.x != object.data.x"]);
    assert_eq!(drops(&broken, None, &a), None, "what cannot be judged is delivered");
    assert_eq!(drops(&broken, Some(&a), &b), Some(Dropped::Filter));
    assert_eq!(drops(&broken, Some(&a), &c), None);
    assert_eq!(failed, 2);
}

/// What the crate's own evaluator says, for whatever it can evaluate.
fn oracle(text: &str, object: &serde_json::Value) -> Option<bool> {
    let program = cel::Program::compile(text).ok()?;
    let mut context = cel::Context::default();
    context.add_variable("object", cel::to_value(object).ok()?).ok()?;
    context.add_variable("old", cel::to_value(object).ok()?).ok()?;
    match program.execute(&context) {
        Ok(cel::Value::Bool(answer)) => Some(answer),
        _ => None,
    }
}

fn expressions() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("object.n".to_owned()),
        Just("object.d".to_owned()),
        Just("object.s".to_owned()),
        Just("object.l".to_owned()),
        Just("object.m".to_owned()),
        Just("object.b".to_owned()),
        Just("object.nothing".to_owned()),
        Just("object.l[0]".to_owned()),
        Just("object.m['k']".to_owned()),
        Just("true".to_owned()),
        Just("2".to_owned()),
        Just("1.5".to_owned()),
        Just("'ab'".to_owned()),
        Just("[1, 2]".to_owned()),
        Just("null".to_owned()),
    ];
    leaf.prop_recursive(4, 24, 3, |inner| {
        let operator = proptest::sample::select(vec!["==", "!=", "<", ">=", "+", "-", "&&", "||", "in"]);
        let macros = proptest::sample::select(vec!["all", "exists", "exists_one", "filter", "map"]);
        prop_oneof![
            (inner.clone(), operator, inner.clone()).prop_map(|(a, o, b)| format!("({a} {o} {b})")),
            inner.clone().prop_map(|a| format!("!({a})")),
            inner.clone().prop_map(|a| format!("size({a})")),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| format!("({a} ? {b} : {c})")),
            (inner.clone(), macros, inner).prop_map(|(a, m, b)| format!("{a}.{m}(x, x == {b})")),
            Just("has(object.m.k)".to_owned()),
            Just("has(object.m.z)".to_owned()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// Where the crate's evaluator has an answer, it is ours.
    #[test]
    fn agrees_with_the_crates_evaluator(text in expressions(), n in -3_i64..4, s in "[ab]{0,3}", b: bool) {
        let object = json!({"n": n, "d": 1.5, "s": s, "l": [1, 2, "ab"], "m": {"k": "ab"}, "b": b});
        let (Ok(ours), Some(theirs)) = (Expression::compile(&text), oracle(&text, &object)) else { return Ok(()) };
        let json = object.to_string();
        match ours.eval(Some(&json), &json) {
            // The crate adds what CEL does not.
            Err(error) if error.to_string().starts_with("+ does not go with") => {}
            ours => prop_assert_eq!(ours, Ok(theirs), "{}", text),
        }
    }

    #[test]
    fn junk_is_refused_without_a_panic(text in "[a-z0-9.()\\[\\]\"'&|=!<>?:+, éü{}\\\\-]{0,60}") {
        if let Ok(expression) = Expression::compile(&text) {
            let _ = expression.eval(None, "{\"a\":[1]}");
        }
    }
}
