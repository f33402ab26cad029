//! A watch as the server sends it. Owns nothing of what comes: no cache, no reconnection, no
//! masking.

use bytes::Bytes;
use http_body_util::BodyExt;
use kube::client::Body;

use super::Ask;
use super::failure::LookError;
use super::request::{Answer, get, uri};

/// An open watch.
pub struct RawWatch {
    body: Body,
}

impl RawWatch {
    /// Without a resourceVersion: first what there is, then what changes.
    pub(super) async fn open(client: &kube::Client, ask: &Ask) -> Result<Self, LookError> {
        let what = format!("watch {}", ask.kind.gvk);
        match get(client, &what, &uri(ask, &[("watch", "1")]), "application/json").await? {
            Answer::Body(body) => Ok(Self { body }),
            Answer::Unsuitable => Err(LookError::Refused(format!("{what}: the server has no such watch").into())),
        }
    }

    /// The next bytes; `None` when the server has ended the watch. Cancel safe.
    ///
    /// # Errors
    /// The connection broke.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, LookError> {
        while let Some(frame) = self.body.frame().await {
            let frame = frame.map_err(|error| LookError::Unavailable(format!("the watch broke: {error}").into()))?;
            if let Ok(data) = frame.into_data() {
                return Ok(Some(data));
            }
        }
        Ok(None)
    }
}
