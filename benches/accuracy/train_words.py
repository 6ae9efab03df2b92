#!/usr/bin/env python3
"""Fits the table of word weights of src/engines/security/injection/words.bin.

    pip install scikit-learn==1.9.1
    python3 benches/accuracy/train_words.py DATA src/engines/security/injection/words.bin

DATA holds the labelled sets as DATA/injection/NAME.jsonl.gz and DATA/traffic/NAME.jsonl.gz (docs/accuracy.md names
them). Only sets that may be redistributed are used. Left out: tensortrust (licence), cyberseceval_injection (80% of it
is not English, and a table fitted on it learns that), notinject (kept for measuring), bipia (templates).

A text becomes its words (runs of ASCII letters and digits, `_`, and all bytes from 128 on, in lower case) and runs of
the marks <>[]{}%#|*: ; every word and every pair of neighbours is a feature, by FNV-1a to one of 2^14 buckets, there or
not, and the vector has length 1. Logistic regression, C = 10. Each attack set weighs the root of its size, and both
classes weigh the same. The file: a little-endian f32 for the scale, another for the intercept, then one signed byte per
bucket; the logit is intercept + scale * sum(bytes of the buckets) / sqrt(number of buckets).
"""
import gzip, json, math, os, re, struct, sys
import numpy as np
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

BUCKETS = 1 << 14
TEXT_BYTES_MAX = 16_000
ATTACKS = ["jailbreaks_in_the_wild", "garak_attacks", "gptfuzzer", "openai_guardrails_demo", "spikee_targeted_2024_12",
           "deepset_prompt_injections"]
BENIGN = ["benign_prompts", "ifeval_benign", "wildguard_benign", "arena_hard_answers", "openai_guardrails_demo",
          "spikee_targeted_2024_12", "deepset_prompt_injections", "xstest", "cyberseceval_frr"]
TOKEN = re.compile(rb"[0-9A-Za-z_\x80-\xff]+|[<>\[\]{}%#|*:]+")


def buckets(text):
    tokens = [t.lower() for t in TOKEN.findall(text.encode()[:TEXT_BYTES_MAX])]
    grams = tokens + [a + b"\0" + b for a, b in zip(tokens, tokens[1:])]
    return sorted({bucket(gram) for gram in grams})


def bucket(gram):
    value = 0xCBF29CE484222325
    for byte in gram:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return (value ^ (value >> 32)) & (BUCKETS - 1)


def items(folder):
    seen = set()
    for name in dict.fromkeys(ATTACKS + BENIGN):
        task = "traffic" if name == "arena_hard_answers" else "injection"
        for line in gzip.open(os.path.join(folder, task, name + ".jsonl.gz")):
            item = json.loads(line)
            text = item["text"] if item["text"] is not None else item["prompt"]
            label = 0 if task == "traffic" else item["label"]
            if label is None or text in seen or name not in (ATTACKS if label else BENIGN):
                continue
            seen.add(text)
            yield {"id": item["id"], "set": name, "label": label, "text": text}


def matrix(rows):
    indptr, indices, data = [0], [], []
    for row in rows:
        indices += row
        data += [1 / math.sqrt(len(row))] * len(row)
        indptr.append(len(indices))
    return csr_matrix((data, indices, indptr), shape=(len(rows), BUCKETS))


def fit(rows, sets, labels):
    weights = np.zeros(len(rows))
    for label in (0, 1):
        groups = {}
        for index, name in enumerate(sets):
            if labels[index] == label:
                # Benign sets weigh by size.
                groups.setdefault(name if label else "", []).append(index)
        for members in groups.values():
            weights[members] = math.sqrt(len(members)) / len(members)
        chosen = [i for i, l in enumerate(labels) if l == label]
        weights[chosen] *= len(rows) / 2 / weights[chosen].sum()
    model = LogisticRegression(C=10, max_iter=2000, solver="liblinear")
    return model.fit(matrix(rows), labels, sample_weight=weights)


def main(folder, target):
    data = list(items(folder))
    model = fit([buckets(item["text"]) for item in data], [item["set"] for item in data], [item["label"] for item in data])
    weights = model.coef_[0]
    scale = float(np.abs(weights).max()) / 127
    quantised = np.rint(weights / scale).astype(int)
    with open(target, "wb") as file:
        file.write(struct.pack("<ff", scale, float(model.intercept_[0])))
        file.write(struct.pack(f"{BUCKETS}b", *quantised))
    print(f"{len(data)} texts, {sum(q != 0 for q in quantised)} of {BUCKETS} buckets weigh, intercept {model.intercept_[0]:.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:3])
