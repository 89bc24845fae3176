//! Layers: the questions of each layer to the model, and the events from the answers.
//!
//! All events of a layer are one append, and each sets a value regardless of the previous one. One
//! event sets the step number, which shows later whether the state includes the append.

use std::collections::BTreeMap;

use milepost::events::{ArtifactsEdited, PatchForm, PromptChanged, RulesChanged, VariablesPatched};
use milepost::{Body, Error, Json, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::model::{Model, Reflection};
use crate::place::{Layer, Place};
use crate::view::{CANDIDATES, PATTERNS, Rules, View};

/// Asks the model, unless the log has the answer.
pub(crate) trait Ask {
    /// Returns the answer to a question. The question contains everything that the answer depends
    /// on.
    fn ask<Q: Serialize, A: Serialize + DeserializeOwned>(
        &mut self,
        place: Place,
        question: &Q,
        answer: impl FnOnce() -> A,
    ) -> Result<A>;
}

/// Returns the events of one layer on a state.
pub(crate) fn work(view: &View, place: Place, asked: &mut impl Ask) -> Result<Vec<Body>> {
    let model = Model::seeded(view.variables.seed);
    let (mut bodies, mut patch) = match place.layer {
        Layer::Extract => extract(view, place, model, asked)?,
        Layer::Generate => generate(view, place, model, asked)?,
        Layer::Evaluate => evaluate(view, place, model, asked)?,
        Layer::Reflect => reflect(view, place, model, asked)?,
    };
    patch.push(set("done", &view.step));
    bodies.push(Body::from(VariablesPatched {
        form: PatchForm::Patch,
        patch: Json::from_value(&patch)?,
    }));
    Ok(bodies)
}

/// The events, and the patch operations on the variables.
type Outcome = (Vec<Body>, Vec<serde_json::Value>);

fn extract(view: &View, place: Place, model: Model, asked: &mut impl Ask) -> Result<Outcome> {
    let set_aside = view.rules.set_aside.as_deref();
    let question = (&view.prompt, set_aside);
    let find = || model.patterns(&view.prompt, place.round, set_aside);
    let patterns = asked.ask(place, &question, find)?;
    Ok((vec![artifact(PATTERNS, &patterns)?], Vec::new()))
}

/// Appends new candidates to the existing ones, which a person may have added.
fn generate(view: &View, place: Place, model: Model, asked: &mut impl Ask) -> Result<Outcome> {
    let (prompt, patterns, guidance) = (&view.prompt, &view.patterns, &view.guidance);
    let write = || model.candidates(prompt, patterns, guidance);
    let mut candidates = view.candidates.clone();
    candidates.extend(asked.ask(place, &(prompt, patterns, guidance), write)?);
    Ok((vec![artifact(CANDIDATES, &candidates)?], Vec::new()))
}

/// Scores the candidates, and also the prompt: candidates must exceed its current score.
fn evaluate(view: &View, place: Place, model: Model, asked: &mut impl Ask) -> Result<Outcome> {
    let mut scores = BTreeMap::new();
    for prompt in std::iter::once(&view.prompt).chain(&view.candidates) {
        if !scores.contains_key(prompt) {
            let points = asked.ask(place, prompt, || model.score(prompt, place.round))?;
            scores.insert(prompt.clone(), points);
        }
    }
    let score = scores.get(&view.prompt);
    let patch = vec![set("scores", &scores), set("score", &score)];
    Ok((Vec::new(), patch))
}

/// Makes the best candidate the prompt if it beats the current one. Candidates added after the
/// evaluation remain for the next round.
fn reflect(view: &View, place: Place, model: Model, asked: &mut impl Ask) -> Result<Outcome> {
    let scores = &view.variables.scores;
    let scored = |prompt: &String| Some((prompt.clone(), *scores.get(prompt)?));
    let candidates: Vec<_> = view.candidates.iter().filter_map(scored).collect();
    let think = || model.reflection(&view.prompt, &candidates);
    let Reflection { learned, set_aside } =
        asked.ask(place, &(&view.prompt, &candidates), think)?;
    let mut rules = Rules { learned: view.rules.learned.clone(), set_aside };
    rules.learned.push(learned);
    let waiting = view.candidates.iter().filter(|c| !scores.contains_key(*c));
    let waiting: Vec<_> = waiting.collect();
    let rules = Json::from_value(&rules)?;
    let mut bodies = vec![Body::from(RulesChanged { rules }), artifact(CANDIDATES, &waiting)?];
    let mut patch = Vec::new();
    // The first candidate wins a tie.
    let best = candidates.iter().rev().max_by_key(|(_, points)| points);
    if let Some((prompt, points)) = best.filter(|(_, points)| Some(*points) > view.score()) {
        let prompt = prompt.clone();
        bodies.push(Body::from(PromptChanged { prompt }));
        patch.push(set("score", points));
    }
    Ok((bodies, patch))
}

fn artifact<T: Serialize>(name: &str, value: &T) -> Result<Body, Error> {
    let artifacts = BTreeMap::from([(name.to_owned(), Json::from_value(value)?)]);
    Ok(Body::from(ArtifactsEdited { artifacts }))
}

/// Returns an operation of a JSON patch that sets a variable.
fn set<T: Serialize>(name: &str, value: &T) -> serde_json::Value {
    serde_json::json!({"op": "add", "path": format!("/{name}"), "value": value})
}
