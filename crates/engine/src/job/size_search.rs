//! The search for a target size by making results. Simplified meshes do not depend on textures and textures not on meshes,
//! so each is made once and put together with others.
//!
//! For each size of the textures there is a number of faces with which the file fits. From the size that takes half of the
//! target, the search goes to larger or smaller textures while the result looks more like the source.

use std::collections::{BTreeMap, HashMap};

use super::super::clean;
use super::super::error::EngineError;
use super::super::scene::{Image, Scene};
use super::super::settings::Settings;
use super::super::textures::{fit, settle_sources};
use super::context::JobContext;
use super::export::{narrowed, plan_of};
use super::judge::Judge;
use super::reduce::ReducedScene;
use super::size_trial::{MIN_SIDE, SizedScene, Trial, exported_bytes};
use assetfs_formats::TextureFormat;

/// Factor between two neighbours of the numbers of faces that are tried.
const STEP: f64 = 1.19;
/// Maximum number of simplified scenes that are kept for later results.
const KEPT: usize = 6;
/// JPEG is used where it saves at least this part of the bytes of the textures.
const WORTH_JPEG: f64 = 0.15;
/// Maximum number of tries to use the rest of the target.
const FILLS: usize = 3;

/// How textures are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Look {
    /// The longest side.
    side: u32,
    format: TextureFormat,
}

/// A result that fits.
#[derive(Debug, Clone, Copy)]
struct Found {
    look: Look,
    faces: u64,
    score: f64,
}

pub(super) struct SizeSearch<'a> {
    sized: &'a SizedScene<'a>,
    judge: Option<&'a Judge<'a>>,
    /// The source scene without unused data.
    scene: Scene,
    /// Numbers of faces, the fewest first.
    steps: Vec<u64>,
    /// The bytes without images by the place in `steps`.
    geometry: BTreeMap<usize, u64>,
    reduced: Vec<(u64, ReducedScene)>,
    /// Whether the export has images.
    has_images: bool,
    images: HashMap<Look, (Vec<Image>, u64)>,
}

impl<'a> SizeSearch<'a> {
    pub(super) fn new(
        sized: &'a SizedScene<'a>,
        judge: Option<&'a Judge<'a>>,
        whole: Trial,
    ) -> Result<SizeSearch<'a>, EngineError> {
        let mut scene = sized.scene.clone();
        clean::prune(&mut scene);
        let mut steps = vec![sized.faces.max(1)];
        while let Some(faces) = steps.last().filter(|faces| **faces > 1) {
            steps.push(((*faces as f64 / STEP) as u64).max(1));
        }
        steps.reverse();
        let format = sized.settings.exports[0].format;
        let mut search = SizeSearch {
            sized,
            judge,
            has_images: format.holds_materials() && !scene.images.is_empty(),
            scene,
            geometry: BTreeMap::new(),
            reduced: vec![(sized.faces, whole.result)],
            images: HashMap::new(),
            steps,
        };
        let last = search.steps.len() - 1;
        search.geometry_of(last)?;
        Ok(search)
    }

    /// The result that looks most like the source among those that fit; `None` if none fits.
    pub(super) fn search(mut self, job: &mut JobContext<'_>) -> Result<Option<Trial>, EngineError> {
        let longest = self.sized.longest_side.max(MIN_SIDE);
        let mut sides = vec![if self.has_images { MIN_SIDE } else { longest }];
        while let Some(side) = sides.last().filter(|side| **side < longest) {
            sides.push((side * 2).min(longest));
        }
        let half = self.sized.target_bytes / 2;
        let mut start = 0;
        while let Some(side) = sides.get(start + 1) {
            let look = self.look(*side);
            if self.bytes_of_images(look) > half {
                break;
            }
            start += 1;
        }
        let mut best = self.try_side(sides[start], job)?;
        for direction in [1, -1] {
            let mut at = start;
            while let Some(next) = at
                .checked_add_signed(direction)
                .filter(|at| *at < sides.len())
            {
                let found = self.try_side(sides[next], job)?;
                let is_better = found
                    .as_ref()
                    .is_some_and(|found| found.is_better_than(&best));
                // Where nothing fits yet, smaller textures may.
                if !is_better && (best.is_some() || direction > 0) {
                    break;
                }
                (best, at) = (found.or(best), next);
            }
            if at != start && best.is_some() {
                break;
            }
        }
        let Some(mut best) = best else {
            return Ok(None);
        };
        for (times, over) in [(7, 5), (5, 7)] {
            let side = (best.look.side * times / over).min(longest) / 4 * 4;
            let look = Look { side, ..best.look };
            best = self.better_of(best, look, job)?;
        }
        let format = match best.look.format {
            TextureFormat::Auto => TextureFormat::Jpg,
            _ => TextureFormat::Auto,
        };
        let look = Look {
            format,
            ..best.look
        };
        best = self.better_of(best, look, job)?;
        self.fill(&mut best)?;
        self.made(best).map(Some)
    }

    /// Textures of this side in the format that is worth its loss.
    fn look(&mut self, side: u32) -> Look {
        let [auto, jpeg] =
            [TextureFormat::Auto, TextureFormat::Jpg].map(|format| Look { side, format });
        let [of_auto, of_jpeg] = [auto, jpeg].map(|look| self.bytes_of_images(look) as f64);
        match of_jpeg < of_auto * (1.0 - WORTH_JPEG) {
            true => jpeg,
            false => auto,
        }
    }

    fn try_side(
        &mut self,
        side: u32,
        job: &mut JobContext<'_>,
    ) -> Result<Option<Found>, EngineError> {
        let look = self.look(side);
        self.try_look(look, job)
    }

    /// The best result, or one with other textures if that looks better.
    fn better_of(
        &mut self,
        best: Found,
        look: Look,
        job: &mut JobContext<'_>,
    ) -> Result<Found, EngineError> {
        if look.side < MIN_SIDE || look == best.look || !self.has_images {
            return Ok(best);
        }
        let found = self.try_look(look, job)?;
        Ok(found
            .filter(|found| found.is_better_than(&Some(best)))
            .unwrap_or(best))
    }

    /// The result with these textures and the most faces that fit.
    fn try_look(
        &mut self,
        look: Look,
        job: &mut JobContext<'_>,
    ) -> Result<Option<Found>, EngineError> {
        job.step(17, "searching for the target size");
        let room = self
            .sized
            .target_bytes
            .checked_sub(self.bytes_of_images(look));
        let Some(mut step) = room.map_or(Ok(None), |room| self.step_within(room))? else {
            return Ok(None);
        };
        loop {
            let faces = self.steps[step];
            let (scene, bytes) = self.put_together(look, faces)?;
            if bytes <= self.sized.target_bytes {
                let score = self.judge.map_or(0.0, |judge| judge.score(&scene));
                return Ok(Some(Found { look, faces, score }));
            }
            match step.checked_sub(1) {
                Some(fewer) => step = fewer,
                None => return Ok(None),
            }
        }
    }

    /// The greatest number of faces, by its place in the steps, whose geometry has at most `room` bytes.
    fn step_within(&mut self, room: u64) -> Result<Option<usize>, EngineError> {
        loop {
            let fits = |(_, bytes): &(&usize, &u64)| **bytes <= room;
            let low = self.geometry.iter().rev().find(fits);
            let low = low.map(|(step, bytes)| (*step, *bytes));
            let above = low.map_or(0, |(step, _)| step + 1);
            let high = self.geometry.range(above..).next();
            let Some((high, of_high)) = high.map(|(step, bytes)| (*step, *bytes)) else {
                return Ok(low.map(|(step, _)| step));
            };
            if high == above {
                return Ok(low.map(|(step, _)| step));
            }
            let most = self.steps[high] as f64;
            let guess = match low {
                Some((step, of_low)) => {
                    let least = self.steps[step] as f64;
                    let part = (room - of_low) as f64 / (of_high - of_low).max(1) as f64;
                    least + (most - least) * part
                }
                None => most * (room as f64 / of_high as f64).min(0.5),
            };
            let next = self.steps.partition_point(|faces| *faces as f64 <= guess);
            let next = next.saturating_sub(1).clamp(above, high - 1);
            self.geometry_of(next)?;
        }
    }

    /// The bytes of the export without its images, with so many faces.
    fn geometry_of(&mut self, step: usize) -> Result<u64, EngineError> {
        if let Some(known) = self.geometry.get(&step) {
            return Ok(*known);
        }
        let look = Look {
            side: MIN_SIDE,
            format: TextureFormat::Auto,
        };
        let (_, bytes) = self.put_together(look, self.steps[step])?;
        let bytes = bytes.saturating_sub(self.bytes_of_images(look));
        self.geometry.insert(step, bytes);
        Ok(bytes)
    }

    /// Spends what is left of the target: on faces, or on pixels where all faces are there.
    fn fill(&mut self, best: &mut Found) -> Result<(), EngineError> {
        let next = self.steps.partition_point(|faces| *faces <= best.faces);
        let (mut faces, mut side) = (self.steps.get(next).copied(), 0);
        if faces.is_none() && self.has_images {
            side = (best.look.side * 7 / 5).min(self.sized.longest_side);
        }
        for _ in 0..FILLS {
            let more = match faces {
                Some(faces) => Found {
                    faces: (best.faces + faces) / 2,
                    ..*best
                },
                None => {
                    let side = (best.look.side + side) / 8 * 4;
                    Found {
                        look: Look { side, ..best.look },
                        ..*best
                    }
                }
            };
            if more.faces <= best.faces && more.look.side <= best.look.side {
                break;
            }
            let (_, bytes) = self.put_together(more.look, more.faces)?;
            match bytes <= self.sized.target_bytes {
                true => *best = more,
                false => (faces, side) = (faces.map(|_| more.faces), more.look.side),
            }
        }
        Ok(())
    }

    fn made(mut self, best: Found) -> Result<Trial, EngineError> {
        let (_, bytes) = self.put_together(best.look, best.faces)?;
        let place = self.reduced.iter().position(|known| known.0 == best.faces);
        let (_, result) = self
            .reduced
            .swap_remove(place.expect("it was just put together"));
        Ok(Trial {
            settings: self.settings_of(best.look, best.faces),
            result,
            bytes,
        })
    }

    fn settings_of(&self, look: Look, faces: u64) -> Settings {
        self.sized.settings_with(faces, look.side, look.format)
    }

    fn bytes_of_images(&mut self, look: Look) -> u64 {
        if !self.has_images {
            return 0;
        }
        let settings = self.settings_of(look, 1);
        let entry = self.images.entry(look);
        let (_, bytes) = entry.or_insert_with(|| {
            let mut scene = Scene {
                geometries: Vec::new(),
                ..self.scene.clone()
            };
            fit(&mut scene, &plan_of(&settings, &settings.exports[0]));
            let bytes = scene.images.iter().map(|image| image.bytes.len() as u64);
            let bytes = bytes.sum();
            (scene.images, bytes)
        });
        *bytes
    }

    /// The first export with so many faces and these textures, and its bytes.
    fn put_together(&mut self, look: Look, faces: u64) -> Result<(Scene, u64), EngineError> {
        let settings = self.settings_of(look, faces);
        self.bytes_of_images(look);
        let mut scene = self.reduced(faces, &settings).scene.clone();
        if let Some((images, _)) = self.images.get(&look) {
            scene.images.clone_from(images);
            settle_sources(&mut scene);
        }
        clean::finish(&mut scene);
        clean::prune(&mut scene);
        let scene = narrowed(&scene, &settings.exports[0]).into_owned();
        let bytes = exported_bytes(&scene, &settings)?;
        Ok((scene, bytes))
    }

    fn reduced(&mut self, faces: u64, settings: &Settings) -> &ReducedScene {
        let known = self.reduced.iter().position(|known| known.0 == faces);
        let place = known.unwrap_or_else(|| {
            if self.reduced.len() >= KEPT {
                self.reduced.remove(0);
            }
            let made = ReducedScene::new(self.scene.clone(), settings, self.sized.drawn);
            self.reduced.push((faces, made));
            self.reduced.len() - 1
        });
        &self.reduced[place].1
    }
}

impl Found {
    fn is_better_than(&self, other: &Option<Found>) -> bool {
        other.as_ref().is_none_or(|other| self.score > other.score)
    }
}
