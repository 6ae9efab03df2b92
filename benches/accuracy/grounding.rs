//! Groundedness: the fit of the embedded ratios, and what they are worth.
//!
//! RAGTruth: nested cross-validation in [`FOLDS`] folds grouped by source. Tables, weights, thresholds and the stacked
//! sentence stage are fitted inside of the training part. Rows are weighted so that each task has as many positives and
//! negatives as the published test set. Neither task nor model is given to the fit. The other sets go through a whole
//! audit.

use std::{collections::BTreeMap, fmt::Write as _, fs, ops::Range, path::Path};

use llmverify::{
    engines::grounding::{
        Examined, Measured, examine,
        support::MEASURES,
        trust::{Gathered, RESPONSE_MEASURES},
    },
    stats::{
        fit::{self, Design, Direction, Observation, Table},
        log_odds::probability,
        metrics::{Item, Ranking},
    },
};
use serde_json::Value;

use super::data::{Data, audit};

const FOLDS: usize = 5;
/// Positives and negatives of each task in the published test set.
const PUBLISHED: [(&str, f64, f64); 3] = [("QA", 160.0, 740.0), ("Summary", 204.0, 696.0), ("Data2txt", 579.0, 321.0)];
/// How much a sentence on data counts in the fit for prose.
const DATA_SHARE: f64 = 0.3;
/// A sentence is positive when it shares this many characters with an annotated span.
const OVERLAP_CHARS_MIN: usize = 3;

/// One labelled answer, measured.
struct Row {
    examined: Examined,
    /// Whether each sentence is unsupported.
    sentence_labels: Vec<bool>,
    is_positive: bool,
    weight: f64,
    task: String,
    group: String,
    stratum: usize,
}

/// Tables and weights over columns of numbers.
struct Model {
    tables: Vec<Table>,
    weights: Vec<f64>,
    intercept: f64,
    /// Log odds of the positives that it was fitted on.
    base: f64,
}

impl Model {
    fn fit(rows: &[(&[f64], bool, f64)]) -> Model {
        let columns = rows.first().map_or(0, |row| row.0.len());
        let observe = |column: usize| {
            let seen = rows.iter().map(|row| Observation { value: row.0[column], is_positive: row.1, weight: row.2 });
            seen.collect::<Vec<_>>()
        };
        let flat = || Table { edges: vec![0.0], log_odds: vec![0.0, 0.0] };
        let tables: Vec<Table> =
            (0..columns).map(|column| fit::table(&observe(column), Direction::Rising).unwrap_or_else(flat)).collect();
        let ratios = |values: &[f64]| tables.iter().zip(values).map(|(table, value)| table.log_odds(*value)).collect();
        let design = Design {
            rows: rows.iter().map(|row| ratios(row.0)).collect(),
            is_positive: rows.iter().map(|row| row.1).collect(),
            weights: rows.iter().map(|row| row.2).collect(),
            offsets: vec![0.0; rows.len()],
        };
        let fused = fit::fusion(&design, fit::RIDGE_WEIGHTS);
        let (yes, no) =
            rows.iter().fold((0.0, 0.0), |(yes, no), row| if row.1 { (yes + row.2, no) } else { (yes, no + row.2) });
        Model { tables, weights: fused.weights, intercept: fused.intercept, base: (yes / no).ln() }
    }

    fn log_odds(&self, values: &[f64]) -> f64 {
        let parts = self.tables.iter().zip(&self.weights).zip(values);
        parts.fold(self.intercept, |sum, ((table, weight), value)| sum + weight * table.log_odds(*value))
    }

    /// The table in the form that the library embeds; `rest` is added to every bin of the last measure.
    fn toml(&self, name: &str, ids: &[&str], intercept: f64, rest: f64) -> String {
        let mut text = format!("[{name}]\nintercept = {intercept:.4}\n");
        for (index, (id, (table, weight))) in ids.iter().zip(self.tables.iter().zip(&self.weights)).enumerate() {
            let extra = if index + 1 == ids.len() { rest } else { 0.0 };
            let numbers = |values: &mut dyn Iterator<Item = String>| values.collect::<Vec<_>>().join(", ");
            let edges = numbers(&mut table.edges.iter().map(|edge| format!("{edge:?}")));
            let adds = numbers(&mut table.log_odds.iter().map(|add| format!("{:.4}", weight * add + extra)));
            let _ = write!(text, "\n[[{name}.ratio]]\nid = \"{id}\"\nedges = [{edges}]\nlog_odds = [{adds}]\n");
        }
        text
    }
}

/// Sentence stage and answer stage.
struct Stages {
    /// By whether the sources are data.
    sentence: [Model; 2],
    response: Model,
}

fn is_counted(measured: &Measured) -> bool {
    measured.counts()
}

/// The model for prose, and that for data.
fn sentence_models(rows: &[&Row]) -> [Model; 2] {
    [false, true].map(|is_data| {
        // Of prose few sentences are made up: those on data steady its fit.
        let share = |row: &Row| match (is_data, row.examined.is_data) {
            (false, true) => DATA_SHARE,
            (true, false) => 0.0,
            _ => 1.0,
        };
        let sentences = rows.iter().filter(|row| share(row) > 0.0).flat_map(|row| {
            let labelled = row.examined.sentences.iter().zip(&row.sentence_labels);
            let counted = labelled.filter(|(measured, _)| is_counted(measured));
            counted.map(|(measured, label)| (&measured.support.measures[..], *label, row.weight * share(row)))
        });
        Model::fit(&sentences.collect::<Vec<_>>())
    })
}

/// P(unsupported) of each sentence.
fn doubts(models: &[Model; 2], row: &Row) -> Vec<f64> {
    let model = &models[usize::from(row.examined.is_data)];
    let of = |measured: &Measured| {
        if is_counted(measured) { probability(model.log_odds(&measured.support.measures)) } else { 0.0 }
    };
    row.examined.sentences.iter().map(of).collect()
}

fn response_measures(row: &Row, doubts: &[f64]) -> Vec<f64> {
    let mut gathered = Gathered::default();
    for (measured, doubt) in row.examined.sentences.iter().zip(doubts).filter(|(measured, _)| is_counted(measured)) {
        gathered.add(&measured.support, *doubt);
    }
    gathered.measures().to_vec()
}

/// Doubts of each row by a sentence model that has not seen its source.
fn unseen_doubts(rows: &[&Row]) -> Vec<Vec<f64>> {
    let groups: Vec<&str> = rows.iter().map(|row| row.group.as_str()).collect();
    let folds = fit::folds(&groups, FOLDS);
    let mut all = vec![Vec::new(); rows.len()];
    for fold in 0..FOLDS {
        let train: Vec<&Row> = rows.iter().zip(&folds).filter(|(_, own)| **own != fold).map(|(row, _)| *row).collect();
        let models = sentence_models(&train);
        for (index, row) in rows.iter().enumerate().filter(|(index, _)| folds[*index] == fold) {
            all[index] = doubts(&models, row);
        }
    }
    all
}

/// The answers of right trajectories of tau-bench to what tools answered, which are taken for sound.
fn tool_answers(data: &Data) -> Vec<Row> {
    let items = data.items("tool_call", "taubench_gpt4o_airline").unwrap_or_default();
    let mut rows = Vec::new();
    for item in items.iter().filter(|item| item["meta"]["reward"].as_f64() == Some(1.0)) {
        let messages: Vec<Value> =
            serde_json::from_str(item["response"].as_str().unwrap_or_default()).unwrap_or_default();
        let text = |message: &Value| message["content"].as_str().unwrap_or_default().to_owned();
        let of_role = |upto: usize, is_tool: bool| -> Vec<String> {
            messages[..upto].iter().filter(|said| (said["role"] == "tool") == is_tool).map(text).collect()
        };
        for (at, said) in messages.iter().enumerate() {
            let sources = of_role(at, true);
            let answer = text(said);
            if said["role"] != "assistant" || answer.is_empty() || sources.is_empty() {
                continue;
            }
            let question = of_role(at, false).join("\n");
            let examined = examine(&answer, &[], sources.iter().map(String::as_str), &question, "");
            let sentence_labels = vec![false; examined.sentences.len()];
            let group = format!("tau/{}", item["id"]);
            let task = "tools".to_owned();
            rows.push(Row { examined, sentence_labels, is_positive: false, weight: 1.0, task, group, stratum: 0 });
        }
    }
    rows
}

/// The last stage where the sources are what tools answered: sound answers to tools that are no retrievers count as much as
/// those of RAGTruth.
fn tool_model(rows: &[Row], models: &[Model; 2], unseen: &[Vec<f64>], sound: &[&Row]) -> Model {
    let no: f64 = rows.iter().filter(|row| !row.is_positive).map(|row| row.weight).sum();
    let weight = no / sound.len().max(1) as f64;
    let of_rows =
        rows.iter().zip(unseen).map(|(row, doubts)| (response_measures(row, doubts), row.is_positive, row.weight));
    let of_sound = sound.iter().map(|row| (response_measures(row, &doubts(models, row)), false, weight));
    let measured: Vec<_> = of_rows.chain(of_sound).collect();
    Model::fit(&measured.iter().map(|(values, is, weight)| (&values[..], *is, *weight)).collect::<Vec<_>>())
}

/// False alarms on answers to tools, whose own trajectory the fit did not see: from how many of them on, at the share of
/// the prior that flags.
fn tools_measured(rows: &[Row], data: &Data) {
    /// P from which an audit flags.
    const FLAG_FROM: f64 = 0.2;
    let sound = tool_answers(data);
    if sound.is_empty() {
        return;
    }
    let (stages, unseen) = stages(&rows.iter().collect::<Vec<_>>());
    let groups: Vec<&str> = sound.iter().map(|row| row.group.as_str()).collect();
    let folds = fit::folds(&groups, FOLDS);
    let flags = |model: &Model, row: &Row| {
        let values = response_measures(row, &doubts(&stages.sentence, row));
        let prior = (DEFAULT_PRIOR / (1.0 - DEFAULT_PRIOR)).ln();
        probability(model.log_odds(&values) - model.base + prior) >= FLAG_FROM
    };
    let mut count = [0, 0];
    for fold in 0..FOLDS {
        let part = |is_test: bool| {
            let chosen = sound.iter().zip(&folds).filter(move |(_, own)| (**own == fold) == is_test);
            chosen.map(|(row, _)| row).collect::<Vec<_>>()
        };
        let model = tool_model(rows, &stages.sentence, &unseen, &part(false));
        for row in part(true) {
            count[0] += usize::from(flags(&model, row));
            count[1] += usize::from(flags(&stages.response, row));
        }
    }
    println!(
        "\nSound answers to tools, flagged: {} of {}; by the ratios of contexts {}",
        count[0],
        sound.len(),
        count[1]
    );
}

/// Both stages, and the doubts that the second was fitted on.
fn stages(rows: &[&Row]) -> (Stages, Vec<Vec<f64>>) {
    let unseen = unseen_doubts(rows);
    let measures: Vec<Vec<f64>> =
        rows.iter().zip(&unseen).map(|(row, doubts)| response_measures(row, doubts)).collect();
    let labelled: Vec<(&[f64], bool, f64)> =
        rows.iter().zip(&measures).map(|(row, measures)| (&measures[..], row.is_positive, row.weight)).collect();
    (Stages { sentence: sentence_models(rows), response: Model::fit(&labelled) }, unseen)
}

fn ragtruth(data: &Data) -> Option<Vec<Row>> {
    let items = data.items("groundedness", "ragtruth")?;
    let mut strata: BTreeMap<String, usize> = BTreeMap::new();
    let mut counts: BTreeMap<(String, bool), f64> = BTreeMap::new();
    let mut rows: Vec<Row> = Vec::new();
    for item in items.iter().filter(|item| item["label"].is_number()) {
        let meta = &item["meta"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (task, model) = (text(&meta["task_type"]), text(&meta["model"]));
        let count = strata.len();
        let stratum = *strata.entry(format!("{task}/{model}")).or_insert(count);
        let row = row_of(item, task, text(&meta["source_id"]), stratum);
        *counts.entry((row.task.clone(), row.is_positive)).or_default() += 1.0;
        rows.push(row);
    }
    let total: f64 = PUBLISHED.iter().map(|(_, yes, no)| yes + no).sum();
    let scale = rows.len() as f64 / total;
    for row in &mut rows {
        let published = PUBLISHED.iter().find(|(task, ..)| *task == row.task);
        let mass = published.map_or(0.0, |(_, yes, no)| if row.is_positive { *yes } else { *no });
        row.weight = scale * mass / counts[&(row.task.clone(), row.is_positive)];
    }
    Some(rows)
}

fn row_of(item: &Value, task: String, group: String, stratum: usize) -> Row {
    let text = |name: &str| item[name].as_str().unwrap_or_default();
    let response = text("response");
    let examined = examine(response, &[], [text("context")].into_iter(), text("prompt"), "");
    let bytes: Vec<usize> = response.char_indices().map(|(at, _)| at).chain([response.len()]).collect();
    let place =
        |value: &Value| bytes.get(value.as_u64().unwrap_or_default() as usize).copied().unwrap_or(response.len());
    let spans: Vec<Range<usize>> = item["spans"]
        .as_array()
        .map(|spans| spans.iter().map(|span| place(&span[0])..place(&span[1])).collect())
        .unwrap_or_default();
    let overlaps = |own: &Range<usize>| {
        spans.iter().any(|span| {
            let (from, to) = (span.start.max(own.start), span.end.min(own.end));
            from < to && response[from..to].chars().count() >= OVERLAP_CHARS_MIN
        })
    };
    let sentence_labels = examined.sentences.iter().map(|measured| overlaps(&measured.claim.span)).collect();
    Row { examined, sentence_labels, is_positive: item["label"] == 1, weight: 1.0, task, group, stratum }
}

/// Prints the figures.
pub fn measure(data: &Data) {
    println!("\n## Groundedness\n");
    if let Some(rows) = ragtruth(data) {
        cross_validated(&rows);
        tools_measured(&rows, data);
    }
    transfer(data);
}

/// The prior of the question whether an answer is made up, when nothing else is set.
const DEFAULT_PRIOR: f64 = 0.15;

/// An answer, the threshold for all tasks, that of each task, and its task.
type Scored = (Item, f64, [f64; 3], usize);

/// The items as a population in which the share `prior` is positive, scored from that prior on: `evidence` are the log
/// odds without the share of the fit.
fn at_prior(items: &[Scored], evidence: &[f64], prior: f64) -> Ranking {
    let mass = |is_positive: bool| -> f64 {
        items.iter().filter(|(item, ..)| item.is_positive == is_positive).map(|(item, ..)| item.weight).sum()
    };
    let (yes, no) = (mass(true), mass(false));
    let scored = items.iter().zip(evidence).map(|((item, ..), evidence)| Item {
        score: probability(evidence + (prior / (1.0 - prior)).ln()),
        weight: item.weight * if item.is_positive { prior / yes } else { (1.0 - prior) / no },
        ..*item
    });
    Ranking::new(scored.collect())
}

/// Score, label and what is compared with what, of one sentence.
struct ScoredSentence {
    score: f64,
    is_positive: bool,
    weight: f64,
    task: usize,
    threshold: f64,
}

fn cross_validated(rows: &[Row]) {
    let groups: Vec<&str> = rows.iter().map(|row| row.group.as_str()).collect();
    let folds = fit::folds(&groups, FOLDS);
    let mut items: Vec<Scored> = Vec::new();
    // What the answers add to the prior.
    let mut evidence = Vec::new();
    let mut sentences: Vec<ScoredSentence> = Vec::new();
    let mut firsts = [(0.0, 0.0); 4];
    let task_of = |row: &Row| PUBLISHED.iter().position(|(task, ..)| *task == row.task).unwrap_or_default();
    for fold in 0..FOLDS {
        let part = |is_test: bool| {
            let chosen = rows.iter().zip(&folds).filter(move |(_, own)| (**own == fold) == is_test);
            chosen.map(|(row, _)| row).collect::<Vec<_>>()
        };
        let (train, test) = (part(false), part(true));
        let (stages, unseen) = stages(&train);
        let score = |row: &Row, doubts: &[f64]| probability(stages.response.log_odds(&response_measures(row, doubts)));
        let item = |row: &Row, score: f64| Item {
            score,
            is_positive: row.is_positive,
            group: 0,
            stratum: row.stratum,
            weight: row.weight,
        };
        let seen: Vec<(Item, usize)> =
            train.iter().zip(&unseen).map(|(row, doubts)| (item(row, score(row, doubts)), task_of(row))).collect();
        let best = |items: Vec<Item>| Ranking::new(items).best_f1_threshold().unwrap_or(0.5);
        let threshold = best(seen.iter().map(|(item, _)| *item).collect());
        let own =
            [0, 1, 2].map(|task| best(seen.iter().filter(|(_, own)| *own == task).map(|(item, _)| *item).collect()));
        let sentence_threshold = best(
            train
                .iter()
                .zip(&unseen)
                .flat_map(|(row, doubts)| {
                    let scored = doubts.iter().zip(&row.sentence_labels);
                    scored.map(|(doubt, label)| Item { weight: row.weight, ..Item::new(*doubt, *label) })
                })
                .collect(),
        );
        for row in test {
            let doubts = doubts(&stages.sentence, row);
            let log_odds = stages.response.log_odds(&response_measures(row, &doubts));
            evidence.push(log_odds - stages.response.base);
            items.push((item(row, probability(log_odds)), threshold, own, task_of(row)));
            for (doubt, label) in doubts.iter().zip(&row.sentence_labels) {
                let (weight, task) = (row.weight, task_of(row));
                sentences.push(ScoredSentence {
                    score: *doubt,
                    is_positive: *label,
                    weight,
                    task,
                    threshold: sentence_threshold,
                });
            }
            let first = (0..doubts.len()).reduce(|best, other| if doubts[other] > doubts[best] { other } else { best });
            if let (true, Some(first)) = (row.sentence_labels.contains(&true), first) {
                for group in [task_of(row), 3] {
                    firsts[group].0 += row.weight * f64::from(u8::from(row.sentence_labels[first]));
                    firsts[group].1 += row.weight;
                }
            }
        }
    }
    let of = |task: usize| items.iter().filter(move |(.., own)| task == 3 || *own == task);
    println!("| RAGTruth, answers | AUROC | within (task, model) | F1, one threshold | F1, own threshold |");
    println!("|---|---|---|---|---|");
    for (task, name) in ["QA", "Summary", "Data2txt", "all"].into_iter().enumerate() {
        let ranking = Ranking::new(of(task).map(|(item, ..)| *item).collect());
        let f1 = |threshold: &dyn Fn(&Scored) -> f64| {
            f1(of(task).map(|entry| (entry.0.score >= threshold(entry), entry.0.is_positive, entry.0.weight)))
        };
        println!(
            "| {name} | {:.3} | {:.3} | {:.3} | {:.3} |",
            ranking.auroc().unwrap_or_default(),
            ranking.stratified_auroc().unwrap_or_default(),
            f1(&|entry| entry.1),
            f1(&|entry| entry.2[entry.3])
        );
    }
    let ranking = Ranking::new(items.iter().map(|(item, ..)| *item).collect());
    println!(
        "\nECE {:.3}; precision in the top 10% {:.3}",
        ranking.expected_calibration_error().unwrap_or_default(),
        ranking.precision_in_top(0.1).unwrap_or_default()
    );
    println!(
        "\nECE from the default prior, of a population with that share: {:.3}",
        at_prior(&items, &evidence, DEFAULT_PRIOR).expected_calibration_error().unwrap_or_default()
    );
    println!("\n| RAGTruth, sentences | AUROC | F1 | right sentence first |\n|---|---|---|---|");
    for (task, name) in ["QA", "Summary", "Data2txt", "all"].into_iter().enumerate() {
        let of = || sentences.iter().filter(move |sentence| task == 3 || sentence.task == task);
        let ranking =
            Ranking::new(of().map(|s| Item { weight: s.weight, ..Item::new(s.score, s.is_positive) }).collect());
        let f1 = f1(of().map(|s| (s.score >= s.threshold, s.is_positive, s.weight)));
        println!(
            "| {name} | {:.3} | {f1:.3} | {:.3} |",
            ranking.auroc().unwrap_or_default(),
            firsts[task].0 / firsts[task].1
        );
    }
}

fn f1(items: impl Iterator<Item = (bool, bool, f64)>) -> f64 {
    let (mut hits, mut wrong) = (0.0, 0.0);
    for (said, is, weight) in items {
        if said && is {
            hits += weight;
        } else if said != is {
            wrong += weight;
        }
    }
    2.0 * hits / (2.0 * hits + wrong)
}

/// Sets that the ratios were not fitted on, by a whole audit: what the report says of `fabricated`, and what it flags.
fn transfer(data: &Data) {
    println!("\n| set, audited | AUROC | stratified by length | balanced accuracy of what is flagged | flagged |");
    println!("|---|---|---|---|---|");
    for name in ["faithbench", "qags", "halueval_qa", "frank", "summedits"] {
        let Some(items) = data.items("groundedness", name) else { continue };
        let items: Vec<&Value> = items.iter().filter(|item| item["label"].is_number()).collect();
        let records = items.iter().map(|item| {
            let context = [&item["context"]];
            serde_json::json!({"prompt": item["prompt"], "context": context, "response": item["response"], "model": "m"})
        });
        let verdicts = audit(&records.collect::<Vec<_>>());
        let (mut scored, mut counts) = (Vec::new(), [[0.0; 2]; 2]);
        for (item, verdict) in items.iter().zip(&verdicts) {
            /// Answers of more words are of one length.
            const WORDS_MAX: usize = 20;
            let words = item["response"].as_str().unwrap_or_default().split_whitespace().count().min(WORDS_MAX);
            let (answer, is_positive) = (&verdict["questions"]["fabricated"], item["label"] == 1);
            let score = answer["posterior"].as_f64().unwrap_or(DEFAULT_PRIOR);
            let is_flagged = matches!(answer["verdict"].as_str(), Some("flag" | "block"));
            counts[usize::from(is_positive)][usize::from(is_flagged)] += 1.0;
            scored.push(Item { stratum: words, ..Item::new(score, is_positive) });
        }
        let ranking = Ranking::new(scored);
        let [[passed, alarms], [missed, found]]: [[f64; 2]; 2] = counts;
        let balanced = (found / (found + missed) + passed / (passed + alarms)) / 2.0;
        let flagged = (found + alarms) / (found + alarms + missed + passed);
        let [auroc, stratified] = [ranking.auroc(), ranking.stratified_auroc()].map(Option::unwrap_or_default);
        println!("| {name} ({}) | {auroc:.3} | {stratified:.3} | {balanced:.3} | {flagged:.2} |", items.len());
    }
}

/// Fits the embedded table on all of RAGTruth's development folds and writes it.
pub fn fit(data: &Data) {
    let Some(rows) = ragtruth(data) else { return };
    let (stages, unseen) = stages(&rows.iter().collect::<Vec<_>>());
    let sound = tool_answers(data);
    let tools = tool_model(&rows, &stages.sentence, &unseen, &sound.iter().collect::<Vec<_>>());
    let of_sentences = ["prose", "data"].into_iter().zip(&stages.sentence);
    let sentence: Vec<String> =
        of_sentences.clone().map(|(name, model)| model.toml(name, &MEASURES, model.intercept, 0.0)).collect();
    let rest = stages.response.intercept - stages.response.base;
    let response = stages.response.toml("response", &RESPONSE_MEASURES, stages.response.base, rest);
    let tool_results = tools.toml("tool_results", &RESPONSE_MEASURES, tools.base, tools.intercept - tools.base);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/engines/grounding/ratios.toml");
    let head = "# Written by `cargo bench --bench accuracy -- DATA groundedness-fit`, on RAGTruth's annotations (MIT), and for\n# what tools answer on trajectories of tau-bench (MIT), too.\n\n";
    fs::write(&path, format!("{head}{}\n{response}\n{tool_results}", sentence.join("\n")))
        .expect("the table can be written");
    let of_sentences = of_sentences.map(|(name, model)| (name, model, &MEASURES[..]));
    let of_answers = [("response", &stages.response), ("tool_results", &tools)];
    let of_answers = of_answers.map(|(name, model)| (name, model, &RESPONSE_MEASURES[..]));
    for (name, model, ids) in of_sentences.chain(of_answers) {
        for (id, weight) in ids.iter().zip(&model.weights) {
            println!("{name:<10} {id:<26} {weight:.3}");
        }
    }
    println!("wrote {}", path.display());
}
