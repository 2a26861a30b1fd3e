//! `assay-diskd SPEC.json`: serves emulated disks as files of a FUSE file system until it is unmounted or gets SIGTERM.
//!
//! Input: a JSON specification (docs/reference/devices.md). Output: the mount with its file `.stats`, and one line
//! `ready` on stdout.

mod engine;
mod session;
mod spec;
mod sys;
mod wire;

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::exit;
use std::sync::Arc;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use engine::Engine;
use session::{Disk, Session};
use spec::{DeviceSpec, Spec};

const FUSE_DEVICE: &str = "/dev/fuse";
/// Number of threads that read from the host's own disk if an image is not in its page cache.
const FETCHERS: usize = 4;
const STACK_BYTES: usize = 256 * 1024;

/// An error: what happened, where and why.
struct Failure(String);

fn failure(what: &str, path: impl AsRef<Path>, why: impl ToString) -> Failure {
    Failure(format!("{what}, {}, {}", path.as_ref().display(), why.to_string().replace('\n', " ")))
}

fn main() {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let result = match arguments.as_slice() {
        [path] if !path.to_string_lossy().starts_with('-') => run(Path::new(path)),
        _ => Err(Failure("usage: assay-diskd SPEC.json".into())),
    };
    if let Err(Failure(text)) = result {
        eprintln!("assay-diskd: {text}");
        exit(1);
    }
}

fn run(path: &Path) -> Result<(), Failure> {
    let spec = spec::load(path).map_err(|why| failure("bad specification", path, why))?;
    check_mount_point(&spec.mount)?;
    let disks = spec.devices.iter().map(open_disk).collect::<Result<Vec<_>, _>>()?;
    let fuse = OpenOptions::new().read(true).write(true).open(FUSE_DEVICE);
    let fuse = fuse.map_err(|why| failure("can't open the kernel's FUSE", FUSE_DEVICE, why))?;
    let signals = sys::block_end_signals();
    sys::raise_priority();
    let options = format!("rootmode=40000,user_id=0,group_id=0,allow_other,max_read={}", wire::REQUEST_BYTES_MAX);
    sys::mount_fuse(&fuse, &spec.mount, &options).map_err(|why| failure("can't mount", &spec.mount, why))?;
    let session = Arc::new(session_of(&spec, fuse, disks));
    if let Err(why) = session.handshake() {
        drop(sys::unmount(&spec.mount));
        return Err(failure("can't serve", &spec.mount, why));
    }
    start_threads(&session, &spec.mount)?;
    println!("ready");
    drop(std::io::stdout().flush());
    signals.wait();
    end(&spec.mount)
}

fn session_of(spec: &Spec, fuse: File, disks: Vec<Disk>) -> Session {
    let seeds = (0..).zip(&spec.devices);
    let models = seeds.map(|(index, device)| (device.name.clone(), device.model(spec.seed.wrapping_add(index))));
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    Session::new(fuse, disks, Engine::new(models.collect()), now)
}

fn check_mount_point(mount: &Path) -> Result<(), Failure> {
    let mut entries = fs::read_dir(mount).map_err(|why| failure("can't mount", mount, why))?;
    if entries.next().is_some() {
        return Err(failure("can't mount", mount, "the directory is not empty"));
    }
    Ok(())
}

fn open_disk(device: &DeviceSpec) -> Result<Disk, Failure> {
    let image_failure = |why: &dyn ToString| failure("can't use the image", &device.image, why.to_string());
    let image = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&device.image);
    let image = image.map_err(|why| image_failure(&why))?;
    sys::lock(&image).map_err(|_| image_failure(&"another process has locked it"))?;
    let meta = image.metadata().map_err(|why| image_failure(&why))?;
    if !meta.is_file() || meta.file_type().is_block_device() {
        return Err(image_failure(&"it is not a regular file"));
    }
    if meta.len() == 0 {
        image.set_len(device.size_bytes).map_err(|why| image_failure(&why))?;
    } else if meta.len() != device.size_bytes {
        return Err(image_failure(&format!("it has {} bytes and should have {}", meta.len(), device.size_bytes)));
    }
    Ok(Disk { name: device.name.clone(), image, size_bytes: device.size_bytes })
}

fn start_threads(session: &Arc<Session>, mount: &Path) -> Result<(), Failure> {
    let start = |name: String, work: Box<dyn FnOnce() + Send>| {
        let handle = thread::Builder::new().name(name).stack_size(STACK_BYTES).spawn(work);
        handle.map(drop).map_err(|why| failure("can't start a thread", mount, why))
    };
    let timer = Arc::clone(session);
    start("timer".into(), Box::new(move || timer.engine.serve(|answer| timer.answer(answer))))?;
    for index in 0..FETCHERS {
        let session = Arc::clone(session);
        start(format!("fetcher{index}"), Box::new(move || session.serve_cold_reads()))?;
    }
    let (session, mount) = (Arc::clone(session), PathBuf::from(mount));
    start("reader".into(), Box::new(move || serve(&session, &mount)))
}

/// Serve until the file system is unmounted, then exit.
fn serve(session: &Session, mount: &Path) {
    match session.serve() {
        Ok(()) => exit(0),
        Err(why) => {
            eprintln!("assay-diskd: can't continue, {}, {why}", mount.display());
            exit(1)
        }
    }
}

fn end(mount: &Path) -> Result<(), Failure> {
    match sys::unmount(mount) {
        Ok(true) => {}
        Ok(false) => eprintln!("assay-diskd: detached while in use, {}, its users get errors now", mount.display()),
        // It was unmounted in the meantime.
        Err(why) if why.raw_os_error() == Some(sys::EINVAL) => {}
        Err(why) => return Err(failure("can't unmount", mount, why)),
    }
    exit(0)
}
