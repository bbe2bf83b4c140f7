//! Serialization of bytes, and of maps whose keys are not strings, in records.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes, written as text if they are UTF-8, else as base64.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Blob(pub Vec<u8>);

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum BlobForm {
    Text(String),
    Base64(String),
}

impl Serialize for Blob {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use base64::Engine as _;
        let form = match String::from_utf8(self.0.clone()) {
            Ok(text) => BlobForm::Text(text),
            Err(_) => BlobForm::Base64(base64::engine::general_purpose::STANDARD.encode(&self.0)),
        };
        form.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Blob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Blob, D::Error> {
        use base64::Engine as _;
        match BlobForm::deserialize(deserializer)? {
            BlobForm::Text(text) => Ok(Blob(text.into_bytes())),
            BlobForm::Base64(text) => base64::engine::general_purpose::STANDARD
                .decode(text)
                .map(Blob)
                .map_err(serde::de::Error::custom),
        }
    }
}

/// For maps whose keys are not strings: written as a list of pairs.
pub mod as_pairs {
    use std::collections::BTreeMap;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Writes a map as a list of pairs.
    pub fn serialize<K, V, S>(map: &BTreeMap<K, V>, serializer: S) -> Result<S::Ok, S::Error>
    where
        K: Serialize,
        V: Serialize,
        S: Serializer,
    {
        serializer.collect_seq(map)
    }

    /// Reads a map that was written as a list of pairs.
    pub fn deserialize<'de, K, V, D>(deserializer: D) -> Result<BTreeMap<K, V>, D::Error>
    where
        K: Deserialize<'de> + Ord,
        V: Deserialize<'de>,
        D: Deserializer<'de>,
    {
        Vec::<(K, V)>::deserialize(deserializer).map(|pairs| pairs.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_any_kind_survive() {
        for bytes in [b"plain".to_vec(), vec![0xFF, 0, 0xC3], Vec::new()] {
            let text = serde_json::to_string(&Blob(bytes.clone())).unwrap();
            assert_eq!(serde_json::from_str::<Blob>(&text).unwrap().0, bytes);
        }
    }
}
