//! Checks that every reference between the objects of a document is in range, and that nodes form a forest.
//!
//! This is checked once at opening, so that later code may index without checks. The table lists the references of the
//! format and of its common extensions; references in unknown extensions are neither checked nor read.

use super::cursor::Cursor;
use super::error::DocumentError;
use super::gltf_file::Document;
use assetfs_formats::gltf_image_extensions;

pub(super) fn check(document: &Document) -> Result<(), DocumentError> {
    let check = DocumentCheck { document };
    check.check_views()?;
    check.check_references()
}

struct DocumentCheck<'d> {
    document: &'d Document,
}

impl DocumentCheck<'_> {
    /// Checks that every buffer view lies inside its buffer.
    fn check_views(&self) -> Result<(), DocumentError> {
        let buffers = self.document.top().list("buffers")?;
        for (index, at) in self.document.top().list("bufferViews")?.iter().enumerate() {
            let buffer = at.require("buffer")?.index_of(buffers.len(), "buffer")?;
            at.number_or("byteOffset", 0)?;
            at.require("byteLength")?.number()?;
            if !self.document.is_fallback(buffer) {
                self.document.view_bytes(index)?;
            }
        }
        Ok(())
    }

    /// Checks that the target of every reference exists.
    fn check_references(&self) -> Result<(), DocumentError> {
        let top = self.document.top();
        self.refer(&top, "scene", "scenes")?;
        for scene in top.list("scenes")? {
            self.refer_each(&scene, "nodes", "nodes")?;
        }
        self.check_nodes()?;
        self.check_meshes()?;
        self.check_materials()?;
        for image in top.list("images")? {
            self.refer(&image, "bufferView", "bufferViews")?;
        }
        for skin in top.list("skins")? {
            skin.require("joints")?;
            self.refer_each(&skin, "joints", "nodes")?;
            self.refer(&skin, "skeleton", "nodes")?;
            self.refer(&skin, "inverseBindMatrices", "accessors")?;
        }
        self.check_animations()?;
        for accessor in top.list("accessors")? {
            self.refer(&accessor, "bufferView", "bufferViews")?;
        }
        Ok(())
    }

    fn check_nodes(&self) -> Result<(), DocumentError> {
        let nodes = self.document.top().list("nodes")?;
        let mut parents: Vec<Option<usize>> = vec![None; nodes.len()];
        for (index, node) in nodes.iter().enumerate() {
            self.refer(node, "mesh", "meshes")?;
            self.refer(node, "skin", "skins")?;
            self.refer(node, "camera", "cameras")?;
            if let Some(instancing) = node.extension("EXT_mesh_gpu_instancing") {
                self.refer_members(&instancing, "attributes", "accessors")?;
            }
            for child in node.list("children")? {
                let child_index = child.index_of(nodes.len(), "node")?;
                if parents[child_index].replace(index).is_some() {
                    return Err(
                        child.invalid(format!("makes node {child_index} the child of two nodes"))
                    );
                }
            }
        }
        for start in 0..nodes.len() {
            let mut at = start;
            let mut steps = 0;
            while let Some(parent) = parents[at] {
                at = parent;
                steps += 1;
                if steps > nodes.len() {
                    return Err(nodes[start].invalid("is its own ancestor"));
                }
            }
            // Recursive readers would overflow their stack on a deeper tree.
            if steps > 1_000 {
                return Err(nodes[start].invalid("lies more than 1,000 levels deep"));
            }
        }
        Ok(())
    }

    fn check_meshes(&self) -> Result<(), DocumentError> {
        for mesh in self.document.top().list("meshes")? {
            mesh.require("primitives")?;
            for primitive in mesh.list("primitives")? {
                self.refer_members(&primitive, "attributes", "accessors")?;
                self.refer(&primitive, "indices", "accessors")?;
                self.refer(&primitive, "material", "materials")?;
                for target in primitive.list("targets")? {
                    self.refer_all(&target, "accessors")?;
                }
                if let Some(draco) = primitive.extension("KHR_draco_mesh_compression") {
                    self.refer(&draco, "bufferView", "bufferViews")?;
                }
                if let Some(variants) = primitive.extension("KHR_materials_variants") {
                    for mapping in variants.list("mappings")? {
                        self.refer(&mapping, "material", "materials")?;
                    }
                }
            }
        }
        Ok(())
    }

    fn check_materials(&self) -> Result<(), DocumentError> {
        for material in self.document.top().list("materials")? {
            self.check_texture_references(&material, 0)?;
        }
        for texture in self.document.top().list("textures")? {
            self.refer(&texture, "sampler", "samplers")?;
            self.refer(&texture, "source", "images")?;
            for name in gltf_image_extensions() {
                if let Some(extension) = texture.extension(name) {
                    self.refer(&extension, "source", "images")?;
                }
            }
        }
        Ok(())
    }

    /// A texture is referred to by an object under a key that ends in `Texture`, in the core and in
    /// every material extension so far.
    fn check_texture_references(&self, at: &Cursor<'_>, depth: usize) -> Result<(), DocumentError> {
        let Some(members) = at.value().as_object() else {
            return Ok(());
        };
        for key in members.keys().filter(|key| *key != "extras") {
            let Some(member) = at.get(key) else { continue };
            if key.ends_with("Texture") && member.get("index").is_some() {
                self.refer(&member, "index", "textures")?;
            }
            if depth < 8 {
                self.check_texture_references(&member, depth + 1)?;
            }
        }
        Ok(())
    }

    fn check_animations(&self) -> Result<(), DocumentError> {
        for animation in self.document.top().list("animations")? {
            let samplers = animation.list("samplers")?;
            for sampler in &samplers {
                sampler.require("input")?;
                sampler.require("output")?;
                self.refer(sampler, "input", "accessors")?;
                self.refer(sampler, "output", "accessors")?;
            }
            for channel in animation.list("channels")? {
                channel
                    .require("sampler")?
                    .index_of(samplers.len(), "animation sampler")?;
                let target = channel.require("target")?;
                self.refer(&target, "node", "nodes")?;
            }
        }
        Ok(())
    }

    fn refer(&self, at: &Cursor<'_>, key: &str, list: &str) -> Result<(), DocumentError> {
        match at.get(key) {
            Some(reference) => self.check_index(&reference, list),
            None => Ok(()),
        }
    }

    fn refer_each(&self, at: &Cursor<'_>, key: &str, list: &str) -> Result<(), DocumentError> {
        for reference in at.list(key)? {
            self.check_index(&reference, list)?;
        }
        Ok(())
    }

    fn refer_members(&self, at: &Cursor<'_>, key: &str, list: &str) -> Result<(), DocumentError> {
        self.refer_all(&at.require(key)?, list)
    }

    fn refer_all(&self, at: &Cursor<'_>, list: &str) -> Result<(), DocumentError> {
        for key in at.members()?.keys() {
            self.refer(at, key, list)?;
        }
        Ok(())
    }

    fn check_index(&self, at: &Cursor<'_>, list: &str) -> Result<(), DocumentError> {
        let thing = match list {
            "meshes" => "mesh",
            plural => plural.trim_end_matches('s'),
        };
        at.index_of(self.document.count(list), thing).map(|_| ())
    }
}
