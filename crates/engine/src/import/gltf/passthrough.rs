//! Data that passes through: keyframes, bind matrices, instance transforms, data of unknown extensions.
//!
//! References in the scene's JSON to accessors become indices into its tables, and references to
//! buffer views inside extensions become indices into its blobs.

use std::collections::HashMap;

use serde_json::Value;

use super::super::super::scene::{Table, for_each_blob, for_each_table};
use super::super::error::ImportError;
use super::GltfReader;

impl GltfReader<'_> {
    pub(super) fn read_passing(&mut self) -> Result<(), ImportError> {
        let mut json = std::mem::take(&mut self.scene.json);
        let mut tables = HashMap::new();
        for_each_table(&mut json, |_, reference| self.table(reference, &mut tables))?;
        for_each_blob(&mut json, &mut |view| self.blob(view))?;
        self.scene.json = json;
        let mut meshes = std::mem::take(&mut self.scene.meshes);
        for mesh in &mut meshes {
            let primitives = mesh.primitives.iter_mut();
            for json in primitives
                .map(|primitive| &mut primitive.json)
                .chain([&mut mesh.json])
            {
                for_each_blob(json, &mut |view| self.blob(view))?;
            }
        }
        self.scene.meshes = meshes;
        Ok(())
    }

    /// Replaces the index of an accessor by the index of a table with its numbers.
    fn table(
        &mut self,
        reference: &mut Value,
        tables: &mut HashMap<u64, usize>,
    ) -> Result<(), ImportError> {
        let Some(accessor) = reference.as_u64().or(reference.as_f64().map(|n| n as u64)) else {
            return Ok(());
        };
        let table = match tables.get(&accessor) {
            Some(known) => *known,
            None => {
                let info = self.document.accessors().info(accessor as usize)?;
                let values = self.numbers(&info, None)?.to_vec();
                self.scene.tables.push(Table {
                    element: info.element,
                    component: info.component,
                    normalized: info.normalized,
                    values,
                });
                let index = self.scene.tables.len() - 1;
                tables.insert(accessor, index);
                index
            }
        };
        *reference = table.into();
        Ok(())
    }

    /// Copies the bytes of a buffer view that an extension refers to.
    fn blob(&mut self, view: usize) -> Result<usize, ImportError> {
        let bytes = self.document.view_bytes(view)?;
        self.scene.blobs.push(bytes);
        Ok(self.scene.blobs.len() - 1)
    }
}
