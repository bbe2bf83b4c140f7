//! Finding out the size of the object behind a signed URL, which no record tells.

use super::Client;
use super::error::ClientError;
use super::meta::ObjectMeta;
use crate::wire::SignedUrl;

impl Client {
    /// Size, ETag and date of an object, by asking for its first byte. The size is always known then.
    pub async fn probe(&self, url: &SignedUrl) -> Result<ObjectMeta, ClientError> {
        let _ = url;
        todo!()
    }
}
