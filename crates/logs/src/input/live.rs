//! Bytes that come while they are read: of a pipe, or of a file that grows.
//!
//! A thread reads them into a bounded queue, so that who audits can ask whether there are more, and be done with what is
//! there while there are none. Which units there are does not depend on when the bytes come.
//!
//! A file that is [followed](Live::follow) survives rotation as `tail -F` does: when another file stands under its name, the old
//! one is read to its end, and the new one is a source of its own; when it was cut, it is read from its beginning again.
//!
//! **Limits**: [`QUEUE_BYTES_MAX`] wait. A file is looked at every [`POLL`]; one that is cut and grows beyond its old size in between is
//! taken for the same.

use std::{
    collections::VecDeque,
    fs::File,
    io::{self, Read, Seek as _},
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use same_file::Handle;

/// Bytes that wait to be read, at most.
pub const QUEUE_BYTES_MAX: usize = 1 << 20;

/// How often a followed file is looked at when it has not grown.
pub const POLL: Duration = Duration::from_millis(100);

const CHUNK_BYTES: usize = 64 << 10;

/// Bytes that come while they are read.
#[derive(Clone)]
pub(super) struct Live {
    queue: Arc<Queue>,
    /// Whether it has no end but that somebody stops it.
    is_endless: bool,
}

/// Ends inputs that have no end of their own: a pipe, a file that is followed. What has come until then is read.
#[derive(Clone, Default)]
pub struct Stop(Arc<Mutex<Stopped>>);

#[derive(Default)]
struct Stopped {
    is_stopped: bool,
    live: Vec<Live>,
}

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    events: VecDeque<Event>,
    /// Bytes that wait in the events.
    bytes: usize,
    is_closed: bool,
}

enum Event {
    Bytes(Vec<u8>, usize),
    Failed(io::Error),
    /// The source is over, and another one of the same name follows, with what there is to say of that.
    Next(Option<String>),
    End,
}

impl Stop {
    /// Ends the inputs.
    pub fn stop(&self) {
        let mut stopped = self.lock();
        stopped.is_stopped = true;
        stopped.live.drain(..).for_each(|live| live.close());
    }

    /// Whether they were ended.
    pub fn is_stopped(&self) -> bool {
        self.lock().is_stopped
    }

    pub(super) fn watch(&self, live: &Live) {
        let mut stopped = self.lock();
        if stopped.is_stopped {
            live.close();
        } else {
            stopped.live.push(live.clone());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Stopped> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Live {
    /// What `input` gives, as it gives it.
    pub(super) fn of_stream(mut input: impl Read + Send + 'static) -> Live {
        let live = Live { queue: Arc::default(), is_endless: false };
        let writer = live.clone();
        thread::spawn(move || while writer.pump(&mut input) == Some(true) {});
        live
    }

    /// What stands in a file, and what is written to it from now on.
    pub(super) fn follow(path: &Path) -> io::Result<Live> {
        let mut followed = Followed { path: path.to_owned(), file: File::open(path)?, read: 0, is_replaced: false };
        let live = Live { queue: Arc::default(), is_endless: true };
        let writer = live.clone();
        thread::spawn(move || while followed.pump(&writer).is_some() {});
        Ok(live)
    }

    /// Whether it has no end but that somebody stops it.
    pub(super) fn is_endless(&self) -> bool {
        self.is_endless
    }

    /// Whether reading does not wait.
    pub(super) fn is_ready(&self) -> bool {
        !self.lock().events.is_empty()
    }

    /// Goes to the next source of the same name: what is to be said of it; `None` when there is no other.
    pub(super) fn next_source(&self) -> Option<Option<String>> {
        let mut state = self.lock();
        match state.events.pop_front()? {
            Event::Next(note) => Some(note),
            event => {
                state.events.push_front(event);
                None
            }
        }
    }

    /// Reads on; whether there may be more. `None` when nobody wants it.
    fn pump(&self, input: &mut impl Read) -> Option<bool> {
        let mut chunk = vec![0; CHUNK_BYTES];
        match input.read(&mut chunk) {
            Ok(0) => {
                self.push(Event::End)?;
                Some(false)
            }
            Ok(count) => {
                chunk.truncate(count);
                self.push(Event::Bytes(chunk, 0))?;
                Some(true)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Some(true),
            Err(error) => {
                self.push(Event::Failed(error))?;
                self.push(Event::End)?;
                Some(false)
            }
        }
    }

    /// `None` when nobody wants it any more.
    fn push(&self, event: Event) -> Option<()> {
        let mut state = self.lock();
        while state.bytes >= QUEUE_BYTES_MAX && !state.is_closed {
            state = self.queue.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.is_closed {
            return None;
        }
        if let Event::Bytes(bytes, _) = &event {
            state.bytes += bytes.len();
        }
        state.events.push_back(event);
        self.queue.changed.notify_all();
        Some(())
    }

    fn close(&self) {
        let mut state = self.lock();
        if !state.is_closed {
            state.is_closed = true;
            state.events.push_back(Event::End);
            self.queue.changed.notify_all();
        }
    }

    /// Waits until it is time to look again; `None` when nobody wants to know any more.
    fn pause(&self) -> Option<()> {
        let state = self.lock();
        let wait = self.queue.changed.wait_timeout_while(state, POLL, |state| !state.is_closed);
        let (state, _) = wait.unwrap_or_else(PoisonError::into_inner);
        (!state.is_closed).then_some(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.queue.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Read for Live {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut state = self.lock();
        while state.events.is_empty() {
            state = self.queue.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let (count, is_used) = match state.events.front_mut() {
            Some(Event::Bytes(bytes, at)) => {
                let count = (&bytes[*at..]).read(buffer)?;
                *at += count;
                (count, *at == bytes.len())
            }
            Some(Event::Failed(_)) => match state.events.pop_front() {
                Some(Event::Failed(error)) => return Err(error),
                _ => return Ok(0),
            },
            // The end stays, so that reading on ends again.
            Some(Event::Next(_) | Event::End) | None => return Ok(0),
        };
        if is_used {
            state.events.pop_front();
        }
        state.bytes -= count;
        self.queue.changed.notify_all();
        Ok(count)
    }
}

/// A file that is followed.
struct Followed {
    path: PathBuf,
    file: File,
    read: u64,
    /// Whether another file stood under its name when it was last looked at.
    is_replaced: bool,
}

impl Followed {
    /// Hands on what was written, or waits a moment. `None` when nobody wants it any more.
    fn pump(&mut self, to: &Live) -> Option<()> {
        let mut chunk = vec![0; CHUNK_BYTES];
        match self.file.read(&mut chunk) {
            Ok(0) => self.at_end(to),
            Ok(count) => {
                chunk.truncate(count);
                self.read += count as u64;
                to.push(Event::Bytes(chunk, 0))
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Some(()),
            Err(error) => {
                to.push(Event::Failed(error))?;
                to.push(Event::End)?;
                None
            }
        }
    }

    fn at_end(&mut self, to: &Live) -> Option<()> {
        let length = self.file.metadata().map_or(self.read, |metadata| metadata.len());
        if length < self.read && self.file.rewind().is_ok() {
            let note = format!(
                "was cut while it was followed (after {} bytes), and is read from its beginning again",
                self.read
            );
            self.read = 0;
            return to.push(Event::Next(Some(note)));
        }
        match self.replacement() {
            // Who wrote to the old file may write its last lines still.
            Some(_) if !self.is_replaced => self.is_replaced = true,
            Some(file) => {
                (self.file, self.read, self.is_replaced) = (file, 0, false);
                return to.push(Event::Next(None));
            }
            None => self.is_replaced = false,
        }
        to.pause()
    }

    /// The file that stands under the name now, when that is another one.
    fn replacement(&self) -> Option<File> {
        let own = self.file.try_clone().and_then(Handle::from_file).ok()?;
        let file = File::open(&self.path).ok()?;
        let is_same = Handle::from_file(file.try_clone().ok()?).ok()? == own;
        (!is_same).then_some(file)
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write as _};

    use super::*;

    /// Reads up to where nothing more has come for a while.
    fn read(live: &mut Live) -> String {
        let (mut text, mut idle) = (Vec::new(), 0);
        let mut chunk = [0; 7];
        while idle < 20 {
            if !live.is_ready() {
                thread::sleep(Duration::from_millis(25));
                idle += 1;
                continue;
            }
            match live.read(&mut chunk) {
                Ok(0) => break,
                Ok(count) => text.extend_from_slice(&chunk[..count]),
                Err(error) => panic!("{error}"),
            }
        }
        String::from_utf8(text).expect("UTF-8")
    }

    #[test]
    fn a_stream_is_read_to_its_end() {
        let text = "0123456789".repeat(200_000);
        let mut live = Live::of_stream(io::Cursor::new(text.clone()));
        let mut got = String::new();
        live.read_to_string(&mut got).expect("UTF-8");
        assert!(got == text);
        assert!(live.is_ready() && live.next_source().is_none());
        assert_eq!(live.read(&mut [0; 9]).ok(), Some(0));
    }

    #[test]
    fn a_followed_file_survives_rotation() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("app.log");
        let mut file = File::create(&path).expect("a file");
        file.write_all(b"one\n").expect("written");
        let mut live = Live::follow(&path).expect("it is there");
        assert_eq!(read(&mut live), "one\n");
        file.write_all(b"two\n").expect("written");
        assert_eq!(read(&mut live), "two\n");
        // Moved away; its last line comes late.
        fs::rename(&path, folder.path().join("app.log.1")).expect("renamed");
        fs::write(&path, "new\n").expect("written");
        file.write_all(b"late\n").expect("written");
        assert_eq!(read(&mut live), "late\n");
        assert_eq!(live.next_source(), Some(None));
        assert_eq!(read(&mut live), "new\n");
        // Cut, and written from its beginning again.
        File::options()
            .write(true)
            .truncate(true)
            .open(&path)
            .and_then(|mut file| file.write_all(b"x\n"))
            .expect("cut");
        assert_eq!(read(&mut live), "");
        let note = live.next_source().expect("another source").expect("a note");
        assert!(note.starts_with("was cut while it was followed (after 4 bytes)"), "{note}");
        assert_eq!(read(&mut live), "x\n");
        let stop = Stop::default();
        stop.watch(&live);
        stop.stop();
        assert!(stop.is_stopped() && read(&mut live).is_empty() && live.next_source().is_none());
    }
}
