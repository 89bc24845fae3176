//! Items of the sequences in a run's state.

use milepost_codec::{
    Body, Error, GuidanceGiven, Message, Offset, Reader, Result, ToolCalled, ToolReturned,
    put_varint,
};

use crate::sequence::Item;

/// One entry of a run's conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Entry {
    /// A message of the conversation.
    Message {
        /// The event's offset.
        offset: Offset,
        /// The message.
        message: Message,
    },
    /// A tool was called.
    ToolCall {
        /// The event's offset.
        offset: Offset,
        /// The call.
        call: ToolCalled,
    },
    /// A tool returned.
    ToolReturn {
        /// The event's offset.
        offset: Offset,
        /// The return.
        returned: ToolReturned,
    },
    /// An entry whose body was erased.
    Erased {
        /// The event's offset.
        offset: Offset,
        /// The number of the event's kind.
        kind: u16,
    },
}

impl Entry {
    /// Returns the offset of the event.
    pub fn offset(&self) -> Offset {
        match self {
            Self::Message { offset, .. }
            | Self::ToolCall { offset, .. }
            | Self::ToolReturn { offset, .. }
            | Self::Erased { offset, .. } => *offset,
        }
    }
}

// Stored form: offset (varint); for an erased entry 0 and the kind's number (varint), otherwise 1,
// the kind's number and the body.
impl Item for Entry {
    fn encode(&self, out: &mut Vec<u8>) {
        let body = match self {
            Self::Message { message, .. } => Body::Message(message.clone()),
            Self::ToolCall { call, .. } => Body::ToolCalled(call.clone()),
            Self::ToolReturn { returned, .. } => Body::ToolReturned(returned.clone()),
            Self::Erased { offset, kind } => {
                put_varint(out, *offset);
                out.push(0);
                return put_varint(out, u64::from(*kind));
            }
        };
        encode_body(out, self.offset(), &body);
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        match decode_body(bytes, "conversation entry")? {
            (offset, Ok(Body::Message(message))) => Ok(Self::Message { offset, message }),
            (offset, Ok(Body::ToolCalled(call))) => Ok(Self::ToolCall { offset, call }),
            (offset, Ok(Body::ToolReturned(returned))) => Ok(Self::ToolReturn { offset, returned }),
            (offset, Err(kind)) => Ok(Self::Erased { offset, kind }),
            (_, Ok(body)) => Err(Error::corrupt(
                "conversation entry",
                "a message or a tool call",
                body.kind_name(),
            )),
        }
    }
}

/// One piece of guidance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Guidance {
    /// The event's offset.
    pub offset: Offset,
    /// The guidance.
    pub given: GuidanceGiven,
}

impl Item for Guidance {
    fn encode(&self, out: &mut Vec<u8>) {
        encode_body(out, self.offset, &Body::GuidanceGiven(self.given.clone()));
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        match decode_body(bytes, "guidance")? {
            (offset, Ok(Body::GuidanceGiven(given))) => Ok(Self { offset, given }),
            _ => Err(Error::corrupt("guidance", "a body of its kind", "another")),
        }
    }
}

pub(super) fn encode_body(out: &mut Vec<u8>, offset: Offset, body: &Body) {
    let (kind, payload) = body.encode();
    put_varint(out, offset);
    out.push(1);
    put_varint(out, u64::from(kind));
    out.extend_from_slice(&payload);
}

/// Decodes the offset, and the body or the kind of an erased one.
fn decode_body(bytes: &[u8], what: &'static str) -> Result<(Offset, Result<Body, u16>)> {
    let mut reader = Reader::new(bytes, what);
    let (offset, form, kind) = (reader.varint()?, reader.u8()?, reader.varint()?);
    let kind = u16::try_from(kind).map_err(|_| Error::corrupt(what, "a kind", kind))?;
    match form {
        0 if reader.is_empty() => Ok((offset, Err(kind))),
        1 => Ok((offset, Ok(Body::decode(kind, reader.rest())?))),
        n => Err(Error::corrupt(what, "a form of 0 or 1", n)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use milepost_codec::Json;

    #[test]
    fn every_entry_comes_back_as_it_was() {
        let call = "c".to_owned();
        let arguments = Json::new("{ }").unwrap();
        let entries = [
            Entry::Message { offset: 1, message: Message::text("user", "hello") },
            Entry::ToolCall {
                offset: 300,
                call: ToolCalled { call: call.clone(), tool: "t".into(), arguments },
            },
            Entry::ToolReturn {
                offset: u64::MAX,
                returned: ToolReturned { call, tool: None, ok: false, output: None },
            },
            Entry::Erased { offset: 0, kind: 13 },
        ];
        for entry in entries {
            let mut bytes = Vec::new();
            entry.encode(&mut bytes);
            assert_eq!(Entry::decode(&bytes).unwrap(), entry);
            for len in 0..bytes.len() {
                assert!(Entry::decode(&bytes[..len]).is_err(), "cut to {len}");
            }
        }
        let guidance =
            Guidance { offset: 7, given: GuidanceGiven { text: "go".into(), data: None } };
        let mut bytes = Vec::new();
        guidance.encode(&mut bytes);
        assert_eq!(Guidance::decode(&bytes).unwrap(), guidance);
        assert!(Entry::decode(&bytes).is_err());
    }
}
