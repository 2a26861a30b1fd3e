//! Serve the kernel's FUSE messages. The session answers a message that needs no disk at once. It passes reads, writes
//! and flushes to the engine, which answers them when the model finishes them.
//!
//! The session writes or reads the image when a request arrives. Two requests in flight therefore have no order, and a
//! request that follows a completed write sees its data. A single thread receives all messages, because the models
//! depend on the order of arrival.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{self, IoSlice, Read, Write};
use std::os::unix::fs::FileExt;
use std::sync::{Condvar, Mutex};

use assay_devices::{Kind, Request};

use crate::engine::{Answer, Engine, Payload};
use crate::sys;
use crate::wire::{self, Attributes, Body, Message};

const ROOT: u64 = 1;
const STATS: u64 = 2;
const FIRST_DEVICE: u64 = 3;
pub const STATS_NAME: &str = ".stats";

const WRITE_IN_BYTES: usize = 40;
const BUFFER_BYTES: usize = wire::IN_HEADER_BYTES + WRITE_IN_BYTES + wire::REQUEST_BYTES_MAX as usize + 4096;
/// Maximum number of read buffers that are kept for each size. Additional ones are allocated and freed.
const SPARE_MAX: usize = 64;

/// One device's file.
pub struct Disk {
    pub name: String,
    pub image: File,
    pub size_bytes: u64,
}

pub struct Session {
    fuse: File,
    pub disks: Vec<Disk>,
    pub engine: Engine,
    time_s: u64,
    cold_reads: Mutex<VecDeque<ColdRead>>,
    cold_read_arrived: Condvar,
    /// Buffers for reuse, by the exponent of their size in bytes.
    spare_buffers: Mutex<Vec<Vec<Vec<u8>>>>,
    /// The last handle, and the content of `.stats` at its opening by handle.
    open_stats: Mutex<(u64, HashMap<u64, Vec<u8>>)>,
}

/// A read whose data is not in the host's page cache.
struct ColdRead {
    device: usize,
    unique: u64,
    offset: u64,
    bytes: usize,
    buffer: Vec<u8>,
}

enum Reply {
    Later,
    Never,
    Now(Body),
    Error(i32),
}

impl Session {
    pub fn new(fuse: File, disks: Vec<Disk>, engine: Engine, time_s: u64) -> Session {
        let sizes = (wire::REQUEST_BYTES_MAX.trailing_zeros() + 1) as usize;
        Session {
            fuse,
            disks,
            engine,
            time_s,
            cold_reads: Mutex::new(VecDeque::new()),
            cold_read_arrived: Condvar::new(),
            spare_buffers: Mutex::new(vec![Vec::new(); sizes]),
            open_stats: Mutex::new((0, HashMap::new())),
        }
    }

    /// Answer the kernel's first message.
    pub fn handshake(&self) -> Result<(), String> {
        let mut buffer = vec![0; BUFFER_BYTES];
        let length = (&self.fuse).read(&mut buffer).map_err(|why| why.to_string())?;
        let message = Message::parse(&buffer[..length]).filter(|message| message.opcode == wire::INIT);
        let message = message.ok_or("the kernel's first message is not FUSE_INIT")?;
        let body = wire::init_reply(&message)?;
        self.send(message.unique, 0, &body.0);
        Ok(())
    }

    /// Serve messages until the file system is unmounted.
    pub fn serve(&self) -> io::Result<()> {
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            let length = match (&self.fuse).read(&mut buffer) {
                Ok(length) => length,
                Err(why) => match why.raw_os_error() {
                    Some(sys::ENODEV) => return Ok(()),
                    Some(sys::ENOENT | sys::EINTR | sys::EAGAIN) => continue,
                    _ => return Err(why),
                },
            };
            if let Some(message) = Message::parse(&buffer[..length]) {
                match self.handle(&message) {
                    Reply::Later | Reply::Never => {}
                    Reply::Now(body) => self.send(message.unique, 0, &body.0),
                    Reply::Error(code) => self.send(message.unique, code, &[]),
                }
            }
        }
    }

    /// Send an answer that is due.
    pub fn answer(&self, answer: Answer) {
        match answer.payload {
            Payload::Nothing => self.send(answer.unique, 0, &[]),
            Payload::Written(bytes) => self.send(answer.unique, 0, &wire::write_reply(bytes).0),
            Payload::Failed(code) => self.send(answer.unique, code, &[]),
            Payload::Awaited => {}
            Payload::Data(buffer, length) => {
                self.send(answer.unique, 0, &buffer[..length]);
                self.give_back(buffer);
            }
        }
    }

    fn send(&self, unique: u64, error: i32, body: &[u8]) {
        let head = wire::out_header(unique, error, body.len());
        // Sending fails if the caller has ended or the file system is unmounted. Then nothing needs the reply.
        drop((&self.fuse).write_vectored(&[IoSlice::new(&head), IoSlice::new(body)]));
    }

    fn handle(&self, message: &Message) -> Reply {
        match message.opcode {
            wire::READ if message.node == STATS => self.read_stats(message),
            wire::READ => self.read(message),
            wire::WRITE => self.write(message),
            wire::FSYNC => self.flush(message),
            wire::FALLOCATE => self.allocate(message),
            wire::LOOKUP => self.lookup(message),
            wire::GETATTR => self
                .attributes(message.node)
                .map_or(Reply::Error(sys::ENOENT), |a| Reply::Now(wire::attributes_reply(&a))),
            wire::SETATTR if message.u32(0) & wire::SETATTR_SIZE != 0 => Reply::Error(sys::EPERM),
            wire::SETATTR => self
                .attributes(message.node)
                .map_or(Reply::Error(sys::ENOENT), |a| Reply::Now(wire::attributes_reply(&a))),
            wire::OPEN => self.open(message),
            wire::OPENDIR => Reply::Now(wire::open_reply(0, 0)),
            wire::READDIR => self.read_directory(message),
            wire::STATFS => {
                let bytes = self.disks.iter().map(|disk| disk.size_bytes).sum();
                Reply::Now(wire::statfs_reply(bytes, self.disks.len() as u64))
            }
            wire::RELEASE => {
                self.open_stats.lock().expect("no panic while locked").1.remove(&message.u64(0));
                Reply::Now(Body::default())
            }
            wire::RELEASEDIR | wire::FSYNCDIR | wire::DESTROY => Reply::Now(Body::default()),
            // FORGET has no answer, and an interrupted request ends normally.
            wire::FORGET | wire::BATCH_FORGET | wire::INTERRUPT => Reply::Never,
            _ => Reply::Error(sys::ENOSYS),
        }
    }

    fn device(&self, message: &Message) -> Option<(usize, &Disk)> {
        let index = message.node.checked_sub(FIRST_DEVICE)? as usize;
        self.disks.get(index).map(|disk| (index, disk))
    }

    fn attributes(&self, node: u64) -> Option<Attributes> {
        let (size_bytes, is_directory, permissions) = match node {
            ROOT => (0, true, 0o755),
            STATS => (0, false, 0o444),
            _ => (self.disks.get(node.checked_sub(FIRST_DEVICE)? as usize)?.size_bytes, false, 0o600),
        };
        Some(Attributes { node, size_bytes, is_directory, permissions, time_s: self.time_s })
    }

    fn lookup(&self, message: &Message) -> Reply {
        let name = message.body.split(|&byte| byte == 0).next().unwrap_or_default();
        let position = self.disks.iter().position(|disk| disk.name.as_bytes() == name);
        let node = match position {
            Some(index) => FIRST_DEVICE + index as u64,
            None if name == STATS_NAME.as_bytes() => STATS,
            None => return Reply::Error(sys::ENOENT),
        };
        self.attributes(node).map_or(Reply::Error(sys::ENOENT), |a| Reply::Now(wire::entry_reply(&a)))
    }

    fn open(&self, message: &Message) -> Reply {
        let flags = wire::OPEN_DIRECT_IO | wire::OPEN_PARALLEL_DIRECT_WRITES;
        if message.node != STATS {
            return Reply::Now(wire::open_reply(0, flags));
        }
        let text = self.engine.stats_json().into_bytes();
        let mut open_stats = self.open_stats.lock().expect("no panic while locked");
        open_stats.0 += 1;
        let handle = open_stats.0;
        open_stats.1.insert(handle, text);
        Reply::Now(wire::open_reply(handle, flags))
    }

    fn read_stats(&self, message: &Message) -> Reply {
        let open_stats = self.open_stats.lock().expect("no panic while locked");
        let text = open_stats.1.get(&message.u64(0)).map_or(&[][..], |text| text);
        let start = text.len().min(message.u64(8) as usize);
        let end = text.len().min(start + message.u32(16) as usize);
        Reply::Now(Body(text[start..end].to_vec()))
    }

    fn read_directory(&self, message: &Message) -> Reply {
        let mut entries = vec![(ROOT, true, "."), (ROOT, true, ".."), (STATS, false, STATS_NAME)];
        entries.extend((FIRST_DEVICE..).zip(&self.disks).map(|(node, disk)| (node, false, disk.name.as_str())));
        Reply::Now(wire::directory_reply(&entries, message.u64(8) as usize, message.u32(16) as usize))
    }

    fn read(&self, message: &Message) -> Reply {
        let (index, disk) = match self.device(message) {
            Some(device) => device,
            None => return Reply::Error(sys::EIO),
        };
        let offset = message.u64(8);
        let requested_bytes = u64::from(message.u32(16).min(wire::REQUEST_BYTES_MAX));
        let bytes = requested_bytes.min(disk.size_bytes.saturating_sub(offset));
        if bytes == 0 {
            return Reply::Now(Body::default());
        }
        let request = Request { id: message.unique, kind: Kind::Read, offset, bytes };
        let mut buffer = self.take_buffer(bytes as usize);
        if sys::read_cached(&disk.image, &mut buffer[..bytes as usize], offset) {
            self.engine.submit(index, request, Payload::Data(buffer, bytes as usize));
        } else {
            self.engine.submit(index, request, Payload::Awaited);
            let cold_read = ColdRead { device: index, unique: message.unique, offset, bytes: bytes as usize, buffer };
            self.cold_reads.lock().expect("no panic while locked").push_back(cold_read);
            self.cold_read_arrived.notify_one();
        }
        Reply::Later
    }

    /// Serve the reads whose data is not in the host's page cache, so that other requests do not wait for the host's
    /// disk. Never return.
    pub fn serve_cold_reads(&self) {
        loop {
            let queue = self.cold_reads.lock().expect("no panic while locked");
            let not_empty = self.cold_read_arrived.wait_while(queue, |queue| queue.is_empty());
            let cold_read = not_empty.expect("no panic while locked").pop_front();
            if let Some(ColdRead { device, unique, offset, bytes, mut buffer }) = cold_read {
                let payload = match self.disks[device].image.read_exact_at(&mut buffer[..bytes], offset) {
                    Ok(()) => Payload::Data(buffer, bytes),
                    Err(why) => Payload::Failed(why.raw_os_error().unwrap_or(sys::EIO)),
                };
                if let Some(answer) = self.engine.deliver(device, unique, payload) {
                    self.answer(answer);
                }
            }
        }
    }

    fn write(&self, message: &Message) -> Reply {
        let (index, disk) = match self.device(message) {
            Some(device) => device,
            None => return Reply::Error(sys::EPERM),
        };
        let (offset, bytes) = (message.u64(8), u64::from(message.u32(16)));
        let data = match message.body.get(WRITE_IN_BYTES..WRITE_IN_BYTES + bytes as usize) {
            Some(data) => data,
            None => return Reply::Error(sys::EIO),
        };
        if offset.checked_add(bytes).map_or(true, |end| end > disk.size_bytes) {
            return Reply::Error(sys::EFBIG);
        }
        if bytes == 0 {
            return Reply::Now(wire::write_reply(0));
        }
        if let Err(why) = disk.image.write_all_at(data, offset) {
            return Reply::Error(why.raw_os_error().unwrap_or(sys::EIO));
        }
        let request = Request { id: message.unique, kind: Kind::Write, offset, bytes };
        self.engine.submit(index, request, Payload::Written(bytes as u32));
        Reply::Later
    }

    fn flush(&self, message: &Message) -> Reply {
        if let Some((index, _)) = self.device(message) {
            let request = Request { id: message.unique, kind: Kind::Flush, offset: 0, bytes: 0 };
            self.engine.submit(index, request, Payload::Nothing);
            return Reply::Later;
        }
        Reply::Now(Body::default())
    }

    /// Free space of the image for a discard, which takes no time on the modelled disk.
    fn allocate(&self, message: &Message) -> Reply {
        let (offset, length, mode) = (message.u64(8), message.u64(16), message.u32(24) as i32);
        let keeps_size_and_frees = mode & 1 != 0 && mode & (2 | 16) != 0; // KEEP_SIZE with PUNCH_HOLE or ZERO_RANGE
        match self.device(message) {
            Some((_, disk)) if keeps_size_and_frees => match sys::allocate(&disk.image, mode, offset, length) {
                Ok(()) => Reply::Now(Body::default()),
                Err(why) => Reply::Error(why.raw_os_error().unwrap_or(sys::EIO)),
            },
            _ => Reply::Error(sys::EOPNOTSUPP),
        }
    }

    fn take_buffer(&self, bytes: usize) -> Vec<u8> {
        let capacity = bytes.next_power_of_two();
        let class = capacity.trailing_zeros() as usize;
        let spare = self.spare_buffers.lock().expect("no panic while locked")[class].pop();
        spare.unwrap_or_else(|| vec![0; capacity])
    }

    fn give_back(&self, buffer: Vec<u8>) {
        let class = buffer.len().trailing_zeros() as usize;
        let spare_buffers = &mut self.spare_buffers.lock().expect("no panic while locked")[class];
        if spare_buffers.len() < SPARE_MAX {
            spare_buffers.push(buffer);
        }
    }
}
