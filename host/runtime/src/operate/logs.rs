//! What operators ask about logging. Owns the way from a plugin's name to its lines and its level;
//! lines and levels are telemetry's.

use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use tokio::time::Instant;
use tracing::level_filters::LevelFilter;

use super::operator::{Named, Operator};
use crate::admin::logs::{LogLevelAsk, LogLevelRow, Logs, LogsAsk, LogsRow};
use crate::admin::operate::Refused;
use crate::telemetry::logging::MAX_LEVELS;
use crate::telemetry::{LogsBatch, LogsWanted};

/// Whoever waits for a line is answered after this time, and asks again.
const PATIENCE: Duration = Duration::from_secs(5);

/// The levels that a plugin can have.
const LEVELS: [(&str, LevelFilter); 6] = [
    ("off", LevelFilter::OFF),
    ("error", LevelFilter::ERROR),
    ("warn", LevelFilter::WARN),
    ("info", LevelFilter::INFO),
    ("debug", LevelFilter::DEBUG),
    ("trace", LevelFilter::TRACE),
];

#[async_trait]
impl Logs for Operator {
    async fn lines(&self, ask: LogsAsk) -> Result<LogsRow, Refused> {
        let plugin = match &ask.plugin {
            Some(plugin) => match self.plugin(plugin, ask.namespace.as_deref()) {
                Ok(named) => Some(named.name.to_string()),
                // Of one that is gone there may be lines still.
                Err(_) if self.log.ring().knows(plugin) => Some(plugin.clone()),
                Err(refused) => return Err(refused),
            },
            None => None,
        };
        // Farther back than time goes is everything.
        let first = ask.after.is_none();
        let since = ask.since_ms.filter(|_| first).and_then(|ms| Timestamp::now().checked_sub(Duration::from_millis(ms)).ok());
        let tail = ask.tail.filter(|_| first).map(|tail| usize::try_from(tail).unwrap_or(usize::MAX));
        let wanted = LogsWanted { plugin, after: ask.after, since, tail, json: ask.json };
        let ring = self.log.ring();
        let LogsBatch { lines, next, more, missed } =
            if ask.wait { ring.follow(&wanted, Instant::now() + PATIENCE).await } else { ring.read(&wanted) };
        Ok(LogsRow { lines, next, more, missed })
    }

    fn level(&self) -> LogLevelRow {
        let plugins = self.log.levels().into_iter().map(|(plugin, level)| (plugin, level.to_string()));
        LogLevelRow { filter: self.log.filter(), plugins: plugins.collect(), changed: None }
    }

    fn set_level(&self, ask: LogLevelAsk) -> Result<LogLevelRow, Refused> {
        let level = ask.level.as_deref();
        let changed = match &ask.plugin {
            None => {
                self.log.set_filter(level).map_err(|error| wrong(format!("{error:#}"), ""))?;
                tracing::info!(target: "wharf::admin", filter = self.log.filter(), "log filter changed");
                None
            }
            Some(plugin) => {
                let level = level.map(read).transpose()?;
                let plugin = match self.plugin(plugin, ask.namespace.as_deref()) {
                    Ok(Named { name, .. }) => name.to_string(),
                    // Of one that is gone the level can still be taken back.
                    Err(_) if level.is_none() && self.log.level_of(plugin).is_some() => plugin.clone(),
                    Err(refused) => return Err(refused),
                };
                if !self.log.set_level(&plugin, level).map_err(|error| wrong(format!("{error:#}"), ""))? {
                    let error = format!("{MAX_LEVELS} plugins have log levels of their own, and there is no room for more");
                    return Err(wrong(error, "`wharf log-level PLUGIN --reset` takes one back; `wharf log-level` lists them"));
                }
                let level = level.map(tracing::field::display);
                tracing::info!(target: "wharf::admin", plugin, to = level, "log level of a plugin changed");
                Some(plugin)
            }
        };
        Ok(LogLevelRow { changed, ..self.level() })
    }
}

fn read(level: &str) -> Result<LevelFilter, Refused> {
    let known = LEVELS.iter().find(|(word, _)| *word == level).map(|(_, level)| *level);
    known.ok_or_else(|| wrong(format!("{level:?} is no log level of a plugin"), "write off, error, warn, info, debug or trace"))
}

fn wrong(error: String, hint: &str) -> Refused {
    Refused { error, hint: hint.to_owned(), missing: false }
}
