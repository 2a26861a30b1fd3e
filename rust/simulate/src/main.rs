//! `assay-simulate`: scenarios as JSON lines on stdin, results as JSON lines on stdout, until stdin ends.

use std::io::{self, BufRead, Write};
use std::process::exit;
use std::time::Instant;

use assay_simulate::{answer, Tables};

/// Version of the interface. Results may get additional members in the same version.
const VERSION: u32 = 1;

fn main() {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => {}
        ["--version"] => {
            println!("assay-simulate {VERSION}");
            return;
        }
        _ => {
            eprintln!("assay-simulate: usage: assay-simulate [--version], scenarios on stdin as JSON lines");
            exit(2);
        }
    }
    if let Err(why) = serve() {
        // The caller has ended, so there is nothing to report.
        if why.kind() != io::ErrorKind::BrokenPipe {
            eprintln!("assay-simulate: can't continue, {why}");
            exit(1);
        }
    }
}

fn serve() -> io::Result<()> {
    let start = Instant::now();
    let mut tables = Tables::default();
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        if line.trim().is_empty() {
            continue;
        }
        out.write_all(answer(&line, &mut tables, || start.elapsed().as_secs_f64()).as_bytes())?;
        out.write_all(b"\n")?;
        out.flush()?;
    }
    Ok(())
}
