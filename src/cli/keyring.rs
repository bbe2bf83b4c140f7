//! Tokens in the keyring of the desktop (the Secret Service: GNOME Keyring, KWallet, KeePassXC), over D-Bus.
//!
//! A keyring that is absent, locked or silent is an error at once, or after [`DEADLINE`]; nothing here asks the user for
//! a password. `ASSETFS_KEYRING=off` leaves the keyring alone. Secrets are passed in clear text over the bus, which is a
//! socket of this user.

use std::collections::HashMap;
use std::env;
use std::time::Duration;

use serde::de::DeserializeOwned;
use url::Url;
use zbus::wire::{DynamicType, ObjectPath, OwnedObjectPath, OwnedVariant, Type, Variant};
use zbus::{Connection, conn};

use crate::wire::Token;

use super::block_on::block_on;
use super::desktop_notice::has_session_bus;

/// How long the keyring may take in all.
const DEADLINE: Duration = Duration::from_secs(3);
const BUS_NAME: &str = "org.freedesktop.secrets";
const SERVICE: &str = "org.freedesktop.Secret.Service";
const COLLECTION: &str = "org.freedesktop.Secret.Collection";
const ITEM: &str = "org.freedesktop.Secret.Item";
const ROOT: &str = "/org/freedesktop/secrets";
/// No object: no collection of that name, or no prompt that is needed.
const NOTHING: &str = "/";

/// Why the keyring cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum KeyringError {
    #[error("ASSETFS_KEYRING is off")]
    Off,
    #[error("there is no session bus")]
    NoBus,
    #[error("no keyring answers on the session bus")]
    NoService(#[source] zbus::Error),
    #[error("the keyring is locked")]
    Locked,
    #[error("there is no default keyring")]
    NoCollection,
    #[error("the keyring did not answer within {} s", DEADLINE.as_secs())]
    Silent,
    #[error("the keyring holds a text that is no token for this service")]
    NoToken,
    #[error("cannot wait for the keyring: {0}")]
    Runtime(String),
}

impl From<zbus::Error> for KeyringError {
    fn from(error: zbus::Error) -> KeyringError {
        match &error {
            zbus::Error::MethodError(name, ..) if name.as_str().ends_with("IsLocked") => {
                KeyringError::Locked
            }
            _ => KeyringError::NoService(error),
        }
    }
}

type KeyringResult<T> = Result<T, KeyringError>;

/// The secret of an item: session, parameters, value, media type.
type Secret<'a> = (ObjectPath<'a>, Vec<u8>, Vec<u8>, String);

/// The token of a service; `None` if the keyring has none.
pub(super) fn find(base_url: &Url) -> KeyringResult<Option<Token>> {
    within_deadline(async {
        let keyring = Keyring::open().await?;
        let Some(item) = keyring.item(base_url).await? else {
            return Ok(None);
        };
        let secret: OwnedSecret = keyring
            .call(item.as_str(), ITEM, "GetSecret", &keyring.session)
            .await?;
        let text = String::from_utf8(secret.2).map_err(|_| KeyringError::NoToken)?;
        let token = Token::parse(&text).map_err(|_| KeyringError::NoToken)?;
        Ok(Some(token))
    })
}

type OwnedSecret = (OwnedObjectPath, Vec<u8>, Vec<u8>, String);

/// Stores the token of a service in the default keyring, in place of an earlier one.
pub(super) fn store(base_url: &Url, token: &Token) -> KeyringResult<()> {
    within_deadline(async {
        let keyring = Keyring::open().await?;
        let collection = keyring.default_collection().await?;
        let label = format!("assetfs: {}", base_url.origin().ascii_serialization());
        let properties = HashMap::from([
            ("org.freedesktop.Secret.Item.Label", Variant::from(label)),
            (
                "org.freedesktop.Secret.Item.Attributes",
                Variant::from(attributes(base_url)),
            ),
        ]);
        let secret: Secret<'_> = (
            keyring.session.as_ref(),
            Vec::new(),
            token.expose().as_bytes().to_vec(),
            "text/plain".to_owned(),
        );
        let (_, prompt): (OwnedObjectPath, OwnedObjectPath) = keyring
            .call(
                collection.as_str(),
                COLLECTION,
                "CreateItem",
                &(properties, secret, true),
            )
            .await?;
        without_prompt(&prompt)
    })
}

/// Removes the token of a service; false if there was none.
pub(super) fn remove(base_url: &Url) -> KeyringResult<bool> {
    within_deadline(async {
        let keyring = Keyring::open().await?;
        let Some(item) = keyring.item(base_url).await? else {
            return Ok(false);
        };
        let prompt: OwnedObjectPath = keyring.call(item.as_str(), ITEM, "Delete", &()).await?;
        without_prompt(&prompt)?;
        Ok(true)
    })
}

/// Whether a keyring answers, and its default collection is unlocked.
pub(super) fn check() -> KeyringResult<()> {
    within_deadline(async {
        let keyring = Keyring::open().await?;
        keyring.default_collection().await.map(drop)
    })
}

fn within_deadline<T>(work: impl Future<Output = KeyringResult<T>>) -> KeyringResult<T> {
    if env::var("ASSETFS_KEYRING").is_ok_and(|value| value == "off") {
        return Err(KeyringError::Off);
    }
    if !has_session_bus() {
        return Err(KeyringError::NoBus);
    }
    let waited = block_on(async { Ok(tokio::time::timeout(DEADLINE, work).await) });
    match waited {
        Ok(Ok(result)) => result,
        Ok(Err(_)) => Err(KeyringError::Silent),
        Err(error) => Err(KeyringError::Runtime(error.to_string())),
    }
}

/// What an item is found by.
fn attributes(base_url: &Url) -> HashMap<String, String> {
    HashMap::from([
        ("application".to_owned(), "assetfs".to_owned()),
        (
            "service".to_owned(),
            base_url.origin().ascii_serialization(),
        ),
    ])
}

fn without_prompt(prompt: &OwnedObjectPath) -> KeyringResult<()> {
    match prompt.as_str() {
        NOTHING => Ok(()),
        _ => Err(KeyringError::Locked),
    }
}

/// A session with the keyring.
struct Keyring {
    bus: Connection,
    session: OwnedObjectPath,
}

impl Keyring {
    async fn open() -> KeyringResult<Keyring> {
        let bus = conn::Builder::session()
            .build()
            .await
            .map_err(|_| KeyringError::NoBus)?;
        let mut keyring = Keyring {
            bus,
            session: OwnedObjectPath::default(),
        };
        let plain = ("plain", Variant::from(""));
        let (_, session): (OwnedVariant, OwnedObjectPath) =
            keyring.call(ROOT, SERVICE, "OpenSession", &plain).await?;
        keyring.session = session;
        Ok(keyring)
    }

    async fn call<T: DeserializeOwned + Type>(
        &self,
        object: &str,
        interface: &str,
        method: &str,
        arguments: &(impl serde::Serialize + DynamicType),
    ) -> KeyringResult<T> {
        let reply = self
            .bus
            .call_method(Some(BUS_NAME), object, Some(interface), method, arguments)
            .await?;
        let body = reply.body();
        Ok(body.deserialize()?)
    }

    /// The collection that new items belong in, unlocked.
    async fn default_collection(&self) -> KeyringResult<OwnedObjectPath> {
        let collection: OwnedObjectPath = self.call(ROOT, SERVICE, "ReadAlias", &"default").await?;
        match collection.as_str() {
            NOTHING => Err(KeyringError::NoCollection),
            _ => {
                self.unlock(&collection).await?;
                Ok(collection)
            }
        }
    }

    /// The item of a service.
    async fn item(&self, base_url: &Url) -> KeyringResult<Option<OwnedObjectPath>> {
        let (unlocked, locked): (Vec<OwnedObjectPath>, Vec<OwnedObjectPath>) = self
            .call(ROOT, SERVICE, "SearchItems", &attributes(base_url))
            .await?;
        match (unlocked.into_iter().next(), locked.into_iter().next()) {
            (Some(item), _) => Ok(Some(item)),
            (None, Some(item)) => {
                self.unlock(&item).await?;
                Ok(Some(item))
            }
            (None, None) => Ok(None),
        }
    }

    /// Unlocks what needs no password.
    async fn unlock(&self, object: &OwnedObjectPath) -> KeyringResult<()> {
        let (_, prompt): (Vec<OwnedObjectPath>, OwnedObjectPath) = self
            .call(ROOT, SERVICE, "Unlock", &vec![object.as_ref()])
            .await?;
        without_prompt(&prompt)
    }
}
