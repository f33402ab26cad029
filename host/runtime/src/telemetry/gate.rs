//! What is logged: the host's filter, and before it the levels of single plugins. Owns the decision
//! about a line, which is made per place in the code where that is enough; never writes one.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber, span};
use tracing_subscriber::filter::EnvFilter;
use tracing_subscriber::layer::{Context, Layer};

/// The field that says which plugin a line is about.
pub(super) const PLUGIN: &str = "plugin";

/// Levels that operators gave to plugins, `namespace/name`.
pub(super) type Levels = BTreeMap<String, LevelFilter>;

/// Decides about each line. Exchanged when anything about it changes.
pub(super) struct Gate {
    filter: EnvFilter,
    levels: Arc<Levels>,
    /// The loudest of the levels; `OFF` if there are none.
    loudest: LevelFilter,
}

impl Gate {
    pub(super) fn new(filter: EnvFilter, levels: Arc<Levels>) -> Self {
        let loudest = levels.values().max().copied().unwrap_or(LevelFilter::OFF);
        Self { filter, levels, loudest }
    }

    /// Could a level of a plugin have a say?
    fn concerns(&self, metadata: &Metadata<'_>) -> bool {
        !self.levels.is_empty() && !metadata.is_span() && metadata.fields().field(PLUGIN).is_some()
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").field("filter", &self.filter.to_string()).field("levels", &self.levels).finish_non_exhaustive()
    }
}

impl<S: Subscriber> Layer<S> for Gate {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        let interest = Layer::<S>::register_callsite(&self.filter, metadata);
        if self.concerns(metadata) && (!interest.is_never() || *metadata.level() <= self.loudest) {
            return Interest::sometimes();
        }
        interest
    }

    fn enabled(&self, metadata: &Metadata<'_>, context: Context<'_, S>) -> bool {
        // Whose line it is shows the event only.
        (self.concerns(metadata) && *metadata.level() <= self.loudest) || self.filter.enabled(metadata, context)
    }

    fn event_enabled(&self, event: &Event<'_>, context: Context<'_, S>) -> bool {
        let metadata = event.metadata();
        if !self.concerns(metadata) {
            return true;
        }
        let mut plugin = Plugin { levels: &self.levels, level: None };
        event.record(&mut plugin);
        match plugin.level {
            Some(level) => *metadata.level() <= level,
            None => self.filter.enabled(metadata, context),
        }
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        self.filter.max_level_hint().map(|hint| hint.max(self.loudest))
    }

    fn on_new_span(&self, attributes: &span::Attributes<'_>, id: &span::Id, context: Context<'_, S>) {
        self.filter.on_new_span(attributes, id, context);
    }

    fn on_record(&self, id: &span::Id, values: &span::Record<'_>, context: Context<'_, S>) {
        self.filter.on_record(id, values, context);
    }

    fn on_enter(&self, id: &span::Id, context: Context<'_, S>) {
        self.filter.on_enter(id, context);
    }

    fn on_exit(&self, id: &span::Id, context: Context<'_, S>) {
        self.filter.on_exit(id, context);
    }

    fn on_close(&self, id: span::Id, context: Context<'_, S>) {
        self.filter.on_close(id, context);
    }
}

/// Looks for the plugin of an event, and its level.
struct Plugin<'a> {
    levels: &'a Levels,
    level: Option<LevelFilter>,
}

impl Visit for Plugin<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == PLUGIN {
            self.level = self.levels.get(value).copied();
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == PLUGIN {
            self.level = self.levels.get(&format!("{value:?}")).copied();
        }
    }
}
