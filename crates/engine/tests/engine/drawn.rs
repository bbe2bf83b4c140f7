//! What the pictures of a source and of a result show: parts that are there, and darkness that the source does not have.

use std::collections::BTreeMap;

use assetfs_engine::render::{
    ConvertedModel, NO_PART, Picture, PreparedScene, RenderSettings, View,
};
use assetfs_engine::scene::Scene;

/// Six pictures of a source and of a result.
pub struct Drawn {
    source: PreparedScene,
    before: Vec<(View, Picture)>,
    after: Vec<(View, Picture)>,
}

impl Drawn {
    pub fn new(source: &Scene, result: &Scene) -> Drawn {
        let [one, other] = [source, result].map(|scene| ConvertedModel::of(scene).scene);
        let bounds = one.bounding_box().unwrap();
        let settings = RenderSettings {
            size: 192,
            samples: 2,
            background: Some([236, 237, 239]),
            sky_lights: 0,
        };
        let [source, result] = [one, other].map(|scene| PreparedScene::new(&scene));
        Drawn {
            before: source.render_six(&bounds, &settings),
            after: result.render_six(&bounds, &settings),
            source,
        }
    }

    fn pairs(&self) -> impl Iterator<Item = (&Picture, &Picture)> {
        let pairs = self.before.iter().zip(&self.after);
        pairs.map(|((_, before), (_, after))| (before, after))
    }

    /// Of the pixels of each part of the source, the share that shows something in the result as well.
    pub fn parts_there(&self) -> BTreeMap<String, f64> {
        let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        for (before, after) in self.pairs() {
            for (part, other) in before.parts.iter().zip(&after.parts) {
                if let Some(name) = self.source.part_name(*part) {
                    let (all, there) = counts.entry(name.to_owned()).or_default();
                    *all += 1;
                    *there += usize::from(*other != NO_PART);
                }
            }
        }
        let share = |(all, there): (usize, usize)| there as f64 / all as f64;
        counts
            .into_iter()
            .map(|(name, count)| (name, share(count)))
            .collect()
    }

    /// Pixels of the result that are much darker than every pixel of the source near to them, as a share of those that show
    /// the source.
    pub fn dark_share(&self) -> f64 {
        const NEAR: usize = 3;
        let (mut shown, mut dark) = (0, 0);
        for (before, after) in self.pairs() {
            let size = before.size;
            let light = |picture: &Picture, x: usize, y: usize| {
                let pixel = &picture.rgba[(y * size + x) * 4..][..3];
                pixel.iter().map(|channel| u32::from(*channel)).sum::<u32>()
            };
            for (x, y) in (0..size * size).map(|at| (at % size, at / size)) {
                shown += usize::from(before.parts[y * size + x] != NO_PART);
                let rows = y.saturating_sub(NEAR)..(y + NEAR + 1).min(size);
                let near = rows.flat_map(|y| {
                    let columns = x.saturating_sub(NEAR)..(x + NEAR + 1).min(size);
                    columns.map(move |x| (x, y))
                });
                let darkest = near.map(|(x, y)| light(before, x, y)).min().unwrap();
                dark += usize::from(light(after, x, y) * 10 < darkest * 7);
            }
        }
        f64::from(dark as u32) / f64::from(shown as u32)
    }
}
