//! A bucket of an S3-compatible storage: how it is named, which credentials reach it, and the client for it.
//!
//! The files of a service and the shared cache of a drive use it.

mod address;

use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::{ClientOptions, RetryConfig};

pub use address::{AddressError, BucketAddress, Credentials, CredentialsError, endpoint_of};

/// A client for the bucket. Sends no request.
///
/// # Errors
/// If the library cannot set it up, for example because the certificates of the system cannot be read.
pub fn client(
    address: &BucketAddress,
    credentials: &Credentials,
    options: ClientOptions,
    retry: RetryConfig,
) -> Result<AmazonS3, object_store::Error> {
    // Fails if another client was first, which installed the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = AmazonS3Builder::new()
        .with_endpoint(address.endpoint.origin().ascii_serialization())
        .with_region(&address.region)
        .with_bucket_name(&address.bucket)
        .with_access_key_id(&credentials.key_id)
        .with_secret_access_key(&credentials.secret)
        .with_client_options(options.with_allow_http(true))
        .with_retry(retry);
    if let Some(token) = &credentials.session_token {
        builder = builder.with_token(token);
    }
    builder.build()
}
