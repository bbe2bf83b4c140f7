//! Talks to the service: endpoints, rate budget, retries, signed-URL transfers. Knows no inodes.
