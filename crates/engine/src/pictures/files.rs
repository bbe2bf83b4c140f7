//! The files of a job's pictures: their names and folders.

use std::fs;
use std::path::Path;

use rayon::prelude::*;

use super::super::error::EngineError;
use super::super::render::{Picture, RenderSettings, View};
use super::{
    LARGE_SIZE, ModelPictures, OVERVIEW_NAME, PICTURE_SIZE, RENDERS_FOLDER, THUMBNAIL_LIGHTS,
    THUMBNAIL_NAME, TURNTABLE_FOLDER, lights_for,
};
use assetfs_render::compare::Comparison;

impl ModelPictures {
    /// Writes the large picture for looking at, `renders/overview.jpg`, and the thumbnail, which is the same picture made
    /// smaller, into a job's output folder; returns the names. It has half as many lights as a small picture, because it has
    /// four times as many pixels to light.
    pub fn write_overview_and_thumbnail(
        &self,
        output_dir: &Path,
    ) -> Result<Vec<String>, EngineError> {
        let picture = self.picture_for_people(LARGE_SIZE, THUMBNAIL_LIGHTS / 2);
        let overview = format!("{RENDERS_FOLDER}/{OVERVIEW_NAME}");
        make_folder(&output_dir.join(RENDERS_FOLDER))?;
        picture.write_jpeg(&output_dir.join(&overview))?;
        let thumbnail = picture.halved();
        thumbnail.write_jpeg(&output_dir.join(THUMBNAIL_NAME))?;
        Ok(vec![overview, THUMBNAIL_NAME.to_owned()])
    }

    /// Writes the thumbnail alone; returns its name.
    pub fn write_thumbnail(&self, output_dir: &Path) -> Result<String, EngineError> {
        self.picture_for_people(PICTURE_SIZE, THUMBNAIL_LIGHTS)
            .write_jpeg(&output_dir.join(THUMBNAIL_NAME))?;
        Ok(THUMBNAIL_NAME.to_owned())
    }

    fn picture_for_people(&self, size: usize, lights: usize) -> Picture {
        self.three_quarter(&RenderSettings {
            size,
            sky_lights: lights_for(&self.scene, lights),
            ..RenderSettings::default()
        })
    }

    /// Writes `turntable/<degrees>.jpg` into a job's output folder: the model from all around; returns the names.
    pub fn write_turntable(&self, output_dir: &Path) -> Result<Vec<String>, EngineError> {
        let settings = RenderSettings {
            size: PICTURE_SIZE / 2,
            ..RenderSettings::default()
        };
        make_folder(&output_dir.join(TURNTABLE_FOLDER))?;
        (0..View::TURNS)
            .into_par_iter()
            .map(|step| {
                let degrees = u16::from(step) * 360 / u16::from(View::TURNS);
                let name = format!("{TURNTABLE_FOLDER}/{degrees:03}.jpg");
                self.scene
                    .render(View::Turn(step), &self.bounds, &settings)
                    .write_jpeg(&output_dir.join(&name))?;
                Ok(name)
            })
            .collect()
    }

    /// Writes the six views as they were compared, `renders/<prefix>-<view>.png`, into a job's output folder; returns the
    /// names. The prefix is the format, or `original` for the source next to its result.
    pub fn write_views(&self, output_dir: &Path, prefix: &str) -> Result<Vec<String>, EngineError> {
        let pictures = self
            .compared()
            .iter()
            .filter(|(view, _)| !view.is_inside())
            .map(|(view, picture)| (format!("{prefix}-{}.png", view.name()), picture));
        write_all(output_dir, RENDERS_FOLDER, pictures.collect())
    }

    /// As [`ModelPictures::write_views`], in pictures for looking at, which are drawn for this. They are kept for
    /// further calls: a source may have several results, and several exports may look the same.
    pub fn write_large_views(
        &self,
        output_dir: &Path,
        prefix: &str,
    ) -> Result<Vec<String>, EngineError> {
        make_folder(&output_dir.join(RENDERS_FOLDER))?;
        let views = self.large.get_or_init(|| self.large_views());
        let written = views.iter().map(|(view, png)| {
            let name = format!("{RENDERS_FOLDER}/{prefix}-{}.png", view.name());
            let path = output_dir.join(&name);
            match fs::write(&path, png) {
                Ok(()) => Ok(name),
                Err(source) => Err(EngineError::Io { path, source }),
            }
        });
        written.collect()
    }

    /// The six views as PNG. One is drawn after the other, because each needs 34 MB; its tiles are drawn in parallel.
    fn large_views(&self) -> Vec<(View, Vec<u8>)> {
        let settings = RenderSettings {
            size: LARGE_SIZE,
            ..RenderSettings::default()
        };
        let png = |view| self.scene.render(view, &self.bounds, &settings).png();
        View::SIX.map(|view| (view, png(view))).into()
    }

    /// Writes `<folder>/render_<n>.png`, the views of this result, and `<folder>/diff_<n>.png`, how they differ from the
    /// source; returns the names below the output folder.
    pub fn write_numbered(
        &self,
        comparison: &Comparison,
        output_dir: &Path,
        folder: &str,
    ) -> Result<Vec<String>, EngineError> {
        let outside = self.compared().iter().filter(|(view, _)| !view.is_inside());
        let mut pictures: Vec<(String, &Picture)> = outside
            .enumerate()
            .map(|(number, (_, picture))| (format!("render_{number}.png"), picture))
            .collect();
        let outside = comparison
            .views
            .iter()
            .filter(|compared| !compared.view.is_inside());
        for (number, compared) in outside.enumerate() {
            pictures.push((format!("diff_{number}.png"), &compared.heat_map));
        }
        write_all(output_dir, folder, pictures)
    }
}

/// Writes the heat maps of a comparison, `renders/<format>-<view>__diff.png`, into a job's output folder; returns the names
/// below that folder.
pub fn write_heat_maps(
    comparison: &Comparison,
    output_dir: &Path,
    format: &str,
) -> Result<Vec<String>, EngineError> {
    let name = |view: View| format!("{format}-{}__diff.png", view.name());
    let outside = comparison
        .views
        .iter()
        .filter(|compared| !compared.view.is_inside());
    let pictures = outside.map(|compared| (name(compared.view), &compared.heat_map));
    write_all(output_dir, RENDERS_FOLDER, pictures.collect())
}

fn make_folder(folder: &Path) -> Result<(), EngineError> {
    fs::create_dir_all(folder).map_err(|source| EngineError::Io {
        path: folder.to_owned(),
        source,
    })
}

fn write_all(
    output_dir: &Path,
    below: &str,
    pictures: Vec<(String, &Picture)>,
) -> Result<Vec<String>, EngineError> {
    let folder = output_dir.join(below);
    make_folder(&folder)?;
    pictures
        .into_par_iter()
        .map(|(name, picture)| {
            picture.write_png(&folder.join(&name))?;
            Ok(format!("{below}/{name}"))
        })
        .collect()
}
