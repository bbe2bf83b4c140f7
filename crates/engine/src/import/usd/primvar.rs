//! Values on the points, faces or corners of a mesh (`UsdGeomPrimvar`).

use openusd::sdf::Value;
use openusd::usd::Prim;

use super::values::{integers, of, text_of, vectors};

/// The linear colour of surfaces without colours and materials.
pub(super) const PLAIN_GREY: [f32; 3] = [0.6; 3];

/// What has one value each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Interpolation {
    Constant,
    Uniform,
    Vertex,
    FaceVarying,
}

/// A corner of a face.
#[derive(Debug, Clone, Copy)]
pub(super) struct Corner {
    pub(super) face: u32,
    /// Its place among the corners of all faces.
    pub(super) place: u32,
    pub(super) point: u32,
}

/// Values of `N` numbers.
#[derive(Debug)]
pub(super) struct Primvar<const N: usize> {
    values: Vec<[f32; N]>,
    indices: Option<Vec<i64>>,
    interpolation: Interpolation,
}

/// How many points, corners and faces a mesh has.
#[derive(Debug, Clone, Copy)]
pub(super) struct MeshSize {
    pub(super) points: usize,
    pub(super) corners: usize,
    pub(super) faces: usize,
}

impl<const N: usize> Primvar<N> {
    /// The primvar that the attribute `name` of a mesh holds. Where the file does not say what has a value each, their
    /// number tells.
    pub(super) fn of(prim: &Prim, name: &str, size: MeshSize) -> Option<Primvar<N>> {
        let attribute = prim.attribute(name);
        let values: Vec<[f32; N]> = of(prim, name).and_then(vectors)?;
        if values.is_empty() {
            return None;
        }
        let indices = of(prim, &format!("{name}:indices")).and_then(integers);
        let written = attribute
            .get_metadata::<Value>("interpolation")
            .ok()
            .flatten();
        let count = indices.as_ref().map_or(values.len(), Vec::len);
        let interpolation = match written.and_then(|value| text_of(&value)).as_deref() {
            Some("constant") => Interpolation::Constant,
            Some("uniform") => Interpolation::Uniform,
            Some("vertex" | "varying") => Interpolation::Vertex,
            Some("faceVarying") => Interpolation::FaceVarying,
            _ if count == size.points => Interpolation::Vertex,
            _ if count == size.corners => Interpolation::FaceVarying,
            _ => Interpolation::Constant,
        };
        Some(Primvar {
            values,
            indices,
            interpolation,
        })
    }

    /// Whether there is a value for each element.
    pub(super) fn fits(&self, size: MeshSize) -> bool {
        let count = self.indices.as_ref().map_or(self.values.len(), Vec::len);
        match self.interpolation {
            Interpolation::Constant => count == 1,
            Interpolation::Uniform => count >= size.faces,
            Interpolation::Vertex => count >= size.points,
            Interpolation::FaceVarying => count >= size.corners,
        }
    }

    /// The place of a corner's value; `None` if the file has none for it.
    pub(super) fn index_at(&self, corner: Corner) -> Option<u32> {
        let element = match self.interpolation {
            Interpolation::Constant => 0,
            Interpolation::Uniform => corner.face,
            Interpolation::Vertex => corner.point,
            Interpolation::FaceVarying => corner.place,
        };
        let index = match &self.indices {
            Some(indices) => u32::try_from(*indices.get(element as usize)?).ok()?,
            None => element,
        };
        ((index as usize) < self.values.len()).then_some(index)
    }

    pub(super) fn value(&self, index: u32) -> Option<[f32; N]> {
        self.values.get(index as usize).copied()
    }
}

impl<const N: usize> Primvar<N> {
    /// One value for the whole mesh.
    pub(super) fn constant(value: [f32; N]) -> Primvar<N> {
        Primvar {
            values: vec![value],
            indices: None,
            interpolation: Interpolation::Constant,
        }
    }
}

/// The colour and opacity that prims without their own take from the nearest parent with one.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct InheritedColors {
    pub(super) color: Option<[f32; 3]>,
    pub(super) opacity: Option<f32>,
}

/// The bits of inherited colours.
pub(super) type ColorKey = [Option<u32>; 4];

impl InheritedColors {
    /// Those of a prim. Values of points or faces are not inherited.
    pub(super) fn of(&self, prim: &Prim) -> InheritedColors {
        // None of them has one value for each element.
        let none = MeshSize {
            points: usize::MAX,
            corners: usize::MAX,
            faces: usize::MAX,
        };
        let color = Primvar::of(prim, "primvars:displayColor", none);
        let opacity = Primvar::of(prim, "primvars:displayOpacity", none);
        InheritedColors {
            color: color.and_then(|it| it.whole()).or(self.color),
            opacity: opacity
                .and_then(|it| it.whole())
                .map(|[it]| it)
                .or(self.opacity),
        }
    }

    /// The colour that a shape shows, if it has a colour or an opacity; an opacity alone applies to plain grey.
    pub(super) fn shown(&self) -> Option<[f32; 3]> {
        self.color.or(self.opacity.map(|_| PLAIN_GREY))
    }

    pub(super) fn key(&self) -> ColorKey {
        let [red, green, blue] = match self.color {
            Some(color) => color.map(|part| Some(part.to_bits())),
            None => [None; 3],
        };
        [red, green, blue, self.opacity.map(f32::to_bits)]
    }

    pub(super) fn is_translucent(&self) -> bool {
        self.opacity.is_some_and(|opacity| opacity < 1.0)
    }
}

impl<const N: usize> Primvar<N> {
    /// The value that holds for the whole prim.
    fn whole(&self) -> Option<[f32; N]> {
        let is_whole = self.interpolation == Interpolation::Constant;
        is_whole.then(|| self.values.first().copied())?
    }
}

impl Primvar<1> {
    pub(super) fn smallest(&self) -> f32 {
        let values = self.values.iter().map(|[value]| *value);
        values.fold(f32::INFINITY, f32::min)
    }
}
