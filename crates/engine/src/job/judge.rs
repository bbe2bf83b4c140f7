//! Compares candidate results with the source while a job chooses among them. Each candidate is drawn in the same views as
//! the source.

use glam::DMat4;

use super::super::pictures::ModelPictures;
use super::super::scene::Scene;
use super::super::settings::Settings;
use assetfs_render::compare::Comparison;

/// The source as the job has drawn it.
#[derive(Clone, Copy)]
pub(super) struct DrawnSource<'p> {
    /// `None` if the job draws no pictures.
    pub(super) pictures: Option<&'p ModelPictures>,
    /// The transform of the whole model since the pictures were drawn.
    pub(super) moved: DMat4,
}

/// How much a result differs from the source.
#[derive(Debug, Clone, Copy)]
pub(super) struct Verdict {
    /// The mean difference of the pictures.
    pub(super) mean: f64,
    /// The difference in the worst place, from 0 to 1.
    pub(super) worst: f64,
    /// Parts of the source that look mostly different: the sum of the shares of them that look different.
    pub(super) lost: f64,
}

impl Verdict {
    /// One number for all of it; smaller is better. The mean counts most, but a thin part that is gone hardly changes it.
    pub(super) fn loss(&self) -> f64 {
        let [mean, worst] = [self.mean.max(1e-5), self.worst.max(0.02)].map(f64::ln);
        2.0 * mean + worst + self.lost.min(MAX_LOST)
    }
}

/// Maximum of `lost` in the loss.
const MAX_LOST: f64 = 3.0;

/// Pictures of the source that results are compared with. If a job computes occlusion, source and results are drawn without
/// it, because computed occlusion is meant to differ from the source.
pub(super) struct Judge<'p> {
    before: DrawnBefore<'p>,
    /// The transform of the whole model since the pictures were drawn.
    moved: DMat4,
    ignores_occlusion: bool,
}

/// The pictures of the source.
enum DrawnBefore<'p> {
    /// Those of the job.
    ByJob(&'p ModelPictures),
    /// Drawn for this comparison.
    Own(Box<ModelPictures>),
}

impl<'p> Judge<'p> {
    pub(super) fn new(source: &Scene, settings: &Settings, drawn: DrawnSource<'p>) -> Judge<'p> {
        let ignores_occlusion = settings.baking.occlusion_map;
        let own = |scene: &Scene| {
            let pictures = Box::new(ModelPictures::draw(scene));
            (DrawnBefore::Own(pictures), DMat4::IDENTITY)
        };
        let (before, moved) = match (ignores_occlusion, drawn.pictures) {
            (true, _) => own(&without_occlusion(source)),
            (false, None) => own(source),
            (false, Some(pictures)) => (DrawnBefore::ByJob(pictures), drawn.moved),
        };
        Judge {
            before,
            moved,
            ignores_occlusion,
        }
    }

    /// The same source with smaller pictures, which are faster to compare.
    pub(super) fn quick(&self) -> Judge<'static> {
        Judge {
            before: DrawnBefore::Own(Box::new(self.pictures().smaller())),
            moved: self.moved,
            ignores_occlusion: self.ignores_occlusion,
        }
    }

    fn pictures(&self) -> &ModelPictures {
        match &self.before {
            DrawnBefore::ByJob(pictures) => pictures,
            DrawnBefore::Own(pictures) => pictures,
        }
    }

    /// How much a result differs.
    pub(super) fn verdict(&self, result: &Scene) -> Verdict {
        let compared = self.comparison(result);
        let tiles = compared
            .views
            .iter()
            .filter_map(|view| view.worst_tile.as_ref());
        let worst = tiles.map(|tile| tile.score).fold(100.0, f64::min);
        let lost = compared.changed_parts.iter();
        Verdict {
            mean: compared.mean_difference(),
            worst: 1.0 - worst / 100.0,
            lost: lost.map(|part| part.changed_share).sum(),
        }
    }

    /// The similarity of a result, from 0 to 100.
    pub(super) fn score(&self, result: &Scene) -> f64 {
        self.comparison(result).average_score()
    }

    fn comparison(&self, result: &Scene) -> Comparison {
        let before = self.pictures();
        let after = match self.ignores_occlusion {
            true => before.draw_result(&without_occlusion(result), self.moved),
            false => before.draw_result(result, self.moved),
        };
        before.compare(&after)
    }
}

fn without_occlusion(scene: &Scene) -> Scene {
    let mut scene = scene.clone();
    for material in scene.list_mut("materials").into_iter().flatten() {
        if let Some(material) = material.as_object_mut() {
            material.shift_remove("occlusionTexture");
        }
    }
    scene
}
