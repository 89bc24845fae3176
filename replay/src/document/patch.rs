//! JSON patches, RFC 6902: all operations apply or none.
//!
//! Each operation records its undo. The cost of a patch is bounded, since a few bytes of it can
//! cause much work: `copy` can double the document, and an insertion moves all later items.

use milepost_codec::{Error, JSON_DEPTH_MAX, Result};

use super::{DOCUMENT_WEIGHT_MAX, Document, NODE_WEIGHT, Node, key_weight, too_deep, too_heavy};

/// The most bytes that one patch may move in memory. A copied byte counts as sixteen: copying takes
/// about that much longer than moving, and copies are held until the patch ends, for its undo
/// (promise I12).
const WORK_MAX: u64 = DOCUMENT_WEIGHT_MAX * COPY_WORK;
const COPY_WORK: u64 = 16;

type Path = Vec<String>;

pub(super) fn patch(document: &mut Document, operations: Node) -> Result<()> {
    let Node::Array(operations) = operations else {
        return Err(Error::invalid("a JSON patch is an array of operations"));
    };
    let before = document.weight;
    let mut editor = Editor { document, work: 0, undo: Vec::new() };
    for (number, operation) in operations.into_iter().enumerate() {
        if let Err(error) = editor.operation(operation) {
            editor.undo_all();
            document.weight = before;
            return Err(error.at(format_args!("operation {number}")));
        }
    }
    Ok(())
}

/// The undo of one change. The value that an undo removes may be needed by the next undo.
enum Undo {
    /// A value was put at a free place.
    Added(Path),
    /// A value replaced another one.
    Replaced(Path, Node),
    /// A value was removed.
    Removed(Path, Node),
    /// A value was removed to be put elsewhere.
    Taken(Path),
}

struct Editor<'a> {
    document: &'a mut Document,
    work: u64,
    undo: Vec<Undo>,
}

impl Editor<'_> {
    fn operation(&mut self, operation: Node) -> Result<()> {
        let Node::Object(mut fields) = operation else {
            return Err(Error::invalid("it is not an object"));
        };
        let text = |name: &str| match fields.get(name) {
            Some(Node::String(text)) => Ok(text.clone()),
            _ => Err(Error::invalid(format!("it has no text `{name}`"))),
        };
        let (op, path) = (text("op")?, pointer(&text("path")?)?);
        let from = match op.as_str() {
            "move" | "copy" => pointer(&text("from")?)?,
            _ => Path::new(),
        };
        let mut value = || {
            fields.remove("value").ok_or_else(|| Error::invalid(format!("{op} needs a `value`")))
        };
        match op.as_str() {
            "add" => self.put(path, &mut Some(value()?)),
            "remove" => {
                let node = self.detach(&path)?;
                self.undo.push(Undo::Removed(path, node));
                Ok(())
            }
            "replace" => {
                let value = value()?;
                self.replace(path, value)
            }
            "move" => self.relocate(from, path),
            "copy" => {
                let node = find(&self.document.root, &from)?;
                let (weight, _) = node.measure();
                let copied = node.clone();
                self.spend(weight.saturating_mul(COPY_WORK))?;
                self.put(path, &mut Some(copied))
            }
            "test" => {
                let (found, expected) = (find(&self.document.root, &path)?, value()?);
                if same(found, &expected) {
                    return Ok(());
                }
                Err(Error::invalid(format!("the test of `{}` failed", pointer_of(&path))))
            }
            _ => Err(Error::invalid(format!("no operation `{op}`"))),
        }
    }

    fn spend(&mut self, work: u64) -> Result<()> {
        self.work = self.work.saturating_add(work);
        if self.work > WORK_MAX {
            return Err(Error::invalid("the patch copies too much"));
        }
        Ok(())
    }

    fn relocate(&mut self, from: Path, to: Path) -> Result<()> {
        if from == to {
            return find(&self.document.root, &from).map(|_| ());
        }
        if to.starts_with(&from) {
            return Err(Error::invalid(format!("`{}` cannot move into itself", pointer_of(&from))));
        }
        let node = self.detach(&from)?;
        let (weight, _) = node.measure();
        let mut slot = Some(node);
        let spent = self.spend(weight.saturating_mul(COPY_WORK));
        // From here on the node is in `slot` or in the document, also after an error.
        match spent.and_then(|()| {
            self.undo.push(Undo::Taken(from.clone()));
            self.put(to, &mut slot)
        }) {
            Ok(()) => Ok(()),
            Err(error) => {
                if let Some(node) = slot {
                    if matches!(self.undo.last(), Some(Undo::Taken(_))) {
                        self.undo.pop();
                    }
                    self.undo.push(Undo::Removed(from, node));
                }
                Err(error)
            }
        }
    }

    /// Puts the node in `slot` at `path`. After an error it is still in `slot`, or the undo is
    /// recorded.
    fn put(&mut self, mut path: Path, slot: &mut Option<Node>) -> Result<()> {
        let Some(node) = slot.as_ref() else {
            return Ok(());
        };
        let mut added = self.admit(&path, node)?;
        let Some((last, parents)) = path.split_last() else {
            return match slot.take() {
                Some(node) => self.replace(path, node),
                None => Ok(()),
            };
        };
        let parent = find_mut(&mut self.document.root, parents)?;
        let (mut old, mut shifted, mut index) = (None, 0, None);
        match parent {
            Node::Object(fields) => {
                added = added.saturating_add(key_weight(last));
                old = slot.take().and_then(|node| fields.insert(last.clone(), node));
            }
            Node::Array(items) => {
                let at = if last == "-" { items.len() } else { array_index(last)? };
                let Some(behind) = items.len().checked_sub(at) else {
                    return Err(nothing_at(&path));
                };
                shifted = (behind as u64).saturating_mul(NODE_WEIGHT);
                index = Some(at);
                items.splice(at..at, slot.take());
            }
            _ => return Err(nothing_at(&path)),
        }
        if let (Some(at), Some(last)) = (index, path.last_mut()) {
            *last = at.to_string();
        }
        let removed_weight = match &old {
            Some(old) => old.measure().0.saturating_add(path.last().map_or(0, |k| key_weight(k))),
            None => 0,
        };
        self.document.weight =
            self.document.weight.saturating_add(added).saturating_sub(removed_weight);
        self.undo.push(match old {
            Some(old) => Undo::Replaced(path, old),
            None => Undo::Added(path),
        });
        self.spend(shifted)
    }

    /// Returns the weight of a node to be put at `path`, if the limits of the document allow it.
    fn admit(&self, path: &Path, node: &Node) -> Result<u64> {
        let (weight, depth) = node.measure();
        if u32::try_from(path.len()).unwrap_or(u32::MAX).saturating_add(depth) > JSON_DEPTH_MAX {
            return Err(too_deep());
        }
        let key = path.last().map_or(0, |key| key_weight(key));
        let total = self.document.weight.saturating_add(weight).saturating_add(key);
        if total > DOCUMENT_WEIGHT_MAX { Err(too_heavy()) } else { Ok(weight) }
    }

    fn replace(&mut self, path: Path, node: Node) -> Result<()> {
        let added = self.admit(&path, &node)?;
        let old = std::mem::replace(find_mut(&mut self.document.root, &path)?, node);
        let removed_weight = old.measure().0;
        self.document.weight =
            self.document.weight.saturating_add(added).saturating_sub(removed_weight);
        self.undo.push(Undo::Replaced(path, old));
        Ok(())
    }

    /// Removes the node at `path`. The caller records the undo.
    fn detach(&mut self, path: &[String]) -> Result<Node> {
        let Some((last, parents)) = path.split_last() else {
            return Err(Error::invalid("the whole document cannot be removed"));
        };
        let (mut shifted, mut key) = (0, 0);
        let removed = match find_mut(&mut self.document.root, parents)? {
            Node::Object(fields) => {
                key = key_weight(last);
                fields.remove(last)
            }
            Node::Array(items) => {
                let at = array_index(last)?;
                let behind = items.len().saturating_sub(at) as u64;
                shifted = behind.saturating_mul(NODE_WEIGHT);
                (at < items.len()).then(|| items.remove(at))
            }
            _ => None,
        };
        let node = removed.ok_or_else(|| nothing_at(path))?;
        let removed_weight = node.measure().0.saturating_add(key);
        self.document.weight = self.document.weight.saturating_sub(removed_weight);
        // The next operation checks the limit: the caller has to record the undo of this one first.
        self.work = self.work.saturating_add(shifted);
        Ok(node)
    }

    fn undo_all(&mut self) {
        let mut displaced = None;
        while let Some(undo) = self.undo.pop() {
            match undo {
                Undo::Added(path) => displaced = self.detach(&path).ok(),
                Undo::Replaced(path, old) => {
                    if let Ok(place) = find_mut(&mut self.document.root, &path) {
                        displaced = Some(std::mem::replace(place, old));
                    }
                }
                Undo::Removed(path, node) => self.restore(&path, Some(node)),
                Undo::Taken(path) => self.restore(&path, displaced.take()),
            }
        }
    }

    fn restore(&mut self, path: &[String], node: Option<Node>) {
        let (Some((last, parents)), Some(node)) = (path.split_last(), node) else {
            return;
        };
        match find_mut(&mut self.document.root, parents) {
            Ok(Node::Object(fields)) => {
                fields.insert(last.clone(), node);
            }
            Ok(Node::Array(items)) => {
                let at = array_index(last).unwrap_or(items.len()).min(items.len());
                items.insert(at, node);
            }
            _ => {}
        }
    }
}

/// Returns the tokens of a JSON pointer, RFC 6901.
fn pointer(text: &str) -> Result<Path> {
    if text.is_empty() {
        return Ok(Path::new());
    }
    let invalid = || Error::invalid(format!("`{text}` is not a JSON pointer"));
    let steps = text.strip_prefix('/').ok_or_else(invalid)?.split('/');
    let step = |step: &str| {
        let mut parts = step.split('~');
        let mut out = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            out.push(match part.bytes().next() {
                Some(b'0') => '~',
                Some(b'1') => '/',
                _ => return Err(invalid()),
            });
            out.push_str(part.get(1..).unwrap_or_default());
        }
        Ok(out)
    };
    steps.map(step).collect()
}

fn pointer_of(path: &[String]) -> String {
    path.iter().map(|step| crate::pointer::pointer_step(step)).collect()
}

fn nothing_at(path: &[String]) -> Error {
    Error::invalid(format!("there is nothing at `{}`", pointer_of(path)))
}

fn array_index(step: &str) -> Result<usize> {
    let digits =
        step.bytes().all(|b| b.is_ascii_digit()) && (step == "0" || !step.starts_with('0'));
    let index = if digits { step.parse().ok() } else { None };
    index.ok_or_else(|| Error::invalid(format!("`{step}` is not an index")))
}

fn find<'n>(root: &'n Node, path: &[String]) -> Result<&'n Node> {
    let found = path.iter().try_fold(root, |node, step| match node {
        Node::Object(fields) => fields.get(step),
        Node::Array(items) => array_index(step).ok().and_then(|at| items.get(at)),
        _ => None,
    });
    found.ok_or_else(|| nothing_at(path))
}

fn find_mut<'n>(root: &'n mut Node, path: &[String]) -> Result<&'n mut Node> {
    let found = path.iter().try_fold(root, |node, step| match node {
        Node::Object(fields) => fields.get_mut(step),
        Node::Array(items) => array_index(step).ok().and_then(|at| items.get_mut(at)),
        _ => None,
    });
    found.ok_or_else(|| nothing_at(path))
}

/// Returns `true` if both are equal by RFC 6902: numbers by value, not by notation.
fn same(a: &Node, b: &Node) -> bool {
    match (a, b) {
        (Node::Number(a), Node::Number(b)) => {
            a == b || worth(a).is_some_and(|a| Some(a) == worth(b))
        }
        (Node::Array(a), Node::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Node::Object(a), Node::Object(b)) => {
            let is_same =
                |((k, a), (l, b)): ((&String, &Node), (&String, &Node))| k == l && same(a, b);
            a.len() == b.len() && a.iter().zip(b).all(is_same)
        }
        _ => a == b,
    }
}

/// Returns the sign, the digits without zeros at both ends, and the power of ten of the last one.
fn worth(number: &str) -> Option<(bool, String, i64)> {
    let (negative, number) = match number.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, number),
    };
    let (mantissa, exponent) = match number.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
        None => (number, 0),
    };
    let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{integer}{fraction}");
    let significant = digits.trim_end_matches('0');
    let zeros = i64::try_from(digits.len().saturating_sub(significant.len())).ok()?;
    let digits = significant.trim_start_matches('0').to_owned();
    if digits.is_empty() {
        return Some((false, digits, 0));
    }
    let power = exponent.checked_sub(i64::try_from(fraction.len()).ok()?)?.checked_add(zeros)?;
    Some((negative, digits, power))
}
