//! What of a resource a watcher sees: the selectors as they are asked for, and the same as a predicate that shares no code with the
//! server.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use serde_json::Value;

/// The resources of the model: what stands before `namespaces` or the plural, the plural.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    ConfigMap,
    Pod,
    Widget,
}

pub(crate) const KINDS: [Kind; 3] = [Kind::ConfigMap, Kind::Pod, Kind::Widget];
pub(crate) const NAMESPACES: [&str; 3] = ["one", "two", "three"];
pub(crate) const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
pub(crate) const COLORS: [&str; 3] = ["red", "green", "blue"];

impl Kind {
    pub(crate) fn root(self) -> &'static str {
        match self {
            Self::ConfigMap | Self::Pod => "/api/v1",
            Self::Widget => "/apis/example.com/v1",
        }
    }

    pub(crate) fn plural(self) -> &'static str {
        match self {
            Self::ConfigMap => "configmaps",
            Self::Pod => "pods",
            Self::Widget => "widgets",
        }
    }

    pub(crate) fn collection(self, namespace: Option<&str>) -> String {
        match namespace {
            Some(namespace) => format!("{}/namespaces/{namespace}/{}", self.root(), self.plural()),
            None => format!("{}/{}", self.root(), self.plural()),
        }
    }
}

/// A selector of labels or fields.
#[derive(Debug, Clone, Copy)]
enum Selector {
    All,
    Label(&'static str),
    NotLabel(&'static str),
    AnyLabel([&'static str; 2]),
    NoLabel,
    Name(&'static str),
    NotName(&'static str),
    NotNamespace(&'static str),
    /// A selectable field of the definition.
    SpecColor(&'static str),
    Running,
}

/// What one watcher sees.
#[derive(Debug, Clone)]
pub(crate) struct View {
    pub(crate) kind: Kind,
    pub(crate) namespace: Option<&'static str>,
    selectors: [Selector; 2],
}

impl View {
    /// Everything of a kind.
    pub(crate) fn all(kind: Kind) -> Self {
        Self { kind, namespace: None, selectors: [Selector::All; 2] }
    }

    /// What has this color as its label.
    pub(crate) fn labelled(kind: Kind, color: &'static str) -> Self {
        Self { kind, namespace: None, selectors: [Selector::Label(color), Selector::All] }
    }

    pub(crate) fn random(dice: &mut StdRng) -> Self {
        let pick = |dice: &mut StdRng, from: &[&'static str]| *from.choose(dice).unwrap();
        let kind = *KINDS.choose(dice).unwrap();
        let (color, other, name) = (pick(dice, &COLORS), pick(dice, &COLORS), pick(dice, &NAMES));
        let labels = [
            Selector::All,
            Selector::All,
            Selector::Label(color),
            Selector::NotLabel(color),
            Selector::AnyLabel([color, other]),
            Selector::NoLabel,
        ];
        let own = match kind {
            Kind::ConfigMap => Selector::NotNamespace("two"),
            Kind::Pod => Selector::Running,
            Kind::Widget => Selector::SpecColor(color),
        };
        let fields = [Selector::All, Selector::All, Selector::Name(name), Selector::NotName(name), own, own];
        let namespace = [None, Some(pick(dice, &NAMESPACES))].choose(dice).copied().flatten();
        Self { kind, namespace, selectors: [*labels.choose(dice).unwrap(), *fields.choose(dice).unwrap()] }
    }

    /// The path and the parameters of list and watch.
    pub(crate) fn path(&self, parameters: &str) -> String {
        let selectors: String = self.selectors.iter().map(|selector| selector.parameter()).collect();
        format!("{}?{parameters}{selectors}", self.kind.collection(self.namespace))
    }

    pub(crate) fn sees(&self, object: &Value) -> bool {
        self.namespace.is_none_or(|namespace| object["metadata"]["namespace"] == namespace)
            && self.selectors.iter().all(|selector| selector.selects(object))
    }
}

impl Selector {
    fn parameter(self) -> String {
        match self {
            Self::All => String::new(),
            Self::Label(color) => format!("&labelSelector=color%3D{color}"),
            Self::NotLabel(color) => format!("&labelSelector=color!%3D{color}"),
            Self::AnyLabel([one, other]) => format!("&labelSelector=color+in+({one},{other})"),
            Self::NoLabel => "&labelSelector=!color".to_owned(),
            Self::Name(name) => format!("&fieldSelector=metadata.name%3D{name}"),
            Self::NotName(name) => format!("&fieldSelector=metadata.name!%3D{name}"),
            Self::NotNamespace(name) => format!("&fieldSelector=metadata.namespace!%3D{name}"),
            Self::SpecColor(color) => format!("&fieldSelector=spec.color%3D{color}"),
            Self::Running => "&fieldSelector=status.phase%3DRunning".to_owned(),
        }
    }

    fn selects(self, object: &Value) -> bool {
        let metadata = &object["metadata"];
        let label = metadata["labels"]["color"].as_str();
        match self {
            Self::All => true,
            Self::Label(color) => label == Some(color),
            Self::NotLabel(color) => label != Some(color),
            Self::AnyLabel(colors) => label.is_some_and(|label| colors.contains(&label)),
            Self::NoLabel => label.is_none(),
            Self::Name(name) => metadata["name"] == name,
            Self::NotName(name) => metadata["name"] != name,
            Self::NotNamespace(name) => metadata["namespace"] != name,
            Self::SpecColor(color) => object["spec"]["color"] == color,
            Self::Running => object["status"]["phase"] == "Running",
        }
    }
}
