//! The tree against a naive model: a map of paths.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::outbox::moment::Moment;

fn attributes() -> Attributes {
    Attributes::new(0o644, Moment { secs: 1, nanos: 0 })
}

fn file(content: u64) -> NodeBody {
    NodeBody::File(FileBody::new(ContentId(content)))
}

#[derive(Debug, Clone)]
enum Change {
    File(u8, u8),
    Folder(u8, u8),
    Remove(u8),
    Move(u8, u8, u8),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let change = prop_oneof![
        (any::<u8>(), 0..6u8).prop_map(|(parent, name)| Change::File(parent, name)),
        (any::<u8>(), 0..6u8).prop_map(|(parent, name)| Change::Folder(parent, name)),
        any::<u8>().prop_map(Change::Remove),
        (any::<u8>(), any::<u8>(), 0..6u8).prop_map(|(a, b, name)| Change::Move(a, b, name)),
    ];
    prop::collection::vec(change, 0..60)
}

/// The naive model: a map from path to whether it is a folder.
type Model = BTreeMap<String, bool>;

fn below(model: &Model, path: &str) -> Vec<(String, bool)> {
    let prefix = format!("{path}/");
    model
        .iter()
        .filter(|(p, _)| **p == path || p.starts_with(&prefix))
        .map(|(p, f)| (p.clone(), *f))
        .collect()
}

fn join(parent: &str, name: &str) -> String {
    if parent.is_empty() {
        name.to_owned()
    } else {
        format!("{parent}/{name}")
    }
}

proptest! {
    #[test]
    fn the_tree_does_what_a_map_of_paths_does(changes in changes()) {
        let mut tree = Tree::new(attributes());
        let mut model = Model::new();
        let mut next = 1u64;
        for change in changes {
            let mut ids: Vec<EntryId> = tree.walk().iter().map(|(_, id, _)| *id).collect();
            ids.insert(0, EntryId::ROOT);
            let pick = |n: u8| ids[n as usize % ids.len()];
            match change {
                Change::File(parent, name) | Change::Folder(parent, name) => {
                    let parent = pick(parent);
                    let name = format!("n{name}");
                    let folder = matches!(change, Change::Folder(..));
                    let path = join(&tree.path(parent), &name);
                    let parent_path = tree.path(parent);
                    let parent_is_folder = parent_path.is_empty() || model[&parent_path];
                    let fits = parent_is_folder && !model.contains_key(&path);
                    let body = if folder { NodeBody::Folder(BTreeMap::new()) } else { file(next) };
                    let done = tree.insert(parent, &name, EntryId(next), attributes(), body);
                    prop_assert_eq!(done.is_ok(), fits);
                    if fits { model.insert(path, folder); }
                    next += 1;
                }
                Change::Remove(entry) => {
                    let entry = pick(entry);
                    if entry == EntryId::ROOT {
                        prop_assert_eq!(tree.take(entry), Err(TreeError::Root));
                        continue;
                    }
                    let gone = below(&model, &tree.path(entry));
                    tree.take(entry).unwrap();
                    for (path, _) in gone { model.remove(&path); }
                }
                Change::Move(entry, parent, name) => {
                    let (entry, parent) = (pick(entry), pick(parent));
                    let name = format!("n{name}");
                    let (from, to) = (tree.path(entry), join(&tree.path(parent), &name));
                    let parent_path = tree.path(parent);
                    let parent_is_folder = parent_path.is_empty() || model[&parent_path];
                    if entry == EntryId::ROOT || tree.is_within(parent, entry)
                        || !parent_is_folder || model.contains_key(&to) { continue; }
                    let moved = below(&model, &from);
                    let branch = tree.take(entry).unwrap();
                    tree.graft(parent, &name, branch).unwrap();
                    for (path, _) in &moved { model.remove(path); }
                    for (path, folder) in moved {
                        model.insert(format!("{to}{}", &path[from.len()..]), folder);
                    }
                }
            }
            let seen: Model = tree
                .walk()
                .iter()
                .map(|(path, _, node)| (path.clone(), node.folder().is_some()))
                .collect();
            prop_assert_eq!(&seen, &model);
            for (path, id, node) in tree.walk() {
                prop_assert_eq!(tree.path(id), path);
                prop_assert_eq!(tree.child(node.parent, &node.name), Some(id));
            }
        }
    }
}

#[test]
fn a_tree_becomes_a_folder_of_another_and_back() {
    let mut tree = Tree::new(attributes());
    tree.insert(EntryId::ROOT, "a.bin", EntryId(1), attributes(), file(1))
        .unwrap();
    let mut other = Tree::new(attributes());
    other
        .graft(EntryId::ROOT, "sub", tree.clone().into_branch(EntryId(9)))
        .unwrap();
    assert_eq!(other.path(EntryId(1)), "sub/a.bin");
    let back = Tree::from_branch(other.take(EntryId(9)).unwrap()).unwrap();
    assert_eq!(back, tree);
}

#[test]
fn nothing_is_put_where_it_is_not_allowed() {
    let mut tree = Tree::new(attributes());
    tree.insert(EntryId::ROOT, "a", EntryId(1), attributes(), file(1))
        .unwrap();
    let taken = tree.insert(EntryId::ROOT, "a", EntryId(2), attributes(), file(2));
    assert_eq!(taken, Err(TreeError::Taken("a".to_owned())));
    let into_file = tree.insert(EntryId(1), "b", EntryId(3), attributes(), file(3));
    assert_eq!(into_file, Err(TreeError::NotAFolder(EntryId(1))));
    let twice = tree.insert(EntryId::ROOT, "c", EntryId(1), attributes(), file(4));
    assert_eq!(twice, Err(TreeError::Duplicate(EntryId(1))));
}
