//! Many writes at a time, and many Pods.

use std::net::SocketAddr;
use std::time::Instant;

use anyhow::{Result, ensure};
use bytes::Bytes;
use tokio::task::JoinSet;

use crate::client::Client;
use crate::figures::Figures;
use crate::server::Child;
use crate::{milliseconds, objects};

/// ConfigMaps that are written by all clients together.
const OBJECTS: usize = 4_000;
/// As many clients as it takes to keep two processors busy.
const LOADERS: usize = 8;
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[derive(Clone, Copy)]
enum Write {
    Create,
    Put,
    Merge,
    Apply,
}

/// Each object is made, exchanged, patched and applied; every client writes its own.
pub(crate) async fn writes(figures: &mut Figures, address: SocketAddr, clients: usize) -> Result<()> {
    let aim = Some((5_000.0, false));
    let mut total = 0.0;
    let kinds = [(Write::Create, "create"), (Write::Put, "PUT"), (Write::Merge, "merge patch"), (Write::Apply, "apply")];
    for (round, (write, name)) in kinds.into_iter().enumerate() {
        let seconds = all(address, clients, write, round).await?;
        total += seconds;
        figures.add(&format!("{name} of ConfigMaps with {clients} clients, 1/s"), aim, OBJECTS as f64 / seconds);
    }
    let share = (OBJECTS * kinds.len()) as f64 / total;
    figures.add(&format!("all of these writes with {clients} clients, 1/s"), aim, share);
    Ok(())
}

async fn all(address: SocketAddr, clients: usize, write: Write, round: usize) -> Result<f64> {
    let mut connected = Vec::new();
    for _ in 0..clients {
        connected.push(Client::connect(address).await?);
    }
    let mut tasks = JoinSet::new();
    let begin = Instant::now();
    for (first, mut client) in connected.into_iter().enumerate() {
        tasks.spawn(async move {
            for i in (first..OBJECTS).step_by(clients) {
                let name = format!("c{i}");
                let path = format!("{CONFIG_MAPS}/{name}");
                match write {
                    Write::Create => client.post(CONFIG_MAPS, objects::config_map(&name, round)).await?,
                    Write::Put => client.put(&path, objects::config_map(&name, round)).await?,
                    Write::Merge => client.merge(&path, objects::change(round)).await?,
                    Write::Apply => {
                        client.apply(&format!("{path}?fieldManager=applier&force=true"), objects::config_map(&name, round)).await?
                    }
                };
            }
            anyhow::Ok(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(begin.elapsed().as_secs_f64())
}

/// Makes Pods, lists them, and looks at the memory.
pub(crate) async fn pods(figures: &mut Figures, child: &Child, pods: usize) -> Result<()> {
    const PATH: &str = "/api/v1/namespaces/default/pods";
    let mut tasks = JoinSet::new();
    let begin = Instant::now();
    for first in 0..LOADERS {
        let mut client = Client::connect(child.address()).await?;
        tasks.spawn(async move {
            for i in (first..pods).step_by(LOADERS) {
                client.post(PATH, objects::pod(i)).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    figures.add(&format!("create of Pods with {LOADERS} clients, 1/s"), None, pods as f64 / begin.elapsed().as_secs_f64());
    figures.add(&format!("memory with {pods} Pods, MiB"), None, child.mebibytes()?);
    let mut client = Client::connect(child.address()).await?;
    let begin = Instant::now();
    let list = client.get(PATH).await?;
    figures.add(&format!("list of {pods} Pods, ms"), Some((1_000.0, true)), milliseconds(begin.elapsed()));
    let items = count(&list);
    ensure!(items == pods, "the list has {items} Pods");
    figures.add("bytes of a Pod in the list", None, list.len() as f64 / pods as f64);
    figures.add("memory after the list, MiB", None, child.mebibytes()?);
    Ok(())
}

/// Pods in a list: each has one field of this name with this value.
fn count(list: &Bytes) -> usize {
    const MARK: &[u8] = br#""restartPolicy":"Always""#;
    list.windows(MARK.len()).filter(|window| *window == MARK).count()
}
