//! Name resolution that refuses addresses which are not allowed.
//!
//! The check is part of the resolution, so the checked address is the used address. This prevents DNS
//! rebinding: a name that is public when checked and private when connected to.

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::net::lookup_host;

use super::origin::{AddressRule, is_public};

#[derive(Debug, Clone)]
pub(super) struct GuardedResolver {
    rule: Arc<AddressRule>,
    /// Proxies from the environment; they are chosen by the user, not by the service.
    proxies: Arc<HashSet<String>>,
}

/// A name that resolved to an address that is not allowed.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub(super) struct RefusedAddress {
    pub(super) reason: String,
}

impl GuardedResolver {
    pub(super) fn new(rule: Arc<AddressRule>) -> Self {
        Self {
            rule,
            proxies: Arc::new(proxies_of_environment()),
        }
    }

    async fn addresses(
        &self,
        host: &str,
    ) -> Result<Vec<SocketAddr>, Box<dyn std::error::Error + Send + Sync>> {
        // reqwest replaces port 0 by the port of the URL.
        let found: Vec<SocketAddr> = lookup_host((host, 0)).await?.collect();
        if self.proxies.contains(host) {
            return Ok(found);
        }
        let addresses: Vec<IpAddr> = found.iter().map(SocketAddr::ip).collect();
        let base_is_local = if addresses.iter().all(|address| is_public(*address)) {
            false
        } else {
            self.base_is_local().await
        };
        let judged = self.rule.check_resolved(host, &addresses, base_is_local);
        judged.map_err(|reason| RefusedAddress { reason })?;
        Ok(found)
    }

    /// Whether the service itself has no public address, as written in its URL or after resolution.
    async fn base_is_local(&self) -> bool {
        if self.rule.base_is_local_by_name() {
            return true;
        }
        let Some(name) = self.rule.base_name() else {
            return false;
        };
        match lookup_host((name, self.rule.base_port())).await {
            Ok(found) => {
                let found: Vec<SocketAddr> = found.collect();
                !found.is_empty() && found.iter().all(|address| !is_public(address.ip()))
            }
            // If the name cannot be resolved, the strict rule applies.
            Err(_) => false,
        }
    }
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let resolver = self.clone();
        Box::pin(async move {
            let addresses = resolver.addresses(name.as_str()).await?;
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

fn proxies_of_environment() -> HashSet<String> {
    [
        "HTTPS_PROXY",
        "https_proxy",
        "HTTP_PROXY",
        "http_proxy",
        "ALL_PROXY",
        "all_proxy",
    ]
    .into_iter()
    .filter_map(|variable| std::env::var(variable).ok())
    .filter_map(|text| {
        let text = if text.contains("://") {
            text
        } else {
            format!("http://{text}")
        };
        url::Url::parse(&text).ok()?.host_str().map(str::to_owned)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use url::Url;

    fn resolver(base: &str) -> GuardedResolver {
        GuardedResolver::new(Arc::new(AddressRule::new(Url::parse(base).unwrap(), false)))
    }

    #[tokio::test]
    async fn a_name_that_resolves_to_this_machine_is_refused_for_a_public_service() {
        let error = resolver("https://1.1.1.1")
            .addresses("localhost")
            .await
            .unwrap_err();
        assert!(error.downcast_ref::<RefusedAddress>().is_some(), "{error}");
    }

    #[tokio::test]
    async fn a_local_service_may_use_addresses_of_this_machine() {
        assert!(
            !resolver("http://127.0.0.1:80")
                .addresses("localhost")
                .await
                .unwrap()
                .is_empty()
        );
        assert!(
            !resolver("http://localhost:80")
                .addresses("localhost")
                .await
                .unwrap()
                .is_empty()
        );
    }
}
