//! Encode and decode the kernel's FUSE messages: the part of include/uapi/linux/fuse.h (protocol 7.31) that a file
//! system of a few fixed files needs. All fields are in the byte order of the machine.

pub const VERSION_MAJOR: u32 = 7;
pub const VERSION_MINOR: u32 = 31;

pub const LOOKUP: u32 = 1;
pub const FORGET: u32 = 2;
pub const GETATTR: u32 = 3;
pub const SETATTR: u32 = 4;
pub const OPEN: u32 = 14;
pub const READ: u32 = 15;
pub const WRITE: u32 = 16;
pub const STATFS: u32 = 17;
pub const RELEASE: u32 = 18;
pub const FSYNC: u32 = 20;
pub const INIT: u32 = 26;
pub const OPENDIR: u32 = 27;
pub const READDIR: u32 = 28;
pub const RELEASEDIR: u32 = 29;
pub const FSYNCDIR: u32 = 30;
pub const INTERRUPT: u32 = 36;
pub const DESTROY: u32 = 38;
pub const BATCH_FORGET: u32 = 42;
pub const FALLOCATE: u32 = 43;

const ASYNC_READ: u32 = 1;
const BIG_WRITES: u32 = 1 << 5;
const ASYNC_DIO: u32 = 1 << 15;
const PARALLEL_DIROPS: u32 = 1 << 18;
const MAX_PAGES: u32 = 1 << 22;
/// Features that the daemon requests, as far as the kernel offers them.
const REQUESTED_FEATURES: u32 = ASYNC_READ | BIG_WRITES | ASYNC_DIO | PARALLEL_DIROPS | MAX_PAGES;

pub const OPEN_DIRECT_IO: u32 = 1;
pub const OPEN_PARALLEL_DIRECT_WRITES: u32 = 1 << 6;
pub const SETATTR_SIZE: u32 = 1 << 3;

pub const REQUEST_BYTES_MAX: u32 = 1 << 20;
const PAGE_BYTES: u32 = 4096;
/// Maximum number of requests in flight from the kernel, over all devices: more than all their queues together.
const BACKGROUND_MAX: u16 = 16384;
/// Validity of attributes in seconds. Attributes never change, so the kernel need not ask for them again.
const VALID_S: u64 = 86400;

pub const IN_HEADER_BYTES: usize = 40;
const OUT_HEADER_BYTES: usize = 16;
const KIND_DIRECTORY: u32 = 0o040000;
const KIND_FILE: u32 = 0o100000;

/// A request's head and body.
pub struct Message<'a> {
    pub opcode: u32,
    pub unique: u64,
    pub node: u64,
    pub body: &'a [u8],
}

impl<'a> Message<'a> {
    /// Parse a message. Return None if it is shorter than the head of a message.
    pub fn parse(bytes: &'a [u8]) -> Option<Message<'a>> {
        let body = bytes.get(IN_HEADER_BYTES..)?;
        Some(Message { opcode: u32_at(bytes, 4)?, unique: u64_at(bytes, 8)?, node: u64_at(bytes, 16)?, body })
    }

    pub fn u32(&self, at: usize) -> u32 {
        u32_at(self.body, at).unwrap_or(0)
    }

    pub fn u64(&self, at: usize) -> u64 {
        u64_at(self.body, at).unwrap_or(0)
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// A body under construction.
#[derive(Default)]
pub struct Body(pub Vec<u8>);

impl Body {
    pub fn u16(mut self, value: u16) -> Body {
        self.0.extend(value.to_ne_bytes());
        self
    }

    pub fn u32(mut self, value: u32) -> Body {
        self.0.extend(value.to_ne_bytes());
        self
    }

    pub fn u64(mut self, value: u64) -> Body {
        self.0.extend(value.to_ne_bytes());
        self
    }

    fn zeros(mut self, count: usize) -> Body {
        self.0.resize(self.0.len() + count, 0);
        self
    }
}

/// The head of a reply with `bytes` of body; `error` is 0 or a positive error number.
pub fn out_header(unique: u64, error: i32, bytes: usize) -> [u8; OUT_HEADER_BYTES] {
    let mut head = [0; OUT_HEADER_BYTES];
    head[..4].copy_from_slice(&((OUT_HEADER_BYTES + bytes) as u32).to_ne_bytes());
    head[4..8].copy_from_slice(&(-error).to_ne_bytes());
    head[8..].copy_from_slice(&unique.to_ne_bytes());
    head
}

/// The attributes of a file for stat(2).
#[derive(Clone, Copy)]
pub struct Attributes {
    pub node: u64,
    pub size_bytes: u64,
    pub is_directory: bool,
    pub permissions: u32,
    pub time_s: u64,
}

fn attributes(body: Body, a: &Attributes) -> Body {
    let (kind, links) = if a.is_directory { (KIND_DIRECTORY, 2) } else { (KIND_FILE, 1) };
    body.u64(a.node)
        .u64(a.size_bytes)
        .u64((a.size_bytes + 511) / 512)
        .u64(a.time_s)
        .u64(a.time_s)
        .u64(a.time_s)
        .zeros(3 * 4)
        .u32(kind | a.permissions)
        .u32(links)
        .zeros(3 * 4) // uid, gid, rdev
        .u32(PAGE_BYTES)
        .zeros(4)
}

pub fn init_reply(message: &Message) -> Result<Body, String> {
    let (major, minor) = (message.u32(0), message.u32(4));
    if major != VERSION_MAJOR || minor < 28 {
        return Err(format!("the kernel speaks FUSE {major}.{minor}; 7.28 (Linux 4.20) or later is needed"));
    }
    Ok(Body::default()
        .u32(VERSION_MAJOR)
        .u32(VERSION_MINOR.min(minor))
        .u32(REQUEST_BYTES_MAX) // readahead
        .u32(message.u32(12) & REQUESTED_FEATURES)
        .u16(BACKGROUND_MAX)
        .u16(BACKGROUND_MAX / 4 * 3) // congestion threshold
        .u32(REQUEST_BYTES_MAX)
        .u32(1) // time granularity in ns
        .u16((REQUEST_BYTES_MAX / PAGE_BYTES) as u16)
        .u16(0)
        .zeros(32))
}

pub fn entry_reply(a: &Attributes) -> Body {
    attributes(Body::default().u64(a.node).u64(0).u64(VALID_S).u64(VALID_S).zeros(8), a)
}

pub fn attributes_reply(a: &Attributes) -> Body {
    attributes(Body::default().u64(VALID_S).zeros(8), a)
}

pub fn open_reply(handle: u64, flags: u32) -> Body {
    Body::default().u64(handle).u32(flags).u32(0)
}

pub fn write_reply(bytes: u32) -> Body {
    Body::default().u32(bytes).u32(0)
}

pub fn statfs_reply(bytes: u64, files: u64) -> Body {
    let blocks = bytes / u64::from(PAGE_BYTES);
    Body::default().u64(blocks).zeros(16).u64(files).zeros(8).u32(PAGE_BYTES).u32(255).u32(PAGE_BYTES).zeros(28)
}

/// Return the directory entries after the cookie `from`, as many as fit into `bytes_max`.
pub fn directory_reply(entries: &[(u64, bool, &str)], from: usize, bytes_max: usize) -> Body {
    let mut body = Body::default();
    for (index, (node, is_directory, name)) in entries.iter().enumerate().skip(from) {
        let padded_length = (name.len() + 7) / 8 * 8;
        if body.0.len() + 24 + padded_length > bytes_max {
            break;
        }
        let kind = if *is_directory { KIND_DIRECTORY } else { KIND_FILE } >> 12;
        body = body.u64(*node).u64(index as u64 + 1).u32(name.len() as u32).u32(kind);
        body.0.extend(name.as_bytes());
        body = body.zeros(padded_length - name.len());
    }
    body
}
