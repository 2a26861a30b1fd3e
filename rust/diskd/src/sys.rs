//! Declarations of the C library functions that the daemon needs; the standard library links the C library anyway.

use std::ffi::CString;
use std::io::{self, IoSliceMut};
use std::os::raw::{c_char, c_int, c_ulong, c_void};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::io::AsRawFd;
use std::path::Path;

pub const EPERM: i32 = 1;
pub const ENOENT: i32 = 2;
pub const EINTR: i32 = 4;
pub const EIO: i32 = 5;
pub const EAGAIN: i32 = 11;
pub const EINVAL: i32 = 22;
pub const ENODEV: i32 = 19;
pub const EFBIG: i32 = 27;
pub const ENOSYS: i32 = 38;
pub const EOPNOTSUPP: i32 = 95;

pub const SIGINT: c_int = 2;
pub const SIGTERM: c_int = 15;

const MS_NOSUID: c_ulong = 2;
const MS_NODEV: c_ulong = 4;
const MNT_DETACH: c_int = 2;
const LOCK_EX_NB: c_int = 2 | 4;
const SIG_BLOCK: c_int = 0;
const MCL_CURRENT_FUTURE_ONFAULT: c_int = 1 | 2 | 4;
const RWF_NOWAIT: c_int = 8;
const PR_SET_TIMERSLACK: c_int = 29;
const PR_SET_IO_FLUSHER: c_int = 57;
const SCHED_RR: c_int = 2;

/// At least as large as the C library's signal set.
type SignalSet = [u64; 16];

extern "C" {
    fn mount(
        source: *const c_char,
        target: *const c_char,
        kind: *const c_char,
        flags: c_ulong,
        data: *const c_void,
    ) -> c_int;
    fn umount2(target: *const c_char, flags: c_int) -> c_int;
    fn flock(fd: c_int, operation: c_int) -> c_int;
    fn fallocate64(fd: c_int, mode: c_int, offset: i64, length: i64) -> c_int;
    fn preadv2(fd: c_int, pieces: *const IoSliceMut<'_>, count: c_int, offset: i64, flags: c_int) -> isize;
    fn prctl(option: c_int, ...) -> c_int;
    fn mlockall(flags: c_int) -> c_int;
    fn sched_setscheduler(pid: c_int, policy: c_int, parameters: *const c_int) -> c_int;
    fn sigemptyset(set: *mut SignalSet) -> c_int;
    fn sigaddset(set: *mut SignalSet, signal: c_int) -> c_int;
    fn pthread_sigmask(how: c_int, set: *const SignalSet, old: *mut SignalSet) -> c_int;
    fn sigwait(set: *const SignalSet, signal: *mut c_int) -> c_int;
}

/// Return the error of a C function that returned a negative number.
fn result_of(result: c_int) -> io::Result<()> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn c_path(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}

fn c_text(text: &str) -> io::Result<CString> {
    Ok(CString::new(text)?)
}

/// Mount a FUSE file system whose kernel side is `/dev/fuse` opened as `device`.
pub fn mount_fuse(device: &impl AsRawFd, target: &Path, options: &str) -> io::Result<()> {
    let options = c_text(&format!("fd={},{}", device.as_raw_fd(), options))?;
    let (source, kind) = (c_text("assay-diskd")?, c_text("fuse.assay-diskd")?);
    let target = c_path(target)?;
    result_of(unsafe {
        mount(source.as_ptr(), target.as_ptr(), kind.as_ptr(), MS_NOSUID | MS_NODEV, options.as_ptr().cast())
    })
}

/// Unmount. If the mount is in use, detach it, so that its last user removes it. True if it was not in use.
pub fn unmount(target: &Path) -> io::Result<bool> {
    let target = c_path(target)?;
    if unsafe { umount2(target.as_ptr(), 0) } == 0 {
        return Ok(true);
    }
    result_of(unsafe { umount2(target.as_ptr(), MNT_DETACH) }).map(|()| false)
}

/// Lock a file against other processes; an error if another process holds the lock.
pub fn lock(file: &impl AsRawFd) -> io::Result<()> {
    result_of(unsafe { flock(file.as_raw_fd(), LOCK_EX_NB) })
}

/// fallocate(2): the modes punch-hole and zero-range, which free space.
pub fn allocate(file: &impl AsRawFd, mode: i32, offset: u64, length: u64) -> io::Result<()> {
    result_of(unsafe { fallocate64(file.as_raw_fd(), mode, offset as i64, length as i64) })
}

/// Fill the buffer from the page cache. Returns false if a part is not cached, or if the file system cannot tell.
pub fn read_cached(file: &impl AsRawFd, buffer: &mut [u8], offset: u64) -> bool {
    let buffer_bytes = buffer.len() as isize;
    let piece = IoSliceMut::new(buffer); // the standard library guarantees the layout of an iovec
    unsafe { preadv2(file.as_raw_fd(), &piece, 1, offset as i64, RWF_NOWAIT) == buffer_bytes }
}

/// Ask the kernel to wake the daemon on time, never to make it wait for memory that only a write to an emulated disk
/// could free, to keep all its memory resident, and to run it before the programs that wait for the disks. A request
/// that is not permitted has no effect. Threads that start later inherit the settings.
pub fn raise_priority() {
    let round_robin_1: c_int = 1;
    unsafe {
        prctl(PR_SET_TIMERSLACK, 1 as c_ulong, 0 as c_ulong, 0 as c_ulong, 0 as c_ulong);
        prctl(PR_SET_IO_FLUSHER, 1 as c_ulong, 0 as c_ulong, 0 as c_ulong, 0 as c_ulong);
        mlockall(MCL_CURRENT_FUTURE_ONFAULT);
        sched_setscheduler(0, SCHED_RR, &round_robin_1);
    }
    // Ask the out-of-memory killer to choose other processes; without the permission, nothing changes.
    drop(std::fs::write("/proc/self/oom_score_adj", "-900"));
}

/// Block SIGTERM and SIGINT, so that `EndSignals::wait` receives them. Call it before the first thread starts.
pub fn block_end_signals() -> EndSignals {
    let mut set: SignalSet = [0; 16];
    unsafe {
        sigemptyset(&mut set);
        sigaddset(&mut set, SIGTERM);
        sigaddset(&mut set, SIGINT);
        pthread_sigmask(SIG_BLOCK, &set, std::ptr::null_mut());
    }
    EndSignals(set)
}

pub struct EndSignals(SignalSet);

impl EndSignals {
    /// Return when SIGTERM or SIGINT arrives.
    pub fn wait(&self) {
        let mut signal: c_int = 0;
        while unsafe { sigwait(&self.0, &mut signal) } != 0 {}
    }
}
