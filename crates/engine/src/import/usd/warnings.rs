//! Warnings about what is read differently from the file, or not at all.

use std::collections::BTreeMap;

use openusd::usd::Prim;

use super::super::polygon::ROUGH;
use super::unread::{UnreadProperties, changes, is_structure};
use assetfs_formats::number_text::grouped;
use assetfs_formats::warnings::{Warning, WarningKind};

/// The warnings, each of them once.
#[derive(Default)]
pub(super) struct Warnings {
    lines: Vec<Warning>,
    /// Prims that are not read, by their type.
    unread: BTreeMap<String, u64>,
    /// Prims whose visibility without animation is `invisible`; their descendants are not counted.
    pub(super) invisible: u64,
    /// Meshes of purposes that are not read.
    pub(super) other_purposes: u64,
    /// Shapes of such purposes that are given by numbers instead of points, as spheres are.
    pub(super) other_shapes: u64,
    /// Meshes of subdivision surfaces, which are read without subdivision.
    pub(super) cages: u64,
    /// Faces that are not cut into triangles exactly.
    pub(super) rough_faces: u64,
    pub(super) properties: UnreadProperties,
}

impl Warnings {
    pub(super) fn add(&mut self, kind: WarningKind, text: impl Into<String>) {
        self.push(Warning::new(kind, text));
    }

    pub(super) fn push(&mut self, warning: Warning) {
        if !self.lines.contains(&warning) {
            self.lines.push(warning);
        }
    }

    /// Counts a prim of a type that is not read.
    pub(super) fn count_unread(&mut self, kind: &str) {
        if !is_structure(kind) {
            *self.unread.entry(kind.to_owned()).or_default() += 1;
        }
    }

    pub(super) fn lines(&self, file: &str) -> Vec<Warning> {
        let mut lines = self.lines.clone();
        for (kind, count) in &self.unread {
            let names = ["prim", "prims"].map(|name| format!("{name} of the type {kind}"));
            lines.extend(counted(file, *count, names, "not read"));
        }
        let hidden = ["mesh", "meshes"].map(|name| format!("{name} of another purpose"));
        lines.extend(counted(file, self.other_purposes, hidden, "not read"));
        let hidden = ["shape", "shapes"].map(|name| format!("{name} of another purpose"));
        lines.extend(counted(file, self.other_shapes, hidden, "not read"));
        let invisible = ["invisible prim", "invisible prims"].map(str::to_owned);
        lines.extend(counted(file, self.invisible, invisible, "not read"));
        let cages = ["mesh", "meshes"].map(str::to_owned);
        let how = "read as the control cage of a subdivision surface";
        lines.extend(counted(file, self.cages, cages, how));
        if self.rough_faces > 0 {
            let rough = grouped(self.rough_faces);
            let text = format!("{file}: {rough} {ROUGH}");
            lines.push(Warning::new(WarningKind::NotRead, text));
        }
        lines.extend(self.properties.lines(file));
        lines
    }
}

/// A line of how many there are of a thing; `None` without any.
fn counted(file: &str, count: u64, [one, many]: [String; 2], what: &str) -> Option<Warning> {
    let text = match count {
        0 => return None,
        1 => format!("{file}: 1 {one} is {what}"),
        _ => format!("{file}: {} {many} are {what}", grouped(count)),
    };
    Some(Warning::new(WarningKind::NotRead, text))
}

/// Names the inputs of a shader that are not read, and those that change over time.
pub(super) fn name_inputs(shader: &Prim, of: &str, read: &[&str], warnings: &mut Warnings) {
    let (mut unread, mut moving) = (Vec::new(), Vec::new());
    for property in shader.property_names().unwrap_or_default() {
        let Some(input) = property.as_str().strip_prefix("inputs:") else {
            continue;
        };
        if !read.contains(&input) {
            unread.push(input.to_owned());
        } else if changes(shader, "Shader", property.as_str()) {
            moving.push(input.to_owned());
        }
    }
    for (names, what) in [
        (unread, "its inputs are not read"),
        (moving, "its inputs are read at one time only"),
    ] {
        if !names.is_empty() {
            warnings.add(
                WarningKind::NotRead,
                format!("{of}: {what}: {}", names.join(", ")),
            );
        }
    }
}
