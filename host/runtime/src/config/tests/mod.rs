//! What is said about YAML files, word by word.

mod document;
mod host;
mod junk;
