//! Animations: transforms of prims and joints over time, as keyframes of nodes. A stage has one timeline, so it has one
//! animation.

use glam::{DMat4, DQuat, DVec3};
use openusd::usd::{Prim, Stage};
use serde_json::{Value as Json, json};

use super::super::super::document::{ComponentType, ElementType};
use super::super::super::scene::{Scene, Table};
use super::nodes::{Moving, split};
use super::skin::{Skeleton, Skeletons, inherited_target};
use super::time_codes_per_second;
use super::transform::Operations;
use super::values::{of, texts, value, vectors};

/// More keyframes than this of one node are thinned out.
const MAX_KEYS: usize = 20_000;

/// Adds the animation of a stage, if something moves.
pub(super) fn add(stage: &Stage, skeletons: &Skeletons, moving: &[Moving], scene: &mut Scene) {
    let mut animation = Animation {
        rate: time_codes_per_second(stage),
        start: 0.0,
        name: None,
        samplers: Vec::new(),
        channels: Vec::new(),
        scene,
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
    let moved = moving
        .iter()
        .flat_map(|it| Operations::of(&it.prim).times(&it.prim));
    let first = times.chain(moved).fold(f64::INFINITY, f64::min);
    animation.start = if first.is_finite() { first } else { 0.0 };
    for (skeleton, clip) in &clips {
        animation.add_clip(skeleton, clip);
    }
    for it in moving {
        animation.add_moving(it);
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
}

/// The numbers of a path of a channel at each time.
struct Track {
    path: &'static str,
    element: ElementType,
    values: Vec<f32>,
}

impl Animation<'_> {
    fn add_clip(&mut self, skeleton: &Skeleton, clip: &Prim) {
        let times = thinned(clip_times(clip));
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
        let turns: Vec<Vec<[f32; 4]>> = times
            .iter()
            .map(|time| {
                value(&attribute, Some(*time))
                    .and_then(vectors)
                    .unwrap_or_default()
            })
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
            let turned = turned.collect();
            self.add_tracks(
                skeleton.nodes[joint],
                input,
                [
                    Track {
                        path: "translation",
                        element: ElementType::Vec3,
                        values: three(&places, place),
                    },
                    Track {
                        path: "rotation",
                        element: ElementType::Vec4,
                        values: turned,
                    },
                    Track {
                        path: "scale",
                        element: ElementType::Vec3,
                        values: three(&sizes, size),
                    },
                ],
                skeleton.rest[joint],
            );
        }
    }

    fn add_moving(&mut self, moving: &Moving) {
        let operations = Operations::of(&moving.prim);
        let times = thinned(with_steps(operations.times(&moving.prim), self.rate));
        if times.len() < 2 {
            return;
        }
        let input = self.input(&times);
        let (mut places, mut turns, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
        for time in &times {
            let (size, turn, place) = split(operations.matrix(&moving.prim, Some(*time)));
            places.extend(place.as_vec3().to_array());
            turns.extend(turn.as_quat().to_array());
            sizes.extend(size.as_vec3().to_array());
        }
        let rest = operations.matrix(&moving.prim, None);
        self.add_tracks(
            moving.node,
            input,
            [
                Track {
                    path: "translation",
                    element: ElementType::Vec3,
                    values: places,
                },
                Track {
                    path: "rotation",
                    element: ElementType::Vec4,
                    values: turns,
                },
                Track {
                    path: "scale",
                    element: ElementType::Vec3,
                    values: sizes,
                },
            ],
            rest,
        );
    }

    /// Adds the tracks of a node that move it away from its rest.
    fn add_tracks(&mut self, node: usize, input: usize, tracks: [Track; 3], rest: DMat4) {
        let (size, turn, place) = split(rest);
        for track in tracks {
            let still: Vec<f32> = match track.path {
                "translation" => place.as_vec3().to_array().to_vec(),
                "rotation" => turn.as_quat().to_array().to_vec(),
                _ => size.as_vec3().to_array().to_vec(),
            };
            let is_still = track.values.chunks_exact(still.len()).all(|value| {
                value
                    .iter()
                    .zip(&still)
                    .all(|(a, b)| (a - b).abs() <= 1e-6 * b.abs().max(1.0))
            });
            if is_still || !track.values.iter().all(|value| value.is_finite()) {
                continue;
            }
            let output = self.table(track.element, track.values);
            self.channels.push(json!({
                "sampler": self.samplers.len(),
                "target": { "node": node, "path": track.path },
            }));
            self.samplers
                .push(json!({ "input": input, "output": output }));
        }
    }

    /// The table of the times in seconds.
    fn input(&mut self, times: &[f64]) -> usize {
        let seconds = times
            .iter()
            .map(|time| ((time - self.start) / self.rate) as f32);
        let seconds = seconds.collect();
        self.table(ElementType::Scalar, seconds)
    }

    fn table(&mut self, element: ElementType, values: Vec<f32>) -> usize {
        self.scene.tables.push(Table {
            element,
            component: ComponentType::F32,
            normalized: false,
            values,
        });
        self.scene.tables.len() - 1
    }
}

/// The times and steps of a 24th of a second between them: angles between two keys may turn farther than a rotation can.
fn with_steps(times: Vec<f64>, rate: f64) -> Vec<f64> {
    let step = rate / 24.0;
    let mut all = Vec::new();
    for pair in times.windows(2) {
        let parts = ((pair[1] - pair[0]) / step).ceil().clamp(1.0, 1_000.0) as usize;
        all.extend(
            (0..parts).map(|part| pair[0] + (pair[1] - pair[0]) * part as f64 / parts as f64),
        );
    }
    all.extend(times.last());
    all
}

fn thinned(times: Vec<f64>) -> Vec<f64> {
    let every = times.len().div_ceil(MAX_KEYS).max(1);
    times.into_iter().step_by(every).collect()
}
