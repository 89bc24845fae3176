//! Record of a command's output in bounded memory: the first half and the last half.

use std::collections::VecDeque;

use data_encoding::BASE64;
use serde::Serialize;
use serde_json::{Value, json};

use crate::secrets::{Blotter, Secrets};

/// Largest number of stretches in each half. It bounds the memory for a program that alternates
/// between the streams with every byte.
const TURNS: usize = 4096;

/// Largest number of pieces that come from separating text and other bytes.
const PIECES: usize = 4096;

/// Output stream of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    Out,
    Err,
}

impl Stream {
    /// Returns the name of the stream in a piece.
    fn name(self) -> &'static str {
        match self {
            Self::Out => "stdout",
            Self::Err => "stderr",
        }
    }
}

/// Consecutive bytes of one stream.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    stream: Stream,
    len: usize,
}

/// Bounded record of the output, in the order of arrival.
#[derive(Debug)]
pub struct Recorder {
    /// Blotters of standard output and of standard error. They keep secrets out of the log.
    blotters: [Blotter; 2],
    /// Most bytes of the first half.
    head_max: usize,
    tail_max: usize,
    head: Half,
    tail: Half,
    /// `true` once the first half takes no more.
    full: bool,
    bytes: u64,
    left_out: u64,
}

#[derive(Debug, Default)]
struct Half {
    bytes: VecDeque<u8>,
    stretches: VecDeque<Stretch>,
}

impl Half {
    fn push(&mut self, stream: Stream, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        self.bytes.extend(bytes);
        match self.stretches.back_mut() {
            Some(last) if last.stream == stream => last.len += bytes.len(),
            _ => self.stretches.push_back(Stretch { stream, len: bytes.len() }),
        }
    }

    /// Drops bytes from the beginning until at most `max` bytes and [`TURNS`] stretches are left.
    /// Returns the number of dropped bytes.
    fn shorten(&mut self, max: usize) -> u64 {
        let mut gone = 0;
        while self.stretches.len() > TURNS {
            gone += self.stretches.pop_front().map_or(0, |first| first.len);
        }
        let mut over = self.bytes.len().saturating_sub(gone.saturating_add(max));
        while over > 0
            && let Some(first) = self.stretches.front_mut()
        {
            let take = first.len.min(over);
            first.len -= take;
            over -= take;
            gone += take;
            if first.len == 0 {
                self.stretches.pop_front();
            }
        }
        self.bytes.drain(..gone.min(self.bytes.len()));
        gone as u64
    }

    fn stretches(&mut self) -> impl Iterator<Item = (Stream, &[u8])> {
        let mut rest: &[u8] = self.bytes.make_contiguous();
        self.stretches.iter().map(move |stretch| {
            let (bytes, behind) = rest.split_at(stretch.len.min(rest.len()));
            rest = behind;
            (stretch.stream, bytes)
        })
    }

    fn takes(&self, stream: Stream) -> bool {
        let goes_on = self.stretches.back().is_some_and(|it| it.stream == stream);
        goes_on || self.stretches.len() < TURNS
    }
}

impl Recorder {
    /// Creates a recorder that keeps at most `max` bytes.
    pub fn new(max: u64, secrets: Secrets) -> Self {
        let max = usize::try_from(max).unwrap_or(usize::MAX);
        Self {
            blotters: [Blotter::new(secrets.clone()), Blotter::new(secrets)],
            head_max: max.div_ceil(2),
            tail_max: max / 2,
            head: Half::default(),
            tail: Half::default(),
            full: false,
            bytes: 0,
            left_out: 0,
        }
    }

    /// Adds output.
    pub fn push(&mut self, stream: Stream, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        let [out, err] = &mut self.blotters;
        let blotted = match stream {
            Stream::Out => out.push(bytes),
            Stream::Err => err.push(bytes),
        };
        self.keep(stream, &blotted);
    }

    fn keep(&mut self, stream: Stream, bytes: &[u8]) {
        let mut rest = bytes;
        if !self.full && self.head.takes(stream) {
            let room = self.head_max - self.head.bytes.len().min(self.head_max);
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.head.push(stream, now);
            rest = later;
        }
        self.full |= !rest.is_empty();
        self.tail.push(stream, rest);
        self.left_out += self.tail.shorten(self.tail_max);
    }

    /// Returns the kept output, for the log.
    pub fn finish(mut self) -> Output {
        let [out, err] = &mut self.blotters;
        let (out, err) = (out.end(), err.end());
        self.keep(Stream::Out, &out);
        self.keep(Stream::Err, &err);
        let mut pieces = Pieces { list: Vec::new(), room: PIECES };
        if self.left_out == 0 {
            // No bytes are missing between the halves.
            for (stream, bytes) in self.tail.stretches() {
                self.head.push(stream, bytes);
            }
            self.tail = Half::default();
        }
        pieces.add_all(&mut self.head);
        if self.left_out > 0 {
            pieces.list.push(json!({"left_out": self.left_out}));
        }
        pieces.add_all(&mut self.tail);
        Output { bytes: self.bytes, left_out: self.left_out, pieces: pieces.list }
    }
}

/// Recorded output of a command.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Output {
    pub bytes: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub left_out: u64,
    #[serde(rename = "output")]
    pub pieces: Vec<Value>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Pieces of the record, made of stretches of bytes.
struct Pieces {
    list: Vec<Value>,
    /// Number of pieces that separating text and other bytes may still make.
    room: usize,
}

impl Pieces {
    fn add_all(&mut self, half: &mut Half) {
        for (stream, bytes) in half.stretches() {
            self.add(stream, bytes);
        }
    }

    fn add(&mut self, stream: Stream, bytes: &[u8]) {
        let name = stream.name();
        let other = |bytes: &[u8]| json!({ name: {"base64": BASE64.encode(bytes)} });
        let (mut parts, mut pending) = (Vec::new(), Vec::new());
        for chunk in bytes.utf8_chunks() {
            if !chunk.valid().is_empty() {
                if !pending.is_empty() {
                    parts.push(other(&std::mem::take(&mut pending)));
                }
                parts.push(json!({ name: chunk.valid() }));
            }
            pending.extend(chunk.invalid());
            if parts.len() > self.room {
                break;
            }
        }
        if !pending.is_empty() {
            parts.push(other(&pending));
        }
        if parts.len() > self.room.max(1) {
            parts = vec![other(bytes)];
        }
        self.room -= parts.len().min(self.room);
        self.list.append(&mut parts);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(recorder: Recorder) -> Value {
        Value::Array(recorder.finish().pieces)
    }

    fn of(max: u64, printed: &[(Stream, &[u8])]) -> Recorder {
        let mut recorder = Recorder::new(max, Secrets::default());
        for (stream, bytes) in printed {
            recorder.push(*stream, bytes);
        }
        recorder
    }

    /// Returns the bytes of pieces.
    fn bytes(pieces: &[Value]) -> Vec<u8> {
        let of = |piece: &Value| -> Vec<u8> {
            let values = piece.as_object().unwrap().values();
            let decoded = values.map(|value| match value {
                Value::String(text) => text.clone().into_bytes(),
                other => BASE64.decode(other["base64"].as_str().unwrap().as_bytes()).unwrap(),
            });
            decoded.flatten().collect()
        };
        pieces.iter().flat_map(of).collect()
    }

    #[test]
    fn streams_stand_in_the_order_in_which_they_came() {
        use Stream::{Err, Out};
        let printed: [(Stream, &[u8]); 5] =
            [(Out, b"a"), (Out, b"b"), (Err, b"c"), (Out, b""), (Err, b"d")];
        let expected = json!([{"stdout": "ab"}, {"stderr": "cd"}]);
        assert_eq!(pieces(of(100, &printed)), expected);
        assert_eq!(pieces(of(4, &printed)), expected);
        let cut = json!([{"stdout": "a"}, {"left_out": 2}, {"stderr": "d"}]);
        assert_eq!(pieces(of(2, &printed)), cut);
    }

    #[test]
    fn the_first_half_and_the_last_half_are_kept_however_it_comes() {
        let all: Vec<u8> = (0..100_u8).map(|n| b'a' + n % 26).collect();
        for step in [1, 3, 100] {
            for max in 0..=110_u64 {
                let mut recorder = Recorder::new(max, Secrets::default());
                for part in all.chunks(step) {
                    recorder.push(Stream::Out, part);
                }
                let output = recorder.finish();
                assert_eq!((output.bytes, output.left_out), (100, 100_u64.saturating_sub(max)));
                let kept: Vec<Value> =
                    output.pieces.iter().filter(|p| p["left_out"].is_null()).cloned().collect();
                let (head, tail) = (max.div_ceil(2) as usize, (max / 2) as usize);
                let expected = match max < 100 {
                    true => [&all[..head], &all[100 - tail..]].concat(),
                    false => all.clone(),
                };
                assert_eq!(bytes(&kept), expected, "{max} in steps of {step}");
            }
        }
    }

    #[test]
    fn what_is_no_text_stands_beside_the_text_and_nothing_is_lost() {
        let printed = b"one\xff\xfetwo \xc3\xa9\n\xc3";
        assert_eq!(
            pieces(of(100, &[(Stream::Err, printed)])),
            json!([
                {"stderr": "one"}, {"stderr": {"base64": "//4="}},
                {"stderr": "two é\n"}, {"stderr": {"base64": "ww=="}},
            ])
        );
        // Bytes that would make too many pieces become one.
        let noise: Vec<u8> =
            (0..100_000_u32).map(|n| (n.wrapping_mul(40_503) >> 7) as u8).collect();
        let output = of(1 << 20, &[(Stream::Out, &noise)]).finish();
        assert_eq!(output.pieces.len(), 1);
        assert_eq!(bytes(&output.pieces), noise);
    }

    #[test]
    fn streams_that_take_turns_take_no_more_memory() {
        let mut recorder = Recorder::new(1 << 20, Secrets::default());
        for _ in 0..100_000 {
            recorder.push(Stream::Out, b"o");
            recorder.push(Stream::Err, b"e");
        }
        let output = recorder.finish();
        assert_eq!(output.pieces.len(), 2 * TURNS + 1);
        assert_eq!(output.left_out, 200_000 - 2 * TURNS as u64);
    }
}
