//! What each of the three machines is given when the outbox opens.

use std::sync::Arc;

use crate::client::Client;
use crate::outbox::config::OutboxConfig;
use crate::outbox::events::Events;
use crate::outbox::journal::Journal;
use crate::outbox::tasks::Tasks;

#[derive(Debug, Clone)]
pub struct Foundation {
    pub config: Arc<OutboxConfig>,
    pub client: Client,
    pub journal: Arc<Journal>,
    pub events: Arc<Events>,
    pub tasks: Arc<Tasks>,
}
