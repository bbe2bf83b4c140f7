//! Recipes: weights of attribute changes against changes of the shape.
//!
//! No recipe is best for all models. A model of many triangles looks good with any of them; for one of a few hundred
//! triangles the best is found by trying.

use meshopt::{SimplifyOptions, SimplifyVertex};

use super::limits::Limits;

/// How much a change of each attribute counts, as parts of the model's size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct AttributeWeights {
    pub(super) normal: f32,
    /// The weight of normals under a normal map.
    pub(super) mapped_normal: f32,
    pub(super) tangent: f32,
    pub(super) color: f32,
    pub(super) tex_coord: f32,
    /// The weight of the positions to which a skin moves a vertex in poses.
    pub(super) motion: f32,
}

/// One way to simplify.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Recipe {
    pub(super) weights: AttributeWeights,
    /// How much triangles of like sizes are preferred, at a cost to the measured error.
    pub(super) evenness: Evenness,
    pub(super) border: BorderLock,
}

/// Which vertices of open borders stay in place: those that shape the border most.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct BorderLock {
    /// The part of the vertices that shape a border: 0 to 1.
    pub(super) part: f32,
    /// How many at most, as a viewer counts them.
    pub(super) most: u64,
}

/// How much triangles of like sizes are preferred. Each step weighs the distance that a vertex moves along the surface
/// ten times as much as the step before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Evenness {
    #[default]
    None,
    Light,
    Strong,
    /// By [`SimplifyVertex::Priority`] on every vertex.
    Strongest,
}

impl Evenness {
    /// The step for a number from 0 to 1.
    fn of(number: f32) -> Evenness {
        match number {
            number if number >= 1.0 => Evenness::Strongest,
            number if number >= 0.5 => Evenness::Strong,
            number if number > 0.0 => Evenness::Light,
            _ => Evenness::None,
        }
    }
}

/// Found by comparing pictures and surface distances on the sample models: a higher weight of the normals costs shape,
/// a lower one costs shading. A normal map hides half of the effect of vertex normals.
impl Default for Recipe {
    fn default() -> Recipe {
        Recipe {
            weights: AttributeWeights {
                normal: 0.4,
                mapped_normal: 0.2,
                tangent: 0.15,
                color: 0.2,
                tex_coord: 0.3,
                motion: 0.5,
            },
            evenness: Evenness::None,
            border: BorderLock::default(),
        }
    }
}

/// Recipes that are tried on small models: weights of normals and of texture coordinates, and whether sizes are evened
/// out.
const OTHERS: [(f32, f32, Evenness); 6] = [
    (0.4, 2.0, Evenness::None),
    (0.4, 1.0, Evenness::Light),
    (0.1, 1.0, Evenness::None),
    (0.1, 2.0, Evenness::None),
    (0.05, 2.0, Evenness::None),
    (0.05, 2.0, Evenness::Light),
];
/// Recipes that are tried on skinned models in addition: a weight of motion that separates vertices that a skin moves
/// apart, with two weights of texture coordinates.
const IN_MOTION: f32 = 2.0;
const COORDS_IN_MOTION: [f32; 2] = [0.3, 2.0];

/// Properties of a model for which recipes differ.
#[derive(Debug, Clone, Copy)]
pub(super) struct Traits {
    pub(super) normals: bool,
    /// Texture coordinates that a texture shows.
    pub(super) coords: bool,
    /// Skins that an animation moves.
    pub(super) motion: bool,
}

impl Recipe {
    /// All recipes that differ for a model, the usual one first.
    pub(super) fn all(traits: Traits) -> Vec<Recipe> {
        let usual = Recipe::default();
        let mut all = vec![usual];
        let mut add = |recipe: Recipe| {
            if !all.contains(&recipe) {
                all.push(recipe);
            }
        };
        for (normal, tex_coord, evenness) in OTHERS {
            let mut recipe = Recipe { evenness, ..usual };
            if traits.normals {
                recipe.weights.normal = normal;
                recipe.weights.mapped_normal = normal / 2.0;
            }
            if traits.coords {
                recipe.weights.tex_coord = tex_coord;
            }
            add(recipe);
        }
        for tex_coord in COORDS_IN_MOTION.into_iter().filter(|_| traits.motion) {
            let mut recipe = usual;
            recipe.weights.motion = IN_MOTION;
            if traits.coords {
                recipe.weights.tex_coord = tex_coord;
            }
            add(recipe);
        }
        all
    }

    /// The recipe with the settings of a job: at least as even, and with the border that they keep.
    pub(super) fn with(self, limits: &Limits) -> Recipe {
        Recipe {
            evenness: self.evenness.max(Evenness::of(limits.evenness)),
            border: BorderLock {
                part: limits.border_lock,
                // The rest of the model needs triangles as well.
                most: limits.triangles / 2,
            },
            ..self
        }
    }

    /// The simplifier's own switches.
    pub(super) fn options(&self) -> SimplifyOptions {
        match self.evenness {
            Evenness::None => SimplifyOptions::None,
            Evenness::Light => SimplifyOptions::RegularizeLight,
            Evenness::Strong | Evenness::Strongest => SimplifyOptions::Regularize,
        }
    }

    /// The flags of every vertex.
    pub(super) fn vertex_flags(&self) -> SimplifyVertex {
        match self.evenness {
            Evenness::Strongest => SimplifyVertex::Priority,
            _ => SimplifyVertex::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recipes_that_make_no_difference_are_not_tried() {
        let tried = |normals, coords, motion| {
            Recipe::all(Traits {
                normals,
                coords,
                motion,
            })
        };
        assert_eq!(tried(true, true, false).len(), 7);
        assert_eq!(tried(false, true, false).len(), 5);
        assert_eq!(tried(false, false, false).len(), 2);
        assert_eq!(tried(false, true, true).len(), 7);
        assert_eq!(tried(false, false, true).len(), 3);
        assert_eq!(tried(true, true, true)[0], Recipe::default());
    }
}
