//! The language of `checks.yaml`. Owns its words, all of which are checked for typing errors;
//! what they mean is in `play` and `assertion`.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use serde_json::Value;

use crate::data;

/// The whole sequence.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Checks {
    /// Texts that stand behind `{NAME}` in requests, bodies and expectations.
    pub(crate) names: BTreeMap<String, String>,
    /// What is done first; a failure there ends everything.
    pub(crate) before: Vec<Step>,
    /// In their order: later ones live on what earlier ones left behind.
    pub(crate) checks: Vec<Check>,
}

/// One fact about the API, shown by one request or a few.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Check {
    pub(crate) id: String,
    /// The fact in a few words, said when it does not hold.
    pub(crate) about: String,
    pub(crate) steps: Vec<Step>,
}

/// One request and what must come back.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Step {
    /// `METHOD PATH`, or `METHOD[word] PATH` where the word stands for a header: see `http`.
    /// `COMPACT` makes the server forget its history.
    pub(crate) request: String,
    /// Who asks; the administrator if nobody is named.
    #[serde(default)]
    pub(crate) token: Token,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
    /// Sent as JSON.
    pub(crate) body: Option<Value>,
    /// Sent as it is.
    pub(crate) text: Option<String>,
    /// That many bytes are put into the body's `/data/fill`.
    pub(crate) fill: Option<usize>,
    /// 200 if nothing is said.
    #[serde(default = "ok")]
    pub(crate) status: u16,
    /// The Status' reason; empty: it has none.
    pub(crate) reason: Option<String>,
    /// Parts of the Status' message.
    #[serde(default)]
    pub(crate) message: Vec<String>,
    /// Causes that the Status has among others, as `REASON field`.
    #[serde(default)]
    pub(crate) causes: Vec<String>,
    /// Names of a list's items, all of them in their order.
    pub(crate) names: Option<Vec<String>>,
    /// Events of a watch, all but plain bookmarks, as `TYPE name`; the one that ends the initial
    /// events is `BOOKMARK end`.
    pub(crate) events: Option<Vec<String>>,
    /// Headers of the answer: see `assertion` for what may be expected.
    #[serde(default)]
    pub(crate) answer: BTreeMap<String, Value>,
    /// JSON pointers into the answer and what is there. A text is one JSON string; a watch is
    /// `{"events": [...]}`.
    #[serde(default)]
    pub(crate) expect: BTreeMap<String, Value>,
    /// Names for what is found at JSON pointers, or behind `header:NAME`.
    #[serde(default)]
    pub(crate) capture: BTreeMap<String, String>,
    /// So many seconds the expectations may take to come true; the request is sent again.
    #[serde(default)]
    pub(crate) within: u64,
}

/// Whose credentials a request carries.
#[derive(Clone, Copy, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Token {
    #[default]
    Admin,
    /// A user without rights.
    Bob,
    /// Nobody's.
    Wrong,
    /// No credentials at all.
    None,
}

impl Checks {
    /// Reads `checks.yaml`.
    pub(crate) fn load() -> Result<Self> {
        let checks: Self = serde_saphyr::from_str(&data("checks.yaml")?).context("read checks.yaml")?;
        let mut seen = std::collections::BTreeSet::new();
        for check in &checks.checks {
            ensure!(seen.insert(&check.id), "checks.yaml has {} twice", check.id);
            ensure!(!check.steps.is_empty(), "{} in checks.yaml asks nothing", check.id);
        }
        Ok(checks)
    }

    /// The names of all checks, in their order.
    pub(crate) fn ids(&self) -> Vec<String> {
        self.checks.iter().map(|check| check.id.clone()).collect()
    }
}

fn ok() -> u16 {
    200
}
