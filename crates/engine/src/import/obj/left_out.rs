//! What an OBJ file declares and the importer does not read.

use std::collections::{BTreeMap, BTreeSet};

use super::super::lines::text;
use super::super::polygon::ROUGH;
use assetfs_formats::number_text::grouped;
use assetfs_formats::warnings::{Warning, WarningKind};

/// Maximum number of kinds of statements that are counted: each line of a damaged file may have another kind.
const MAX_KINDS: usize = 20;

#[derive(Debug, Default)]
pub(super) struct LeftOut {
    /// Lines, points, curves and surfaces.
    shapes: u64,
    /// Other statements and how many there are.
    statements: BTreeMap<String, u64>,
    /// Objects with more than one group.
    grouped_objects: BTreeSet<Option<String>>,
    /// The last group and its object.
    group: Option<(Option<String>, String)>,
    /// Vertex colours in comments of ZBrush.
    painted_comments: u64,
    /// Faces with fewer than three corners.
    pub(super) small_faces: u64,
    /// Faces that were not cut into triangles exactly.
    pub(super) rough_faces: u64,
    /// Texture coordinates with a depth.
    pub(super) depths: u64,
    /// Positions with more numbers than a place and a colour.
    pub(super) long_positions: u64,
}

impl LeftOut {
    pub(super) fn statement(&mut self, key: &[u8], rest: &[u8]) {
        let is_off = |word: &[u8]| word == b"off" || word == b"0";
        match key {
            b"l" | b"p" | b"curv" | b"curv2" | b"surf" => self.shapes += 1,
            // Switched off, these have no effect: without smoothing groups normals are computed by angle.
            b"s" | b"bevel" | b"c_interp" | b"d_interp" | b"lod" if is_off(rest) => {}
            _ => {
                let key = text(&key[..key.len().min(40)]);
                if self.statements.len() < MAX_KINDS || self.statements.contains_key(&key) {
                    *self.statements.entry(key).or_default() += 1;
                }
            }
        }
    }

    /// Smoothing groups have no effect on a file whose faces all have normals.
    pub(super) fn all_normals_are_given(&mut self) {
        self.statements.remove("s");
    }

    pub(super) fn comment(&mut self, key: &[u8]) {
        if key.eq_ignore_ascii_case(b"#MRGB") {
            self.painted_comments += 1;
        }
    }

    /// A group inside an object; only objects become meshes.
    pub(super) fn group(&mut self, object: &Option<String>, name: &[u8]) {
        let name = text(name);
        if let Some((of, before)) = &self.group
            && of == object
            && *before != name
        {
            self.grouped_objects.insert(object.clone());
        }
        self.group = Some((object.clone(), name));
    }

    pub(super) fn warnings(&self, file: &str) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let mut name = |kind: WarningKind, count: u64, what: &str| {
            if count > 0 {
                let text = format!("{file}: {} {what}", grouped(count));
                warnings.push(Warning::new(kind, text));
            }
        };
        name(
            WarningKind::NotRead,
            self.shapes,
            "lines, points, curves or surfaces are left out; only faces are read",
        );
        name(
            WarningKind::Damaged,
            self.small_faces,
            "faces with fewer than three corners are left out",
        );
        name(WarningKind::NotRead, self.rough_faces, ROUGH);
        name(
            WarningKind::NotRead,
            self.depths,
            "texture coordinates have a third number, which is not read",
        );
        name(
            WarningKind::NotRead,
            self.long_positions,
            "vertices have more numbers than a place and a colour; the others are not read",
        );
        name(
            WarningKind::NotRead,
            self.painted_comments,
            "comments hold vertex colours of ZBrush (#MRGB), which are not read",
        );
        name(
            WarningKind::NotRead,
            self.grouped_objects.len() as u64,
            "objects have several groups, which are joined",
        );
        if !self.statements.is_empty() {
            let kinds: Vec<String> = self
                .statements
                .iter()
                .map(|(key, count)| format!("{key} ({})", grouped(*count)))
                .collect();
            let text = format!(
                "{file}: these statements are not read: {}",
                kinds.join(", ")
            );
            warnings.push(Warning::new(WarningKind::NotRead, text));
        }
        warnings
    }
}
