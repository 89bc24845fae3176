//! Calls and answers, written down one a line by a process that may be killed, and read back.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;

use super::acts::is_of_disk;
use super::begun::Begun;
use super::call::{Call, Done, Failed};
use super::model::Model;

/// One write: a line is there whole, or the process was killed before.
fn line(file: &mut File, text: &str) {
    file.write_all(format!("{text}\n").as_bytes()).unwrap();
}

/// A call begins.
pub fn begun(file: &mut File, id: u64, call: &Call) {
    line(file, &format!("B {id} {}", serde_json::to_string(call).unwrap()));
}

/// Writes an answer.
pub fn ended(file: &mut File, id: u64, got: &Result<Done, Failed>) {
    line(file, &format!("E {id} {}", serde_json::to_string(got).unwrap()));
}

/// Something is wrong, or was done.
pub fn said(file: &mut File, what: &str) {
    line(file, &format!("S 0 {}", what.replace('\n', " ")));
}

/// Takes the lines of a process into the model; gives the calls that may be done or not. `faulted`
/// says that calls were made to fail.
pub fn replay(
    bytes: &[u8],
    model: &mut Model,
    counted: bool,
    faulted: bool,
) -> Result<Vec<Call>, String> {
    let text = String::from_utf8_lossy(bytes);
    let mut open: BTreeMap<u64, (Begun, Call)> = BTreeMap::new();
    let mut unknown = Vec::new();
    for line in text.split_inclusive('\n').filter(|l| l.ends_with('\n')) {
        let mut parts = line.trim_end().splitn(3, ' ');
        let (Some(what), Some(id), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        let id: u64 = id.parse().unwrap();
        match what {
            "B" => {
                let call: Call = serde_json::from_str(rest).unwrap();
                let begun = Begun::now(model, &call);
                model.used(&call);
                open.insert(id, (begun, call));
            }
            "E" => {
                let got: Result<Done, Failed> = serde_json::from_str(rest).unwrap();
                let (begun, call) = open.remove(&id).unwrap();
                if faulted && got.as_ref().is_err_and(is_of_disk) {
                    model.end(begun.id);
                    unknown.push(call);
                    continue;
                }
                begun.end(model, &call, &got, counted)?;
            }
            _ => return Err(rest.to_owned()),
        }
    }
    for (begun, call) in open.into_values() {
        model.end(begun.id);
        unknown.push(call);
    }
    model.under_way.clear();
    model.crossed.clear();
    Ok(unknown)
}
