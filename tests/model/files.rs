//! The files and folders of a draft or a model, by their paths in it, and what system calls do to them.

use std::collections::BTreeMap;

use rustix::io::Errno;

use crate::model::Outcome;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    Folder,
    File(Vec<u8>),
}

pub type Files = BTreeMap<String, Node>;

/// The first name of a path, and the rest.
pub fn split(path: &str) -> (&str, &str) {
    path.split_once('/').unwrap_or((path, ""))
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

pub fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.starts_with('/'))
}

/// Whether a name can be made at this place.
pub fn check_parent(files: &Files, path: &str) -> Outcome {
    let mut at = parent(path);
    let mut missing = false;
    while !at.is_empty() {
        match files.get(at) {
            Some(Node::File(_)) => return Err(Errno::NOTDIR),
            Some(Node::Folder) => break,
            None => missing = true,
        }
        at = parent(at);
    }
    if missing { Err(Errno::NOENT) } else { Ok(()) }
}

/// The bytes of a file that is there.
pub fn file<'a>(files: &'a mut Files, path: &str) -> Result<&'a mut Vec<u8>, Errno> {
    check_parent(files, path)?;
    match files.get_mut(path) {
        Some(Node::File(bytes)) => Ok(bytes),
        Some(Node::Folder) => Err(Errno::ISDIR),
        None if path.is_empty() => Err(Errno::ISDIR),
        None => Err(Errno::NOENT),
    }
}

pub fn make_dir(files: &mut Files, path: &str) -> Outcome {
    if path.is_empty() {
        return Err(Errno::EXIST);
    }
    check_parent(files, path)?;
    if files.contains_key(path) {
        return Err(Errno::EXIST);
    }
    files.insert(path.to_owned(), Node::Folder);
    Ok(())
}

pub fn write(files: &mut Files, path: &str, new: Vec<u8>) -> Outcome {
    match file(files, path) {
        Ok(bytes) => *bytes = new,
        Err(Errno::NOENT) => {
            check_parent(files, path)?;
            files.insert(path.to_owned(), Node::File(new));
        }
        Err(error) => return Err(error),
    }
    Ok(())
}

pub fn remove_dir(files: &mut Files, path: &str) -> Outcome {
    check_parent(files, path)?;
    match files.get(path).ok_or(Errno::NOENT)? {
        Node::File(_) => Err(Errno::NOTDIR),
        Node::Folder if !is_empty(files, path) => Err(Errno::NOTEMPTY),
        Node::Folder => {
            files.remove(path);
            Ok(())
        }
    }
}

fn is_empty(files: &Files, folder: &str) -> bool {
    !files.keys().any(|path| is_below(path, folder))
}

/// Whether what is moved can take the place of what is there, `None` for nothing. The empty path is the draft.
pub fn check_replaced(moved: &Node, files: Option<&Files>, path: &str) -> Outcome {
    let occupied = match (path, files) {
        ("", Some(files)) => Some((&Node::Folder, files.is_empty())),
        ("", None) => None,
        (path, Some(files)) => files.get(path).map(|node| (node, is_empty(files, path))),
        (_, None) => return Err(Errno::NOENT),
    };
    match (moved, occupied) {
        (_, None) | (Node::File(_), Some((Node::File(_), _))) => Ok(()),
        (Node::File(_), Some((Node::Folder, _))) => Err(Errno::ISDIR),
        (Node::Folder, Some((Node::File(_), _))) => Err(Errno::NOTDIR),
        (Node::Folder, Some((Node::Folder, true))) => Ok(()),
        (Node::Folder, Some((Node::Folder, false))) => Err(Errno::NOTEMPTY),
    }
}

/// Removes a file or a folder with everything in it, and returns them, with paths that begin below that path.
pub fn take(files: &mut Files, path: &str) -> Files {
    let (taken, left) = std::mem::take(files)
        .into_iter()
        .partition::<Files, _>(|(it, _)| it == path || is_below(it, path));
    *files = left;
    let below = |it: String| it[path.len()..].trim_start_matches('/').to_owned();
    let taken = taken.into_iter().map(|(it, node)| (below(it), node));
    taken.collect()
}

/// Puts there what [`take`] returned, or a whole draft.
pub fn put(files: &mut Files, path: &str, taken: Files) {
    for (below, node) in taken {
        match (path, below.as_str()) {
            ("", "") => {}
            ("", below) => drop(files.insert(below.to_owned(), node)),
            (path, "") => drop(files.insert(path.to_owned(), node)),
            (path, below) => drop(files.insert(format!("{path}/{below}"), node)),
        }
    }
}
