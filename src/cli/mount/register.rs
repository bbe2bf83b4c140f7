//! Which folder of the state an account has. `accounts.json` says it for each address and token, so that an account is
//! found again while its service does not answer. Each folder repeats in its own `account.json` what leads to it, so that
//! a damaged or lost `accounts.json` hides nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};
use url::Url;

use crate::durable::write_atomic;
use crate::wire::{Token, TokenId};

/// Stands in keys and folder names for the id of a token that has none.
pub(super) const UNNUMBERED: &str = "unnumbered";
const REGISTER_FILE: &str = "accounts.json";
const ACCOUNT_FILE: &str = "account.json";

pub(super) struct Register {
    state_dir: PathBuf,
    /// Folder names by key.
    folders: BTreeMap<String, String>,
    /// A warning for the user, if the file was damaged.
    pub(super) warning: Option<String>,
}

/// The keys of an account in the register: address and token id, and the hash of the token alone. The same token at
/// another address is the same account, because no two services give out the same secret.
pub(super) struct AccessKeys {
    pub(super) by_address: String,
    pub(super) by_token: String,
}

/// The id of a token in keys and names of folders.
pub(super) fn token_id_text(token_id: Option<TokenId>) -> String {
    token_id.map_or_else(|| UNNUMBERED.to_owned(), |id| id.to_string())
}

impl AccessKeys {
    pub(super) fn new(base_url: &Url, token: &Token) -> AccessKeys {
        let origin = base_url.origin().ascii_serialization();
        let digest = Sha256::digest(format!("assetfs account\n{}", token.expose()));
        let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        AccessKeys {
            by_address: format!("{origin} {}", token_id_text(token.id())),
            by_token: format!("token {digest}"),
        }
    }
}

impl Register {
    /// Reads the register. A damaged one is renamed, and the register is rebuilt from the `account.json` of each folder.
    pub(super) fn open(state_dir: &Path) -> Result<Register> {
        let path = state_dir.join(REGISTER_FILE);
        let mut folders = folders_from_account_files(state_dir);
        let mut warning = None;
        match fs::read(&path) {
            Ok(text) => match serde_json::from_slice::<BTreeMap<String, String>>(&text) {
                Ok(registered) => folders.extend(registered),
                Err(_) => {
                    let aside = state_dir.join(format!("{REGISTER_FILE}.damaged"));
                    fs::rename(&path, &aside).with_context(|| {
                        format!("{} is damaged and cannot be set aside", path.display())
                    })?;
                    warning = Some(format!(
                        "{} was damaged; it is kept as {} and made anew from the folders of the accounts",
                        path.display(),
                        aside.display()
                    ));
                }
            },
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", path.display()));
            }
        }
        Ok(Register {
            state_dir: state_dir.to_owned(),
            folders,
            warning,
        })
    }

    /// The folder of an address and a token.
    pub(super) fn folder(&self, keys: &AccessKeys) -> Option<&str> {
        self.folders.get(&keys.by_address).map(String::as_str)
    }

    /// Whether any account of the service at this address was mounted here.
    pub(super) fn knows_service(&self, base_url: &Url) -> bool {
        let origin = base_url.origin().ascii_serialization();
        let mut keys = self.folders.keys();
        keys.any(|key| {
            key.split_once(' ')
                .is_some_and(|(known, _)| known == origin)
        })
    }

    /// The folder of the same account under another address: one with the same token, or one with the same owner whose
    /// address differs only in the scheme (http or https).
    pub(super) fn folder_elsewhere(
        &self,
        keys: &AccessKeys,
        base_url: &Url,
        owner: u64,
    ) -> Option<&str> {
        let of_owner = format!("-owner-{owner}");
        let same_token = self.folders.get(&keys.by_token);
        let same_host = || {
            let mut others = self.folders.iter();
            others.find_map(|(key, folder)| {
                let origin: Url = key.split_once(' ')?.0.parse().ok()?;
                let is_same = differs_in_scheme_only(&origin, base_url);
                (is_same && folder.ends_with(&of_owner)).then_some(folder)
            })
        };
        same_token.or_else(same_host).map(String::as_str)
    }

    /// Registers a folder under the keys.
    pub(super) fn add(&mut self, keys: &AccessKeys, folder: &str) -> Result<()> {
        let path = self.state_dir.join(REGISTER_FILE);
        // Another mount may have written to it since it was read.
        let now: Option<BTreeMap<String, String>> = fs::read(&path)
            .ok()
            .and_then(|text| serde_json::from_slice(&text).ok());
        self.folders.extend(now.clone().unwrap_or_default());
        for key in [&keys.by_address, &keys.by_token] {
            self.folders.insert(key.clone(), folder.to_owned());
        }
        if now.as_ref() == Some(&self.folders) {
            return Ok(());
        }
        write_atomic(&path, &serde_json::to_vec_pretty(&self.folders)?)
            .with_context(|| format!("cannot write {}", path.display()))
    }

    /// Writes the keys of a folder into its own `account.json`.
    pub(super) fn write_account_file(&self, folder: &str) -> Result<()> {
        let keys: BTreeSet<&String> = self
            .folders
            .iter()
            .filter(|(_, name)| *name == folder)
            .map(|(key, _)| key)
            .collect();
        let path = self.state_dir.join(folder).join(ACCOUNT_FILE);
        let text = serde_json::to_vec_pretty(&keys)?;
        if fs::read(&path).is_ok_and(|now| now == text) {
            return Ok(());
        }
        write_atomic(&path, &text).with_context(|| format!("cannot write {}", path.display()))
    }
}

/// Folder names by key, from the `account.json` of each folder.
fn folders_from_account_files(state_dir: &Path) -> BTreeMap<String, String> {
    let accounts = fs::read_dir(state_dir).into_iter().flatten().flatten();
    let signed = accounts.filter_map(|account| {
        let text = fs::read(account.path().join(ACCOUNT_FILE)).ok()?;
        let keys: Vec<String> = serde_json::from_slice(&text).ok()?;
        Some((keys, account.file_name().into_string().ok()?))
    });
    signed
        .flat_map(|(keys, name)| keys.into_iter().map(move |key| (key, name.clone())))
        .collect()
}

/// True for two addresses of one host with the usual ports, such as http and https.
fn differs_in_scheme_only(one: &Url, other: &Url) -> bool {
    one.host_str() == other.host_str() && one.port().is_none() && other.port().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        text.parse().unwrap()
    }

    fn keys(address: &str, token: &str) -> AccessKeys {
        AccessKeys::new(&url(address), &Token::parse(token).unwrap())
    }

    #[test]
    fn an_account_is_found_under_another_address() {
        let dir = tempfile::tempdir().unwrap();
        let mut register = Register::open(dir.path()).unwrap();
        register
            .add(&keys("http://a.example/", "17|secret"), "a-owner-7")
            .unwrap();
        let register = Register::open(dir.path()).unwrap();
        let found = |address: &str, token: &str, owner| {
            let keys = keys(address, token);
            assert_eq!(register.folder(&keys), None);
            register
                .folder_elsewhere(&keys, &url(address), owner)
                .map(str::to_owned)
        };
        let folder = Some("a-owner-7".to_owned());
        assert_eq!(found("https://a.example/", "17|secret", 7), folder);
        assert_eq!(found("https://new.example/", "17|secret", 7), folder);
        assert_eq!(
            found("https://a.example/", "18|other", 7),
            folder,
            "a new token of the owner, where only the scheme differs"
        );
        for (address, token, owner) in [
            ("https://a.example/", "18|other", 8),
            ("https://b.example/", "18|other", 7),
            ("https://b.example/", "17|another", 7),
            ("http://a.example:8080/", "18|other", 7),
        ] {
            assert_eq!(found(address, token, owner), None, "{address} {token}");
        }
        let text = fs::read_to_string(dir.path().join(REGISTER_FILE)).unwrap();
        assert!(!text.contains("secret"), "{text}");
    }

    #[test]
    fn a_damaged_register_is_set_aside_and_hides_no_folder() {
        let dir = tempfile::tempdir().unwrap();
        let keys = keys("http://a.example/", "17|secret");
        fs::create_dir(dir.path().join("a-token-17")).unwrap();
        let mut register = Register::open(dir.path()).unwrap();
        register.add(&keys, "a-token-17").unwrap();
        register.write_account_file("a-token-17").unwrap();
        fs::write(dir.path().join(REGISTER_FILE), "{").unwrap();

        let register = Register::open(dir.path()).unwrap();
        assert_eq!(register.folder(&keys), Some("a-token-17"));
        assert!(register.warning.unwrap().contains("damaged"));
        assert!(dir.path().join("accounts.json.damaged").exists());
    }
}
