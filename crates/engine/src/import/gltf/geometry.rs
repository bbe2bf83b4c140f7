//! Converts the accessors of a primitive to a [`Geometry`].

use std::rc::Rc;

use super::super::super::document::{AccessorInfo, ComponentType, Cursor, ElementType};
use super::super::super::scene::{Attribute, Geometry, Mode};
use super::super::error::ImportError;
use super::GltfReader;
use super::attributes::{allowed_components, storage_of};

/// An attribute of all vertices of its accessor, not yet cut down to those that a primitive uses.
pub(super) struct FullAttribute {
    name: String,
    info: AccessorInfo,
    values: Rc<Vec<f32>>,
}

impl GltfReader<'_> {
    pub(super) fn read_geometry(&mut self, at: &Cursor<'_>) -> Result<Geometry, ImportError> {
        if let Some(draco) = at.extension("KHR_draco_mesh_compression") {
            return self.read_draco(at, &draco);
        }
        let attributes = self.read_attributes(&at.require("attributes")?, None)?;
        let count = attributes
            .iter()
            .find(|whole| whole.name == "POSITION")
            .map(|whole| whole.info.count)
            .expect("the caller has looked for POSITION");
        let indices = self.read_indices(at, count)?;
        let (mode, mut indices) = joined(at, indices)?;
        let (targets, sparse_targets) = self.read_targets(at, count)?;
        let used = used_vertices(&mut indices, count);
        let take = |wholes: &[FullAttribute]| -> Vec<Attribute> {
            wholes
                .iter()
                .map(|whole| taken(whole, used.as_deref()))
                .collect()
        };
        let mut attributes = take(&attributes);
        attributes.sort_by_key(|attribute| attribute.name != "POSITION");
        let geometry = Geometry {
            mode,
            indices,
            attributes,
            targets: targets.iter().map(|wholes| take(wholes)).collect(),
            sparse_targets,
        };
        let bytes: usize = geometry
            .all_attributes()
            .map(|attribute| attribute.values.len() * 4)
            .sum();
        self.charge(bytes as u64 + geometry.indices.len() as u64 * 4)?;
        Ok(geometry)
    }

    /// The morph targets of a primitive, and whether any is stored sparse.
    pub(super) fn read_targets(
        &mut self,
        at: &Cursor<'_>,
        count: usize,
    ) -> Result<(Vec<Vec<FullAttribute>>, bool), ImportError> {
        let mut is_sparse = false;
        let mut targets = Vec::new();
        for target in at.list("targets")? {
            let wholes = self.read_attributes(&target, Some(count))?;
            is_sparse |= wholes.iter().any(|whole| whole.info.sparse);
            targets.push(wholes);
        }
        Ok((targets, is_sparse))
    }

    fn read_attributes(
        &mut self,
        at: &Cursor<'_>,
        expected: Option<usize>,
    ) -> Result<Vec<FullAttribute>, ImportError> {
        let names: Vec<&String> = at.members()?.keys().collect();
        let is_target = expected.is_some();
        let expected = match expected {
            Some(expected) => Some(expected),
            None => match at.get("POSITION") {
                Some(position) => Some(self.document.accessors().info(position.number()?)?.count),
                None => None,
            },
        };
        let mut wholes = Vec::with_capacity(names.len());
        for name in names {
            let reference = at.require(name)?;
            let info = self.document.accessors().info(reference.number()?)?;
            let components = info.element.components();
            if !allowed_components(name).contains(&components) {
                return Err(reference
                    .invalid(format!(
                        "has elements of type {}, which {name} cannot have",
                        info.element.name()
                    ))
                    .into());
            }
            // POSITION determines the number of vertices; its accessor must have data in the file.
            let known = if name == "POSITION" && !is_target {
                None
            } else {
                expected
            };
            let values = self.numbers(&info, known)?;
            wholes.push(FullAttribute {
                name: name.clone(),
                info,
                values,
            });
        }
        Ok(wholes)
    }

    /// The numbers of an accessor, which is decoded only once.
    pub(super) fn numbers(
        &mut self,
        info: &AccessorInfo,
        expected: Option<usize>,
    ) -> Result<Rc<Vec<f32>>, ImportError> {
        if let Some(known) = self.decoded.get(&info.index)
            && expected.is_none_or(|expected| expected == info.count)
        {
            return Ok(known.clone());
        }
        let values = Rc::new(self.document.accessors().floats(info, expected)?);
        self.charge(values.len() as u64 * 4)?;
        self.decoded.insert(info.index, values.clone());
        Ok(values)
    }

    fn read_indices(&mut self, at: &Cursor<'_>, count: usize) -> Result<Vec<u32>, ImportError> {
        let Some(reference) = at.get("indices") else {
            let count = u32::try_from(count)
                .map_err(|_| at.invalid("has more vertices than an index can name"))?;
            return Ok((0..count).collect());
        };
        let info = self.document.accessors().info(reference.number()?)?;
        let is_index = matches!(
            info.component,
            ComponentType::U8 | ComponentType::U16 | ComponentType::U32
        );
        if !is_index || info.element != ElementType::Scalar {
            return Err(reference
                .invalid("does not hold indices (unsigned whole numbers)")
                .into());
        }
        let indices = self.document.accessors().integers(&info, None)?;
        self.charge(indices.len() as u64 * 4)?;
        let beyond = indices.iter().find(|index| **index as usize >= count);
        if let Some(beyond) = beyond {
            return Err(reference
                .invalid(format!(
                    "names vertex {beyond}, but the primitive has only {count} vertices"
                ))
                .into());
        }
        Ok(indices)
    }
}

/// Mode and indices, with strips and fans taken apart into triangles.
fn joined(at: &Cursor<'_>, indices: Vec<u32>) -> Result<(Mode, Vec<u32>), ImportError> {
    let code = at.number_or("mode", 4)?;
    let whole = |size: usize, mut indices: Vec<u32>| {
        indices.truncate(indices.len() - indices.len() % size);
        indices
    };
    Ok(match code {
        0 => (Mode::Points, indices),
        1 => (Mode::Lines, whole(2, indices)),
        2 => (Mode::LineLoop, indices),
        3 => (Mode::LineStrip, indices),
        4 => (Mode::Triangles, whole(3, indices)),
        5 => (Mode::Triangles, strip(&indices)),
        6 => (Mode::Triangles, fan(&indices)),
        other => return Err(at.invalid(format!("has the unknown mode {other}")).into()),
    })
}

fn strip(indices: &[u32]) -> Vec<u32> {
    let turned = |(place, three): (usize, &[u32])| match place % 2 {
        0 => [three[0], three[1], three[2]],
        _ => [three[1], three[0], three[2]],
    };
    indices.windows(3).enumerate().flat_map(turned).collect()
}

fn fan(indices: &[u32]) -> Vec<u32> {
    let Some((first, rest)) = indices.split_first() else {
        return Vec::new();
    };
    rest.windows(2)
        .flat_map(|two| [*first, two[0], two[1]])
        .collect()
}

/// The vertices that the indices name, ascending, with the indices renumbered; `None` if all are used.
fn used_vertices(indices: &mut [u32], count: usize) -> Option<Vec<u32>> {
    if indices.len() < count / 16 {
        return Some(used_of_few(indices));
    }
    let mut is_used = vec![false; count];
    for index in indices.iter() {
        is_used[*index as usize] = true;
    }
    if is_used.iter().all(|is_used| *is_used) {
        return None;
    }
    let mut places = vec![0; count];
    let mut used = Vec::new();
    for (vertex, _) in is_used.iter().enumerate().filter(|(_, is_used)| **is_used) {
        places[vertex] = used.len() as u32;
        used.push(vertex as u32);
    }
    for index in indices {
        *index = places[*index as usize];
    }
    Some(used)
}

/// As [`used_vertices`], for a primitive that uses a small part of a large vertex buffer: needs no table of all
/// vertices.
fn used_of_few(indices: &mut [u32]) -> Vec<u32> {
    let mut used = indices.to_vec();
    used.sort_unstable();
    used.dedup();
    for index in indices {
        *index = used
            .binary_search(index)
            .expect("the list was made of the indices") as u32;
    }
    used
}

pub(super) fn taken(whole: &FullAttribute, used: Option<&[u32]>) -> Attribute {
    let components = whole.info.element.components();
    let values = match used {
        None => whole.values.to_vec(),
        Some(used) => used
            .iter()
            .flat_map(|vertex| {
                let start = *vertex as usize * components;
                &whole.values[start..start + components]
            })
            .copied()
            .collect(),
    };
    Attribute {
        name: whole.name.clone(),
        components,
        storage: storage_of(&whole.name, &whole.info),
        values,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_and_fans_become_triangles_of_one_winding() {
        assert_eq!(strip(&[0, 1, 2, 3]), [0, 1, 2, 2, 1, 3]);
        assert_eq!(fan(&[0, 1, 2, 3]), [0, 1, 2, 0, 2, 3]);
        assert!(strip(&[0, 1]).is_empty() && fan(&[]).is_empty());
    }

    #[test]
    fn used_vertices_keep_their_order() {
        let mut indices = [5, 3, 5];
        assert_eq!(used_vertices(&mut indices, 6), Some(vec![3, 5]));
        assert_eq!(indices, [1, 0, 1]);
        let mut indices = [90, 7, 90];
        assert_eq!(used_vertices(&mut indices, 100), Some(vec![7, 90]));
        assert_eq!(indices, [1, 0, 1]);
        assert_eq!(used_vertices(&mut [0, 1], 2), None);
    }
}
