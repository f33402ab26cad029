//! Plain requests to the API server, for tests that want to be fast and exact where
//! `kubectl` is neither. Owns finding the URL of a kind; objects are JSON values, since
//! tests look at them only in passing.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context as _, Result, anyhow};
use http::{Method, Request};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config, Error};
use parking_lot::Mutex;
use serde_json::{Value, json};

/// Field manager of everything that tests write.
const FIELD_MANAGER: &str = "wharf-test";

/// Which object: kind, namespace (empty for cluster-scoped ones) and name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// For example `v1` or `apps/v1`.
    pub api_version: String,
    /// For example `ConfigMap`.
    pub kind: String,
    /// Empty for cluster-scoped kinds.
    pub namespace: String,
    /// The object's name; empty for a collection.
    pub name: String,
}

impl Target {
    /// A ConfigMap.
    pub fn config_map(namespace: &str, name: &str) -> Self {
        Self { api_version: "v1".into(), kind: "ConfigMap".into(), namespace: namespace.into(), name: name.into() }
    }

    /// What a manifest is about.
    ///
    /// # Errors
    /// If it names no kind or no object.
    pub fn of(manifest: &Value) -> Result<Self> {
        let text = |pointer: &str| manifest.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let need = |pointer: &str| text(pointer).with_context(|| format!("the manifest has no {pointer}: {manifest}"));
        Ok(Self {
            api_version: need("/apiVersion")?,
            kind: need("/kind")?,
            namespace: text("/metadata/namespace").unwrap_or_default(),
            name: need("/metadata/name")?,
        })
    }
}

/// A client of the API server with all rights.
pub struct Api {
    client: Client,
    /// (apiVersion, kind) to (plural, namespaced); a handful of kinds per test run.
    kinds: Mutex<HashMap<(String, String), (String, bool)>>,
}

impl Api {
    /// Connects lazily, with the credentials of a kubeconfig file.
    ///
    /// # Errors
    /// If the file is no kubeconfig.
    pub async fn new(kubeconfig: &Path) -> Result<Self> {
        let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        Ok(Self { client: Client::try_from(config)?, kinds: Mutex::default() })
    }

    /// The object, if it is there.
    ///
    /// # Errors
    /// Everything but "not found".
    pub async fn get(&self, target: &Target) -> Result<Option<Value>> {
        let path = self.path(target).await?;
        absent(self.send(Method::GET, &path, "", None).await)
    }

    /// All objects of a kind, in a namespace or (empty) everywhere.
    ///
    /// # Errors
    /// Whatever the API server says.
    pub async fn list(&self, api_version: &str, kind: &str, namespace: &str) -> Result<Vec<Value>> {
        let target = Target { api_version: api_version.into(), kind: kind.into(), namespace: namespace.into(), name: String::new() };
        let path = self.path(&target).await?;
        let mut list = self.send(Method::GET, &path, "", None).await?;
        match list.get_mut("items").map(Value::take) {
            Some(Value::Array(items)) => Ok(items),
            _ => Err(anyhow!("{path} answered no list")),
        }
    }

    /// Creates an object.
    ///
    /// # Errors
    /// Whatever the API server says, also if it is there already.
    pub async fn create(&self, manifest: &Value) -> Result<Value> {
        let target = Target { name: String::new(), ..Target::of(manifest)? };
        let path = self.path(&target).await?;
        Ok(self.send(Method::POST, &format!("{path}?fieldManager={FIELD_MANAGER}"), "application/json", Some(manifest)).await?)
    }

    /// What the API server says to a new object without storing it: the object as it would be, or
    /// why it is refused. Unknown fields are refused. `collection` says where it would go.
    ///
    /// # Errors
    /// If there is no such kind, or no answer.
    pub async fn judge(&self, collection: &Target, manifest: &Value) -> Result<Result<Value, String>> {
        let path = format!("{}?dryRun=All&fieldValidation=Strict&fieldManager={FIELD_MANAGER}", self.path(collection).await?);
        match self.send(Method::POST, &path, "application/json", Some(manifest)).await {
            Ok(value) => Ok(Ok(value)),
            Err(Error::Api(status)) => Ok(Err(status.message)),
            Err(error) => Err(error.into()),
        }
    }

    /// Server-side apply, taking over what others own.
    ///
    /// # Errors
    /// Whatever the API server says.
    pub async fn apply(&self, manifest: &Value) -> Result<Value> {
        let path = self.path(&Target::of(manifest)?).await?;
        let path = format!("{path}?fieldManager={FIELD_MANAGER}&force=true");
        Ok(self.send(Method::PATCH, &path, "application/apply-patch+yaml", Some(manifest)).await?)
    }

    /// JSON merge patch.
    ///
    /// # Errors
    /// Whatever the API server says.
    pub async fn patch(&self, target: &Target, patch: &Value) -> Result<Value> {
        let path = self.path(target).await?;
        let path = format!("{path}?fieldManager={FIELD_MANAGER}");
        Ok(self.send(Method::PATCH, &path, "application/merge-patch+json", Some(patch)).await?)
    }

    /// Deletes an object; false if it was not there.
    ///
    /// # Errors
    /// Everything but "not found".
    pub async fn delete(&self, target: &Target) -> Result<bool> {
        let path = self.path(target).await?;
        let body = json!({"propagationPolicy": "Background"});
        Ok(absent(self.send(Method::DELETE, &path, "application/json", Some(&body)).await)?.is_some())
    }

    /// GET of any path as text, for example `/metrics`.
    ///
    /// # Errors
    /// Whatever the API server says.
    pub async fn raw(&self, path: &str) -> Result<String> {
        let request = Request::get(path).body(Vec::new())?;
        Ok(self.client.request_text(request).await?)
    }

    /// Has wharf's own API server forget its history; returns a version up to which it did.
    ///
    /// # Errors
    /// If it is another server, or says no.
    pub async fn compact(&self) -> Result<u64> {
        let list: Value = serde_json::from_str(&self.raw("/api/v1/namespaces?limit=1").await?)?;
        let version = list.pointer("/metadata/resourceVersion").and_then(Value::as_str).context("the list has no version")?.parse()?;
        let request = Request::post("/wharf/faults").header("Content-Type", "application/json").body(br#"{"kind":"compact"}"#.to_vec())?;
        self.client.request_text(request).await?;
        Ok(version)
    }

    /// Number of watches that the API server serves for a resource, by its own count.
    /// An unused resource counts as none.
    ///
    /// # Errors
    /// Whatever the API server says.
    pub async fn watches(&self, group: &str, resource: &str) -> Result<u64> {
        let metrics = self.raw("/metrics").await?;
        let wanted = [format!("group=\"{group}\""), format!("resource=\"{resource}\""), "verb=\"WATCH\"".to_owned()];
        let series = metrics
            .lines()
            .filter(|line| line.starts_with("apiserver_longrunning_requests{") && wanted.iter().all(|label| line.contains(label)));
        let mut sum = 0;
        for line in series {
            let (_, value) = line.rsplit_once(' ').context("a series without a value")?;
            sum += value.parse::<u64>().with_context(|| format!("read {line}"))?;
        }
        Ok(sum)
    }

    async fn send(&self, method: Method, path: &str, content_type: &str, body: Option<&Value>) -> Result<Value, Error> {
        let mut request = Request::builder().method(method).uri(path);
        if !content_type.is_empty() {
            request = request.header("Content-Type", content_type);
        }
        let body = body.map_or_else(String::new, Value::to_string);
        let request = request.body(body.into_bytes()).map_err(Error::HttpError)?;
        self.client.request(request).await
    }

    /// URL path of an object, or of a collection if the name is empty.
    async fn path(&self, target: &Target) -> Result<String> {
        let (plural, namespaced) = self.resource(&target.api_version, &target.kind).await?;
        let root = if target.api_version.contains('/') { "/apis" } else { "/api" };
        let mut path = format!("{root}/{}", target.api_version);
        if namespaced && !target.namespace.is_empty() {
            path.push_str(&format!("/namespaces/{}", target.namespace));
        }
        path.push_str(&format!("/{plural}"));
        if !target.name.is_empty() {
            path.push_str(&format!("/{}", target.name));
        }
        Ok(path)
    }

    async fn resource(&self, api_version: &str, kind: &str) -> Result<(String, bool)> {
        let wanted = (api_version.to_owned(), kind.to_owned());
        if let Some(found) = self.kinds.lock().get(&wanted) {
            return Ok(found.clone());
        }
        let root = if api_version.contains('/') { "/apis" } else { "/api" };
        let list = self.send(Method::GET, &format!("{root}/{api_version}"), "", None).await?;
        let resources = list.get("resources").and_then(Value::as_array).into_iter().flatten();
        let text = |resource: &Value, field: &str| resource.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        for resource in resources {
            let plural = text(resource, "name");
            if text(resource, "kind") == kind && !plural.contains('/') {
                let found = (plural, resource.get("namespaced") == Some(&Value::Bool(true)));
                self.kinds.lock().insert(wanted, found.clone());
                return Ok(found);
            }
        }
        Err(anyhow!("the API server has no kind {kind} in {api_version}"))
    }
}

fn absent(answer: Result<Value, Error>) -> Result<Option<Value>> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(error.into()),
    }
}
