//! The network of a simulation: it loses, delays, refuses and garbles requests and replies, and kills the process
//! between them.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use crate::client::scripted::{ScriptedFault, ScriptedReply, ScriptedRequest, ScriptedServer};
use crate::outbox::simulator::hook;
use crate::outbox::simulator::hook::{below, chance};
use crate::outbox::simulator::service::{Holdings, reply_with};

/// The fault rates of the network.
#[derive(Debug, Clone, Copy)]
pub struct Weather {
    /// Percentage of requests with a fault.
    pub trouble: u64,
    /// Percentage of faults that kill the process.
    pub death: u64,
    /// The service does not answer.
    pub outage: bool,
    /// The token is refused.
    pub revoked: bool,
}

pub const FAIR: Weather = Weather {
    trouble: 0,
    death: 0,
    outage: false,
    revoked: false,
};

#[derive(Debug, Clone)]
pub struct SimulatedService {
    holdings: Arc<Mutex<Holdings>>,
    weather: Arc<Mutex<Weather>>,
}

/// What the network does to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Passes,
    NeverLeaves,
    LostBefore,
    LostAfter,
    Slow,
    Refused(u16),
    FailsAfter,
    Garbage,
    DiesBefore,
    DiesAfter,
}

impl SimulatedService {
    pub fn new() -> SimulatedService {
        SimulatedService {
            holdings: Arc::new(Mutex::new(Holdings::new())),
            weather: Arc::new(Mutex::new(FAIR)),
        }
    }

    pub fn holdings(&self) -> MutexGuard<'_, Holdings> {
        self.holdings.lock().unwrap()
    }

    pub fn set_weather(&self, change: impl FnOnce(&mut Weather)) {
        change(&mut self.weather.lock().unwrap());
    }

    fn fate(&self) -> Fate {
        let weather = *self.weather.lock().unwrap();
        if weather.outage {
            return Fate::NeverLeaves;
        }
        if weather.revoked {
            return Fate::Refused(401);
        }
        if !chance(weather.trouble) {
            return Fate::Passes;
        }
        if chance(weather.death) {
            return if chance(50) {
                Fate::DiesBefore
            } else {
                Fate::DiesAfter
            };
        }
        match below(12) {
            0 => Fate::NeverLeaves,
            1 => Fate::LostBefore,
            2 | 3 => Fate::LostAfter,
            4 => Fate::Slow,
            5 => Fate::Refused(429),
            6 => Fate::Refused(503),
            7 => Fate::Refused(500),
            8 | 9 => Fate::FailsAfter,
            10 => Fate::Garbage,
            _ => Fate::Refused(if chance(30) { 422 } else { 502 }),
        }
    }

    async fn handle(self, request: ScriptedRequest) -> Result<ScriptedReply, ScriptedFault> {
        let fate = self.fate();
        let line = format!("{} {}", request.method, request.url.path());
        pause(Duration::from_millis(1 + below(40))).await;
        if fate != Fate::Passes {
            hook::note(format!("{line}: {fate:?}"));
        }
        match fate {
            Fate::NeverLeaves => return Err(ScriptedFault::NotSent),
            Fate::LostBefore => return Err(ScriptedFault::NoAnswer),
            Fate::Refused(status) => return Ok(refusal(status)),
            Fate::DiesBefore => die().await,
            // The client gives up after 30 s; the effect may come a little later.
            Fate::Slow => pause(Duration::from_secs(below(36))).await,
            _ => {}
        }
        let reply = self.holdings().apply(&request);
        hook::note(format!("{line}: {}", reply.status));
        pause(Duration::from_millis(1 + below(40))).await;
        match fate {
            Fate::DiesAfter => die().await,
            Fate::LostAfter => return Err(ScriptedFault::NoAnswer),
            Fate::FailsAfter => return Ok(refusal(500)),
            Fate::Garbage if reply.status < 300 => {
                return Ok(ScriptedReply {
                    body: b"<html>".to_vec(),
                    ..reply
                });
            }
            _ => {}
        }
        if line.ends_with("api-upload/start") && reply.status == 200 {
            let id = serde_json::from_slice::<Value>(&reply.body).unwrap()["id"].as_u64();
            if let Some(asset) = self.holdings().assets.get_mut(&id.unwrap()) {
                asset.answered = true;
            }
        }
        Ok(reply)
    }
}

impl ScriptedServer for SimulatedService {
    fn answer(
        &self,
        request: ScriptedRequest,
    ) -> BoxFuture<'static, Result<ScriptedReply, ScriptedFault>> {
        Box::pin(self.clone().handle(request))
    }
}

async fn pause(time: Duration) {
    tokio::time::sleep(time).await;
    if hook::is_dead() {
        // The process is dead and gets no reply.
        std::future::pending::<()>().await;
    }
}

async fn die() {
    hook::die();
    std::future::pending::<()>().await;
}

fn refusal(status: u16) -> ScriptedReply {
    let mut headers = Vec::new();
    if status == 429 {
        headers.push(("retry-after", "3".to_owned()));
    }
    reply_with(status, json!({"message": "not now"}), headers)
}
