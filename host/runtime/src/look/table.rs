//! Lists as the server would print them: its own columns for each kind. Owns the paging; never
//! touches the cache, which holds objects and no tables.

use std::time::Duration;

use http_body_util::{BodyExt, Limited};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::timeout;

use super::Ask;
use super::failure::LookError;
use super::request::{Answer, get, uri};

const ACCEPT: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
/// Rows of one page, as kubectl asks for.
const PAGE: &str = "500";
/// A page has at most so many bytes.
const MAX_PAGE: usize = 64 << 20;
/// A page may take so long.
const PAGE_TIME: Duration = Duration::from_secs(60);

/// A list in columns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerTable {
    /// Name of each, and whether it is only for wide tables.
    pub columns: Vec<(String, bool)>,
    /// In the server's order.
    pub rows: Vec<ServerRow>,
}

/// One object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerRow {
    /// Its namespace; empty if it is in none.
    pub namespace: String,
    /// A text for each column, without control characters.
    pub cells: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    metadata: Metadata,
    #[serde(default)]
    column_definitions: Vec<Column>,
    /// Null where there are none.
    rows: Option<Vec<Row>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Metadata {
    #[serde(rename = "continue")]
    next: String,
    namespace: String,
}

#[derive(Deserialize)]
struct Column {
    name: String,
    #[serde(default)]
    priority: i32,
}

#[derive(Deserialize)]
struct Row {
    cells: Vec<Value>,
    #[serde(default)]
    object: Partial,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Partial {
    metadata: Metadata,
}

impl ServerTable {
    /// All pages. `None` if the server has no tables for this kind, or the list got too old.
    pub(super) async fn read(client: &kube::Client, ask: &Ask) -> Result<Option<Self>, LookError> {
        let what = format!("list {}", ask.kind.gvk);
        let unavailable = |error: &dyn std::fmt::Display| LookError::Unavailable(format!("{what}: {error}").into());
        let mut table = Self::default();
        let mut next = String::new();
        loop {
            let uri = uri(ask, &[("limit", PAGE), ("continue", &next)]);
            let Answer::Body(body) = get(client, &what, &uri, ACCEPT).await? else { return Ok(None) };
            let body = timeout(PAGE_TIME, Limited::new(body, MAX_PAGE).collect()).await;
            let body = body.map_err(|_| unavailable(&"the answer takes more than 60 s"))?.map_err(|error| unavailable(&error))?;
            let page: Page = serde_json::from_slice(&body.to_bytes()).map_err(|error| unavailable(&error))?;
            if page.kind != "Table" {
                return Ok(None);
            }
            // Only the first page has to name the columns.
            if table.columns.is_empty() {
                table.columns = page.column_definitions.into_iter().map(|column| (column.name, column.priority > 0)).collect();
            }
            table.rows.extend(
                page.rows
                    .into_iter()
                    .flatten()
                    .map(|row| ServerRow { namespace: row.object.metadata.namespace, cells: row.cells.iter().map(cell).collect() }),
            );
            next = page.metadata.next;
            if next.is_empty() {
                return Ok(Some(table));
            }
        }
    }
}

/// A cell on one line that steers no terminal.
fn cell(value: &Value) -> String {
    let text = match value {
        Value::Null => return String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    // As kubectl: the first line stands for all.
    let (line, more) = text.split_once(['\n', '\r', '\x0c']).map_or((&*text, ""), |(line, _)| (line, "..."));
    line.chars().map(|c| if c.is_control() { ' ' } else { c }).chain(more.chars()).collect()
}

#[cfg(test)]
mod tests {
    use http::{Request, Response};
    use kube::client::Body;
    use wharf_core::{Gvk, ResourceKind};

    use super::*;

    fn read(answer: impl Fn(&str) -> (u16, &'static str) + Clone + Send + 'static) -> Result<Option<ServerTable>, LookError> {
        let service = tower::service_fn(move |request: Request<Body>| {
            let (code, body) = answer(&request.uri().to_string());
            std::future::ready(Ok::<_, std::io::Error>(
                Response::builder().status(code).body(Body::from(body.as_bytes().to_vec())).unwrap(),
            ))
        });
        let kind = ResourceKind { gvk: Gvk::new("", "v1", "Pod"), plural: "pods".into(), namespaced: true };
        let ask = Ask { kind, namespace: None, label_selector: String::new(), field_selector: String::new() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { ServerTable::read(&kube::Client::new(service, "default"), &ask).await })
    }

    #[test]
    fn pages_become_one_table() {
        let table = read(|uri| match uri {
            "/api/v1/pods?limit=500" => (
                200,
                r#"{"kind":"Table","metadata":{"continue":"x/y"},"columnDefinitions":[{"name":"Name"},{"name":"IP","priority":1}],
                    "rows":[{"cells":["a",null],"object":{"metadata":{"namespace":"n"}}}]}"#,
            ),
            "/api/v1/pods?limit=500&continue=x%2Fy" => {
                (200, r#"{"kind":"Table","rows":[{"cells":["b\u001b[31m",7]},{"cells":["c\nd",""]}]}"#)
            }
            _ => (500, ""),
        });
        let row = |namespace: &str, cells: [&str; 2]| ServerRow { namespace: namespace.to_owned(), cells: cells.map(str::to_owned).into() };
        let want = ServerTable {
            columns: vec![("Name".to_owned(), false), ("IP".to_owned(), true)],
            rows: vec![row("n", ["a", ""]), row("", ["b [31m", "7"]), row("", ["c...", ""])],
        };
        assert_eq!(table.unwrap().unwrap(), want);
        assert_eq!(read(|_| (200, r#"{"kind":"Table","rows":null}"#)).unwrap(), Some(ServerTable::default()));
    }

    #[test]
    fn a_server_without_tables_is_no_error() {
        assert_eq!(read(|_| (200, r#"{"kind":"PodList","items":[]}"#)).unwrap(), None);
        assert_eq!(read(|_| (406, "")).unwrap(), None);
        assert_eq!(read(|_| (410, "")).unwrap(), None);
        assert!(matches!(read(|_| (403, r#"{"message":"no"}"#)), Err(LookError::Forbidden(text)) if text.contains("HTTP 403: no")));
        assert!(matches!(read(|_| (401, "")), Err(LookError::Unauthorized(_))));
        assert!(matches!(read(|_| (404, "")), Err(LookError::Gone(_))));
        assert!(matches!(read(|_| (400, "")), Err(LookError::Refused(_))));
        assert!(matches!(read(|_| (503, "")), Err(LookError::Unavailable(_))));
        assert!(matches!(read(|_| (200, "<html>")), Err(LookError::Unavailable(_))));
    }
}
