//! Reading labelled sets, and auditing what they hold.

use std::{
    fs::File,
    io::{BufRead, BufReader, Write},
    path::PathBuf,
    sync::{Arc, Mutex},
};

use flate2::read::GzDecoder;
use serde_json::Value;

use llmverify::{
    config::Settings,
    input::{Limits, Reader},
    pipeline::{Auditor, Filter, Sink},
    report::{Records, jsonl::Jsonl},
};

/// A folder of labelled sets: `TASK/NAME.jsonl.gz`.
pub struct Data {
    folder: PathBuf,
}

impl Data {
    /// The sets in `folder`.
    pub fn in_folder(folder: &str) -> Data {
        Data { folder: PathBuf::from(folder) }
    }

    /// The items of one set; `None`, and a line that says so, when it is absent.
    pub fn items(&self, task: &str, name: &str) -> Option<Vec<Value>> {
        let path = self.folder.join(task).join(format!("{name}.jsonl.gz"));
        let Ok(file) = File::open(&path) else {
            println!("absent: {}", path.display());
            return None;
        };
        let lines = BufReader::new(GzDecoder::new(file)).lines();
        Some(lines.map_while(Result::ok).filter_map(|line| serde_json::from_str(&line).ok()).collect())
    }
}

/// What an audit says of each record, in order.
pub fn audit(records: &[Value]) -> Vec<Value> {
    audit_with(records, Settings::default())
}

/// The same, with other settings.
pub fn audit_with(records: &[Value], settings: Settings) -> Vec<Value> {
    let log: Vec<u8> = records.iter().flat_map(|record| format!("{record}\n").into_bytes()).collect();
    let out = Shared::default();
    let auditor = Auditor::new(settings).expect("the settings are valid");
    let mut reader = Reader::from_stream("items", std::io::Cursor::new(log), Limits::default());
    let mut sinks = [Sink::new(&Jsonl, Records::All, out.clone())];
    auditor.audit(&mut reader, &Filter::default(), &mut sinks, |_| {}).expect("memory can be written");
    let bytes = out.0.lock().expect("one writer").clone();
    let lines = bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    lines.filter(|line| line["type"] == "record").collect()
}

/// A buffer that its writer and its reader share.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("one writer").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
