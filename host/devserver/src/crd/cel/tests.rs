//! The language of rules: what expressions answer, what is refused before any object is seen, and that nothing is costly.

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;
use crate::crd::schema::CustomSchema;

fn schema() -> CustomSchema {
    let map = |of: Json| json!({"type": "object", "additionalProperties": of});
    CustomSchema::parse(&json!({"type": "object", "properties": {
        "n": {"type": "integer"}, "d": {"type": "number"}, "s": {"type": "string"}, "b": {"type": "boolean"},
        "list": {"type": "array", "items": {"type": "integer"}},
        "names": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "others": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "objects": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}, "v": {"type": "integer"}}}},
        "map": map(json!({"type": "string"})),
        "port": {"x-kubernetes-int-or-string": true},
        "at": {"type": "string", "format": "date-time"}, "for": {"type": "string", "format": "duration"},
        "bytes": {"type": "string", "format": "byte"},
        "a-b": {"type": "string"}, "namespace": {"type": "string"}, "nothing": {"type": "string", "nullable": true},
        "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    }}))
}

fn object() -> Json {
    json!({
        "apiVersion": "a/v1", "kind": "K", "metadata": {"name": "x", "labels": {"l": "1"}},
        "n": 3, "d": 2, "s": "Hello, wörld", "b": true, "list": [3, 1, 2], "names": ["a", "b"], "others": ["b", "a"],
        "objects": [{"name": "x", "v": 1}, {"name": "y", "v": 2}], "map": {"k": "v", "l": "w"}, "port": "http",
        "at": "2026-01-02T03:04:05Z", "for": "1h30m", "bytes": "YWJj", "a-b": "dash", "namespace": "ns", "nothing": null,
        "any": {"x": 1},
    })
}

fn run(text: &str, budget: u64) -> Result<bool, String> {
    let (schema, object) = (schema(), object());
    let program = Program::rule(text, &schema, false)?;
    let subject = Subject { schema: &schema, this: &object, old: None, optional_old: false };
    program.holds(&subject, &Budget::new(budget)).map_err(|error| error.message)
}

#[test]
fn holds() {
    for text in [
        "self.n == 3 && self.n + 1 == 4 && self.n % 2 == 1 && self.n / 2 == 1 && -self.n == -3",
        "self.d == 2.0 && self.d > 1 && self.d * 2.0 == 4.0 && self.n < 3.5",
        "self.b ? self.n == 3 : false",
        "self.metadata.name == 'x' && self.kind == 'K' && self.apiVersion == 'a/v1'",
        "has(self.n) && !has(self.nothing) && !has(self.metadata.generateName)",
        "self.a__dash__b == 'dash' && self.__namespace__ == 'ns'",
        "self.s.startsWith('Hello') && self.s.endsWith('rld') && self.s.contains(',') && size(self.s) == 12 && self.s.size() == 12",
        r"self.s.matches('^H[a-z]+, w') && !self.s.matches(r'^\d')",
        "self.s.lowerAscii().upperAscii() == 'HELLO, WöRLD'",
        "self.s.split(', ') == ['Hello', 'wörld'] && self.s.split(', ')[1].charAt(1) == 'ö'",
        "'a,b,c'.split(',', 2) == ['a', 'b,c'] && ['a', 'b'].join('-') == 'a-b' && ['a', 'b'].join() == 'ab'",
        "self.s.indexOf('l') == 2 && self.s.lastIndexOf('l') == 10 && self.s.indexOf('zz') == -1 && 'abab'.indexOf('a', 1) == 2",
        "self.s.substring(7) == 'wörld' && self.s.substring(0, 5) == 'Hello' && ' a '.trim() == 'a'",
        "'aXbX'.replace('X', '') == 'ab' && 'aXbX'.replace('X', '-', 1) == 'a-bX' && 'abc'.reverse() == 'cba'",
        "'%s is %d of %.1f'.format(['x', 3, 1.5]) == 'x is 3 of 1.5'",
        "'a1b22'.find('[0-9]+') == '1' && 'a1b22'.findAll('[0-9]+') == ['1', '22']",
        "self.list.all(x, x > 0) && self.list.exists(x, x == 2) && self.list.exists_one(x, x > 2)",
        "self.list.map(x, x * 2) == [6, 2, 4] && self.list.filter(x, x > 1) == [3, 2] && self.list.map(x, x > 1, x) == [3, 2]",
        "!self.list.isSorted() && self.list.sum() == 6 && self.list.min() == 1 && self.list.max() == 3 && self.list.indexOf(2) == 2",
        "[1, 2, 3].isSorted() && self.list[0] == 3 && 2 in self.list && !(7 in self.list) && self.list + [4] == [3, 1, 2, 4]",
        "self.names == self.others && ['a', 'b'] == self.others && [1, 2] != [2, 1]",
        "sets.contains(self.list, [1, 2]) && sets.equivalent(self.list, [1, 2, 3]) && sets.intersects(self.list, [9, 1])",
        "self.objects.all(o, self.objects.exists_one(p, p.name == o.name)) && self.objects[1].v == 2",
        "self.map['k'] == 'v' && self.map.k == 'v' && 'k' in self.map && self.map.all(key, size(key) == 1) && size(self.map) == 2",
        "self.map == {'k': 'v', 'l': 'w'} && {'a': 1}.a == 1 && {1: 'x'}[1] == 'x'",
        "self.map.all(k, v, k < v) && self.list.exists(i, v, i == 2 && v == 2)",
        "type(self.port) == string && self.port == 'http' && string(self.port) == 'http' && (type(self.port) == int ? self.port > 0 : true)",
        "self.at > timestamp('2026-01-01T00:00:00Z') && self.at.getFullYear() == 2026 && self.at.getHours('+02:00') == 5",
        "self.at - timestamp('2026-01-02T03:04:00Z') == duration('5s') && self.at + duration('55s') == timestamp('2026-01-02T03:05:00Z')",
        "self.__for__ == duration('90m') && self.__for__.getMinutes() == 90 && duration('500ms') < duration('1m30s')",
        "self.bytes == b'abc' && string(self.bytes) == 'abc' && size(bytes('ä')) == 2 && base64.encode(self.bytes) == 'YWJj'",
        "int('7') == 7 && double('0.5') == 0.5 && string(1.5) == '1.5' && uint(3) == 3u && bool('true') && int(2.9) == 2",
        "quantity('1Gi').compareTo(quantity('1024Mi')) == 0 && quantity('100m').isLessThan(quantity('1')) && !isQuantity('x')",
        "quantity('2k').asInteger() == 2000 && quantity('1').add(quantity('1')) == quantity('2') && quantity('-1').sign() == -1",
        "url('https://u@h.example:80/p?q=1').getHost() == 'h.example:80' && url('https://h/p?q=1').getQuery()['q'] == ['1'] && !isURL('a b')",
        "ip('10.0.0.1').family() == 4 && isIP('::1') && !isIP('x') && cidr('10.0.0.0/8').containsIP('10.1.2.3')",
        "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && !cidr('10.0.0.0/8').containsIP(ip('11.0.0.1')) && cidr('10.1.2.3/8').masked().ip() == ip('10.0.0.0')",
        "self.?s.orValue('none') != 'none' && self.?nothing.orValue('none') == 'none' && !self.?nothing.hasValue()",
        "self.map[?'z'].orValue('none') == 'none' && self.?s.optMap(s, size(s)).orValue(0) == 12 && optional.of(1).value() == 1",
        "cel.bind(x, self.n + 1, x * x == 16)",
        "[[1], [2, 3]].flatten() == [1, 2, 3] && [1, 1, 2].distinct() == [1, 2] && [3, 1].sort() == [1, 3] && [1, 2, 3].slice(1, 2) == [2]",
        "math.greatest(1, 2) == 2 && math.least([4, 3]) == 3",
        // A side that decides makes up for the other's error.
        "self.map.zz == 'a' || true",
        "!(false && self.map.zz == 'a')",
        "self.objects.exists(o, o.v / (o.v - 1) > 0)",
        "dyn(self.n) == 3 && self.n in [1, 2, 3] && null == null",
    ] {
        assert_eq!(run(text, 100_000), Ok(true), "{text}");
    }
}

#[test]
fn refused_before_any_object() {
    let ended = |text: &str| run(text, 1).err().unwrap_or_else(|| format!("{text} was compiled"));
    for (text, want) in [
        ("self.x == 1", "compilation failed: ERROR: <input>: undefined field 'x'"),
        ("self.metadata.labels.l == '1'", "compilation failed: ERROR: <input>: undefined field 'labels'"),
        ("self.any.x == 1", "compilation failed: ERROR: <input>: undefined field 'x'"),
        ("self.objects.all(o, o.z == 1)", "compilation failed: ERROR: <input>: undefined field 'z'"),
        ("self.namespace == ''", "compilation failed: ERROR: <input>: undefined field 'namespace'"),
        ("self.n.x == 1", "compilation failed: ERROR: <input>: type 'int' does not support field selection"),
        ("foo == 1", "compilation failed: ERROR: <input>: undeclared reference to 'foo' (in container '')"),
        ("self.list.all(x, y > 1)", "compilation failed: ERROR: <input>: undeclared reference to 'y' (in container '')"),
        ("self.s.foo()", "compilation failed: ERROR: <input>: undeclared reference to 'foo' (in container '')"),
        ("self.s == 1", "compilation failed: ERROR: <input>: found no matching overload for '_==_' applied to '(string, int)'"),
        ("self.s < 1", "compilation failed: ERROR: <input>: found no matching overload for '_<_' applied to '(string, int)'"),
        ("self.n + 1.0 > 1.0", "compilation failed: ERROR: <input>: found no matching overload for '_+_' applied to '(int, double)'"),
        ("self.s.contains(1)", "compilation failed: ERROR: <input>: found no matching overload for 'contains' applied to 'string.(int)'"),
        ("'a' in self.list", "compilation failed: ERROR: <input>: found no matching overload for '@in' applied to '(string, list(int))'"),
        ("!self.n", "compilation failed: ERROR: <input>: found no matching overload for '!_' applied to '(int)'"),
        ("self.n && true", "compilation failed: ERROR: <input>: found no matching overload for '_&&_' applied to '(int, bool)'"),
        ("self.n", "cel expression must evaluate to a bool"),
        ("self.s.matches('(')", "compilation failed: ERROR: <input>: invalid matches argument: error parsing regexp: unclosed group: `(`"),
        ("Foo{a: 1} == 1", "compilation failed: ERROR: <input>: undeclared reference to 'Foo' (in container '')"),
    ] {
        assert_eq!(ended(text), want, "{text}");
    }
    for text in ["self.", "self.n ==", "(", "'a", "self.n = 1", ""] {
        let refused = ended(text);
        assert!(refused.starts_with("compilation failed: ERROR: <input>: Syntax error: "), "{text}: {refused}");
    }
    let schema = schema();
    assert!(Program::message("'a' + self.s", &schema, false).is_ok());
    assert_eq!(Program::message("self.n", &schema, false).err().as_deref(), Some("messageExpression must evaluate to a string"));
}

#[test]
fn errors_of_an_evaluation() {
    for (text, want) in [
        ("self.map.zz == 'a'", "no such key: zz"),
        ("self.map['zz'] == 'a'", "no such key: zz"),
        ("self.nothing == 'a'", "no such key: nothing"),
        ("self.list[7] == 1", "index out of bounds: 7"),
        ("self.n / 0 == 1", "division by zero"),
        ("self.n + 9223372036854775807 > 0", "integer overflow"),
        ("self.port > 1", "no such overload"),
        ("int(self.s) == 1", "type conversion error from 'string' to 'int': \"Hello, wörld\""),
        ("quantity('x').sign() == 1", "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"),
        ("self.s.substring(50) == ''", "index out of range: 50"),
        ("[1].filter(x, x > 1).min() == 1", "min and max of an empty list are not defined"),
        ("self.?nothing.value() == 'a'", "optional.none() dereference"),
    ] {
        assert_eq!(run(text, 100_000), Err(want.to_owned()), "{text}");
    }
}

#[test]
fn what_was_before() {
    let (schema, object) = (schema(), object());
    let mut before = object.clone();
    before["n"] = json!(2);
    let rule = Program::rule("self.n >= oldSelf.n", &schema, false).unwrap();
    assert!(rule.uses_old());
    let budget = Budget::new(1000);
    let ask = |this, old| rule.holds(&Subject { schema: &schema, this, old: Some(old), optional_old: false }, &budget);
    assert_eq!((ask(&object, &before), ask(&before, &object)), (Ok(true), Ok(false)));
    let rule = Program::rule("!oldSelf.hasValue() || oldSelf.value().n == self.n", &schema, true).unwrap();
    let ask = |old| rule.holds(&Subject { schema: &schema, this: &object, old, optional_old: true }, &budget);
    assert_eq!((ask(None), ask(Some(&before)), ask(Some(&object))), (Ok(true), Ok(false), Ok(true)));
    let rule = Program::rule("oldSelf.?n.orValue(0) < 3", &schema, true).unwrap();
    let ask = |old| rule.holds(&Subject { schema: &schema, this: &object, old, optional_old: true }, &budget);
    assert_eq!((ask(None), ask(Some(&before)), ask(Some(&object))), (Ok(true), Ok(true), Ok(false)));
}

#[test]
fn no_rule_is_costly() {
    let schema = CustomSchema::parse(&json!({"type": "object", "properties": {"l": {"type": "array", "items": {"type": "string"}}}}));
    let object = json!({"l": (0..20_000).map(|n| n.to_string()).collect::<Vec<_>>()});
    for text in [
        "self.l.all(a, self.l.all(b, a + b != 'x'))",
        "self.l.all(a, a in self.l)",
        "self.l.map(a, self.l.map(b, b + a)).size() > 0",
        "self.l.distinct().size() > 0",
        "self.l.exists(a, self.l.exists(b, a.matches(b + 'x')))",
        "self.l.all(a, self.l.join(a).size() > 0)",
        "self.l.all(a, self.l.join().replace('1', self.l.join()).size() > 0)",
        "self.l.all(a, self.l + self.l != self.l)",
    ] {
        let program = Program::rule(text, &schema, false).unwrap();
        let subject = Subject { schema: &schema, this: &object, old: None, optional_old: false };
        let error = program.holds(&subject, &Budget::new(1_000_000)).unwrap_err();
        assert!(error.spent, "{text}: {}", error.message);
    }
    let deep = format!("{}true{} == []", "[".repeat(10_000), "]".repeat(10_000));
    let long = format!("self.l == [{}]", "'a',".repeat(100_000));
    let chain = vec!["true"; 5_000].join(" ? true : ");
    for text in [deep, long, chain] {
        assert!(Program::rule(&text, &schema, false).is_err(), "{}", text.len());
    }
}

fn texts() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "self",
        "self.n",
        "self.d",
        "self.s",
        "self.list",
        "self.map",
        "self.port",
        "self.at",
        "self.for",
        "self.nothing",
        "self.any",
        "1",
        "-1",
        "2u",
        "1.5",
        "'a'",
        "[1, 'a']",
        "{'a': 1}",
        "null",
        "true",
        "x",
        "oldSelf",
    ]);
    leaf.prop_map(str::to_owned).prop_recursive(4, 24, 3, |inner| {
        let operators = prop::sample::select(vec!["==", "!=", "<", ">=", "+", "-", "*", "/", "%", "&&", "||", "in"]);
        let macros = prop::sample::select(vec!["all", "exists", "exists_one", "filter", "map"]);
        let functions = prop::sample::select(vec![
            "size",
            "int",
            "string",
            "double",
            "duration",
            "timestamp",
            "quantity",
            "dyn",
            "type",
            "bytes",
            "ip",
            "url",
        ]);
        let methods = prop::sample::select(vec!["split", "indexOf", "substring", "matches", "join", "replace", "charAt", "sum", "orValue"]);
        prop_oneof![
            (inner.clone(), operators, inner.clone()).prop_map(|(a, o, b)| format!("({a} {o} {b})")),
            (inner.clone(), macros, inner.clone()).prop_map(|(a, m, b)| format!("{a}.{m}(x, {b})")),
            (functions, inner.clone()).prop_map(|(f, a)| format!("{f}({a})")),
            (inner.clone(), methods, inner.clone()).prop_map(|(a, m, b)| format!("{a}.{m}({b})")),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| format!("({a} ? {b} : {c})")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("{a}[{b}]")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    /// Whatever is written, it is refused or ends; a rule that was compiled answers true, false or an error.
    #[test]
    fn any_rule_ends(text in texts(), noise in "\\PC{0,40}") {
        let _ = run(&text, 10_000);
        let _ = run(&format!("dyn({text}) == dyn(1)"), 10_000);
        let _ = run(&noise, 10_000);
    }
}
