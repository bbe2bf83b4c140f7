//! `.assetfs` folders: status, records of the service, tags and commands of the parent folder.

use std::sync::Arc;

use async_trait::async_trait;

use super::attributes::{created, file};
use super::bundles::BundleFolder;
use super::by_hash::{BY_HASH, ByHash};
use super::by_source::{BY_SOURCE, BySource};
use super::embeds::record_rows;
use super::errors::shown_failure;
use super::hidden_text::{model_text, rapid_text, top_text};
use super::links::{IdFolder, ModelLink, SearchFolder};
use super::node::Row;
use super::place::{AttributeRule, Contents, Lifetime, Place, Text};
use super::refusals;
use crate::drive::catalog::{Blob, blob_len, hidden_path, source_zip_len};
use crate::drive::error::{DriveError, DriveResult};
use crate::drive::posix::{Attributes, FileKind, OpenFlags};
use crate::drive::tree::Tree;
use crate::drive::values::local::{HiddenName, HiddenParent};
use crate::drive::values::node::{Bundle, Family, Model};
use crate::wire::ModelId;

pub struct HiddenFolder(pub HiddenParent);

#[async_trait]
impl Place for HiddenFolder {
    fn identity(&self) -> String {
        format!("hidden/{}", self.0)
    }

    fn path(&self, tree: &Tree) -> String {
        hidden_path(tree.catalog(), self.0)
    }

    async fn rows(&self, tree: &Arc<Tree>) -> DriveResult<Vec<Row>> {
        let parent = self.0;
        let files = HiddenName::in_folder(parent).iter();
        let files = files.map(|name| Row::new(name.text(), HiddenFile(parent, *name)));
        let mut rows: Vec<Row> = files.collect();
        rows.extend(match parent {
            HiddenParent::RawModels => {
                let mut rows = family_rows(Family::Raw);
                rows.push(Row::new(BY_HASH, ByHash));
                rows
            }
            HiddenParent::RapidModels => {
                let mut rows = family_rows(Family::Rapid);
                rows.push(Row::new(BY_SOURCE, BySource));
                rows
            }
            HiddenParent::Presets => [Bundle::Both, Bundle::CommandLine]
                .map(|bundle| Row::new(bundle.name(), BundleFolder(bundle)))
                .into(),
            HiddenParent::Embeds => record_rows(tree).await?,
            HiddenParent::Model(Model::Rapid(rapid)) => {
                match ModelLink::Source(rapid).target(tree).await {
                    // The source was deleted.
                    Err(DriveError::NotFound) => Vec::new(),
                    _ => vec![Row::new("source", ModelLink::Source(rapid))],
                }
            }
            HiddenParent::Root
            | HiddenParent::Jobs
            | HiddenParent::Account
            | HiddenParent::Model(Model::Raw(_)) => Vec::new(),
        });
        Ok(rows)
    }

    fn failure(&self, tree: &Tree) -> Option<String> {
        shown_failure(tree, self.0)
    }

    fn shown_model(&self, _: &Tree) -> Option<Model> {
        model_of(self.0)
    }
}

fn family_rows(family: Family) -> Vec<Row> {
    vec![
        Row::new("by-id", IdFolder(family)),
        Row::new("search", SearchFolder(family)),
    ]
}

fn model_of(parent: HiddenParent) -> Option<Model> {
    match parent {
        HiddenParent::Model(model) => Some(model),
        _ => None,
    }
}

pub struct HiddenFile(pub HiddenParent, pub HiddenName);

#[async_trait]
impl Place for HiddenFile {
    fn identity(&self) -> String {
        format!("hidden/{}/{}", self.0, self.1.text())
    }

    fn kind(&self) -> Option<FileKind> {
        Some(FileKind::File)
    }

    fn path(&self, tree: &Tree) -> String {
        format!("{}/{}", hidden_path(tree.catalog(), self.0), self.1.text())
    }

    fn lifetime(&self) -> Lifetime {
        Lifetime::None
    }

    async fn attributes(&self, tree: &Arc<Tree>) -> DriveResult<Attributes> {
        match (self.1, self.0) {
            (HiddenName::SourceZip, HiddenParent::Model(Model::Raw(home))) => {
                let len = source_zip_len(tree.catalog(), home).await?;
                let asset = tree.catalog().asset_of(home).map(ModelId::Asset);
                let made = asset.map_or(tree.opened(), |asset| created(tree, asset));
                Ok(file(tree, len, made))
            }
            (HiddenName::PresetZip, HiddenParent::Model(Model::Rapid(rapid))) => {
                let len = blob_len(tree.catalog(), &Blob::PresetOf(rapid)).await?;
                Ok(file(tree, len, created(tree, ModelId::Rapid(rapid))))
            }
            _ => {
                let Text { bytes, modified } = self.text(tree).await?;
                let mut attributes = file(tree, bytes.len() as u64, modified);
                if self.1 == HiddenName::Control {
                    // Only the owner gives commands, also where others may write files.
                    attributes.perm &= !0o022;
                }
                Ok(attributes)
            }
        }
    }

    async fn text(&self, tree: &Arc<Tree>) -> DriveResult<Text> {
        match self.0 {
            HiddenParent::Model(Model::Raw(home)) => model_text(tree, home, self.1).await,
            HiddenParent::Model(Model::Rapid(rapid)) => rapid_text(tree, rapid, self.1).await,
            parent => top_text(tree, parent, self.1).await,
        }
    }

    fn failure(&self, tree: &Tree) -> Option<String> {
        shown_failure(tree, self.0)
    }

    fn shown_model(&self, _: &Tree) -> Option<Model> {
        model_of(self.0)
    }

    fn contents(&self, _: &Tree) -> DriveResult<Contents> {
        Ok(match (self.1, self.0) {
            (HiddenName::Control, parent) => Contents::Control(parent),
            (HiddenName::Events, _) => Contents::Events,
            (HiddenName::SourceZip, HiddenParent::Model(Model::Raw(home))) => {
                Contents::SourceZip(home)
            }
            _ => Contents::Snapshot,
        })
    }

    fn check_writable(&self, tree: &Tree, _: OpenFlags) -> DriveResult<()> {
        match self.1 {
            HiddenName::Control => Ok(()),
            _ => Err(refusals::made_by_service(&self.path(tree))),
        }
    }

    fn attribute_rule(&self) -> AttributeRule {
        match self.1 {
            // `echo commit > ctl` truncates the file first.
            HiddenName::Control => AttributeRule::Ignored,
            _ => AttributeRule::Refused,
        }
    }
}
