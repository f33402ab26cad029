//! The tracing layer that writes log lines: fields of the event first, then those of the
//! spans around it, all at the top level. Never filters (that is the filter in front).

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer};
use tracing_subscriber::registry::LookupSpan;

use super::line::{Fields, Line};
use super::ring::LogRing;
use super::short::short;

/// How lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// One JSON object per line.
    Json,
    /// For people; with ANSI colours or without.
    Text { colour: bool },
    /// For people at a desk; likewise.
    Short { colour: bool },
}

/// Writes each event as one line by one call of `sink`, and keeps it.
pub(super) struct LineLayer<W> {
    style: Style,
    sink: W,
    ring: Arc<LogRing>,
}

impl<W: Fn(&str)> LineLayer<W> {
    pub(super) fn new(style: Style, sink: W, ring: Arc<LogRing>) -> Self {
        Self { style, sink, ring }
    }
}

impl<W> fmt::Debug for LineLayer<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineLayer").field("style", &self.style).finish_non_exhaustive()
    }
}

impl<S, W> Layer<S> for LineLayer<W>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: Fn(&str) + Send + Sync + 'static,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if let Some(span) = context.span(id) {
            let mut fields = Fields::default();
            attributes.record(&mut fields);
            span.extensions_mut().insert(fields);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(fields) = span.extensions_mut().get_mut::<Fields>()
        {
            values.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        // From the innermost span outwards: what is nearer to the event wins.
        for span in context.event_scope(event).into_iter().flatten() {
            if let Some(outer) = span.extensions().get::<Fields>() {
                fields.inherit(outer);
            }
        }
        let line = Line::new(Timestamp::now(), event.metadata(), fields);
        let text = match self.style {
            Style::Json => line.json(),
            Style::Text { colour } => line.text(colour),
            Style::Short { colour } => short(&line, colour),
        };
        (self.sink)(&text);
        self.ring.push(line);
    }
}
