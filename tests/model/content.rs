//! Contents of files, by number, so that a history is short to read.

use crate::support::account::MINIMAL_GLTF;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Up to 700 bytes of text, none for 0.
    Text(u32),
    /// A complete glTF.
    Model(u32),
    /// An optimizer configuration.
    Config(u32),
}

impl Content {
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Content::Text(number) => {
                let line = format!("text {number} ");
                let len = *number as usize * 37 % 701;
                line.bytes().cycle().take(len).collect()
            }
            Content::Model(number) => {
                let text = String::from_utf8_lossy(MINIMAL_GLTF);
                let version = "\"version\":\"2.0\"";
                let numbered = format!("{version},\"generator\":\"model {number}\"");
                text.replacen(version, &numbered, 1).into_bytes()
            }
            Content::Config(number) => format!(
                r#"{{"schema":"2.5","limits":{{"faces":{{"percentage":{}}}}}}}"#,
                number % 90 + 1
            )
            .into_bytes(),
        }
    }

    /// Whether the worker of these histories fails with this configuration.
    pub fn fails(&self) -> bool {
        *self == Content::Config(4)
    }

    /// Whether a file of this name is the model of its folder.
    pub fn is_model_name(path: &str) -> bool {
        path.ends_with(".gltf")
    }
}
