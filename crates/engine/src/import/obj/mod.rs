//! Wavefront OBJ with its materials.
//!
//! Objects become meshes, also several of one name; materials their primitives. Groups of one name are one mesh. Polygons are
//! cut into triangles; normals are computed if the file has none. Every statement is read or named in a warning: lines,
//! points and curves are not read.

mod images;
mod left_out;
mod map_options;
mod material;
mod mtl;

use std::collections::HashMap;
use std::hash::Hash;
use std::path::Path;

use glam::DVec3;

use super::super::alike::distinct;
use super::super::scene::{Attribute, Geometry};
use super::colors::colors_of_srgb;
use super::error::ImportError;
use super::far;
use super::file_names::read_file;
use super::imported::Imported;
use super::lines::{lines, number, text, words};
use super::normals::add_creased;
use super::polygon;
use super::scene_builder::SceneBuilder;
use assetfs_formats::input_files::InputFiles;
use assetfs_formats::warnings::{Warning, WarningKind};
use assetfs_formats::wavefront::{libraries, unquoted};
use left_out::LeftOut;
use material::Library;

/// More objects than this are joined into one: some programs write one for each face.
const MAX_MESHES: usize = 2_000;

/// Indices of a corner: position, texture coordinate, normal.
type ObjCorner = (u32, Option<u32>, Option<u32>);

/// A run of faces with one object and one material.
#[derive(Debug, Default)]
struct Faces {
    /// The number of the object in [`Parsed::objects`].
    object: usize,
    material: Option<String>,
    /// Three for each triangle.
    corners: Vec<ObjCorner>,
}

/// The content of the file.
#[derive(Debug, Default)]
struct Parsed {
    positions: Vec<DVec3>,
    /// What is subtracted from the positions before they are rounded.
    offset: DVec3,
    /// Red, green, blue and alpha for each position, where the file has them.
    colors: Vec<[f32; 4]>,
    coords: Vec<[f32; 2]>,
    normals: Vec<[f32; 3]>,
    /// The names of the objects.
    objects: Vec<Option<String>>,
    runs: Vec<Faces>,
    libraries: Vec<String>,
    left_out: LeftOut,
}

/// Reads the file `model` in `dir`.
pub(super) fn import(dir: &Path, model: &Path) -> Result<Imported, ImportError> {
    let (file, bytes) = read_file(dir, model)?;
    let mut parsed = parse(&file, &bytes)?;
    let mut corners = parsed.runs.iter().flat_map(|run| &run.corners);
    if corners.all(|corner| corner.2.is_some()) {
        parsed.left_out.all_normals_are_given();
    }
    let mut builder = SceneBuilder::new();
    builder.warnings = parsed.left_out.warnings(&file);
    if parsed.libraries.is_empty() && parsed.runs.iter().any(|run| run.material.is_some()) {
        builder.warn(
            WarningKind::Damaged,
            format!("{file} names no material file; its materials get default values"),
        );
    }
    builder.set_offset(parsed.offset);
    let files = InputFiles::new(dir);
    let mut library = Library::new(&files, model, bytes.len() as u64);
    library.read(&parsed.libraries, &mut builder);
    for (object, runs) in by_object(&parsed, &mut builder.warnings) {
        let mut parts = Vec::new();
        for (name, corners) in by_material(runs) {
            let material = name.and_then(|name| library.material(name, &mut builder));
            let normals = corners.iter().filter(|corner| corner.2.is_some()).count();
            if normals > 0 && normals < corners.len() {
                builder.warn(WarningKind::Damaged, format!(
                    "{file}: some faces of {} have no normals, so all of its normals are computed",
                    object.unwrap_or("the model")
                ));
            }
            parts.push((build(&parsed, &corners), material));
        }
        let mesh = builder.add_mesh(object, parts);
        builder.add_root(object, mesh);
    }
    Ok(builder.finish_model(model, "obj", library.images.size_bytes))
}

fn parse(file: &str, bytes: &[u8]) -> Result<Parsed, ImportError> {
    let mut parsed = Parsed {
        objects: vec![None],
        ..Parsed::default()
    };
    let mut groups: HashMap<String, usize> = HashMap::new();
    let uses_objects = lines(bytes).any(|(_, line)| line.starts_with(b"o "));
    let (mut object, mut material) = (0, None);
    for (line_number, line) in lines(bytes) {
        let line = line.trim_ascii_start();
        let key = words(line).next().unwrap_or_default();
        let rest = line[key.len()..].trim_ascii();
        let damaged = |what: &str| ImportError::Damaged {
            file: file.to_owned(),
            what: format!("line {line_number} {what}: \"{}\"", shortened(line)),
        };
        match key {
            b"v" => {
                let numbers: Vec<f64> = words(rest).map_while(number).collect();
                let [x, y, z, ref others @ ..] = numbers[..] else {
                    return Err(damaged("is not a position"));
                };
                parsed.add_position(DVec3::new(x, y, z), others);
            }
            b"vt" => {
                let mut numbers = words(rest).map_while(number::<f32>);
                let (u, v) = (numbers.next(), numbers.next());
                if numbers.next().is_some_and(|depth| depth != 0.0) {
                    parsed.left_out.depths += 1;
                }
                let u = u.ok_or_else(|| damaged("is not a texture coordinate"))?;
                parsed.coords.push([u, 1.0 - v.unwrap_or(0.0)]);
            }
            b"vn" => {
                let numbers: Vec<f32> = words(rest).map_while(number).collect();
                let [x, y, z, ..] = numbers[..] else {
                    return Err(damaged("is not a normal"));
                };
                parsed.normals.push([x, y, z]);
            }
            b"f" => {
                let corners = words(rest)
                    .map(|word| parsed.corner(word))
                    .collect::<Option<Vec<ObjCorner>>>()
                    .ok_or_else(|| damaged("refers to a vertex that does not exist"))?;
                parsed.add_face(&corners, object, &material);
            }
            b"o" => object = parsed.new_object(text(rest)),
            b"g" if !uses_objects => {
                let name = text(rest);
                let known = groups.entry(name.clone());
                object = *known.or_insert_with(|| parsed.new_object(name));
            }
            b"g" => parsed.left_out.group(&parsed.objects[object], rest),
            b"usemtl" => {
                let name = text(rest);
                material = Some(unquoted(&name).to_owned()).filter(|name| !name.is_empty());
            }
            b"mtllib" => parsed.libraries.extend(libraries(&text(rest))),
            b"" => {}
            _ if key.starts_with(b"#") => parsed.left_out.comment(key),
            _ => parsed.left_out.statement(key, rest),
        }
    }
    if parsed.runs.is_empty() {
        let what = "holds no faces".to_owned();
        let file = file.to_owned();
        return Err(ImportError::Damaged { file, what });
    }
    let corners = parsed.runs.iter().flat_map(|run| &run.corners);
    parsed.offset = far::offset_of(corners.map(|corner| parsed.positions[corner.0 as usize]));
    parsed.settle_colors();
    Ok(parsed)
}

fn shortened(line: &[u8]) -> String {
    text(&line[..line.len().min(60)])
}

impl Parsed {
    /// Adds a position, and its colour from the numbers after it.
    fn add_position(&mut self, position: DVec3, others: &[f64]) {
        self.positions.push(position);
        let color = match *others {
            [red, green, blue] => [red, green, blue, 1.0],
            [red, green, blue, alpha] => [red, green, blue, alpha],
            // A weight, which only curves have.
            [] | [_] => return,
            _ => {
                self.left_out.long_positions += 1;
                return;
            }
        };
        self.colors.resize(self.positions.len() - 1, [1.0; 4]);
        self.colors.push(color.map(|part| part as f32));
    }

    /// Gives each position a colour if one has any. Some programs write bytes; they become fractions.
    fn settle_colors(&mut self) {
        if self.colors.is_empty() {
            return;
        }
        self.colors.resize(self.positions.len(), [1.0; 4]);
        for parts in [0..3, 3..4] {
            let mut colors = self.colors.iter();
            if colors.any(|color| color[parts.clone()].iter().any(|part| *part > 1.0)) {
                for color in &mut self.colors {
                    color[parts.clone()].iter_mut().for_each(|it| *it /= 255.0);
                }
            }
        }
    }

    fn new_object(&mut self, name: String) -> usize {
        self.objects
            .push(Some(name).filter(|name| !name.is_empty()));
        self.objects.len() - 1
    }

    /// `3`, `3/1`, `3//2` or `3/1/2`, counted from 1, or from the end when negative.
    fn corner(&self, word: &[u8]) -> Option<ObjCorner> {
        let mut parts = word.split(|byte| *byte == b'/');
        let position = index_of(parts.next()?, self.positions.len())?;
        let mut optional = |count: usize| match parts.next() {
            None | Some(b"") => Some(None),
            Some(part) => Some(index_of(part, count)),
        };
        // A reference to a missing texture coordinate or normal is ignored, because the shape does not need it.
        let coord = optional(self.coords.len())?;
        let normal = optional(self.normals.len())?;
        Some((position, coord, normal))
    }

    fn add_face(&mut self, corners: &[ObjCorner], object: usize, material: &Option<String>) {
        if corners.len() < 3 {
            self.left_out.small_faces += 1;
            return;
        }
        let is_same = self
            .runs
            .last()
            .is_some_and(|run| run.object == object && run.material == *material);
        if !is_same {
            self.runs.push(Faces {
                object,
                material: material.clone(),
                corners: Vec::new(),
            });
        }
        let place = |corner: &ObjCorner| self.positions[corner.0 as usize];
        let triangles = match corners.len() {
            3 => vec![[0, 1, 2]],
            _ => {
                let places: Vec<DVec3> = corners.iter().map(place).collect();
                let cut = polygon::exact_triangles(&places);
                self.left_out.rough_faces += u64::from(cut.is_rough);
                cut.triangles
            }
        };
        let run = self.runs.last_mut().expect("a run was just added");
        for triangle in triangles {
            run.corners.extend(triangle.map(|corner| corners[corner]));
        }
    }
}

fn index_of(word: &[u8], count: usize) -> Option<u32> {
    let number: i64 = std::str::from_utf8(word).ok()?.parse().ok()?;
    let index = if number < 0 {
        count as i64 + number
    } else {
        number - 1
    };
    (0..count as i64).contains(&index).then_some(index as u32)
}

/// The runs of each object with its name. If there are too many objects, those of one name are joined, and then all.
fn by_object<'a>(
    parsed: &'a Parsed,
    warnings: &mut Vec<Warning>,
) -> Vec<(Option<&'a str>, Vec<&'a Faces>)> {
    let name_of = |run: &Faces| parsed.objects[run.object].as_deref();
    let mut groups = grouped_by(&parsed.runs, |run| run.object);
    if groups.len() > MAX_MESHES {
        groups = grouped_by(&parsed.runs, name_of);
    }
    if groups.len() > MAX_MESHES {
        warnings.push(Warning::new(
            WarningKind::NotRead,
            format!(
                "the file has {} objects, more than {MAX_MESHES}; they are joined into one",
                groups.len()
            ),
        ));
        return vec![(None, parsed.runs.iter().collect())];
    }
    let named = groups.into_iter().map(|runs| (name_of(runs[0]), runs));
    named.collect()
}

/// Corners by material.
fn by_material(runs: Vec<&Faces>) -> Vec<(Option<&str>, Vec<ObjCorner>)> {
    let groups = grouped_by(runs, |run| run.material.as_deref());
    let joined = groups.into_iter().map(|runs| {
        let corners = runs.iter().flat_map(|run| run.corners.iter().copied());
        (runs[0].material.as_deref(), corners.collect())
    });
    joined.collect()
}

/// Runs with equal keys, in order of first appearance.
fn grouped_by<'a, K: Eq + Hash>(
    runs: impl IntoIterator<Item = &'a Faces>,
    key: impl Fn(&'a Faces) -> K,
) -> Vec<Vec<&'a Faces>> {
    let mut places: HashMap<K, usize> = HashMap::new();
    let mut groups: Vec<Vec<&Faces>> = Vec::new();
    for run in runs {
        let place = *places.entry(key(run)).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[place].push(run);
    }
    groups
}

fn build(parsed: &Parsed, corners: &[ObjCorner]) -> Geometry {
    let has_coords = corners.iter().any(|corner| corner.1.is_some());
    let has_normals = corners.iter().all(|corner| corner.2.is_some());
    let keys = corners
        .iter()
        .map(|(position, coord, normal)| (*position, *coord, normal.filter(|_| has_normals)));
    let (vertices, indices) = distinct(keys);
    let gather = |of: &dyn Fn(&ObjCorner) -> Vec<f32>| vertices.iter().flat_map(of).collect();
    let positions =
        gather(&|corner| far::near(parsed.positions[corner.0 as usize], parsed.offset).to_vec());
    let mut attributes = vec![Attribute::new("POSITION", 3, positions)];
    if has_normals {
        let normals = gather(&|corner| {
            parsed.normals[corner.2.expect("every corner has one") as usize].to_vec()
        });
        attributes.push(Attribute::new("NORMAL", 3, normals));
    }
    if has_coords {
        let coords = gather(&|corner| {
            let coord = corner.1.map(|coord| parsed.coords[coord as usize]);
            coord.unwrap_or_default().to_vec()
        });
        attributes.push(Attribute::new("TEXCOORD_0", 2, coords));
    }
    if !parsed.colors.is_empty() {
        let colors = vertices
            .iter()
            .map(|corner| parsed.colors[corner.0 as usize]);
        attributes.push(colors_of_srgb(colors));
    }
    let mut geometry = Geometry {
        indices,
        attributes,
        ..Geometry::default()
    };
    if !has_normals {
        add_creased(&mut geometry);
    }
    geometry
}
