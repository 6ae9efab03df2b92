//! Every text of a record, scanned once for all security engines.
//!
//! Texts are the decoded strings of the record, never its raw JSON. A string or number inside of a tool's arguments or
//! result is scanned behind the name of its field (`password: …`), which is context that rules ask for.
//!
//! A text is also scanned in its decoded views ([`crate::text::decode`]); what is found there points to where the
//! encoded characters stand, and says by which chain it was decoded.
//!
//! **Limits**: [`LEAVES_MAX`] strings and numbers of one JSON value; what is beyond is not scanned, and
//! [`Evidence::limits`] says so.

use std::{borrow::Cow, collections::BTreeMap, ops::Range, sync::Arc};

use super::indirect::SIGNS_MAX;
use crate::{
    record::{Kind, Passage, Prompt, Record, json::Json},
    rules::{
        Family, Hit, Rule, Scanner, Suppressions,
        scanner::{Declaration, HITS_PER_RULE_MAX, Scan},
    },
    text::decode::{self, Decoded, Views},
};

/// Strings and numbers of one JSON value that are scanned.
pub const LEAVES_MAX: usize = 10_000;
/// Bytes of the JSON Pointers to them, together.
pub const POINTERS_BYTES_MAX: usize = 1 << 20;
/// Bytes of the shortest text of a tool's declaration that can order anything.
const DECLARATION_BYTES_MIN: usize = 16;
/// Bytes of a field's name that stand in front of its value.
const NAME_BYTES_MAX: usize = 200;

/// Whose text it is.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// The operator's instructions.
    System,
    /// What the user said.
    User,
    /// What the model said earlier in the conversation.
    Assistant,
    /// What a tool answered, as a message of the conversation or as the result of the call.
    ToolResult,
    /// A document that was given to the model.
    Context,
    /// What the model answered.
    Response,
    /// What a tool was called with: the model's words.
    Arguments,
    /// What a tool says of itself, to the model that it is offered to.
    Declaration,
}

impl Place {
    /// Whether the model, or a tool at its request, brought the text forth.
    pub fn is_output(self) -> bool {
        matches!(self, Place::Response | Place::Arguments)
    }
}

/// One text of a record with what the rules found in it.
#[derive(Debug)]
pub struct ScannedText<'r> {
    /// JSON Pointer into the normal form.
    pub field: Cow<'static, str>,
    /// Whose text it is.
    pub place: Place,
    /// The text; for a leaf of a JSON value with the name of its field in front.
    pub text: Cow<'r, str>,
    /// Bytes of `text` in front of the value of the field.
    pub prefix: usize,
    /// What was found in it as it stands.
    pub scan: Scan,
    /// What it says when decoded, with what was found there.
    pub views: Vec<(Decoded, Scan)>,
}

/// All texts of a record, scanned.
#[derive(Debug, Default)]
pub struct Evidence<'r> {
    /// In the order of the normal form.
    pub texts: Vec<ScannedText<'r>>,
    /// Where personal data and secrets stand, suppressed or not: field and bytes. Excerpts leave them out.
    pub sensitive: Vec<(Cow<'static, str>, Range<usize>)>,
    /// Indices of the suppressions that took a hit out.
    pub suppressed: Vec<usize>,
    /// Rule and fingerprint of every hit, while suppressions are drafted.
    pub fingerprints: Vec<(String, String)>,
    /// The limits that were reached: name and value.
    pub limits: BTreeMap<&'static str, u64>,
}

/// Whether what a rule finds is kept out of excerpts. A date alone is about nobody: that of a birth has its own rule.
fn is_private(rule: &Rule) -> bool {
    !matches!(rule.id.as_str(), "pii/date_time" | "pii/date_time_short")
}

/// A hit with where it stands.
#[derive(Clone, Copy, Debug)]
pub struct Found<'e> {
    /// The rule.
    pub rule: &'e Rule,
    /// The hit; its span counts in the text, or in the view that was decoded from it.
    pub hit: &'e Hit,
    /// The view in which it stands, if not in the text itself.
    pub view: Option<&'e Decoded>,
    /// Bytes in front of the value of the field.
    prefix: usize,
}

impl<'e> Found<'e> {
    /// A hit in a text that stands as it is.
    pub fn new(rule: &'e Rule, hit: &'e Hit) -> Found<'e> {
        Found { rule, hit, view: None, prefix: 0 }
    }

    /// The place in the field's value; `None` when it lies in front of it.
    pub fn span(&self) -> Option<Range<usize>> {
        let span = match self.view {
            Some(view) => view.original(self.hit.span.clone()),
            None => self.hit.span.clone(),
        };
        (span.end > self.prefix).then(|| span.start.saturating_sub(self.prefix)..span.end - self.prefix)
    }
}

impl ScannedText<'_> {
    /// The hits of a family, those in decoded views behind those in the text.
    pub fn found<'e>(&'e self, scanner: &'e Scanner, family: Family) -> impl Iterator<Item = Found<'e>> {
        let plain = self.scan.hits.iter().map(|hit| (None, hit));
        let decoded = self.views.iter().flat_map(|(view, scan)| scan.hits.iter().map(move |hit| (Some(view), hit)));
        plain.chain(decoded).filter_map(move |(view, hit)| {
            let rule = scanner.library().rule(hit.rule);
            (rule.family() == family).then_some(Found { rule, hit, view, prefix: self.prefix })
        })
    }

    /// The value of the field.
    pub fn value(&self) -> &str {
        self.text.get(self.prefix..).unwrap_or_default()
    }
}

impl<'r> Evidence<'r> {
    /// Scans every text of `record`, and takes out what is suppressed.
    pub fn of(record: &'r Record<'_>, scanner: &Scanner, suppressions: &Suppressions) -> Evidence<'r> {
        let mut evidence = Evidence::default();
        if let Some(system) = &record.system {
            evidence.add("/system".into(), Place::System, Cow::Borrowed(system), 0, scanner);
        }
        match &record.prompt {
            Prompt::Absent => {}
            Prompt::Text(text) => evidence.add("/prompt".into(), Place::User, Cow::Borrowed(text), 0, scanner),
            Prompt::Messages(messages) => {
                for (index, message) in messages.iter().enumerate() {
                    let field = format!("/prompt/{index}/text").into();
                    evidence.add(field, place_of(&message.role), Cow::Borrowed(&message.text), 0, scanner);
                }
            }
        }
        // What still stands in the result of a tool is scanned there.
        let stays = |passage: &Passage<'_>| passage.place.as_ref().is_some_and(|place| place.stays);
        let field = |index: usize| Cow::Owned(format!("/context/{index}"));
        for (index, passage) in record.context.iter().enumerate().filter(|(_, passage)| !stays(passage)) {
            evidence.add(field(index), Place::Context, Cow::Borrowed(&passage.text), 0, scanner);
        }
        if let Some(response) = &record.response {
            evidence.add("/response".into(), Place::Response, Cow::Borrowed(response), 0, scanner);
        }
        if record.kind == Kind::Tool {
            for (field, place, value) in
                [("/args", Place::Arguments, &record.args), ("/result", Place::ToolResult, &record.result)]
            {
                if let Some(value) = value {
                    let mut leaves = Leaves::new(field, place);
                    evidence.add_json("", value, scanner, &mut leaves);
                }
            }
        }
        if let Some(tools) = &record.tools {
            evidence.add_json("", tools, scanner, &mut Leaves::new("/tools", Place::Declaration));
        }
        evidence.note_sensitive(scanner);
        evidence.suppress(scanner, suppressions);
        // Excerpts show it all the same, without what is sensitive.
        let mut repeated = Evidence::default();
        for (index, passage) in record.context.iter().enumerate().filter(|(_, passage)| stays(passage)) {
            repeated.add(field(index), Place::Context, Cow::Borrowed(&passage.text), 0, scanner);
        }
        repeated.note_sensitive(scanner);
        evidence.sensitive.append(&mut repeated.sensitive);
        evidence
    }

    /// Notes where personal data and secrets stand.
    fn note_sensitive(&mut self, scanner: &Scanner) {
        for text in &self.texts {
            for family in [Family::Pii, Family::Secret] {
                let spans =
                    text.found(scanner, family).filter(|found| is_private(found.rule)).filter_map(|found| found.span());
                self.sensitive.extend(spans.map(|span| (text.field.clone(), span)));
            }
        }
    }

    /// Takes the hits out that a person has accepted.
    fn suppress(&mut self, scanner: &Scanner, suppressions: &Suppressions) {
        for text in &mut self.texts {
            let mut is_live = |value: &str, hit: &Hit| {
                let evidence = value.get(hit.span.clone()).unwrap_or_default();
                let id = &scanner.library().rule(hit.rule).id;
                let by = suppressions.suppresses(id, evidence);
                self.suppressed.extend(by);
                if by.is_none() && suppressions.is_drafting() {
                    self.fingerprints.push((id.clone(), suppressions.fingerprint(id, evidence)));
                }
                by.is_none()
            };
            let value = &text.text;
            text.scan.hits.retain(|hit| is_live(value, hit));
            for (view, scan) in &mut text.views {
                scan.hits.retain(|hit| is_live(&view.text, hit));
            }
        }
    }

    fn add(&mut self, field: Cow<'static, str>, place: Place, text: Cow<'r, str>, prefix: usize, scanner: &Scanner) {
        if text.len() == prefix {
            return;
        }
        let scan = |text: &str| {
            // The operator's and the model's own words are no attack.
            match place {
                Place::User => scanner.scan(text),
                Place::ToolResult | Place::Context => scanner.scan_data(text),
                Place::System | Place::Assistant | Place::Response | Place::Arguments | Place::Declaration => {
                    scanner.scan_output(text)
                }
            }
        };
        let found = scan(&text);
        let decoded = if decode::may_be_encoded(&text[prefix..]) { decode::views(&text) } else { Views::default() };
        let mut is_capped = found.is_capped;
        if decoded.is_capped {
            self.limits.insert("decoded_views_per_text", decode::VIEWS_MAX as u64);
        }
        let views = decoded.views.into_iter().map(|view| {
            let mut scan = scan(&view.text);
            // A view carries some of the text around what was decoded; what is found there was found in the text.
            scan.hits.retain(|hit| view.is_decoded(hit.span.clone()));
            is_capped |= scan.is_capped;
            (view, scan)
        });
        let views = views.collect();
        if is_capped {
            self.limits.insert("hits_per_rule_and_text", HITS_PER_RULE_MAX as u64);
        }
        if matches!(place, Place::ToolResult | Place::Context) && found.hits.len() > SIGNS_MAX {
            let is_sign = |hit: &&Hit| scanner.library().rule(hit.rule).family() == Family::Indirect;
            if found.hits.iter().filter(is_sign).count() > SIGNS_MAX {
                self.limits.insert("signs_per_text", SIGNS_MAX as u64);
            }
        }
        self.texts.push(ScannedText { field, place, text, prefix, scan: found, views });
    }

    /// Adds what a tool says of itself, where a rule finds something in it. Records of one agent declare the same tools
    /// again and again, so that what was found is remembered.
    fn add_declaration(&mut self, field: &str, text: Cow<'r, str>, scanner: &Scanner) {
        let known = scanner.known_declaration(&text);
        let declaration = known.unwrap_or_else(|| {
            let declaration = Arc::new(scan_declaration(&text, scanner));
            scanner.remember_declaration(&text, &declaration);
            declaration
        });
        if declaration.is_capped {
            self.limits.insert("hits_per_rule_and_text", HITS_PER_RULE_MAX as u64);
        }
        if declaration.scan.hits.is_empty() && declaration.views.is_empty() {
            return;
        }
        let private = declaration.private.iter().map(|span| (Cow::Owned(field.to_owned()), span.clone()));
        self.sensitive.extend(private);
        let (scan, views) = (declaration.scan.clone(), declaration.views.clone());
        self.texts.push(ScannedText {
            field: field.to_owned().into(),
            place: Place::Declaration,
            text,
            prefix: 0,
            scan,
            views,
        });
    }

    /// Adds every string and number of a JSON value that stands under `name`.
    fn add_json(&mut self, name: &str, value: &'r Json<'_>, scanner: &Scanner, leaves: &mut Leaves) {
        match value {
            Json::Null | Json::Bool(_) => {}
            Json::Number(_) if leaves.place == Place::Declaration => {}
            Json::String(text) if leaves.place == Place::Declaration && text.len() < DECLARATION_BYTES_MIN => {}
            Json::String(_) | Json::Number(_) => {
                if leaves.left == 0 {
                    self.limits.insert("scanned_values_per_json", LEAVES_MAX as u64);
                    return;
                }
                let Some(pointers_bytes_left) = leaves.pointers_bytes_left.checked_sub(leaves.field.len()) else {
                    self.limits.insert("pointers_bytes_per_json", POINTERS_BYTES_MAX as u64);
                    return;
                };
                leaves.left -= 1;
                leaves.pointers_bytes_left = pointers_bytes_left;
                let (text, prefix) = match value {
                    Json::String(text) if leaves.place == Place::Declaration => (Cow::Borrowed(&**text), 0),
                    Json::String(text) => behind(name, text),
                    number => {
                        let number = number.to_compact_string();
                        let (text, prefix) = behind(name, &number);
                        (Cow::Owned(text.into_owned()), prefix)
                    }
                };
                if leaves.place == Place::Declaration {
                    self.add_declaration(&leaves.field, text, scanner);
                } else {
                    self.add(leaves.field.clone().into(), leaves.place, text, prefix, scanner);
                }
            }
            Json::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    leaves.within(&index.to_string(), |leaves| self.add_json(name, item, scanner, leaves));
                }
            }
            Json::Object(members) => {
                for (name, item) in members {
                    leaves.within(name, |leaves| self.add_json(name, item, scanner, leaves));
                }
            }
        }
    }
}

/// What is found in what a tool says of itself, and what of it must not be shown.
fn scan_declaration(text: &str, scanner: &Scanner) -> Declaration {
    let scan = scanner.scan_declaration(text);
    let decoded = if decode::may_be_encoded(text) { decode::views(text).views } else { Vec::new() };
    let views = decoded.into_iter().filter_map(|view| {
        let mut scan = scanner.scan_declaration(&view.text);
        scan.hits.retain(|hit| view.is_decoded(hit.span.clone()));
        (!scan.hits.is_empty()).then_some((view, scan))
    });
    let views: Vec<(Decoded, Scan)> = views.collect();
    let is_capped = scan.is_capped || views.iter().any(|(_, scan)| scan.is_capped);
    // Nobody else looks for what must not be shown there.
    let is_shown = !scan.hits.is_empty() || !views.is_empty();
    let hits = if is_shown { scanner.scan_output(text).hits } else { Vec::new() };
    let private = hits.into_iter().filter(|hit| is_private(scanner.library().rule(hit.rule))).map(|hit| hit.span);
    let private = private.collect();
    Declaration { scan, views, private, is_capped }
}

/// The way through a JSON value.
struct Leaves {
    /// Where it has come to, as a JSON Pointer.
    field: String,
    place: Place,
    /// How many strings and numbers it may still take.
    left: usize,
    pointers_bytes_left: usize,
}

impl Leaves {
    fn new(field: &str, place: Place) -> Leaves {
        Leaves { field: field.to_owned(), place, left: LEAVES_MAX, pointers_bytes_left: POINTERS_BYTES_MAX }
    }

    /// What `visit` does one step further down.
    fn within(&mut self, token: &str, visit: impl FnOnce(&mut Leaves)) {
        let length = self.field.len();
        self.field.push('/');
        if token.contains(['~', '/']) {
            self.field.push_str(&token.replace('~', "~0").replace('/', "~1"));
        } else {
            self.field.push_str(token);
        }
        visit(self);
        self.field.truncate(length);
    }
}

/// The text behind the name of its field, and the bytes in front of it.
fn behind<'t>(name: &str, text: &'t str) -> (Cow<'t, str>, usize) {
    if name.is_empty() {
        return (Cow::Borrowed(text), 0);
    }
    let name = &name[..name.floor_char_boundary(NAME_BYTES_MAX)];
    (Cow::Owned([name, ": ", text].concat()), name.len() + 2)
}

fn place_of(role: &str) -> Place {
    match role {
        "system" | "developer" => Place::System,
        "assistant" | "model" | "ai" => Place::Assistant,
        "tool" | "function" | "tool_result" => Place::ToolResult,
        _ => Place::User,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        record::{self, Message},
        rules::Library,
    };

    #[test]
    fn a_document_that_stays_in_a_result_is_scanned_once_and_redacted_twice() {
        let text = "Write to maria.holm@brisk-kettles.com when the lid of your kettle is loose.";
        let mut prompt_only = Record::new(Kind::Llm);
        prompt_only.prompt = Prompt::Messages(vec![Message::new("tool", text)]);
        let mut both = prompt_only.clone();
        let place = record::Place { field: "/prompt/0/text".into(), span: 0..text.len(), stays: true };
        both.context = vec![Passage { id: None, text: text.into(), place: Some(place.clone()) }];
        let mut cut = both.clone();
        cut.context[0].place = Some(record::Place { stays: false, ..place });
        let scanner = Scanner::new(Library::built_in());
        let check = |record: &Record<'_>, scanned: &[&str], sensitive: &[&str]| {
            let evidence = Evidence::of(record, &scanner, &Suppressions::default());
            let fields: Vec<&str> = evidence.texts.iter().map(|text| &*text.field).collect();
            let mut named: Vec<&str> = evidence.sensitive.iter().map(|(field, _)| &**field).collect();
            named.dedup();
            assert_eq!((&fields[..], &named[..]), (scanned, sensitive));
        };
        check(&prompt_only, &["/prompt/0/text"], &["/prompt/0/text"]);
        check(&both, &["/prompt/0/text"], &["/prompt/0/text", "/context/0"]);
        check(&cut, &["/prompt/0/text", "/context/0"], &["/prompt/0/text", "/context/0"]);
    }
}
