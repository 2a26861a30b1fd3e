//! Run the device models in real time: send each answer at the time at which the model finishes the request. Requests
//! arrive at the time of the monotonic clock. A single thread sends all answers.
//!
//! A model computes with its own times, so an answer that is sent late does not delay the next one.

use std::collections::{HashMap, HashSet};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use assay_devices::{Completion, Device, Model, Ns, Request, Stats};

use assay_spec::json;

/// The answer to a finished request.
pub enum Payload {
    Nothing,
    /// The data is still being read from the host's own disk: see `Engine::deliver`.
    Awaited,
    Written(u32),
    /// A buffer, and the number of its valid bytes.
    Data(Vec<u8>, usize),
    Failed(i32),
}

pub struct Answer {
    pub unique: u64,
    pub payload: Payload,
}

struct ServedDevice {
    name: String,
    model: Model,
    /// Answers of the requests in flight, and of finished requests that await their data.
    answers: HashMap<u64, Payload>,
    /// Finished requests whose data has not arrived.
    overdue: HashSet<u64>,
    /// Time of the next event of the model.
    due: Ns,
    lateness: Lateness,
}

#[derive(Clone, Copy, Default)]
struct Lateness {
    total_s: f64,
    max_s: f64,
}

struct State {
    devices: Vec<ServedDevice>,
    /// Time until which the sending thread sleeps; 0 while it is awake.
    sleeps_until: Ns,
}

pub struct Engine {
    state: Mutex<State>,
    wake: Condvar,
    start: Instant,
}

impl Engine {
    pub fn new(models: Vec<(String, Model)>) -> Engine {
        let served_device = |(name, model)| ServedDevice {
            name,
            model,
            answers: HashMap::new(),
            overdue: HashSet::new(),
            due: Ns::MAX,
            lateness: Lateness::default(),
        };
        let devices = models.into_iter().map(served_device).collect();
        Engine {
            state: Mutex::new(State { devices, sleeps_until: Ns::MAX }),
            wake: Condvar::new(),
            start: Instant::now(),
        }
    }

    fn now(&self) -> Ns {
        self.start.elapsed().as_nanos() as Ns
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("a thread that holds the lock does not panic")
    }

    /// Submit a request to a device; its id must be the unique number of the message.
    pub fn submit(&self, device: usize, request: Request, payload: Payload) {
        let mut state = self.lock();
        let now = self.now();
        let device_state = &mut state.devices[device];
        device_state.answers.insert(request.id, payload);
        device_state.model.submit(now, request);
        device_state.due = device_state.model.next_event().unwrap_or(Ns::MAX);
        if device_state.due < state.sleeps_until {
            self.wake.notify_one();
        }
    }

    /// Deliver the awaited data of a request. Return the answer if the model has already finished the request.
    pub fn deliver(&self, device: usize, unique: u64, payload: Payload) -> Option<Answer> {
        let device_state = &mut self.lock().devices[device];
        if device_state.overdue.remove(&unique) {
            return Some(Answer { unique, payload });
        }
        device_state.answers.insert(unique, payload);
        None
    }

    /// Send answers when they are due; never returns.
    pub fn serve(&self, send: impl Fn(Answer)) {
        let mut answers = Vec::new();
        let mut done = Vec::new();
        let mut state = self.lock();
        loop {
            let now = self.now();
            for device in state.devices.iter_mut().filter(|device| device.due <= now) {
                device.collect(now, &mut done, &mut answers);
            }
            if !answers.is_empty() {
                state.sleeps_until = 0;
                drop(state);
                answers.drain(..).for_each(&send);
                state = self.lock();
                continue;
            }
            let due = state.devices.iter().map(|device| device.due).min().unwrap_or(Ns::MAX);
            state.sleeps_until = due;
            state = if due == Ns::MAX {
                self.wake.wait(state).expect("a thread that holds the lock does not panic")
            } else {
                let pause = Duration::from_nanos(due.saturating_sub(now));
                self.wake.wait_timeout(state, pause).expect("a thread that holds the lock does not panic").0
            };
        }
    }

    /// Return the totals of each device as one JSON object.
    pub fn stats_json(&self) -> String {
        let state = self.lock();
        let devices: Vec<String> = state.devices.iter().map(ServedDevice::stats_json).collect();
        format!("{{\n{}\n}}\n", devices.join(",\n"))
    }
}

impl ServedDevice {
    fn collect(&mut self, now: Ns, done: &mut Vec<Completion>, answers: &mut Vec<Answer>) {
        self.model.advance(now, done);
        self.due = self.model.next_event().unwrap_or(Ns::MAX);
        for completion in done.drain(..) {
            let late_s = (now - completion.at) as f64 / 1e9;
            self.lateness.total_s += late_s;
            self.lateness.max_s = self.lateness.max_s.max(late_s);
            match self.answers.remove(&completion.id) {
                Some(Payload::Awaited) => {
                    self.overdue.insert(completion.id);
                }
                Some(payload) => answers.push(Answer { unique: completion.id, payload }),
                None => {}
            }
        }
    }

    fn stats_json(&self) -> String {
        let Stats { reads, writes, flushes, read_bytes, written_bytes, seeks, seek_s, busy_s } = self.model.stats();
        format!(
            "{}: {{\"reads\": {reads}, \"writes\": {writes}, \"flushes\": {flushes}, \"bytes\": {}, \
             \"read_bytes\": {read_bytes}, \"written_bytes\": {written_bytes}, \"seeks\": {seeks}, \
             \"seek_s\": {seek_s:.6}, \"busy_s\": {busy_s:.6}, \"in_flight\": {}, \"late_s\": {:.6}, \
             \"late_max_s\": {:.6}}}",
            json::quoted(&self.name),
            read_bytes + written_bytes,
            self.model.in_flight(),
            self.lateness.total_s,
            self.lateness.max_s,
        )
    }
}
