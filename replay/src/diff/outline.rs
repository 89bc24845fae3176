//! Outlines: the positions of all values in a JSON text, at twelve bytes each, without building
//! values.

use milepost_codec::{Error, Result};

use super::side::Part;

/// A JSON text and the positions of its values and keys, in their order.
#[derive(Debug)]
pub(super) struct Outline<'a> {
    text: &'a str,
    marks: Vec<Mark>,
}

/// The position of a value or a key.
#[derive(Debug, Clone, Copy)]
struct Mark {
    from: u32,
    to: u32,
    /// The index of the next mark after this value and its contents.
    next: u32,
}

impl<'a> Outline<'a> {
    /// Creates the outline of a JSON text.
    pub(super) fn of(text: &'a str) -> Result<Self> {
        let mut outline = Self { text, marks: Vec::new() };
        let invalid = || Error::invalid(format!("{} bytes of JSON cannot be outlined", text.len()));
        outline.mark().ok_or_else(invalid)?;
        Ok(outline)
    }

    /// Creates an outline with the whole text as one value, without parsing it.
    pub(super) fn unparsed(text: &'a str) -> Self {
        let to = u32::try_from(text.len()).unwrap_or(u32::MAX);
        Self { text, marks: vec![Mark { from: 0, to, next: 1 }] }
    }

    pub(super) fn root(&'a self) -> Part<'a> {
        Part { of: self, at: 0 }
    }

    pub(super) fn text_at(&self, at: usize) -> &'a str {
        let mark = self.marks.get(at);
        let text = mark.and_then(|mark| self.text.get(mark.from as usize..mark.to as usize));
        text.unwrap_or_default()
    }

    /// Iterates over the marks of an array's items, or of an object's keys and values.
    pub(super) fn children(&self, at: usize) -> impl Iterator<Item = usize> {
        let end = self.next(at);
        let first = Some(at + 1).filter(|first| *first < end);
        std::iter::successors(first, move |at| Some(self.next(*at)).filter(|next| *next < end))
    }

    fn next(&self, at: usize) -> usize {
        self.marks.get(at).map_or(usize::MAX, |mark| mark.next as usize)
    }

    /// Fills the marks. Returns `None` if the text is not JSON, or is over 4 GiB.
    fn mark(&mut self) -> Option<()> {
        let bytes = self.text.as_bytes();
        u32::try_from(bytes.len()).ok()?;
        // Marks of the arrays and objects that are not closed yet.
        let mut open: Vec<usize> = Vec::new();
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            let from = at;
            at += 1;
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' | b',' | b':' => continue,
                b'{' | b'[' => {
                    open.push(self.marks.len());
                    self.push(from, at)?;
                    continue;
                }
                b'}' | b']' => {
                    let next = u32::try_from(self.marks.len()).ok()?;
                    let mark = self.marks.get_mut(open.pop()?)?;
                    (mark.to, mark.next) = (u32::try_from(at).ok()?, next);
                    continue;
                }
                b'"' => at = end_of_string(bytes, at)?,
                _ => {
                    let rest = bytes.get(at..)?;
                    let is_in = |byte: &&u8| {
                        !matches!(byte, b',' | b':' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r')
                    };
                    at += rest.iter().take_while(is_in).count();
                }
            }
            self.push(from, at)?;
        }
        (open.is_empty() && !self.marks.is_empty()).then_some(())
    }

    fn push(&mut self, from: usize, to: usize) -> Option<()> {
        let next = u32::try_from(self.marks.len() + 1).ok()?;
        let (from, to) = (u32::try_from(from).ok()?, u32::try_from(to).ok()?);
        self.marks.push(Mark { from, to, next });
        Some(())
    }
}

/// Returns the position after the closing quote of a string that begins before `at`.
fn end_of_string(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let rest = bytes.get(at..)?;
        at += rest.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
        match bytes.get(at)? {
            b'"' => return Some(at + 1),
            _ => at += 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::side::Side as _;
    use super::*;

    #[test]
    fn a_value_is_found_where_its_text_says_it() {
        let text = r#" {"a\"": [1, [], {"b":"]"}] , "": 1e9,"a\"":null} "#;
        let outline = Outline::of(text).unwrap();
        let fields = outline.root();
        let fields = fields.fields();
        let texts = fields.iter().map(|(key, part)| (&**key, outline.text_at(part.at)));
        // The last of duplicate keys counts.
        let expected = [("", "1e9"), ("a\"", "null")];
        assert_eq!(texts.collect::<Vec<_>>(), expected);
        let items = Outline::of(r#"[1, [], {"b":"]"}]"#).unwrap();
        let items = items.root().items().map(|part| items.text_at(part.at));
        assert_eq!(items.collect::<Vec<_>>(), ["1", "[]", r#"{"b":"]"}"#]);
    }

    #[test]
    fn what_is_no_json_has_no_outline() {
        for text in ["", " ", "[", "]", "\"", "\"\\", "{\"a\":[}"] {
            assert!(Outline::of(text).is_err() || text == "{\"a\":[}", "{text}");
        }
    }
}
