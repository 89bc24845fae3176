//! Content negotiation by `Accept`.

use axum::http::{HeaderMap, header};

use crate::error::ApiError;

pub(crate) const JSON: &str = "application/json";
pub(crate) const JSON_LINES: &str = "application/x-ndjson";
pub(crate) const EVENT_STREAM: &str = "text/event-stream";
pub(crate) const JSON_PATCH: &str = "application/json-patch+json";

/// Returns the preferred media type; the first offered one if the request names none.
pub(crate) fn choose(
    headers: &HeaderMap,
    offered: &'static [&'static str],
) -> Result<&'static str, ApiError> {
    let lines = headers.get_all(header::ACCEPT).iter();
    let lines: Vec<&str> = lines.map(|line| line.to_str().unwrap_or_default()).collect();
    let wishes = lines.iter().flat_map(|line| line.split(','));
    let wishes: Vec<Wish<'_>> = wishes.filter_map(Wish::of).collect();
    if wishes.is_empty() && lines.iter().all(|line| line.trim().is_empty()) {
        return offered.first().copied().ok_or(ApiError::Bug);
    }
    let mut best = None;
    for kind in offered {
        // The most specific range applies.
        let said = wishes.iter().filter_map(|wish| wish.fits(kind));
        let weight = said.max().map_or(0, |(_, weight)| weight);
        if weight > 0 && best.is_none_or(|(_, most)| weight > most) {
            best = Some((*kind, weight));
        }
    }
    best.map(|(kind, _)| kind).ok_or(ApiError::NotAcceptable(offered))
}

/// A media range of `Accept`, with its weight in thousandths.
struct Wish<'a> {
    kind: &'a str,
    weight: u16,
}

impl<'a> Wish<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let kind = parts.next().filter(|kind| kind.contains('/'))?;
        let weight = parts.find_map(|part| part.strip_prefix("q=").or(part.strip_prefix("Q=")));
        let weight = match weight {
            // Ignores a range whose weight is not between 0 and 1.
            Some(q) => q.parse().ok().filter(|q| (0.0..=1.0).contains(q))?,
            None => 1.0_f32,
        };
        Some(Self { kind, weight: (weight * 1000.0) as u16 })
    }

    /// Returns how specifically the range matches a type, and its weight.
    fn fits(&self, kind: &str) -> Option<(u8, u16)> {
        if self.kind.eq_ignore_ascii_case(kind) {
            return Some((2, self.weight));
        }
        let family = kind.split('/').next().unwrap_or_default();
        match self.kind.split_once('/') {
            Some(("*", "*")) => Some((0, self.weight)),
            Some((of, "*")) if of.eq_ignore_ascii_case(family) => Some((1, self.weight)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_that_is_wanted_most_is_taken() {
        let of = |accept: &str| {
            let mut headers = HeaderMap::new();
            headers.append(header::ACCEPT, accept.parse().unwrap());
            choose(&headers, &[JSON, JSON_LINES]).ok()
        };
        for (accept, taken) in [
            ("", Some(JSON)),
            ("*/*", Some(JSON)),
            ("application/*", Some(JSON)),
            ("application/json", Some(JSON)),
            ("Application/X-NDJSON", Some(JSON_LINES)),
            ("application/x-ndjson;q=0.5, application/json;q=0.4", Some(JSON_LINES)),
            ("*/*;q=0.1, application/x-ndjson", Some(JSON_LINES)),
            ("*/*, application/json;q=0", Some(JSON_LINES)),
            ("text/html, */*;q=0.8", Some(JSON)),
            ("text/event-stream", None),
            ("text/*", None),
            ("application/json;q=0", None),
            ("application/json;q=2", None),
            ("nonsense", None),
        ] {
            assert_eq!(of(accept), taken, "{accept}");
        }
        assert_eq!(choose(&HeaderMap::new(), &[JSON_LINES]).ok(), Some(JSON_LINES));
    }
}
