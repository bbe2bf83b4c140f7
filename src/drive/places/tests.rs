//! Identities are durable: inode numbers are made from them, and programs keep numbers over remounts.

use super::account::{AccountFolder, AccountValue};
use super::bundles::{BundleFile, BundleFolder};
use super::embeds::{EmbedPage, EmbedRecord};
use super::errors::ErrorText;
use super::hidden::{HiddenFile, HiddenFolder};
use super::links::{Found, IdFolder, ModelLink, RapidLinks, SearchFolder};
use super::listing_folder::{AccountRecord, EMBEDS, FACTORY, FactoryPreset, TOKENS, WEBHOOKS};
use super::presets::StoredPreset;
use super::rapidmodels::RapidModels;
use super::remote::{ServiceFile, ServiceFolder};
use super::staged_zip::{StagedMember, StagedMemberFolder};
use super::*;
use crate::drive::catalog::listing_refs;
use crate::drive::posix::FileKind;
use crate::drive::values::local::{DropFolder, ErrorParent, HiddenName, HiddenParent, JobPart};
use crate::drive::values::node::{AccountFile, Bundle, Family, Home, Model, RemoteFolder};
use crate::outbox::{DraftId, DraftKind, EntryId};
use crate::wire::{AssetId, EmbedId, PresetId, RapidId};

const ASSET: AssetId = AssetId(7);
const RAPID: RapidId = RapidId(8);
const MADE: Model = Model::Raw(Home::Made(DraftId(5)));
const FOUND: Model = Model::Raw(Home::Found(ASSET));

fn file(folder: RemoteFolder) -> ServiceFile {
    ServiceFile {
        folder,
        path: "a/b.png".into(),
        content: 2,
        origin: None,
    }
}

fn entry(draft: u64) -> DraftEntry {
    DraftEntry::new(DraftId(draft), EntryId(6))
}

#[test]
fn the_identity_of_a_path_is_what_earlier_versions_made_numbers_from() {
    let status = |parent| Node::from(HiddenFile(parent, HiddenName::Status));
    let job = |folder: DropFolder, part| Node::from(folder.entry("web.json", part));
    let vanished = Vanished {
        folder: ModelFolder(Home::Found(ASSET)).into(),
        name: "ERROR.txt".into(),
        kind: FileKind::File,
    };
    let cases: Vec<(Node, &str)> = vec![
        (vanished.into(), "vanished/model/found/7/ERROR.txt"),
        (Root.into(), "/"),
        (RawModels.into(), "top/rawmodels"),
        (RapidModels.into(), "top/rapidmodels"),
        (PresetFolder.into(), "top/presets"),
        (FACTORY.into(), "top/factory"),
        (EMBEDS.into(), "top/embeds"),
        (DropFolder::Jobs.into(), "top/jobs"),
        (AccountFolder.into(), "top/account"),
        (TOKENS.into(), "top/tokens"),
        (WEBHOOKS.into(), "top/webhooks"),
        (HiddenFolder(HiddenParent::Root).into(), "hidden/root"),
        (
            HiddenFolder(HiddenParent::Presets).into(),
            "hidden/top/presets",
        ),
        (
            HiddenFolder(HiddenParent::Model(MADE)).into(),
            "hidden/model/made/5",
        ),
        (
            status(HiddenParent::Model(FOUND)),
            "hidden/model/found/7/status",
        ),
        (
            status(HiddenParent::Model(Model::Rapid(RAPID))),
            "hidden/rapid/8/status",
        ),
        (
            HiddenFile(HiddenParent::RawModels, HiddenName::Control).into(),
            "hidden/top/rawmodels/ctl",
        ),
        (
            HiddenFile(HiddenParent::RawModels, HiddenName::Models).into(),
            "hidden/top/rawmodels/models.jsonl",
        ),
        (
            HiddenFile(HiddenParent::RapidModels, HiddenName::Results).into(),
            "hidden/top/rapidmodels/results.jsonl",
        ),
        (IdFolder(Family::Raw).into(), "by-id/rawmodels"),
        (
            ModelLink::ById(Family::Rapid, 8).into(),
            "by-id/rapidmodels/8",
        ),
        (ModelLink::Source(RAPID).into(), "source/8"),
        (SearchFolder(Family::Raw).into(), "search/rawmodels"),
        (
            Found(Family::Raw, "red chair".into()).into(),
            "search/rawmodels/red chair",
        ),
        (
            ModelLink::Found(Family::Raw, "red chair".into(), 7).into(),
            "found/rawmodels/7/red chair",
        ),
        (BundleFolder(Bundle::CommandLine).into(), "bundles/cli"),
        (
            BundleFile(Bundle::Both, PresetId(3), 0xabc).into(),
            "bundles/bundle/3/abc",
        ),
        (MADE.folder(), "model/made/5"),
        (FOUND.folder(), "model/found/7"),
        (Model::Rapid(RAPID).folder(), "rapid/8"),
        (entry(5).into(), "entry/6"),
        (
            DraftEntry::beside(DraftKind::Folder, DraftId(5), EntryId(6)).into(),
            "entry/6/second",
        ),
        (
            ServiceFolder::top(RemoteFolder::AssetPbr(ASSET)).into(),
            "remote/raw/7/pbr",
        ),
        (
            ServiceFolder {
                folder: RemoteFolder::AssetMembers(ASSET),
                path: "a".into(),
                origin: None,
            }
            .into(),
            "remote/raw/7/members/folder/a",
        ),
        (
            StagedMemberFolder {
                draft: DraftId(5),
                path: "a".into(),
            }
            .into(),
            "staged-zip/5/folder/a",
        ),
        (
            StagedMember {
                draft: DraftId(5),
                version: "0af".into(),
                path: "a/b.png".into(),
            }
            .into(),
            "staged-zip/5/0af/a/b.png",
        ),
        (
            file(RemoteFolder::RapidFiles(RAPID)).into(),
            "remote/rapid/8/files/2/a/b.png",
        ),
        (DropFolder::Optimize(ASSET).into(), "asset/7/optimize"),
        (DropFolder::AssetEmbeds(ASSET).into(), "drop/embeds/raw/7"),
        (DropFolder::RapidEmbeds(RAPID).into(), "drop/embeds/rapid/8"),
        (
            job(DropFolder::Optimize(ASSET), JobPart::Text),
            "job/7/Text/web.json",
        ),
        (
            job(DropFolder::RapidEmbeds(RAPID), JobPart::Status),
            "job/embeds/rapid/8/Status/web.json",
        ),
        (
            job(DropFolder::Jobs, JobPart::Result),
            "job/jobs/Result/web.json",
        ),
        (RapidLinks(ASSET).into(), "asset/7/rapidmodels"),
        (ModelLink::Rapid(ASSET, RAPID).into(), "link/7/8"),
        (ModelLink::Job(RAPID).into(), "job-link/8"),
        (
            ErrorText(ErrorParent::Model(MADE)).into(),
            "error/model/made/5",
        ),
        (
            ErrorText(ErrorParent::Model(Model::Rapid(RAPID))).into(),
            "error/rapid/8",
        ),
        (
            ErrorText(ErrorParent::Drop(DropFolder::Optimize(ASSET))).into(),
            "error/optimize/7",
        ),
        (ErrorText(ErrorParent::RawModels).into(), "error/rawmodels"),
        (StoredPreset(PresetId(3), 0xabc).into(), "preset/3/abc"),
        (HeldPreset("web.json".into()).into(), "preset-file/web.json"),
        (FactoryPreset(PresetId(3), 0xabc).into(), "factory/3/abc"),
        (AccountValue(AccountFile::Points).into(), "account/points"),
        (
            AccountRecord(&listing_refs::TOKENS, 4).into(),
            "account/tokens/4",
        ),
        (
            AccountRecord(&listing_refs::WEBHOOKS, 4).into(),
            "account/webhooks/4",
        ),
        (EmbedPage(EmbedId(9)).into(), "embed/9"),
        (EmbedRecord(EmbedId(9)).into(), "embed-record/9"),
    ];
    for (node, identity) in &cases {
        assert_eq!(node.identity(), *identity);
    }
    let mut distinct: Vec<&str> = cases.iter().map(|(_, identity)| *identity).collect();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), cases.len());
}

#[test]
fn an_entry_is_itself_in_whatever_draft_it_is() {
    assert_eq!(Node::from(entry(1)), Node::from(entry(2)));
}
