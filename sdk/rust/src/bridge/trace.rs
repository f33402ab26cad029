//! The crate `tracing`: its events become lines with their fields, and with those of the
//! spans around them, the outermost first. Spans themselves are no lines.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};

use tracing_core::field::{Field, Visit};
use tracing_core::span::{Attributes, Current, Id, Record};
use tracing_core::{Dispatch, Event, Interest, Metadata, Subscriber, dispatcher};

use crate::backend;
use crate::log::Level;

pub(super) fn install() {
    // A subscriber of the plugin's own has come first: it is meant to get the events.
    let _ours = dispatcher::set_global_default(Dispatch::new(HostSubscriber));
}

/// Spans live on the thread that made them, which in a component is the only one.
#[derive(Default)]
struct Spans {
    alive: BTreeMap<u64, Span>,
    entered: Vec<u64>,
}

struct Span {
    metadata: &'static Metadata<'static>,
    fields: Vec<(String, String)>,
    handles: usize,
}

static NEXT: AtomicU64 = AtomicU64::new(1);

thread_local! {
    static SPANS: RefCell<Spans> = RefCell::default();
}

struct HostSubscriber;

impl Subscriber for HostSubscriber {
    /// Asked once per place in the code, while the host's level may change between calls.
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // A span has fields for lines of any level.
        metadata.is_span() || backend::log_enabled(level(*metadata.level()))
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let id = NEXT.fetch_add(1, Ordering::Relaxed).max(1);
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let span = Span { metadata: attributes.metadata(), fields: fields.all, handles: 1 };
        SPANS.with_borrow_mut(|spans| spans.alive.insert(id, span));
        Id::from_u64(id)
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        let mut fields = Fields::default();
        values.record(&mut fields);
        SPANS.with_borrow_mut(|spans| {
            if let Some(span) = spans.alive.get_mut(&id.into_u64()) {
                span.fields.extend(fields.all);
            }
        });
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut own = Fields::default();
        event.record(&mut own);
        let mut fields = vec![("target".to_owned(), event.metadata().target().to_owned())];
        SPANS.with_borrow(|spans| {
            for span in spans.entered.iter().filter_map(|id| spans.alive.get(id)) {
                fields.extend(span.fields.iter().cloned());
            }
        });
        fields.extend(own.all);
        backend::log_emit(level(*event.metadata().level()), &own.message, &fields);
    }

    fn enter(&self, id: &Id) {
        SPANS.with_borrow_mut(|spans| spans.entered.push(id.into_u64()));
    }

    fn exit(&self, id: &Id) {
        SPANS.with_borrow_mut(|spans| {
            if let Some(at) = spans.entered.iter().rposition(|entered| *entered == id.into_u64()) {
                spans.entered.remove(at);
            }
        });
    }

    fn clone_span(&self, id: &Id) -> Id {
        SPANS.with_borrow_mut(|spans| {
            if let Some(span) = spans.alive.get_mut(&id.into_u64()) {
                span.handles = span.handles.saturating_add(1);
            }
        });
        id.clone()
    }

    fn try_close(&self, id: Id) -> bool {
        SPANS.with_borrow_mut(|spans| {
            let Some(span) = spans.alive.get_mut(&id.into_u64()) else { return false };
            span.handles = span.handles.saturating_sub(1);
            let last = span.handles == 0;
            if last {
                spans.alive.remove(&id.into_u64());
            }
            last
        })
    }

    fn current_span(&self) -> Current {
        SPANS.with_borrow(|spans| {
            let current = spans.entered.last().and_then(|id| Some((Id::from_u64(*id), spans.alive.get(id)?.metadata)));
            current.map_or_else(Current::none, |(id, metadata)| Current::new(id, metadata))
        })
    }
}

/// The message, and the fields as texts.
#[derive(Default)]
struct Fields {
    message: String,
    all: Vec<(String, String)>,
}

impl Fields {
    fn take(&mut self, field: &Field, text: String) {
        if field.name() == "message" {
            self.message = text;
        } else {
            self.all.push((field.name().to_owned(), text));
        }
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.take(field, format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.take(field, value.to_owned());
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        self.take(field, value.to_string());
    }
}

fn level(level: tracing_core::Level) -> Level {
    match level {
        tracing_core::Level::TRACE => Level::Trace,
        tracing_core::Level::DEBUG => Level::Debug,
        tracing_core::Level::INFO => Level::Info,
        tracing_core::Level::WARN => Level::Warn,
        tracing_core::Level::ERROR => Level::Error,
    }
}
