//! Options and answers of the functions that read and write the cluster.

/// How one object is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// Pointers to keep; empty: everything.
    pub fields: Vec<String>,
    /// From the API server, not from the host's cache.
    pub live: bool,
}

/// Which objects are listed, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListOptions {
    /// `None`: all namespaces, which must be granted.
    pub namespace: Option<String>,
    /// Labels that must match; empty: any.
    pub label_selector: String,
    /// Fields that must match; empty: any.
    pub field_selector: String,
    /// Pointers to keep of each item; empty: everything.
    pub fields: Vec<String>,
    /// From the API server, not from the host's cache.
    pub live: bool,
    /// Items of a page at most; 0: the host's default.
    pub limit: u32,
    /// Empty for the first page, else of the page before.
    pub continue_token: String,
}

/// Some of the objects of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// The objects. A page may be shorter than asked for: bytes are capped too.
    pub items: Vec<T>,
    /// For the next page; empty on the last one.
    pub continue_token: String,
}

/// How an object is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// Everything but the storing.
    pub dry_run: bool,
    /// Take over fields that another manager owns. Only for apply.
    pub force: bool,
    /// Refuse if the live object has another one; empty: do not check.
    pub if_resource_version: String,
    /// For example `status`.
    pub subresource: Option<String>,
    /// Pointers to keep of the answer; empty: only the new resourceVersion.
    pub fields: Vec<String>,
}

/// What a write left behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Of the object as stored.
    pub resource_version: String,
    /// The object as stored, as JSON text cut to [`WriteOptions::fields`]; empty without them.
    pub object: String,
}

/// How an object is deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeleteOptions {
    /// Everything but the deleting.
    pub dry_run: bool,
    /// Refuse if the live object has another one; empty: do not check.
    pub if_uid: String,
    /// Refuse if the live object has another one; empty: do not check.
    pub if_resource_version: String,
    /// What becomes of the objects that it owns.
    pub propagation: Propagation,
}

/// What becomes of the objects that a deleted one owns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Propagation {
    /// They are deleted afterwards.
    #[default]
    Background,
    /// They are deleted first.
    Foreground,
    /// They stay.
    Orphan,
}

/// How much a Kubernetes Event matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventType {
    /// As it should be.
    Normal,
    /// Something that a user should look at.
    Warning,
}
