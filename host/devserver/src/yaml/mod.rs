//! YAML as Kubernetes reads it (`sigs.k8s.io/yaml`): YAML 1.1 scalars, merge keys, keys that become text. Owns nothing but the reading;
//! never knows which fields there are.

mod reader;
mod scalar;

pub use reader::documents;
pub(crate) use reader::{repeated, value};
