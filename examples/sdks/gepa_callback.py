"""An optimization by GEPA in a store: `python gepa_callback.py DIR`."""

import sys
import tempfile

import gepa
from gepa.core.adapter import EvaluationBatch

import milepost
from milepost.gepa import MilepostCallback

WORDS = ["rain", "sun", "wind", "snow"]


class Words:
    """Scores a prompt by the words that it has, in place of a model of a service."""

    propose_new_texts = None

    def evaluate(self, batch, candidate, capture_traces=False):
        scores = [float(word in candidate["prompt"]) for word in batch]
        traces = [{"word": word} for word in batch] if capture_traces else None
        return EvaluationBatch(outputs=list(batch), scores=scores, trajectories=traces)

    def make_reflective_dataset(self, candidate, batch, components):
        rows = [{"Inputs": one["word"], "Feedback": "say it"} for one in batch.trajectories]
        return {"prompt": rows}


def add_a_word(candidate, dataset, components):
    missing = [word for word in WORDS if word not in candidate["prompt"]]
    return {"prompt": " ".join([candidate["prompt"], *missing[:1]])}


class Quiet:
    def log(self, *_):
        pass


def main(folder: str) -> None:
    with milepost.open(folder) as store:
        task = store.task_or_start("weather")
        gepa.optimize(
            seed_candidate={"prompt": "weather:"},
            trainset=WORDS,
            valset=WORDS,
            adapter=Words(),
            custom_candidate_proposer=add_a_word,
            reflection_minibatch_size=4,
            max_metric_calls=60,
            candidate_selection_strategy="current_best",
            callbacks=[MilepostCallback(task)],
            logger=Quiet(),
        )
        best = task.state("/variables/best")
        newest = store.blame("weather", "/variables/best/score").changes[0]
        print(f"{best['text']['prompt']} scores {best['score']}, since {newest['point']}")
    print(f"milepost --store {folder} log weather")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
