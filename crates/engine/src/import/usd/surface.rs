//! The faces of a mesh: polygons to triangles, corners to vertices.

use std::collections::HashSet;

use glam::{DVec3, Vec3};
use openusd::sdf::Value;
use openusd::usd::Prim;

use super::super::super::alike::distinct;
use super::super::super::scene::{Attribute, Geometry, Storage};
use super::super::far::{self, Offsets};
use super::super::normals::add_creased;
use super::super::polygon;
use super::blend_shapes::BlendShape;
use super::primvar::{Corner, InheritedColors, MeshSize, PLAIN_GREY, Primvar};
use super::skin::Influences;
use super::values::{integers, of, text, vectors};
use super::warnings::Warnings;
use assetfs_formats::warnings::WarningKind;

/// Maximum number of sets of texture coordinates that are read.
const MAX_UV_SETS: usize = 4;
const NONE: u32 = u32::MAX;

/// A mesh of polygons.
pub(super) struct UsdPolygons {
    pub(super) points: Vec<[f32; 3]>,
    /// What was subtracted from its points.
    pub(super) offset: DVec3,
    /// The first corner of each face, and the number of its corners.
    faces: Vec<(u32, u32)>,
    /// The point of each corner.
    corners: Vec<u32>,
    holes: HashSet<usize>,
    is_left_handed: bool,
    /// Whether it is the control cage of a subdivision surface.
    pub(super) is_cage: bool,
    normals: Option<Primvar<3>>,
    /// Sets of texture coordinates by their names.
    coords: Vec<(String, Primvar<2>)>,
    pub(super) colors: Option<Primvar<3>>,
    opacity: Option<Primvar<1>>,
    /// The joints that move each point, once they are known.
    pub(super) influences: Option<Influences>,
    pub(super) shapes: Vec<BlendShape>,
    /// Whether its normals were left out, because they do not fit its points, corners or faces.
    has_unfit_normals: bool,
    /// Whether it has more sets of texture coordinates than are read.
    has_more_coords: bool,
}

/// Places of a corner's values: point, normal, colour, opacity, texture coordinates.
type VertexKey = [u32; 4 + MAX_UV_SETS];

impl UsdPolygons {
    /// The mesh of a prim; the error says what is wrong with it.
    pub(super) fn of(
        prim: &Prim,
        inherited: &InheritedColors,
        offsets: &mut Offsets,
    ) -> Result<UsdPolygons, String> {
        let (points, offset) = points_of(prim, offsets);
        let list = |name: &str| of(prim, name).and_then(integers).unwrap_or_default();
        let (counts, corners) = (list("faceVertexCounts"), list("faceVertexIndices"));
        let mut faces = Vec::with_capacity(counts.len());
        let mut start = 0u32;
        for count in counts {
            let count = u32::try_from(count).map_err(|_| "a face has fewer than no corners")?;
            faces.push((start, count));
            start = start.checked_add(count).ok_or("it has too many corners")?;
        }
        if start as usize > corners.len() {
            return Err("its faces have more corners than it lists".to_owned());
        }
        let is_point = |index: &i64| (0..points.len() as i64).contains(index);
        if !corners.iter().all(is_point) {
            return Err("its faces name points that it does not have".to_owned());
        }
        let size = MeshSize {
            points: points.len(),
            corners: corners.len(),
            faces: faces.len(),
        };
        let holes = list("holeIndices").into_iter();
        let normals = Primvar::of(prim, "primvars:normals", size)
            .or_else(|| Primvar::of(prim, "normals", size));
        let has_normals = normals.is_some();
        let opacity = Primvar::of(prim, "primvars:displayOpacity", size);
        let opacity = opacity.or_else(|| inherited.opacity.map(|it| Primvar::constant([it])));
        let mut coords = coords_of(prim, size);
        let has_more_coords = coords.len() > MAX_UV_SETS;
        coords.truncate(MAX_UV_SETS);
        let normals = normals.filter(|normals| normals.fits(size));
        Ok(UsdPolygons {
            faces,
            corners: corners.into_iter().map(|index| index as u32).collect(),
            holes: holes
                .filter_map(|face| usize::try_from(face).ok())
                .collect(),
            is_left_handed: text(prim, "orientation").as_deref() == Some("leftHanded"),
            is_cage: text(prim, "subdivisionScheme").as_deref() != Some("none"),
            coords,
            has_more_coords,
            colors: Primvar::of(prim, "primvars:displayColor", size)
                .or_else(|| inherited.color.map(Primvar::constant))
                // An opacity needs a colour that it belongs to.
                .or_else(|| opacity.as_ref().map(|_| Primvar::constant(PLAIN_GREY))),
            opacity,
            shapes: Vec::new(),
            influences: None,
            has_unfit_normals: has_normals && normals.is_none(),
            normals,
            points,
            offset,
        })
    }

    /// Names what is not read of a mesh.
    pub(super) fn warn(&self, prim: &Prim, warnings: &mut Warnings) {
        let name = prim.path().name().unwrap_or_default();
        if self.has_unfit_normals {
            warnings.add(
                WarningKind::Damaged,
                format!("mesh \"{name}\": its normals do not fit its points; they are made anew"),
            );
        }
        let times = prim.attribute("points").time_sample_times();
        if times.is_ok_and(|times| times.len() > 1) {
            warnings.add(
                WarningKind::NotRead,
                format!(
                    "mesh \"{name}\": its points move over time; they are read at the first time"
                ),
            );
        }
        if self.has_more_coords {
            warnings.add(WarningKind::NotRead, format!(
                "mesh \"{name}\": it has more than {MAX_UV_SETS} sets of texture coordinates; the others are not read"
            ));
        }
    }

    /// The faces that are drawn.
    pub(super) fn drawn_faces(&self) -> Vec<usize> {
        let is_drawn = |face: &usize| self.faces[*face].1 >= 3 && !self.holes.contains(face);
        (0..self.faces.len()).filter(is_drawn).collect()
    }

    /// The names of the sets of texture coordinates, in the order of the geometry's sets.
    pub(super) fn coord_names(&self) -> Vec<&str> {
        self.coords.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// The triangles of some faces, with colours if these are shown, and how many faces are cut roughly.
    pub(super) fn geometry(&self, faces: &[usize], shows_colors: bool) -> (Geometry, u64) {
        let mut keys = Vec::new();
        let mut rough_faces = 0;
        for face in faces {
            let (start, count) = self.faces[*face];
            let (corners, is_rough) = self.cut(start as usize, count as usize);
            rough_faces += u64::from(is_rough);
            let place = |corner: usize| Corner {
                face: *face as u32,
                place: start + corner as u32,
                point: self.corners[start as usize + corner],
            };
            let corners = corners.into_iter();
            keys.extend(corners.map(|corner| self.key_of(place(corner), shows_colors)));
        }
        let (keys, indices) = distinct(keys);
        let mut geometry = Geometry {
            indices,
            attributes: self.attributes(&keys, shows_colors),
            targets: self.targets(&keys),
            ..Geometry::default()
        };
        // Without normals, polygons are flat; subdivision surfaces are smooth.
        if self.normals.is_none() && self.is_cage {
            add_creased(&mut geometry);
        }
        (geometry, rough_faces)
    }

    /// The corners of a face's triangles, and whether it is cut roughly.
    fn cut(&self, start: usize, count: usize) -> (Vec<usize>, bool) {
        let point = |corner: usize| {
            let index = self.corners[start + corner] as usize;
            Vec3::from_array(self.points[index])
        };
        let cut = polygon::triangles(&(0..count).map(point).collect::<Vec<_>>());
        let turned = cut
            .triangles
            .into_iter()
            .flat_map(|[a, b, c]| match self.is_left_handed {
                true => [a, c, b],
                false => [a, b, c],
            });
        (turned.collect(), cut.is_rough)
    }

    fn key_of(&self, corner: Corner, shows_colors: bool) -> VertexKey {
        fn at<const N: usize>(primvar: Option<&Primvar<N>>, corner: Corner) -> u32 {
            primvar.and_then(|it| it.index_at(corner)).unwrap_or(NONE)
        }
        let mut key = [NONE; 4 + MAX_UV_SETS];
        key[0] = corner.point;
        key[1] = at(self.normals.as_ref(), corner);
        if shows_colors {
            key[2] = at(self.colors.as_ref(), corner);
            key[3] = at(self.opacity.as_ref(), corner);
        }
        for (set, (_, coords)) in self.coords.iter().enumerate() {
            key[4 + set] = at(Some(coords), corner);
        }
        key
    }

    fn attributes(&self, keys: &[VertexKey], shows_colors: bool) -> Vec<Attribute> {
        let points = keys.iter().flat_map(|key| self.points[key[0] as usize]);
        let mut attributes = vec![Attribute::new("POSITION", 3, points.collect())];
        if let Some(normals) = &self.normals {
            let values = keys.iter().flat_map(|key| {
                let normal = Vec3::from_array(normals.value(key[1]).unwrap_or_default());
                normal.normalize_or(Vec3::Y).to_array()
            });
            attributes.push(Attribute::new("NORMAL", 3, values.collect()));
        }
        for (set, (_, coords)) in self.coords.iter().enumerate() {
            let values = keys.iter().flat_map(|key| {
                let [u, v] = coords.value(key[4 + set]).unwrap_or_default();
                [u, 1.0 - v]
            });
            attributes.push(Attribute::new(
                &format!("TEXCOORD_{set}"),
                2,
                values.collect(),
            ));
        }
        if let Some(colors) = self.colors.as_ref().filter(|_| shows_colors) {
            let values = keys.iter().flat_map(|key| {
                let [red, green, blue] = colors.value(key[2]).unwrap_or([1.0; 3]);
                let opacity = self
                    .opacity
                    .as_ref()
                    .and_then(|opacity| opacity.value(key[3]));
                let [alpha] = opacity.unwrap_or([1.0]);
                [red, green, blue, alpha].map(|part| part.clamp(0.0, 1.0))
            });
            attributes.push(Attribute {
                storage: Storage::FRACTIONS,
                ..Attribute::new("COLOR_0", 4, values.collect())
            });
        }
        if let Some(influences) = &self.influences {
            attributes.extend(influences.attributes(keys.iter().map(|key| key[0] as usize)));
        }
        attributes
    }

    /// The morph targets: the blend shapes at these vertices.
    fn targets(&self, keys: &[VertexKey]) -> Vec<Vec<Attribute>> {
        let at = |name: &str, values: &[[f32; 3]]| {
            let values = keys.iter().flat_map(|key| values[key[0] as usize]);
            Attribute::new(name, 3, values.collect())
        };
        let shapes = self.shapes.iter().map(|shape| {
            let mut target = vec![at("POSITION", &shape.offsets)];
            if let Some(normals) = shape.normals.as_ref().filter(|_| self.normals.is_some()) {
                target.push(at("NORMAL", normals));
            }
            target
        });
        shapes.collect()
    }

    pub(super) fn shape_names(&self) -> Vec<String> {
        self.shapes.iter().map(|shape| shape.name.clone()).collect()
    }

    /// Whether the opacity of points or faces is below 1 somewhere.
    pub(super) fn is_translucent(&self) -> bool {
        let opacity = self.opacity.as_ref();
        opacity.is_some_and(|opacity| opacity.smallest() < 1.0)
    }
}

/// The points of a mesh, and what was subtracted from them. Points that joints move stay as they are.
fn points_of(prim: &Prim, offsets: &mut Offsets) -> (Vec<[f32; 3]>, DVec3) {
    match of(prim, "points") {
        Some(Value::Vec3dVec(list)) if of(prim, "primvars:skel:jointIndices").is_none() => {
            let exact = list.iter().map(|at| DVec3::new(at.x, at.y, at.z));
            let offset = offsets.offset_of(exact.clone());
            (exact.map(|at| far::near(at, offset)).collect(), offset)
        }
        points => (points.and_then(vectors).unwrap_or_default(), DVec3::ZERO),
    }
}

/// The sets of texture coordinates: `st` first, then by name. One more than is read says that there are more.
fn coords_of(prim: &Prim, size: MeshSize) -> Vec<(String, Primvar<2>)> {
    let names = prim.property_names().unwrap_or_default();
    let mut names: Vec<String> = names
        .iter()
        .filter_map(|name| name.as_str().strip_prefix("primvars:"))
        .filter(|name| !name.contains(':'))
        .map(str::to_owned)
        .collect();
    names.sort_by_key(|name| (name != "st", name.clone()));
    let sets = names.into_iter().filter_map(|name| {
        let coords = Primvar::of(prim, &format!("primvars:{name}"), size)?;
        Some((name, coords))
    });
    sets.take(MAX_UV_SETS + 1).collect()
}
