//! Optimized models: a text is paid once for a model.

use std::collections::{BTreeMap, BTreeSet};

use crate::content::Content;
use crate::history::ActorId;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Optimized {
    pub source: u32,
    pub text: Content,
    /// The drives that have asked for it. A program has no name there.
    pub asked: BTreeSet<ActorId>,
    pub tags: BTreeSet<String>,
    /// Texts in `embeds/`, by name without extension, each with those who copied it in: one embed.
    pub embeds: BTreeMap<String, BTreeSet<ActorId>>,
}

impl Optimized {
    /// Whether a drive that is asked for this text uses this result: what failed only if a drive has asked for it.
    fn is_used_for(&self, source: u32, text: &Content) -> bool {
        let is_same = self.source == source && self.text == *text;
        is_same && !(text.fails() && self.asked.is_empty())
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Results(Vec<Optimized>);

impl Results {
    pub fn iter(&self) -> impl Iterator<Item = &Optimized> {
        self.0.iter()
    }

    pub fn find(&self, source: u32, text: &Content) -> Option<&Optimized> {
        self.iter().find(|it| it.is_used_for(source, text))
    }

    pub fn find_mut(&mut self, source: u32, text: &Content) -> Option<&mut Optimized> {
        self.0.iter_mut().find(|it| it.is_used_for(source, text))
    }

    /// A text of a drive.
    pub fn ask(&mut self, actor: ActorId, source: u32, text: &Content) {
        if let Some(found) = self.find_mut(source, text) {
            found.asked.insert(actor);
            return;
        }
        let new = self.order(source, text);
        new.asked.insert(actor);
    }

    /// An order of a program.
    pub fn order(&mut self, source: u32, text: &Content) -> &mut Optimized {
        self.0.push(Optimized {
            source,
            text: text.clone(),
            asked: BTreeSet::new(),
            tags: BTreeSet::new(),
            embeds: BTreeMap::new(),
        });
        self.0.last_mut().expect("one")
    }

    /// Adds those of other models, whose numbers are higher by so much.
    pub fn add(&mut self, other: Results, serials: u32) {
        self.0.extend(other.0.into_iter().map(|mut result| {
            result.source += serials;
            result
        }));
    }
}
