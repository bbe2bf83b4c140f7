//! Animations: transforms of prims and joints over time, as keyframes of nodes. A stage has one timeline, so it has one
//! animation.

use glam::{DMat4, DQuat, DVec3};
use openusd::usd::{Prim, Stage};
use serde_json::{Value as Json, json};

use super::super::super::document::ElementType;
use super::super::super::scene::Scene;
use super::super::animated::{add_table, increasing};
use super::keyframe_times::{self, time_codes_per_second, with_steps};
use super::moved::{Morphing, MovedPrims, Moving};
use super::placement::split;
use super::shear::is_sheared;
use super::skin::{Skeleton, Skeletons};
use super::transform::{Operations, Visibility};
use super::values::{inherited_target, of, texts, value, vectors};
use assetfs_formats::number_text::grouped;
use assetfs_formats::warnings::{Warning, WarningKind};

impl MovedPrims {
    fn times(&self) -> Vec<f64> {
        let moving = self.moving.iter();
        let moving = moving.flat_map(|it| Operations::of(&it.prim).times(&it.prim));
        let morphing = self.morphing.iter().flat_map(|it| it.weights.times());
        let blinking = self.blinking.iter();
        let blinking = blinking.flat_map(|it| Visibility::of(&it.prim).times().to_vec());
        moving.chain(morphing).chain(blinking).collect()
    }
}

/// Adds the animation of a stage, if something moves.
pub(super) fn add(
    stage: &Stage,
    skeletons: &Skeletons,
    moved: &MovedPrims,
    scene: &mut Scene,
    warnings: &mut Vec<Warning>,
) {
    let mut animation = Animation {
        rate: time_codes_per_second(stage),
        start: 0.0,
        name: None,
        samplers: Vec::new(),
        channels: Vec::new(),
        scene,
        warnings,
    };
    let clips: Vec<(&Skeleton, Prim)> = skeletons
        .all()
        .into_iter()
        .filter_map(|skeleton| {
            let prim = stage.prim(skeleton.path.clone());
            let clip = inherited_target(&prim, "skel:animationSource")?;
            Some((skeleton, stage.prim(clip)))
        })
        .collect();
    let times = clips.iter().flat_map(|(_, clip)| clip_times(clip));
    let first = times.chain(moved.times()).fold(f64::INFINITY, f64::min);
    animation.start = if first.is_finite() { first } else { 0.0 };
    for (skeleton, clip) in &clips {
        let only_morphs = of(clip, "blendShapes").is_some() && of(clip, "joints").is_none();
        if !only_morphs
            && clip_times(clip).len() < 2
            && clip.type_name().is_ok_and(|kind| kind.is_some())
        {
            animation.warnings.push(Warning::new(WarningKind::NotRead, format!(
                "the pose of the animation \"{}\" does not move and is not read; its skeleton stays at rest",
                clip.path().name().unwrap_or_default()
            )));
        }
        animation.add_clip(skeleton, clip);
    }
    for it in &moved.moving {
        if animation.add_moving(it) {
            animation.warnings.push(Warning::new(WarningKind::NotRead, format!(
                "the moving prim \"{}\" is sheared, which glTF has not; it moves without the shear",
                it.prim.path().name().unwrap_or_default()
            )));
        }
    }
    for it in &moved.morphing {
        animation.add_morphing(it);
    }
    for it in &moved.blinking {
        animation.add_blinking(it);
    }
    let Animation {
        name,
        samplers,
        channels,
        ..
    } = animation;
    if !channels.is_empty() {
        let mut json = json!({ "samplers": samplers, "channels": channels });
        if let Some(name) = name {
            json["name"] = name.into();
        }
        scene.json.insert("animations".to_owned(), json!([json]));
    }
}

fn clip_times(clip: &Prim) -> Vec<f64> {
    let names = ["translations", "rotations", "scales"];
    let times = names.iter().flat_map(|name| {
        clip.attribute(*name)
            .time_sample_times()
            .unwrap_or_default()
    });
    let mut times: Vec<f64> = times.filter(|time| time.is_finite()).collect();
    times.sort_by(f64::total_cmp);
    times.dedup();
    times
}

struct Animation<'a> {
    /// Time codes in a second.
    rate: f64,
    /// The first time code of all.
    start: f64,
    name: Option<String>,
    samplers: Vec<Json>,
    channels: Vec<Json>,
    scene: &'a mut Scene,
    warnings: &'a mut Vec<Warning>,
}

impl Animation<'_> {
    fn add_clip(&mut self, skeleton: &Skeleton, clip: &Prim) {
        let times = self.thinned(clip_times(clip), clip);
        let times = self.distinct(times);
        let names = of(clip, "joints").map(texts).unwrap_or_default();
        if times.len() < 2 || names.is_empty() {
            return;
        }
        if self.name.is_none() {
            self.name = clip.path().name().map(str::to_owned);
        }
        let input = self.input(&times);
        let rows = |name: &str| -> Vec<Vec<[f32; 3]>> {
            let attribute = clip.attribute(name);
            let at = |time: &f64| value(&attribute, Some(*time)).and_then(vectors);
            times
                .iter()
                .map(|time| at(time).unwrap_or_default())
                .collect()
        };
        let (places, sizes) = (rows("translations"), rows("scales"));
        let attribute = clip.attribute("rotations");
        let turns_at = |time: &f64| value(&attribute, Some(*time)).and_then(vectors);
        let turns: Vec<Vec<[f32; 4]>> = times
            .iter()
            .map(|time| turns_at(time).unwrap_or_default())
            .collect();
        for (at, name) in names.iter().enumerate() {
            let Some(joint) = skeleton.joints.iter().position(|known| known == name) else {
                continue;
            };
            let (size, turn, place) = split(skeleton.rest[joint]);
            let three = |rows: &[Vec<[f32; 3]>], rest: DVec3| -> Vec<f32> {
                let values = rows
                    .iter()
                    .flat_map(|row| row.get(at).copied().unwrap_or(rest.as_vec3().to_array()));
                values.collect()
            };
            let turned = turns.iter().flat_map(|row| {
                let written = row
                    .get(at)
                    .map(|turn| DQuat::from_array(turn.map(f64::from)));
                let turn = written
                    .filter(|turn| turn.length_squared() > 0.0)
                    .unwrap_or(turn);
                turn.normalize().as_quat().to_array()
            });
            let tracks = [three(&places, place), turned.collect(), three(&sizes, size)];
            let node = skeleton.nodes[joint];
            self.add_tracks(&[node], input, tracks, skeleton.rest[joint]);
        }
    }

    /// Adds the transforms of a prim; returns whether its nodes lose a shear.
    fn add_moving(&mut self, moving: &Moving) -> bool {
        let operations = Operations::of(&moving.prim);
        let times = self.thinned(operations.times(&moving.prim), &moving.prim);
        let times = with_steps(times, self.rate);
        let times = self.distinct(times);
        let to_base = DMat4::from_translation(-moving.base);
        let rest = to_base * operations.matrix(&moving.prim, None);
        let mut has_shear = is_sheared(rest);
        if times.len() < 2 {
            return has_shear;
        }
        let input = self.input(&times);
        let (mut places, mut turns, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
        for time in &times {
            let matrix = to_base * operations.matrix(&moving.prim, Some(*time));
            has_shear |= is_sheared(matrix);
            let (size, turn, place) = split(matrix);
            places.extend(place.as_vec3().to_array());
            turns.extend(turn.as_quat().to_array());
            sizes.extend(size.as_vec3().to_array());
        }
        self.add_tracks(&moving.nodes, input, [places, turns, sizes], rest);
        has_shear
    }

    /// Adds the translations, rotations and scales that move nodes away from their rest.
    fn add_tracks(&mut self, nodes: &[usize], input: usize, tracks: [Vec<f32>; 3], rest: DMat4) {
        let (size, turn, place) = split(rest);
        let (size, place) = (size.as_vec3().to_array(), place.as_vec3().to_array());
        let turn = turn.as_quat().to_array();
        let paths = [
            ("translation", ElementType::Vec3, &place[..]),
            ("rotation", ElementType::Vec4, &turn[..]),
            ("scale", ElementType::Vec3, &size[..]),
        ];
        for (values, (path, element, still)) in tracks.into_iter().zip(paths) {
            let is_still = values.chunks_exact(still.len()).all(|value| {
                value
                    .iter()
                    .zip(still)
                    .all(|(a, b)| (a - b).abs() <= 1e-6 * b.abs().max(1.0))
            });
            if is_still || !values.iter().all(|value| value.is_finite()) {
                continue;
            }
            self.add_channels(nodes, path, (input, element, values), "LINEAR");
        }
    }

    fn add_morphing(&mut self, morphing: &Morphing) {
        let weights = &morphing.weights;
        let times = self.thinned(weights.times(), &weights.clip);
        let times = self.distinct(times);
        if times.len() < 2 {
            return;
        }
        if self.name.is_none() {
            self.name = weights.clip.path().name().map(str::to_owned);
        }
        let values = times.iter().flat_map(|time| weights.at(Some(*time)));
        let keys = (self.input(&times), ElementType::Scalar, values.collect());
        self.add_channels(&morphing.nodes, "weights", keys, "LINEAR");
    }

    fn add_blinking(&mut self, blinking: &Moving) {
        let visibility = Visibility::of(&blinking.prim);
        let times = self.thinned(visibility.times().to_vec(), &blinking.prim);
        let times = self.distinct(times);
        if times.is_empty() {
            return;
        }
        let values = times
            .iter()
            .flat_map(|time| [visibility.scale(Some(*time)); 3]);
        let keys = (self.input(&times), ElementType::Vec3, values.collect());
        self.add_channels(&blinking.nodes, "scale", keys, "STEP");
    }

    /// Adds a channel for each of the nodes: `keys` are the table of times, and the values with their element.
    fn add_channels(
        &mut self,
        nodes: &[usize],
        path: &str,
        (input, element, values): (usize, ElementType, Vec<f32>),
        interpolation: &str,
    ) {
        let output = add_table(self.scene, element, values);
        for node in nodes {
            self.channels.push(json!({
                "sampler": self.samplers.len(),
                "target": { "node": node, "path": path },
            }));
        }
        let mut sampler = json!({ "input": input, "output": output });
        if interpolation != "LINEAR" {
            sampler["interpolation"] = interpolation.into();
        }
        self.samplers.push(sampler);
    }

    /// At most `MAX_KEYS` of the times of a prim, with a warning if there are more.
    fn thinned(&mut self, times: Vec<f64>, prim: &Prim) -> Vec<f64> {
        let count = times.len();
        let kept = keyframe_times::at_most(times);
        if kept.len() < count {
            self.warnings.push(Warning::new(
                WarningKind::NotRead,
                format!(
                    "prim \"{}\": its animation has {} keyframes; {} of them are read",
                    prim.path().name().unwrap_or_default(),
                    grouped(count as u64),
                    grouped(kept.len() as u64)
                ),
            ));
        }
        kept
    }

    /// The times that differ in seconds as 32-bit floats.
    fn distinct(&self, times: Vec<f64>) -> Vec<f64> {
        let seconds = times.iter().map(|time| (time - self.start) / self.rate);
        let kept = increasing(seconds);
        kept.into_iter().map(|(place, _)| times[place]).collect()
    }

    /// The table of the times in seconds.
    fn input(&mut self, times: &[f64]) -> usize {
        let seconds = times
            .iter()
            .map(|time| ((time - self.start) / self.rate) as f32);
        let seconds = seconds.collect();
        add_table(self.scene, ElementType::Scalar, seconds)
    }
}
