//! The addresses that webhooks may have.
//!
//! Whoever has a token of an account chooses where the service sends events. So a service that other machines reach
//! calls no program of its own machine, which may trust it. No service calls addresses of the link, where clouds give
//! out the credentials of a machine. Private networks are allowed: studios have their receivers there.
//!
//! A name is checked by the addresses that it resolves to, as part of the resolution, so the checked address is the one
//! that is called.

use std::net::{IpAddr, SocketAddr};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::net::lookup_host;
use url::Url;

use crate::address_reach::{Reach, literal_address, reach};
use crate::service::config::ServiceConfig;

/// Which receivers a service calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Receivers {
    /// Those of this machine and of others.
    All,
    /// Those of other machines only.
    OtherMachines,
}

/// A receiver that is not called, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RefusedReceiver {
    #[error(
        "must not lead to the machine of the service, because other machines reach this service; its operator allows it with \
         `assetfs serve --local-webhooks`"
    )]
    ThisMachine,
    #[error("must not lead to a link-local address")]
    Link,
}

impl Receivers {
    /// The receivers that a service with these settings calls.
    pub fn of(config: &ServiceConfig) -> Receivers {
        match config.is_for_this_machine() || config.local_webhooks {
            true => Receivers::All,
            false => Receivers::OtherMachines,
        }
    }

    /// Checks an address as it is written. A name is checked when it is resolved.
    ///
    /// # Errors
    /// If the receiver is not called.
    pub fn check(self, url: &Url) -> Result<(), RefusedReceiver> {
        literal_address(url).map_or(Ok(()), |address| self.check_address(address))
    }

    fn check_address(self, address: IpAddr) -> Result<(), RefusedReceiver> {
        match reach(address) {
            Reach::Link => Err(RefusedReceiver::Link),
            Reach::ThisMachine if self == Receivers::OtherMachines => {
                Err(RefusedReceiver::ThisMachine)
            }
            Reach::ThisMachine | Reach::Private | Reach::Public => Ok(()),
        }
    }
}

impl Resolve for Receivers {
    fn resolve(&self, name: Name) -> Resolving {
        let receivers = *self;
        Box::pin(async move {
            // reqwest replaces port 0 by the port of the URL.
            let found: Vec<SocketAddr> = lookup_host((name.as_str(), 0)).await?.collect();
            for address in &found {
                receivers.check_address(address.ip())?;
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_for_others_calls_neither_its_own_machine_nor_its_link() {
        for (url, of_all, of_others) in [
            ("http://127.0.0.1:9/hook", true, false),
            ("http://2130706433/hook", true, false),
            ("http://0x7f.1/hook", true, false),
            ("http://0/hook", true, false),
            ("http://[::1]/hook", true, false),
            ("http://[::ffff:127.0.0.1]/hook", true, false),
            ("http://169.254.169.254/latest/meta-data", false, false),
            ("http://[fe80::1]/hook", false, false),
            ("https://10.0.0.7/hook", true, true),
            ("https://hooks.example.com/", true, true),
        ] {
            let url = Url::parse(url).unwrap();
            assert_eq!(Receivers::All.check(&url).is_ok(), of_all, "{url}");
            assert_eq!(
                Receivers::OtherMachines.check(&url).is_ok(),
                of_others,
                "{url}"
            );
        }
    }

    #[tokio::test]
    async fn a_name_is_checked_by_the_addresses_it_resolves_to() {
        let localhost = || "localhost".parse::<Name>().unwrap();
        assert!(Receivers::All.resolve(localhost()).await.is_ok());
        let refused = Receivers::OtherMachines.resolve(localhost()).await.err();
        let refused = refused.expect("localhost is this machine");
        assert_eq!(
            refused.downcast_ref::<RefusedReceiver>(),
            Some(&RefusedReceiver::ThisMachine)
        );
    }
}
