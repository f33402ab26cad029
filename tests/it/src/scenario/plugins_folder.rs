//! The folder that the host reads plugins from. Owns the two ways in which files change
//! there: one by one by renaming, and all at once by swapping `..data`, as the kubelet
//! does for a mounted ConfigMap. Readers never see half a file.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::model::Layout;

/// The folder and what is in it.
#[derive(Debug)]
pub(super) struct PluginsFolder {
    layout: Layout,
    /// Where the host looks.
    folder: PathBuf,
    /// Where files are written first; on the same file system.
    staging: PathBuf,
    wanted: BTreeMap<String, Vec<u8>>,
    published: BTreeMap<String, Vec<u8>>,
    generation: u64,
}

impl PluginsFolder {
    /// Makes an empty folder inside `parent`.
    pub(super) fn new(parent: &Path, layout: Layout) -> Result<Self> {
        let (folder, staging) = (parent.join("plugins"), parent.join("staging"));
        for path in [&folder, &staging] {
            fs::create_dir(path).with_context(|| format!("make {}", path.display()))?;
        }
        Ok(Self { layout, folder, staging, wanted: BTreeMap::new(), published: BTreeMap::new(), generation: 0 })
    }

    /// The folder.
    pub(super) fn path(&self) -> &Path {
        &self.folder
    }

    /// Notes a file; [`PluginsFolder::publish`] writes it.
    pub(super) fn put(&mut self, name: String, bytes: Vec<u8>) {
        self.wanted.insert(name, bytes);
    }

    /// Notes that a file goes.
    pub(super) fn remove(&mut self, name: &str) {
        self.wanted.remove(name);
    }

    /// Makes the folder hold what was noted.
    pub(super) fn publish(&mut self) -> Result<()> {
        match self.layout {
            Layout::Files => self.publish_files()?,
            Layout::ConfigMap => self.publish_volume()?,
        }
        self.published = self.wanted.clone();
        Ok(())
    }

    fn publish_files(&self) -> Result<()> {
        // Components before the documents that name them.
        let (components, documents): (Vec<_>, Vec<_>) = self.wanted.iter().partition(|(name, _)| name.ends_with(".wasm"));
        for (name, bytes) in components.into_iter().chain(documents) {
            if self.published.get(name) != Some(bytes) {
                let staged = self.staging.join(name);
                fs::write(&staged, bytes).with_context(|| format!("write {}", staged.display()))?;
                fs::rename(&staged, self.folder.join(name)).with_context(|| format!("publish {name}"))?;
            }
        }
        for name in self.gone() {
            fs::remove_file(self.folder.join(name)).with_context(|| format!("remove {name}"))?;
        }
        Ok(())
    }

    fn publish_volume(&mut self) -> Result<()> {
        let old = format!("..generation-{}", self.generation);
        self.generation += 1;
        let new = format!("..generation-{}", self.generation);
        fs::create_dir(self.folder.join(&new)).context("make a generation")?;
        for (name, bytes) in &self.wanted {
            fs::write(self.folder.join(&new).join(name), bytes).with_context(|| format!("write {name}"))?;
        }
        let (link, fresh) = (self.folder.join("..data"), self.folder.join("..data_tmp"));
        symlink(&new, &fresh).context("link the generation")?;
        fs::rename(&fresh, &link).context("swap ..data")?;
        for name in self.wanted.keys().filter(|name| !self.published.contains_key(*name)) {
            symlink(Path::new("..data").join(name), self.folder.join(name)).with_context(|| format!("link {name}"))?;
        }
        for name in self.gone() {
            fs::remove_file(self.folder.join(name)).with_context(|| format!("remove {name}"))?;
        }
        if self.generation > 1 {
            fs::remove_dir_all(self.folder.join(old)).context("remove the old generation")?;
        }
        Ok(())
    }

    fn gone(&self) -> impl Iterator<Item = &String> {
        self.published.keys().filter(|name| !self.wanted.contains_key(*name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn both_layouts_show_the_same_files() {
        for layout in [Layout::Files, Layout::ConfigMap] {
            let parent = tempfile::tempdir().unwrap();
            let mut folder = PluginsFolder::new(parent.path(), layout).unwrap();
            folder.put("a.yaml".into(), b"1".to_vec());
            folder.put("a.wasm".into(), b"w".to_vec());
            folder.publish().unwrap();
            folder.put("a.yaml".into(), b"2".to_vec());
            folder.remove("a.wasm");
            folder.put("b.yaml".into(), b"3".to_vec());
            folder.publish().unwrap();
            let visible: Vec<_> = names(folder.path()).into_iter().filter(|name| !name.starts_with("..")).collect();
            assert_eq!(visible, ["a.yaml", "b.yaml"], "{layout:?}");
            assert_eq!(fs::read(folder.path().join("a.yaml")).unwrap(), b"2");
        }
    }
}
