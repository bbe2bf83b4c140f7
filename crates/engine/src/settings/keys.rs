//! Classifies unread keys of a configuration: known without effect, or unknown, with the most similar known key.

use super::key_table::{KEYS, Key, Treatment};
use assetfs_formats::FileFormat;
use assetfs_formats::printable::printable;

/// A key that has no effect.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// The key is known but has no effect, for this reason.
    NotDone(&'static str),
    /// It is unknown.
    Unknown(UnknownKey),
}

/// A key that neither layout has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} is not a key of the configuration{}", printable(path), hint(.nearest.as_deref()))]
pub struct UnknownKey {
    /// Its path.
    pub path: String,
    /// The path of the known key that was probably intended.
    pub nearest: Option<String>,
}

fn hint(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |nearest| format!("; did you mean {nearest}?"))
}

/// Classifies the key at `path`, which the reader did not read.
pub(super) fn judge(path: &str) -> Unread {
    let plain = plain(path);
    let known = KEYS.iter().find_map(|key| match key.treatment {
        Treatment::NotDone(reason) if key.path == plain => Some(reason),
        _ => None,
    });
    match known {
        Some(reason) => Unread::NotDone(reason),
        None => Unread::Unknown(UnknownKey {
            path: path.to_owned(),
            nearest: nearest(&plain),
        }),
    }
}

/// Whether the table has the key at `path`, or a key below it.
pub(super) fn is_known(path: &str) -> bool {
    leads_to_a_key(&plain(path))
}

/// The same for a path without indices.
fn leads_to_a_key(path: &str) -> bool {
    let starts = |key: &Key| {
        let rest = key.path.strip_prefix(path);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    KEYS.iter().any(starts)
}

/// Converts `a[3].b` to `a[].b`. The table lists the keys of one format of layout B; the other formats have the same
/// keys.
fn plain(path: &str) -> String {
    const FORMATS: &str = "export[].format.";
    let plain = without_indices(path);
    let below = plain.strip_prefix(FORMATS).and_then(|rest| {
        let (format, rest) = rest.split_once('.')?;
        FileFormat::from_name(format).map(|_| format!("{FORMATS}gltf.{rest}"))
    });
    below.unwrap_or(plain)
}

/// Minimum similarity of suggested keys, from 0 (nothing in common) to 1 (equal).
const ALIKE: f64 = 0.8;

/// The known path that is most similar to `path`: with its first unknown step replaced by a similar one, or any key
/// whose last step is similar to that of `path`.
fn nearest(path: &str) -> Option<String> {
    let ends: Vec<usize> = path.match_indices('.').map(|(at, _)| at).collect();
    let unknown_end = ends.iter().copied().chain([path.len()]);
    let end = unknown_end
        .into_iter()
        .find(|end| !leads_to_a_key(&path[..*end]));
    let Some(end) = end else {
        // For a known path without a value of its own, the first key below it.
        let below = KEYS.iter().find(|key| key.path.starts_with(path));
        return below.map(|key| key.path.to_owned());
    };
    let (parent, step) = path[..end].rsplit_once('.').unwrap_or(("", &path[..end]));
    let step_of = |key: &'static Key| {
        let rest = match parent {
            "" => key.path,
            parent => key.path.strip_prefix(parent)?.strip_prefix('.')?,
        };
        rest.split('.').next()
    };
    if let Some(step) = most_alike(step, KEYS.iter().filter_map(step_of)) {
        let head = if parent.is_empty() {
            String::new()
        } else {
            format!("{parent}.")
        };
        let whole = format!("{head}{step}{}", &path[end..]);
        return Some(if leads_to_a_key(&whole) {
            whole
        } else {
            format!("{head}{step}")
        });
    }
    let last = |path: &'static str| path.rsplit('.').next().unwrap_or(path);
    let leaf = path.rsplit('.').next().unwrap_or(path);
    let leaf = most_alike(leaf, KEYS.iter().map(|key| last(key.path)))?;
    let found = KEYS.iter().find(|key| last(key.path) == leaf);
    found.map(|key| key.path.to_owned())
}

/// The known name that is most similar to `wanted`, regardless of case; `None` if none is similar enough.
pub fn most_alike<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = wanted.to_lowercase();
    known
        .into_iter()
        .map(|known| (strsim::jaro_winkler(&known.to_lowercase(), &wanted), known))
        .filter(|(alike, _)| *alike >= ALIKE)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, known)| known)
}

/// Converts `a[3].b` to `a[].b`.
fn without_indices(path: &str) -> String {
    path.split('[')
        .enumerate()
        .map(|(number, part)| match part.split_once(']') {
            Some((_, rest)) if number > 0 => format!("[]{rest}"),
            _ => part.to_owned(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_key_is_named() {
        for (path, nearest) in [
            ("limits.faces.cuont", Some("limits.faces.count")),
            ("limit.faces.count", Some("limits.faces.count")),
            ("Limits", Some("limits")),
            ("faces.count", Some("limits.faces.count")),
            (
                "customScaling",
                Some("compressionAndExport.fileExports[].customScaling"),
            ),
            (
                "compressionAndExport.fileExports[2].fileTyp",
                Some("compressionAndExport.fileExports[].fileType"),
            ),
            ("import.USD", Some("import.USD.profile")),
            ("zzz", None),
        ] {
            let Unread::Unknown(unknown) = judge(path) else {
                panic!("{path} is known");
            };
            assert_eq!(unknown.nearest.as_deref(), nearest, "{path}");
        }
    }

    #[test]
    fn what_holds_for_gltf_holds_for_every_format_of_layout_b() {
        for format in ["gltf", "glb", "usdz"] {
            let path = format!("export[0].format.{format}.pbrMaterial");
            assert_eq!(judge(&path), Unread::NotDone("materials are written whole"));
        }
    }
}
