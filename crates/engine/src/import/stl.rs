//! STL, text and binary: triangles without materials or colours. Colours, which no two programs store alike, are named in
//! a warning.
//!
//! Corners at the same place become one vertex; without normals a viewer shades each face flat, as
//! STL means it.

use std::collections::BTreeMap;
use std::path::Path;

use glam::DVec3;

use super::super::alike::{bits_of, distinct};
use super::super::scene::{Attribute, Geometry};
use super::error::ImportError;
use super::far;
use super::file_names::read_file;
use super::imported::Imported;
use super::lines::{lines, number, text, words};
use super::scene_builder::SceneBuilder;
use assetfs_formats::number_text::grouped;
use assetfs_formats::warnings::{Warning, WarningKind};

const HEADER_LEN_BYTES: usize = 84;
const TRIANGLE_LEN_BYTES: usize = 50;

/// With these words programs write the colour and the material of all triangles into the header.
const HEADER_COLOURS: [&[u8]; 2] = [b"COLOR=", b"MATERIAL="];

/// Maximum number of kinds of unknown statements that are named, and bytes of each: the lines of a damaged file may all be
/// different.
const MAX_KINDS: usize = 8;
const MAX_NAME_BYTES: usize = 32;

/// Reads the file `model` in `dir`.
pub(super) fn import(dir: &Path, model: &Path) -> Result<Imported, ImportError> {
    let (file, bytes) = read_file(dir, model)?;
    let is_text = is_text(&bytes);
    let ((geometry, offset), warnings) = if is_text {
        read_text(&file, &bytes)?
    } else {
        (read_binary(&file, &bytes)?, unread(&file, &bytes))
    };
    if geometry.indices.is_empty() {
        return Err(ImportError::Damaged {
            file,
            what: "holds no triangles".to_owned(),
        });
    }
    let name = model
        .file_stem()
        .map(|stem| stem.to_string_lossy().into_owned());
    let mut builder = SceneBuilder::new();
    builder.set_offset(offset);
    let mesh = builder.add_mesh(name.as_deref(), vec![(geometry, None)]);
    builder.add_root(name.as_deref(), mesh);
    builder.warnings = warnings;
    Ok(builder.finish_model(model, "stl", bytes.len() as u64))
}

/// Text starts with `solid`. Some binary files do as well, but their length matches their triangle count.
fn is_text(bytes: &[u8]) -> bool {
    let start = bytes.trim_ascii_start();
    let says_solid = start
        .get(..5)
        .is_some_and(|word| word.eq_ignore_ascii_case(b"solid"));
    let is_exactly_binary =
        bytes.len() >= HEADER_LEN_BYTES && bytes.len() as u64 == binary_len_bytes(count_of(bytes));
    let head = &bytes[..bytes.len().min(1024)];
    says_solid && !is_exactly_binary && !head.contains(&0)
}

fn count_of(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(bytes[80..84].try_into().expect("four bytes"))
}

fn binary_len_bytes(count: u32) -> u64 {
    HEADER_LEN_BYTES as u64 + u64::from(count) * TRIANGLE_LEN_BYTES as u64
}

/// The triangles, and the offset of their positions.
fn read_binary(file: &str, bytes: &[u8]) -> Result<(Geometry, DVec3), ImportError> {
    let damaged = |what: String| ImportError::Damaged {
        file: file.to_owned(),
        what,
    };
    if bytes.len() < HEADER_LEN_BYTES {
        return Err(damaged(
            "is neither a text nor a binary STL file".to_owned(),
        ));
    }
    let count = count_of(bytes);
    if (bytes.len() as u64) < binary_len_bytes(count) {
        return Err(damaged(format!(
            "is truncated: the header says {} triangles, which take {} bytes, the file has {}",
            grouped(count.into()),
            grouped(binary_len_bytes(count)),
            grouped(bytes.len() as u64)
        )));
    }
    let triangles = bytes[HEADER_LEN_BYTES..].chunks_exact(TRIANGLE_LEN_BYTES);
    let corners = triangles.take(count as usize).flat_map(|triangle| {
        let (numbers, _) = triangle[12..48].as_chunks::<4>();
        let at = |place: usize| f64::from(f32::from_le_bytes(numbers[place]));
        [0, 3, 6].map(|corner| DVec3::new(at(corner), at(corner + 1), at(corner + 2)))
    });
    Ok(joined(corners))
}

/// What a binary file has besides triangles: two bytes of each, where some programs write its colour, and bytes after them.
fn unread(file: &str, bytes: &[u8]) -> Vec<Warning> {
    let count = count_of(bytes);
    let triangles = bytes[HEADER_LEN_BYTES..].chunks_exact(TRIANGLE_LEN_BYTES);
    let marked = triangles
        .take(count as usize)
        .filter(|triangle| triangle[48..] != [0, 0]);
    let beyond = bytes.len() as u64 - binary_len_bytes(count);
    let header = &bytes[..80];
    let in_header = HEADER_COLOURS
        .iter()
        .filter(|key| header.windows(key.len()).any(|part| part == **key));
    warnings_of(
        file,
        &[
            (
                WarningKind::NotRead,
                marked.count() as u64,
                "triangles have colours or other marks, which are not read",
            ),
            (
                WarningKind::NotRead,
                in_header.count() as u64,
                "colours or materials in the header are not read",
            ),
            (
                WarningKind::NotRead,
                beyond,
                "bytes after the triangles are not read",
            ),
        ],
    )
}

/// A line for each thing that there is.
fn warnings_of(file: &str, counts: &[(WarningKind, u64, &str)]) -> Vec<Warning> {
    let there = counts.iter().filter(|(_, count, _)| *count > 0);
    there
        .map(|(kind, count, what)| {
            Warning::new(*kind, format!("{file}: {} {what}", grouped(*count)))
        })
        .collect()
}

/// What was read of a text.
#[derive(Default)]
struct TextContent {
    triangles: Vec<DVec3>,
    /// The corners of the loop that is open.
    corners: Vec<DVec3>,
    solids: u64,
    /// Loops of fewer than three corners.
    short_loops: u64,
    /// Other statements and how many there are.
    others: BTreeMap<String, u64>,
}

/// The triangles with the offset of their positions, and what the text has besides them.
fn read_text(file: &str, bytes: &[u8]) -> Result<((Geometry, DVec3), Vec<Warning>), ImportError> {
    let mut content = TextContent::default();
    for (line_number, line) in lines(bytes) {
        let mut parts = words(&line);
        let key = parts.next().unwrap_or_default().to_ascii_lowercase();
        if key != b"vertex" {
            content.statement(&key);
            continue;
        }
        let numbers: Vec<f64> = parts.map_while(number).collect();
        let [x, y, z] = numbers[..] else {
            return Err(ImportError::Damaged {
                file: file.to_owned(),
                what: format!("line {line_number} is not a vertex of three numbers"),
            });
        };
        content.corners.push(DVec3::new(x, y, z));
    }
    content.end_open_loop();
    let warnings = content.warnings(file);
    Ok((joined(content.triangles.into_iter()), warnings))
}

impl TextContent {
    fn statement(&mut self, key: &[u8]) {
        match key {
            b"endloop" => {
                self.short_loops += u64::from(self.corners.is_empty());
                self.end_open_loop();
            }
            // The end of the one before may be missing.
            b"outer" => self.end_open_loop(),
            b"solid" => self.solids += 1,
            b"" | b"facet" | b"endfacet" | b"endsolid" => {}
            other => {
                let name = text(&other[..other.len().min(MAX_NAME_BYTES)]);
                if self.others.len() < MAX_KINDS || self.others.contains_key(&name) {
                    *self.others.entry(name).or_default() += 1;
                }
            }
        }
    }

    fn end_open_loop(&mut self) {
        let corners = std::mem::take(&mut self.corners);
        self.short_loops += u64::from(matches!(corners.len(), 1 | 2));
        // A loop of more than three corners is not in the format, but some programs write it.
        for at in 1..corners.len().saturating_sub(1) {
            self.triangles
                .extend([corners[0], corners[at], corners[at + 1]]);
        }
    }

    fn warnings(&self, file: &str) -> Vec<Warning> {
        let several = if self.solids > 1 { self.solids } else { 0 };
        let mut warnings = warnings_of(
            file,
            &[
                (
                    WarningKind::NotRead,
                    several,
                    "solids are joined into one; their names are not read",
                ),
                (
                    WarningKind::Damaged,
                    self.short_loops,
                    "triangles have fewer than three corners and are left out",
                ),
            ],
        );
        warnings.extend(self.others.iter().map(|(name, count)| {
            let text = format!("{file}: {} statements {name} are not read", grouped(*count));
            Warning::new(WarningKind::NotRead, text)
        }));
        warnings
    }
}

/// The triangles of corners, and the offset of their positions. Corners at the same place become one vertex.
fn joined(corners: impl Iterator<Item = DVec3> + Clone) -> (Geometry, DVec3) {
    let offset = far::offset_of(corners.clone());
    let places = corners.map(|corner| bits_of(far::near(corner, offset)));
    let (places, indices) = distinct(places);
    let positions = places.into_iter().flatten().map(f32::from_bits);
    let geometry = Geometry {
        indices,
        attributes: vec![Attribute::new("POSITION", 3, positions.collect())],
        ..Geometry::default()
    };
    (geometry, offset)
}
