//! Errors that leave a handler: the plain error, the crash, the thrown value, the rejection;
//! in each function, with their text, and what the next call finds.

use serde_json::{Value, json};
use wharf_core::Event;

use crate::conformance::case::{Case, Text, Want, add};
use crate::conformance::language::{Ending, Traits};

const TEXT: &str = "boom in the handler";

pub(crate) fn cases(traits: &Traits) -> Vec<Case> {
    let mut cases = Vec::new();
    for (command, ending, own_message) in [
        ("error", Ending::Caught, true),
        ("rejected", Ending::Caught, true),
        ("panic", traits.panic, traits.panic_message),
        ("throw-value", traits.thrown, true),
    ] {
        for event in Event::ALL {
            let message: Vec<_> = own_message.then_some(TEXT.to_owned()).into_iter().collect();
            let fails = add(command, json!({"message": TEXT})).event(event).want(ends(ending, Text::Has(message))).any_lines();
            let name = format!("{command}-in-{}", event.as_str());
            cases.push(Case::new("error", name).calls([
                fails.clone(),
                add("done", json!({})),
                fails,
                add("count", json!({})).holds("a number", Value::is_u64),
            ]));
        }
    }
    cases.extend([
        Case::new("error", "text-has-the-stack-where-there-is-one").call({
            let parts = [TEXT].into_iter().chain(traits.stack).map(str::to_owned).collect();
            add("error", json!({"message": TEXT})).want(ends(Ending::Caught, Text::Has(parts))).any_lines()
        }),
        Case::new("error", "text-of-a-crash-has-the-place").call({
            let parts = traits.panic_message.then_some(TEXT).into_iter().chain(traits.crash_place).map(str::to_owned).collect();
            add("panic", json!({"message": TEXT})).want(ends(traits.panic, Text::Has(parts))).any_lines()
        }),
        // What a handler started and did not wait for belongs to its call, also if it breaks off.
        Case::new("error", "nothing-left-for-the-next-call").calls(Event::ALL.iter().flat_map(|event| {
            let leaves = add("leave", json!({"message": TEXT})).event(*event).want(ends(Ending::Caught, Text::has(TEXT))).any_lines();
            [leaves, add("done", json!({}))]
        })),
        Case::new("error", "empty-text").call({
            let text = traits.stack.map_or_else(|| Text::Is(String::new()), Text::has);
            add("error", json!({"message": ""})).want(ends(Ending::Caught, text)).any_lines()
        }),
        Case::new("error", "long-text")
            .call(add("error", json!({"message": "e".repeat(5000)})).want(ends(Ending::Caught, Text::has(&"e".repeat(4000)))).any_lines()),
        Case::new("error", "crash-with-unicode").call({
            let parts = traits.panic_message.then(|| "krach \u{1f4a5} é".to_owned()).into_iter().collect();
            add("panic", json!({"message": "krach \u{1f4a5} é"})).want(ends(traits.panic, Text::Has(parts))).any_lines()
        }),
    ]);
    cases
}

pub(super) fn ends(ending: Ending, text: Text) -> Want {
    match ending {
        Ending::Caught => Want::Retry("HandlerError".to_owned(), text, None),
        Ending::Strike(reason) => Want::Strike(reason, text),
    }
}
