//! What an FBX file holds and the importer does not read, for the log.

use std::collections::BTreeSet;

use super::shapes::channels;
use super::texture::file_texture;
use assetfs_formats::warnings::{Warning, WarningKind};

/// Maximum number of sets of texture coordinates that are read.
pub(super) const MAX_UV_SETS: usize = 4;

/// Names the objects of a file that are not read.
pub(super) fn name_unread_objects(loaded: &ufbx::Scene, file: &str, warnings: &mut Vec<Warning>) {
    let hidden = loaded.nodes.iter().filter(|node| !node.visible).count();
    for (count, what) in [
        (loaded.cameras.len(), "cameras are not read"),
        (loaded.stereo_cameras.len(), "stereo cameras are not read"),
        (loaded.lights.len(), "lights are not read"),
        (
            loaded.nurbs_trim_surfaces.len(),
            "trimmed NURBS surfaces are not read",
        ),
        (
            loaded.line_curves.len() + loaded.nurbs_curves.len(),
            "curves are not read",
        ),
        (
            loaded.procedural_geometries.len(),
            "procedural shapes are not read",
        ),
        (loaded.cache_deformers.len(), "geometry caches are not read"),
        (
            loaded.constraints.len(),
            "constraints are not read; nodes are where the file says",
        ),
        (loaded.characters.len(), "characters are not read"),
        (
            loaded.lod_groups.len(),
            "groups of levels of detail are not read; all levels are drawn",
        ),
        (loaded.audio_clips.len(), "sounds are not read"),
        (
            loaded.unknowns.len(),
            "objects of unknown types are not read",
        ),
        (hidden, "nodes are hidden, but are read as visible"),
    ] {
        if count > 0 {
            warnings.push(Warning::new(
                WarningKind::NotRead,
                format!("{file}: {count} {what}"),
            ));
        }
    }
    for node in loaded.nodes.iter() {
        let Some(mesh) = &node.mesh else { continue };
        let ids = |list: &[ufbx::Ref<ufbx::Material>]| -> Vec<u32> {
            list.iter().map(|found| found.element.typed_id).collect()
        };
        if !node.materials.is_empty() && ids(&node.materials) != ids(&mesh.materials) {
            warnings.push(Warning::new(WarningKind::NotRead, format!(
                "node \"{}\": it draws its mesh with other materials than another node; these materials are not read",
                &*node.element.name
            )));
        }
    }
}

/// Names the parts of a mesh that are not read.
pub(super) fn name_unread_of_mesh(found: &ufbx::Mesh, warnings: &mut Vec<Warning>) {
    let skins = || found.skin_deformers.iter();
    let is_other_skin = |skin: &ufbx::SkinDeformer| {
        !matches!(
            skin.skinning_method,
            ufbx::SkinningMethod::Rigid | ufbx::SkinningMethod::Linear
        )
    };
    let is_subdivided = found.subdivision_display_mode != ufbx::SubdivisionDisplayMode::Disabled
        && found.subdivision_display_mode != ufbx::SubdivisionDisplayMode::Hull;
    let lines = [
        (
            skins().any(|skin| skin.max_weights_per_vertex > 4),
            "vertices with more than four joints keep the four strongest",
        ),
        (
            found.skin_deformers.len() > 1,
            "it has more than one skin; the first is read",
        ),
        (
            skins().any(|skin| is_other_skin(skin)),
            "its skin is not linear (dual quaternions); it is read as linear",
        ),
        (
            channels(found).any(|(channel, _)| channel.keyframes.len() > 1),
            "shapes between its blend shapes are not read",
        ),
        (
            found.uv_sets.len() > MAX_UV_SETS,
            "it has more than 4 sets of texture coordinates; the others are not read",
        ),
        (
            found.color_sets.len() > 1,
            "it has more than one set of colours; the first is read",
        ),
        (
            found.num_line_faces + found.num_point_faces > 0,
            "its lines and points are not read",
        ),
        (
            found.face_hole.iter().any(|is_hole| *is_hole),
            "its holes are not read; they are filled",
        ),
        (
            is_subdivided,
            "it is subdivided in other programs; its control cage is read",
        ),
    ];
    for (is_there, what) in lines {
        if is_there {
            warnings.push(Warning::new(
                WarningKind::NotRead,
                format!("mesh \"{}\": {what}", &*found.element.name),
            ));
        }
    }
}

/// Names the textures of a material in slots that are not read; `read` are the maps that are.
pub(super) fn name_unread_textures(
    found: &ufbx::Material,
    read: &[&ufbx::MaterialMap],
    warnings: &mut Vec<Warning>,
) {
    let name: &str = &found.element.name;
    let id = |texture: &ufbx::Texture| texture.element.element_id;
    let read_ids: BTreeSet<u32> = read
        .iter()
        .filter_map(|map| map.texture.as_ref())
        .map(|texture| id(texture))
        .collect();
    let unread: BTreeSet<&str> = found
        .textures
        .iter()
        .filter(|slot| !read_ids.contains(&id(&slot.texture)))
        .map(|slot| &*slot.material_prop)
        .collect();
    if !unread.is_empty() {
        let slots: Vec<&str> = unread.into_iter().collect();
        warnings.push(Warning::new(
            WarningKind::NotRead,
            format!(
                "material \"{name}\": its textures in these slots are not read: {}",
                slots.join(", ")
            ),
        ));
    }
    for map in read {
        let layers = map.texture.as_ref().map_or(0, |it| it.file_textures.len());
        if layers > 1 && file_texture(map).is_some() {
            warnings.push(Warning::new(
                WarningKind::NotRead,
                format!("material \"{name}\": of {layers} layers of a texture the first is read"),
            ));
        }
    }
}
