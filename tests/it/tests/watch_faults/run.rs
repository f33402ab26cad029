//! One run: a namespace, a writer, informers behind a proxy, handlers that come and go, and
//! faults in between. Owns the order of it all, and the comparison at the end.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::Value;
use tempfile::TempDir;
use tokio::time::{Instant, timeout};
use wharf_cache::{InformerState, Informers, Options, View};
use wharf_testkit::{Cluster, Proxy, Target, scratch, until};

use crate::cast::{Cast, Listener};
use crate::figures::{Figures, Metrics};
use crate::history::{Ident, Told};
use crate::model::{Books, Case, Truth, problems};
use crate::peer::Peer;
use crate::plan::{Churn, Phase, Plan};
use crate::stage::Place;
use crate::trouble::Trouble;
use crate::writer::{SIDE, Writer};

/// After the last fault everything must be right within this time; waits grow to half a
/// minute.
const DEADLINE: Duration = Duration::from_secs(120);

/// What faults work on.
pub(crate) struct Scene {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) proxy: Proxy,
    pub(crate) trouble: Trouble,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) writer: Writer,
    kubeconfig: PathBuf,
    _folder: TempDir,
}

impl Scene {
    /// Ends all trouble of this run.
    pub(crate) fn heal(&self) {
        self.trouble.lift();
        self.proxy.restore();
    }

    async fn set(cluster: &Arc<Cluster>, plan: &Plan) -> Result<Self> {
        let writer = Writer::start(cluster, &plan.namespace, plan.seed).await?;
        let proxy = Proxy::start(cluster.address()).await?;
        let folder = scratch("faults")?;
        let kubeconfig = folder.path().join("kubeconfig");
        cluster.kubeconfig_through(proxy.address(), &kubeconfig)?;
        let (cluster, trouble) = (Arc::clone(cluster), Trouble::new(plan.lists_only));
        let metrics = Arc::new(Metrics::new(trouble.clone()));
        Ok(Self { cluster, proxy, trouble, metrics, writer, kubeconfig, _folder: folder })
    }

    async fn client(&self) -> Result<Client> {
        let kubeconfig = Kubeconfig::read_from(&self.kubeconfig)?;
        let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        config.default_retry = false;
        config.read_timeout = None;
        config.connect_timeout = Some(Duration::from_secs(5));
        Ok(ClientBuilder::try_from(config)?.with_layer(&self.trouble).build())
    }
}

/// What came of a run.
pub(crate) struct Outcome {
    pub(crate) figures: Figures,
    pub(crate) problems: Vec<String>,
    /// Everything that every handler was told, for the report of a failure.
    pub(crate) history: String,
}

/// Plays one run to its end.
///
/// # Errors
/// If the scene cannot be set. What goes wrong later is a problem in the outcome.
pub(crate) async fn play(cluster: &Arc<Cluster>, plan: &Plan, mut place: Place) -> Result<Outcome> {
    let begin = Instant::now();
    let mut scene = Scene::set(cluster, plan).await?;
    let informers = Informers::new(scene.client().await?, options(plan), Arc::<Metrics>::clone(&scene.metrics));
    let cast = Cast::new(informers, &plan.namespace)?;
    let mut run = Run { cast, random: StdRng::seed_from_u64(plan.seed), figures: Figures::default() };
    let end = run.act(&mut scene, plan, &mut place).await;
    // The others need not wait any more.
    drop(place);
    let (truths, books, mut problems) = match end {
        Ok((truths, books)) => (Some(truths), books, Vec::new()),
        Err(error) => (None, Books::new(), vec![format!("{error:#}")]),
    };
    let mut outcome = run.judge(&scene, truths.as_ref(), &books).await;
    outcome.figures.runs = 1;
    // The next runs shall not list what this one has left.
    for (key, _) in truths.iter().flat_map(|truths| &truths.all) {
        let name = key.rsplit('/').next().unwrap_or_default();
        cluster.api().delete(&Target::config_map(&plan.namespace, name)).await?;
    }
    outcome.figures.time = begin.elapsed();
    outcome.figures.longest = begin.elapsed();
    problems.append(&mut outcome.problems);
    Ok(Outcome { problems, ..outcome })
}

fn options(plan: &Plan) -> Options {
    Options {
        // Short, so that watches end by themselves now and then, and a silent one is noticed.
        watch_timeout: Duration::from_secs(4),
        idle_margin: Duration::from_secs(1),
        response_timeout: Duration::from_secs(5),
        page_size: 5,
        always_paginate: plan.paged,
        verify_watch_list: true,
        ..Options::default()
    }
}

struct Run {
    cast: Cast,
    random: StdRng,
    figures: Figures,
}

impl Run {
    /// All that happens, up to the end where the store is what the server has.
    async fn act(&mut self, scene: &mut Scene, plan: &Plan, place: &mut Place) -> Result<(Truths, Books)> {
        let mut peer = if plan.side_by_side { Some(Peer::start(&scene.kubeconfig, &plan.namespace).await?) } else { None };
        timeout(DEADLINE, self.cast.settle()).await.context("the first list does not come")?;
        self.phase(scene, &plan.before).await?;
        if let Some(fault) = plan.restart {
            // Who waits anyway would not notice that the server is away.
            until("informers that follow the server", DEADLINE, async || Ok(self.cast.follows().then_some(()))).await?;
            let away = scene.trouble.asks().borrow().away();
            place.restarted().await?;
            self.figures.fault(fault, scene.trouble.asks().borrow().away() > away);
        }
        self.phase(scene, &plan.after).await?;

        scene.heal();
        let written = scene.writer.stop().await?;
        self.figures.writes = written.writes;
        self.figures.unsure_writes = written.unsure;
        self.converge(scene, &plan.namespace).await?;
        if let Some(peer) = &mut peer {
            peer.agrees(&self.cast.view().context("nobody is attached")?).await?;
            self.figures.side_by_side += 1;
        }
        self.cast.attach_last()?;
        // They may be seated at an informer that is only beginning.
        let truths = self.converge(scene, &plan.namespace).await?;
        timeout(DEADLINE, self.cast.settle()).await.context("those who come last are told nothing")?;
        Ok((truths, written.books))
    }

    /// Faults, one after the other; during each, handlers come and go.
    async fn phase(&mut self, scene: &Scene, phase: &Phase) -> Result<()> {
        for (fault, churn) in phase {
            let (cast, random) = (&mut self.cast, &mut self.random);
            let after = random.random_range(1..60);
            let come_and_go = async {
                scene.writer.more(after).await?;
                for change in churn {
                    match change {
                        Churn::Late => cast.attach_late()?,
                        Churn::Again => cast.toggle_again()?,
                        Churn::Side => cast.renew_side()?,
                        Churn::Crowd => cast.toggle_crowd(),
                        Churn::Wide => cast.toggle_wide(),
                    }
                }
                Ok(())
            };
            let (effect, ()) = tokio::try_join!(fault.befall(scene, random), come_and_go)?;
            self.figures.fault(*fault, effect);
        }
        Ok(())
    }

    /// Waits until every registration has what the server has.
    async fn converge(&self, scene: &Scene, namespace: &str) -> Result<Truths> {
        until("the server's content in every store", DEADLINE, async || {
            let objects = scene.cluster.api().list("v1", "ConfigMap", namespace).await?;
            let (mut truths, mut on_side) = (Truths::default(), Vec::new());
            for object in &objects {
                let (key, state) = identity(object)?;
                if object.pointer("/metadata/labels").and_then(|labels| labels.get(SIDE.0)).is_some_and(|side| side == SIDE.1) {
                    truths.side.insert(key.clone(), state.clone());
                    on_side.push(object.clone());
                }
                truths.all.insert(key, state);
            }
            for Listener { name, selector, registration, .. } in self.cast.listeners() {
                let Some(registration) = registration else { continue };
                let state = registration.state();
                ensure!(state == InformerState::Synced && registration.has_synced(), "{name} is {state:?}");
                let wanted = if *selector { &on_side } else { &objects };
                same(&registration.view(), wanted).with_context(|| name.clone())?;
            }
            Ok(Some(truths))
        })
        .await
    }

    /// Judges every registration that ever was, and what was asked of the server.
    async fn judge(mut self, scene: &Scene, truths: Option<&Truths>, books: &Books) -> Outcome {
        self.figures.asks = scene.trouble.asks().borrow().clone();
        self.figures.counts = scene.metrics.counts().borrow().clone();
        let (mut found, mut history) = (Vec::new(), self.cast.state());
        let objects = self.cast.objects();
        for Listener { name, selector, recorder, registration } in self.cast.listeners() {
            let told = recorder.told();
            let truth = registration.as_ref().and(truths).map(|truths| if *selector { &truths.side } else { &truths.all });
            let case = Case { history: &told, selector: *selector, truth, books };
            found.extend(problems(&case).into_iter().map(|problem| format!("{name}: {problem}")));
            self.figures.registrations += 1;
            self.figures.changes += told.iter().filter(|told| matches!(told, Told::Change(_))).count() as u64;
            self.figures.moves += told.iter().filter(|told| matches!(told, Told::Moving)).count() as u64;
            history.push_str(&told.iter().map(|told| format!("{name}: {told:?}\n")).collect::<String>());
        }
        found.extend(scene.trouble.too_soon());
        if timeout(DEADLINE, self.cast.leave()).await.is_err() {
            found.push("the informers do not stop".to_owned());
        }
        let left = objects.iter().filter(|object| object.strong_count() > 0).count();
        if left > 0 {
            found.push(format!("memory: {left} objects are still there though nobody can use them"));
        }
        let differs = self.figures.counts.differs;
        if differs > 0 {
            found.push(format!("streaming list: {differs} objects differ from a list of the same version"));
        }
        Outcome { figures: self.figures, problems: found, history }
    }
}

/// What the server has at the end.
#[derive(Default)]
struct Truths {
    all: Truth,
    /// Of the narrower registration.
    side: Truth,
}

/// Does the store hold just these objects?
fn same(store: &View, objects: &[Value]) -> Result<()> {
    let mut ours = Vec::new();
    for object in store.list(None) {
        ours.push(serde_json::from_str::<Value>(object.json())?);
    }
    let mut theirs = objects.to_vec();
    for object in &mut theirs {
        let fields = object.as_object_mut().context("no object")?;
        fields.insert("apiVersion".into(), "v1".into());
        fields.insert("kind".into(), "ConfigMap".into());
        if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
            metadata.remove("managedFields");
        }
    }
    theirs.sort_by_key(|object| identity(object).map(|(key, _)| key).unwrap_or_default());
    let names = |objects: &[Value]| objects.iter().map(identity).collect::<Result<Vec<_>>>();
    let (our_names, their_names) = (names(&ours)?, names(&theirs)?);
    ensure!(our_names == their_names, "the store has {our_names:?}, the server {their_names:?}");
    if ours != theirs {
        bail!("the same states with another content: ours {ours:?}, the server's {theirs:?}");
    }
    Ok(())
}

fn identity(object: &Value) -> Result<(String, Ident)> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).with_context(|| format!("no {pointer}"));
    let key = format!("{}/{}", text("/metadata/namespace")?, text("/metadata/name")?);
    Ok((key, Ident::new(text("/metadata/uid")?, text("/metadata/resourceVersion")?)))
}
