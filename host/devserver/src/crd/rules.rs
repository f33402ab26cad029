//! `x-kubernetes-validations`: rules in CEL at their places in a schema. Owns when a rule is asked, about what, and what its
//! answer means to the user; the language is `cel`'s.

use serde_json::{Value, json};

use super::cel::{Budget, Program, Subject};
use super::schema::{CustomSchema, DataType};
use super::validate::Before;
use crate::schema::ListKind;
use crate::status::{Cause, Causes};

/// A rule of a schema.
#[derive(Debug, Default)]
pub(super) struct Rule {
    text: String,
    message: String,
    message_expression: String,
    reason: String,
    /// Below the value that the rule is about.
    field_path: String,
    optional_old: bool,
    /// `None` before it is compiled, and for one that does not compile.
    program: Option<Program>,
    message_program: Option<Program>,
}

/// Steps of one rule, at most; about 50 nanoseconds each.
const MAX_STEPS: u64 = 1_000_000;
/// Steps of all rules on one object, at most.
const MAX_STEPS_OF_OBJECT: u64 = 10_000_000;

const REASONS: [&str; 4] = ["FieldValueRequired", "FieldValueForbidden", "FieldValueInvalid", "FieldValueDuplicate"];

impl Rule {
    pub(super) fn read(rule: &Value) -> Self {
        let text = |name: &str| rule.get(name).and_then(Value::as_str).unwrap_or("").to_owned();
        Self {
            text: text("rule"),
            message: text("message"),
            message_expression: text("messageExpression"),
            reason: text("reason"),
            field_path: text("fieldPath"),
            optional_old: rule.get("optionalOldSelf").and_then(Value::as_bool).unwrap_or(false),
            program: None,
            message_program: None,
        }
    }

    /// Compiles it for values of a schema. `correlatable`: whether a value there has a known state before.
    fn compile(&mut self, schema: &CustomSchema, path: &str, correlatable: bool, causes: &mut Causes) {
        let mut wrong = |name: &str, value: &str, why: &str| causes.push(Cause::invalid(format!("{path}.{name}"), &json!(value), why));
        if self.message.contains('\n') {
            wrong("message", &self.message, "message must not contain line breaks");
        }
        if !self.field_path.is_empty() && field_below("", &self.field_path).is_none() {
            wrong("fieldPath", &self.field_path, "fieldPath must be a valid path");
        }
        if !self.text.trim().is_empty() {
            match Program::rule(&self.text, schema, self.optional_old) {
                Ok(program) if program.uses_old() && !correlatable && !self.optional_old => {
                    wrong("rule", &self.text, "oldSelf cannot be used on the uncorrelatable portion of the schema");
                }
                Ok(program) if self.optional_old && !program.uses_old() => {
                    wrong("optionalOldSelf", "true", "may not be set if oldSelf is not used in rule");
                }
                Ok(program) => self.program = Some(program),
                Err(why) => wrong("rule", &self.text, &why),
            }
        }
        if !self.message_expression.is_empty() {
            match Program::message(&self.message_expression, schema, self.optional_old) {
                Ok(program) => self.message_program = Some(program),
                Err(why) => wrong("messageExpression", &self.message_expression, &why),
            }
        }
        if self.text.trim().is_empty() {
            causes.push(Cause::required(format!("{path}.rule"), "rule is not specified"));
        } else if self.text.trim().contains('\n') && self.message.trim().is_empty() {
            causes.push(Cause::required(format!("{path}.message"), "message must be specified if rule contains line breaks"));
        }
        if !self.reason.is_empty() && !REASONS.contains(&self.reason.as_str()) {
            causes.push(Cause::not_supported(format!("{path}.reason"), &json!(self.reason), &REASONS));
        }
    }

    fn message(&self, subject: &Subject<'_>, budget: &Budget) -> String {
        let made = self.message_program.as_ref().and_then(|program| program.text(subject, budget).ok());
        let made = made.filter(|text| !text.trim().is_empty() && !text.contains('\n') && text.len() <= 5 * 1024);
        made.unwrap_or_else(|| match self.message.is_empty() {
            false => self.message.clone(),
            true => format!("failed rule: {}", self.text.trim()),
        })
    }

    /// How errors call the rule.
    fn name(&self) -> &str {
        if self.message.is_empty() { self.text.trim() } else { self.message.trim() }
    }
}

/// Compiles all rules of a schema; what does not compile is told of with its place below `path`.
pub(super) fn compile(schema: &mut CustomSchema, path: &str, causes: &mut Causes) {
    compile_below(schema, &mut path.to_owned(), true, causes);
}

fn compile_below(schema: &mut CustomSchema, path: &mut String, correlatable: bool, causes: &mut Causes) {
    let mut rules = std::mem::take(&mut schema.rules);
    for (at, rule) in rules.iter_mut().enumerate() {
        if causes.is_full() {
            break;
        }
        within(path, &format!(".x-kubernetes-validations[{at}]"), |path| rule.compile(schema, path, correlatable, causes));
    }
    schema.rules = rules;
    for (name, property) in &mut schema.properties {
        within(path, &format!(".properties[{name}]"), |path| compile_below(property, path, correlatable, causes));
    }
    if let Some(Some(values)) = &mut schema.additional {
        within(path, ".additionalProperties", |path| compile_below(values, path, correlatable, causes));
    }
    let keyed = matches!(schema.list, Some(ListKind::Map(_)));
    if let Some(items) = schema.items.as_deref_mut() {
        within(path, ".items", |path| compile_below(items, path, correlatable && keyed, causes));
    }
}

/// One step further on a path, which is as long as its names are.
fn within(path: &mut String, step: &str, then: impl FnOnce(&mut String)) {
    let length = path.len();
    path.push_str(step);
    then(path);
    path.truncate(length);
}

/// What the rules say against an object. `old` for an update: rules about changes are asked, and what has not changed is not
/// refused by any other.
pub(super) fn check(schema: &CustomSchema, object: &Value, old: Option<&Value>) -> Causes {
    let mut walk = Walk { causes: Causes::default(), left: MAX_STEPS_OF_OBJECT, stopped: false };
    walk.value(schema, object, old, &mut String::new());
    walk.causes
}

struct Walk {
    causes: Causes,
    left: u64,
    /// The budget is used up.
    stopped: bool,
}

impl Walk {
    fn value(&mut self, schema: &CustomSchema, value: &Value, old: Option<&Value>, path: &mut String) {
        if value.is_null() || !schema.has_rules() {
            return;
        }
        for rule in &schema.rules {
            self.rule(rule, schema, value, old.filter(|old| !old.is_null()), path);
        }
        match value {
            Value::Object(map) => {
                for (name, value) in map {
                    if let Some(member) = schema.property(name) {
                        let before = old.and_then(|old| old.get(name));
                        let dot = if path.is_empty() { "" } else { "." };
                        within(path, &format!("{dot}{name}"), |path| self.value(member, value, before, path));
                    }
                }
            }
            Value::Array(list) => {
                let Some(items) = schema.items.as_deref() else { return };
                let before = Before::of(schema, old);
                for (at, item) in list.iter().enumerate() {
                    within(path, &format!("[{at}]"), |path| self.value(items, item, before.item(schema, item), path));
                }
            }
            _ => {}
        }
    }

    fn rule(&mut self, rule: &Rule, schema: &CustomSchema, value: &Value, old: Option<&Value>, path: &str) {
        let Some(program) = &rule.program else { return };
        if self.stopped || self.causes.is_full() || (program.uses_old() && !rule.optional_old && old.is_none()) {
            return;
        }
        let subject = Subject { schema, this: value, old, optional_old: rule.optional_old };
        let granted = self.left.min(MAX_STEPS);
        let budget = Budget::new(granted);
        let answer = program.holds(&subject, &budget);
        let kind = json!(schema.data_type.filter(|_| !schema.int_or_string).map_or("", DataType::name));
        let field = || if path.is_empty() { "<nil>".to_owned() } else { path.to_owned() };
        let cause = match answer {
            Ok(true) => None,
            Ok(false) => {
                let field = field_below(path, &rule.field_path).filter(|field| !field.is_empty()).unwrap_or_else(field);
                let message = rule.message(&subject, &budget);
                Some(match rule.reason.as_str() {
                    "FieldValueRequired" => Cause::required(field, &message),
                    "FieldValueForbidden" => Cause::forbidden(field, &message),
                    "FieldValueDuplicate" => Cause::duplicate(field, &kind),
                    _ => Cause::invalid(field, &kind, &message),
                })
            }
            Err(error) if error.spent => {
                self.stopped = true;
                let why = format!("no further validation rules will be run due to {} for rule: {}", error.message, rule.name());
                Some(Cause::invalid(field(), &kind, &why))
            }
            Err(error) => Some(Cause::invalid(field(), &kind, &format!("{} evaluating rule: {}", error.message, rule.name()))),
        };
        self.left = self.left.saturating_sub(granted.saturating_sub(budget.left()));
        // What was so before and does not speak of changes cannot be this update's fault.
        let unchanged = !program.uses_old() && old == Some(value);
        if let Some(cause) = cause.filter(|_| !unchanged || self.stopped) {
            self.causes.push(cause);
        }
    }
}

/// The field that `fieldPath` (`.a.b`, `.a['b']`) means below a path; `None` if it is no such path.
fn field_below(path: &str, field_path: &str) -> Option<String> {
    let mut out = path.to_owned();
    let mut rest = field_path;
    while !rest.is_empty() {
        let name = if let Some(tail) = rest.strip_prefix("['") {
            let (name, tail) = tail.split_once("']")?;
            rest = tail;
            name
        } else {
            let tail = rest.strip_prefix('.')?;
            let end = tail.find(['.', '[']).unwrap_or(tail.len());
            let (name, tail) = tail.split_at_checked(end)?;
            rest = tail;
            name
        };
        if name.is_empty() {
            return None;
        }
        if !out.is_empty() {
            out.push('.');
        }
        out.push_str(name);
    }
    Some(out)
}
