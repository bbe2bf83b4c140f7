//! The recipes as `docs/recipes.md` has them. A block of code whose fence names a file is that file; the lines with
//! `$ ` of the others are commands.

use std::fs;
use std::path::Path;

const DOCUMENT: &str = include_str!("../../../docs/recipes.md");

/// One recipe: what is below its heading.
pub struct Recipe {
    title: &'static str,
    files: Vec<(&'static str, String)>,
    commands: Vec<String>,
}

impl Recipe {
    /// All recipes of the document.
    pub fn all() -> Vec<Recipe> {
        let sections = DOCUMENT.split("\n## ").skip(1);
        sections.map(Recipe::parse).collect()
    }

    pub fn named(title: &str) -> Recipe {
        let mut all = Recipe::all().into_iter();
        all.find(|recipe| recipe.title == title)
            .unwrap_or_else(|| panic!("docs/recipes.md has no recipe {title:?}"))
    }

    fn parse(section: &'static str) -> Recipe {
        let (title, body) = section.split_once('\n').expect("a body");
        let (mut files, mut commands) = (Vec::new(), Vec::new());
        // Text and blocks alternate.
        for block in body.split("```").skip(1).step_by(2) {
            let (fence, code) = block.split_once('\n').expect("lines");
            match fence.split_once(' ') {
                Some((_, name)) => files.push((name, code.to_owned())),
                None if fence == "console" => {
                    let lines = code.lines().filter_map(|line| line.strip_prefix("$ "));
                    commands.push(lines.collect::<Vec<_>>().join("\n"));
                }
                None => files.push((fence, code.to_owned())),
            }
        }
        Recipe {
            title,
            files,
            commands,
        }
    }

    pub fn title(&self) -> &'static str {
        self.title
    }

    /// The blocks of commands, one text each. A test that names fewer than there are fails.
    pub fn commands<const COUNT: usize>(&self) -> [&str; COUNT] {
        let commands: Vec<&str> = self.commands.iter().map(String::as_str).collect();
        commands
            .try_into()
            .unwrap_or_else(|found| panic!("{}: the blocks of commands are {found:#?}", self.title))
    }

    /// The files, by name or, without one, by language. A test that names fewer than there are fails.
    pub fn files<const COUNT: usize>(&self, names: [&str; COUNT]) -> [&str; COUNT] {
        let found: Vec<&str> = self.files.iter().map(|(name, _)| *name).collect();
        assert_eq!(found, names, "the files of {}", self.title);
        let mut texts = self.files.iter().map(|(_, text)| text.as_str());
        names.map(|_| texts.next().expect("as many"))
    }
}

/// Writes a file of a recipe; scripts can be executed.
pub fn write(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::create_dir_all(path.parent().expect("a folder")).expect("made");
    fs::write(path, text).expect("written");
    if text.starts_with("#!") {
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(path, mode).expect("an executable file");
    }
}
