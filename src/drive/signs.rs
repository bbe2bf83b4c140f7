//! The time at which a sign appeared on the picture of a model in file managers (`assetfs thumbnail` draws it). File managers ask
//! for the picture of a folder again when the time of the folder has changed. So the folder of a model that failed or is held
//! up has the time at which that began. Afterwards it has its own time again.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::SystemTime;

use crate::locks::Locked;
use crate::outbox::StatusWord;

use super::values::node::Model;

#[derive(Debug, Default)]
pub(super) struct Signs(Mutex<HashMap<Model, (StatusWord, SystemTime)>>);

impl Signs {
    /// The time of a model's folder in a state; `None` if it is its own time.
    pub(super) fn since(&self, model: Model, state: &StatusWord) -> Option<SystemTime> {
        let mut since = self.0.locked();
        if *state != StatusWord::Failed && !state.is_held_up() {
            since.remove(&model);
            return None;
        }
        let now = SystemTime::now();
        let known = since.entry(model).or_insert_with(|| (state.clone(), now));
        if known.0 != *state {
            *known = (state.clone(), now);
        }
        Some(known.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::RapidId;

    #[test]
    fn a_folder_has_the_time_at_which_its_sign_appeared_until_the_sign_goes() {
        let signs = Signs::default();
        let model = Model::Rapid(RapidId(1));
        assert_eq!(signs.since(model, &StatusWord::Running), None);
        let failed = signs.since(model, &StatusWord::Failed);
        assert!(failed.is_some());
        assert_eq!(signs.since(model, &StatusWord::Failed), failed);
        let waiting = signs.since(model, &StatusWord::MissingFiles);
        assert!(waiting > failed);
        assert_eq!(signs.since(model, &StatusWord::Complete), None);
        assert!(signs.0.locked().is_empty());
    }
}
