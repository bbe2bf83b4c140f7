//! Which file of a model a reference means.
//!
//! Programs write references for their own machine: with backslashes, in the wrong case, in another form of Unicode, or as
//! absolute paths. [`ModelFiles::find`] is the one place that decides what they mean, for the drive, the service and the engine.
//! Invariant: the answer is one of the files that were given, so nothing outside of the model is ever found, and of several files that
//! could be meant none is chosen.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use percent_encoding::percent_decode_str;
use unicode_normalization::UnicodeNormalization as _;

use super::Kind;

/// If more files have one name, their folders are not compared, and all of them could be meant.
const MAX_NAMESAKES: usize = 1000;

/// What a reference says, as paths below the folder of the model; several if the text is ambiguous, the likeliest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A path in the folder of the model. If there is no such file, it is missing.
    Inside(Vec<String>),
    /// A path of another machine, or one that leads out of the model. Only its end can be compared.
    Elsewhere(Vec<String>),
}

impl Target {
    /// What `text` in the file `from` means; `None` if it is empty, a data URI, or names a file on the network.
    pub fn of(from: &str, text: &str) -> Option<Target> {
        // Loaders open the decoded form, so it comes first.
        let decoded = percent_decode_str(text).decode_utf8().ok();
        let decoded = decoded.as_deref().unwrap_or(text);
        let (path, is_inside) = place(folder_of(from), decoded)?;
        let mut paths = vec![path];
        // The undecoded text is a second candidate only if it is inside, or outside, of the model like the first.
        if let Some((path, as_written)) = place(folder_of(from), text)
            && as_written == is_inside
            && !paths.contains(&path)
        {
            paths.push(path);
        }
        // A reference to a web server may have a query, which is no part of the file's name.
        if let Some((plain, _)) = text.split_once(['?', '#'])
            && let Some(Target::Inside(without) | Target::Elsewhere(without)) =
                Target::of(from, plain)
        {
            let new = without.into_iter().filter(|path| !paths.contains(path));
            paths.extend(new.collect::<Vec<_>>());
        }
        paths.retain(|path| !path.is_empty());
        if paths.is_empty() {
            return None;
        }
        Some(match is_inside {
            true => Target::Inside(paths),
            false => Target::Elsewhere(paths),
        })
    }

    pub fn paths(&self) -> &[String] {
        let (Target::Inside(paths) | Target::Elsewhere(paths)) = self;
        paths
    }
}

/// The path that `text` in a file of `folder` means, and whether it is a place in the model. `None` if it is on the network.
fn place(folder: &str, text: &str) -> Option<(String, bool)> {
    let text = text.replace('\\', "/");
    let is_data = text
        .get(..5)
        .is_some_and(|head| head.eq_ignore_ascii_case("data:"));
    if is_data || text.contains('\0') {
        return None;
    }
    let (text, is_file_url) = match text.split_once("://") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("file") => (rest, true),
        Some((scheme, _)) if is_scheme(scheme) => return None,
        _ => (text.as_str(), false),
    };
    let is_drive = text.as_bytes().get(1) == Some(&b':');
    let mut is_inside = !is_file_url && !is_drive && !text.starts_with('/');
    let mut parts: Vec<&str> = match is_inside {
        true => folder.split('/').filter(|part| !part.is_empty()).collect(),
        false => Vec::new(),
    };
    for part in text.split('/') {
        match part {
            "" | "." => {}
            ".." => is_inside &= parts.pop().is_some(),
            name => parts.push(name),
        }
    }
    Some((parts.join("/"), is_inside))
}

fn is_scheme(text: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "+-.".contains(letter);
    !text.is_empty() && text.chars().all(is_letter)
}

/// The outcome of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found<'a> {
    File(&'a str),
    /// Each of these could be meant.
    Several(Vec<&'a str>),
    Nothing,
}

/// The files of a model, for the search.
#[derive(Debug)]
pub struct ModelFiles {
    /// Relative to the folder of the model, sorted.
    paths: Vec<String>,
    /// Made when a reference is not exact.
    folded: OnceLock<FoldedNames>,
}

/// Indices of paths by their folded forms.
#[derive(Debug, Default)]
struct FoldedNames {
    by_path: HashMap<String, Vec<usize>>,
    by_name: HashMap<String, Vec<usize>>,
    /// Folders in which a model file lies.
    of_models: HashSet<String>,
}

impl ModelFiles {
    pub fn new<P: Into<String>>(paths: impl IntoIterator<Item = P>) -> ModelFiles {
        let mut paths: Vec<String> = paths.into_iter().map(Into::into).collect();
        paths.sort_unstable();
        paths.dedup();
        ModelFiles {
            paths,
            folded: OnceLock::new(),
        }
    }

    /// The file that one of `paths` means, which the file `from` names: exactly; else regardless of case, of the form of Unicode, or
    /// of both; else by the longest common end of the path, which may be the name alone.
    ///
    /// A file beside another model belongs to that model, so it is not found by the end of its path. Of several files with
    /// the same common end, the one beside `from` is meant.
    pub fn find(&self, from: &str, paths: &[String]) -> Found<'_> {
        let exact = paths
            .iter()
            .find_map(|path| self.paths.binary_search(path).ok());
        if let Some(found) = exact {
            return Found::File(&self.paths[found]);
        }
        let mut outcome = Found::Nothing;
        let by_spelling = paths.iter().map(|path| self.by_spelling(path));
        let by_end = paths.iter().map(|path| self.by_end(from, path));
        for found in by_spelling.chain(by_end) {
            match found {
                Found::File(_) => return found,
                Found::Several(_) if outcome == Found::Nothing => outcome = found,
                Found::Several(_) | Found::Nothing => {}
            }
        }
        outcome
    }

    fn folded_names(&self) -> &FoldedNames {
        self.folded.get_or_init(|| {
            let mut names = FoldedNames::default();
            for (index, path) in self.paths.iter().enumerate() {
                let key = folded(path);
                let name = name_of(&key).to_owned();
                names.by_path.entry(key).or_default().push(index);
                names.by_name.entry(name).or_default().push(index);
                if is_model(path) {
                    names.of_models.insert(folder_of(path).to_owned());
                }
            }
            names
        })
    }

    fn several(&self, indices: &[usize]) -> Found<'_> {
        Found::Several(indices.iter().map(|at| &*self.paths[*at]).collect())
    }

    fn by_spelling(&self, path: &str) -> Found<'_> {
        let Some(all) = self.folded_names().by_path.get(&folded(path)) else {
            return Found::Nothing;
        };
        let only_with_same = |form: fn(&str) -> String| {
            let wanted = form(path);
            let mut same = all.iter().filter(|at| form(&self.paths[**at]) == wanted);
            let first = same.next().copied();
            first.filter(|_| same.next().is_none())
        };
        let found = match all.as_slice() {
            [only] => Some(*only),
            _ => only_with_same(|text| text.to_lowercase())
                .or_else(|| only_with_same(|text| text.nfc().collect())),
        };
        found.map_or_else(|| self.several(all), |at| Found::File(&self.paths[at]))
    }

    fn by_end(&self, from: &str, path: &str) -> Found<'_> {
        let path = folded(path);
        let namesakes = self.folded_names().by_name.get(name_of(&path));
        let namesakes = namesakes.map(Vec::as_slice).unwrap_or_default();
        if namesakes.len() > MAX_NAMESAKES {
            return self.several(namesakes);
        }
        let mut longest = 0;
        let mut best: Vec<usize> = Vec::new();
        for at in namesakes {
            let found = &self.paths[*at];
            if found == from || self.belongs_elsewhere(from, found) {
                continue;
            }
            let common = common_end(&path, &folded(found));
            if common > longest {
                longest = common;
                best.clear();
            }
            if common == longest {
                best.push(*at);
            }
        }
        let is_beside = |at: &usize| folder_of(&self.paths[*at]) == folder_of(from);
        let beside: Vec<usize> = best.iter().copied().filter(is_beside).collect();
        match (best.as_slice(), beside.as_slice()) {
            ([], _) => Found::Nothing,
            ([only], _) | (_, [only]) => Found::File(&self.paths[*only]),
            _ => self.several(&best),
        }
    }

    /// True if a file lies in a folder with another model, which is not a folder of `from`. False for model files: layers of
    /// one USD scene may lie in several folders.
    fn belongs_elsewhere(&self, from: &str, found: &str) -> bool {
        let mut folder = folder_of(found);
        while !is_model(found) && !folder.is_empty() && !is_below(from, folder) {
            if self.folded_names().of_models.contains(folder) {
                return true;
            }
            folder = folder_of(folder);
        }
        false
    }
}

fn is_model(path: &str) -> bool {
    super::of_name(path).is_some_and(|format| format.kind != Kind::Archive)
}

fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.starts_with('/'))
}

/// The path without its last name; empty for a file of the model's folder itself.
fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// A path regardless of case and of the form of Unicode: paths that are equal in it are one file on Windows or macOS.
pub fn folded(path: &str) -> String {
    match path.is_ascii() {
        true => path.to_ascii_lowercase(),
        false => path
            .nfc()
            .collect::<String>()
            .to_lowercase()
            .nfc()
            .collect(),
    }
}

fn common_end(one: &str, other: &str) -> usize {
    let pairs = one.rsplit('/').zip(other.rsplit('/'));
    pairs.take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(paths: &[&str]) -> ModelFiles {
        ModelFiles::new(paths.iter().copied())
    }

    fn find<'a>(files: &'a ModelFiles, from: &str, text: &str) -> Found<'a> {
        match Target::of(from, text) {
            Some(target) => files.find(from, target.paths()),
            None => Found::Nothing,
        }
    }

    #[test]
    fn a_reference_finds_its_file_as_other_machines_spell_it() {
        let nfd = "tex/U\u{308}bung.png";
        let files = files(&[
            "chair.gltf",
            "chair.bin",
            "is it",
            "is it?#1.png",
            "100%.png",
            "x%20y.png",
            "Wood.PNG",
            "textures/oak.png",
            "textures/leg/top.png",
            nfd,
        ]);
        for (text, found) in [
            ("chair.bin", "chair.bin"),
            ("Chair.bin", "chair.bin"),
            ("./a/../chair.bin", "chair.bin"),
            ("100%25.png", "100%.png"),
            ("100%.png", "100%.png"),
            ("x%20y.png", "x%20y.png"),
            ("wood.png", "Wood.PNG"),
            ("chair.bin?v=3", "chair.bin"),
            ("wood.png#top?x", "Wood.PNG"),
            ("is it?#1.png", "is it?#1.png"),
            ("textures%5COAK.png", "textures/oak.png"),
            ("textures\\oak.png", "textures/oak.png"),
            ("oak.png", "textures/oak.png"),
            ("tex/\u{dc}bung.png", nfd),
            ("Tex/\u{fc}BUNG.png", nfd),
            ("C:\\work\\textures\\leg\\Top.png", "textures/leg/top.png"),
            ("file:///home/anna/top.png", "textures/leg/top.png"),
            ("\\\\server\\share\\oak.png", "textures/oak.png"),
            ("../../elsewhere/oak.png", "textures/oak.png"),
        ] {
            assert_eq!(
                find(&files, "chair.gltf", text),
                Found::File(found),
                "{text}"
            );
        }
        for text in [
            "none.png",
            "https://x.example/oak.png",
            "data:oak.png",
            "",
            "..",
        ] {
            assert_eq!(find(&files, "chair.gltf", text), Found::Nothing, "{text}");
        }
    }

    #[test]
    fn of_several_files_the_longest_common_end_is_meant_and_else_none() {
        let files = files(&[
            "a.obj",
            "one/wood.png",
            "two/wood.png",
            "two/Oak.png",
            "two/OAK.png",
        ]);
        let both = Found::Several(vec!["one/wood.png", "two/wood.png"]);
        assert_eq!(find(&files, "a.obj", "wood.png"), both);
        assert_eq!(
            find(&files, "a.obj", "D:\\x\\Two\\wood.png"),
            Found::File("two/wood.png")
        );
        let both = Found::Several(vec!["two/OAK.png", "two/Oak.png"]);
        assert_eq!(find(&files, "a.obj", "two/oak.png"), both);
        assert_eq!(
            find(&files, "two/a.mtl", "tex/wood.png"),
            Found::File("two/wood.png")
        );
    }

    #[test]
    fn a_file_beside_another_model_belongs_to_that_one() {
        let files = files(&[
            "a/scene.gltf",
            "b/scene.gltf",
            "b/scene.bin",
            "b/textures/wood.png",
            "textures/oak.png",
            "parts/leg.usdc",
        ]);
        assert_eq!(find(&files, "a/scene.gltf", "scene.bin"), Found::Nothing);
        assert_eq!(
            find(&files, "a/scene.gltf", "textures/wood.png"),
            Found::Nothing
        );
        assert_eq!(
            find(&files, "a/scene.gltf", "oak.png"),
            Found::File("textures/oak.png")
        );
        assert_eq!(
            find(&files, "a/scene.gltf", "/show/leg.usdc"),
            Found::File("parts/leg.usdc")
        );
    }
}
