//! A bare file: written before, so that a sync has no metadata to write. With a hash chain over its
//! events it is the limit of a log like Milepost.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use parking_lot::{Condvar, Mutex};

const SIZE: u64 = 64 << 20;

/// A file that is written from the start again when it is full.
#[derive(Debug)]
pub struct RawFile {
    file: File,
    beside: File,
    state: Mutex<State>,
    turn: Condvar,
}

#[derive(Debug, Default)]
struct State {
    at: u64,
    waiting: Vec<u8>,
    /// The batch that gathers, and the last one that is durable.
    gathering: u64,
    durable: u64,
    leading: bool,
}

impl State {
    /// Returns the position of the next bytes: from the start again when the file is full.
    fn place(&mut self, len: usize) -> u64 {
        if self.at + len as u64 > SIZE {
            self.at = 0;
        }
        self.at += len as u64;
        self.at - len as u64
    }
}

impl RawFile {
    /// Makes the file, all its blocks written.
    pub fn new(dir: &Path) -> Self {
        let file =
            File::options().read(true).write(true).create_new(true).open(dir.join("raw")).unwrap();
        file.write_all_at(&vec![0; SIZE as usize], 0).unwrap();
        file.sync_all().unwrap();
        Self {
            file,
            beside: File::create(dir.join("raw-witness")).unwrap(),
            state: Mutex::default(),
            turn: Condvar::new(),
        }
    }

    /// Chains events as we do, one BLAKE3 hash over the hash before and the event, and appends
    /// them.
    pub fn append_chained(&self, events: &[&[u8]]) {
        let mut out = Vec::new();
        let mut hash = [0_u8; 32];
        let mut input = Vec::new();
        for event in events {
            input.clear();
            input.extend_from_slice(&hash);
            input.extend_from_slice(event);
            hash = *blake3::hash(&input).as_bytes();
            out.extend_from_slice(event);
        }
        out.extend_from_slice(&hash);
        self.append(&out);
    }

    /// Writes, and syncs nothing.
    pub fn write(&self, bytes: &[u8]) {
        let mut state = self.state.lock();
        let at = state.place(bytes.len());
        self.file.write_all_at(bytes, at).unwrap();
    }

    /// Records its progress in a separate file, without a sync.
    pub fn witness(&self, n: u64) {
        let mut line = [0; 64];
        line[..8].copy_from_slice(&n.to_le_bytes());
        self.beside.write_all_at(&line, 0).unwrap();
    }

    /// Writes and syncs; what gathers while another writer syncs is written with one sync.
    pub fn append(&self, bytes: &[u8]) {
        let mut state = self.state.lock();
        state.waiting.extend_from_slice(bytes);
        let mine = state.gathering;
        while state.durable <= mine {
            if state.leading {
                self.turn.wait(&mut state);
                continue;
            }
            state.leading = true;
            let batch = std::mem::take(&mut state.waiting);
            state.gathering += 1;
            let at = state.place(batch.len());
            drop(state);
            self.file.write_all_at(&batch, at).unwrap();
            self.file.sync_data().unwrap();
            state = self.state.lock();
            state.durable += 1;
            state.leading = false;
            self.turn.notify_all();
        }
    }
}
