//! The model that is baked from.

use super::super::render::{ConvertedModel, PreparedScene};
use super::super::scene::Scene;
use super::fitness::NotRebaked;

/// A model that is baked from.
pub(super) struct SourceModel<'m> {
    pub(super) model: &'m Scene,
    pub(super) prepared: PreparedScene,
    /// The diagonal of the model.
    pub(super) size: f32,
}

impl<'m> SourceModel<'m> {
    pub(super) fn new(model: &'m Scene) -> Result<SourceModel<'m>, NotRebaked> {
        let adapted = ConvertedModel::of(model).scene;
        let bounds = adapted.bounding_box().ok_or(NotRebaked::NotMeasurable)?;
        let size = (bounds.high - bounds.low).length();
        if !size.is_finite() || size <= 0.0 {
            return Err(NotRebaked::NotMeasurable);
        }
        Ok(SourceModel {
            model,
            prepared: PreparedScene::new(&adapted),
            size,
        })
    }
}
