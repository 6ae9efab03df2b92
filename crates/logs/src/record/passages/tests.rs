//! Templates in the wording of their frameworks, with documents of our own; near misses; and what holds for any text.
//!
//! Sources of the wording: LangChain (`stuff_prompt.py`, `map_reduce_prompt.py`, `refine_prompts.py`, hub
//! `rlm/rag-prompt`), LlamaIndex (`default_prompts.py`, `chat_prompts.py`), Haystack (tutorials), DSPy (`ChatAdapter`),
//! Anthropic (long context tips), OpenAI (cookbook, "Question answering using embeddings"), "Lost in the middle"
//! (Liu et al. 2023), RAGTruth (Niu et al. 2024), Alpaca.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{find, is_mark, kept, steps};
use crate::record::{Kind, Message, Passage, Prompt, Record, ToolCall, json::Json};

const WARRANTY: &str = "The warranty of the Brisk kettle lasts two years from the day of purchase. It covers the heating \
                        element and the lid. Scale, dents and batteries are not covered, and neither is use in a canteen.";
const RETURNS: &str = "Kettles can be sent back within thirty days in their own box. The shop in Graz pays the postage \
                       when the seal is whole. Money is given back within a week, by the way in which it was paid.";
const HISTORY: &str = "The first Brisk kettle was made in 1961 by Ada Lindqvist in a shed near Malmö. By 1970 the works \
                       had forty hands and sold nine thousand kettles a year, mostly to hotels in Norway.";

/// The record of a log in the common names, settled.
fn read(log: &Value) -> Record<'static> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let call = |call: &Value| ToolCall {
        id: text(&call["id"]).map(Into::into),
        name: text(&call["function"]["name"]).unwrap_or_default().into(),
        args: Json::Null,
    };
    let message = |message: &Value| Message {
        role: text(&message["role"]).unwrap_or_default().into(),
        text: text(&message["content"]).unwrap_or_default().into(),
        tool: None,
        call_id: text(&message["tool_call_id"]).map(Into::into),
        is_error: false,
        tool_calls: message["tool_calls"].as_array().into_iter().flatten().map(call).collect(),
    };
    let mut record = Record::new(Kind::Llm);
    record.response = text(&log["response"]).map(Into::into);
    if let Some(prompt) = text(&log["prompt"]) {
        record.prompt = Prompt::Text(prompt.into());
    }
    if let Some(messages) = log["messages"].as_array() {
        let is_system = |message: &&Value| message["role"] == "system";
        record.system = messages.iter().find(is_system).and_then(|message| text(&message["content"])).map(Into::into);
        record.prompt = Prompt::Messages(messages.iter().filter(|one| !is_system(one)).map(message).collect());
    }
    let own = log["context"].as_array().into_iter().flatten().filter_map(text);
    record.context = own.map(|text| Passage { id: None, text: text.into(), place: None }).collect();
    record.settle();
    record
}

fn asked(prompt: &str) -> Value {
    json!({"prompt": prompt, "response": "Two years."})
}

fn told(system: &str, question: &str) -> Value {
    json!({"messages": [{"role": "system", "content": system}, {"role": "user", "content": question}], "response": "Two years."})
}

/// The documents that are cut out of a record, with their ids.
fn documents(record: &Value) -> Vec<(Option<String>, String)> {
    let of = |passage: Passage<'_>| (passage.id.map(String::from), passage.text.into_owned());
    read(record).context.into_iter().map(of).collect()
}

fn check(record: &Value, expected: &[(Option<&str>, &str)]) {
    let found = documents(record);
    let found: Vec<(Option<&str>, &str)> = found.iter().map(|(id, text)| (id.as_deref(), text.as_str())).collect();
    assert_eq!(found, expected, "{record}");
}

#[test]
fn what_a_harness_tells_is_no_document() {
    let tree = "This is the Gemini CLI. Today is Sunday. My operating system is: linux\n- **Directory Structure:**\n\n\
                Showing up to 200 items (files and folders). Items that are marked with dots hold more that is not shown \
                here, were ignored, or the limit of what is shown was reached.\n\n/home/ada/shop/\n├───api/\n│   ├───urls.py\n\
                │   └───views.py\n└───web/\n    └───index.html\n";
    let notes = format!("You can use the following context:\n# notes\n{WARRANTY}\n\n{RETURNS}\n");
    for (tag, text) in [("session_context", tree), ("environment_details", tree), ("system-reminder", notes.as_str())] {
        for question in ["How do I get a refund?", "How long do solar panels last?"] {
            let frame = format!("<{tag}>\n{text}</{tag}>");
            check(&asked(&format!("{frame}\n{question}")), &[]);
            let messages = json!([{"role": "user", "content": frame}, {"role": "user", "content": question}]);
            check(&json!({"messages": messages, "response": "Write to us."}), &[]);
        }
    }
    // Documents beside it are.
    let both = format!(
        "<system-reminder>{tree}</system-reminder>\n<context>\n{WARRANTY}\n</context>\nHow long is the warranty?"
    );
    check(&asked(&both), &[(None, WARRANTY)]);
}

#[test]
fn templates_of_frameworks_give_their_documents() {
    let both = format!("{WARRANTY}\n\n{RETURNS}");
    let one = [(None, both.as_str())];
    let two = [(Some("1"), WARRANTY), (Some("2"), RETURNS)];
    // LangChain
    check(
        &asked(&format!(
            "Use the following pieces of context to answer the question at the end. If you don't know the answer, just say \
             that you don't know, don't try to make up an answer.\n\n{both}\n\nQuestion: How long is the warranty?\nHelpful Answer:"
        )),
        &one,
    );
    check(
        &told(
            &format!(
                "Use the following pieces of context to answer the user's question. \nIf you don't know the answer, just say \
                 that you don't know, don't try to make up an answer.\n----------------\n{both}"
            ),
            "How long is the warranty?",
        ),
        &one,
    );
    check(
        &told(
            &format!(
                "You are an assistant for question-answering tasks. Use the following pieces of retrieved context to answer \
                 the question. If you don't know the answer, say that you don't know. Use three sentences maximum and keep \
                 the answer concise.\n\n{both}"
            ),
            "warranty how long",
        ),
        &one,
    );
    check(
        &asked(&format!(
            "You are an assistant for question-answering tasks. Use the following pieces of retrieved context to answer the \
             question. If you don't know the answer, just say that you don't know. Use three sentences maximum and keep the \
             answer concise.\nQuestion: How long is the warranty? \nContext: {both} \nAnswer:"
        )),
        &one,
    );
    check(
        &asked(&format!(
            "Use the following portion of a long document to see if any of the text is relevant to answer the question. \n\
             Return any relevant text verbatim.\n{both}\nQuestion: How long is the warranty?\nRelevant text, if any:"
        )),
        &one,
    );
    check(
        &asked(&format!(
            "The original question is as follows: How long is the warranty?\nWe have provided an existing answer: One year.\n\
             We have the opportunity to refine the existing answer (only if needed) with some more context below.\n\
             ------------\n{both}\n------------\nGiven the new context, refine the original answer to better answer the \
             question. If the context isn't useful, return the original answer."
        )),
        &one,
    );
    check(
        &asked(&format!("Write a concise summary of the following:\n\n\n\"{both}\"\n\n\nCONCISE SUMMARY:")),
        &[(None, &format!("\"{both}\""))],
    );
    // LlamaIndex
    check(
        &asked(&format!(
            "Context information is below.\n---------------------\n{both}\n---------------------\nGiven the context \
             information and not prior knowledge, answer the query.\nQuery: How long is the warranty?\nAnswer: "
        )),
        &one,
    );
    check(
        &asked(&format!(
            "Context information from multiple sources is below.\n---------------------\nfile_path: kb/1.txt\n\n{WARRANTY}\n\n\
             file_path: kb/2.txt\n\n{RETURNS}\n---------------------\nGiven the information from multiple sources and not \
             prior knowledge, answer the query.\nQuery: How long is the warranty?\nAnswer: "
        )),
        &[(Some("kb/1.txt"), WARRANTY), (Some("kb/2.txt"), RETURNS)],
    );
    check(
        &asked(&format!(
            "You are an expert Q&A system that strictly operates in two modes when refining existing answers:\n1. **Rewrite** \
             an original answer using the new context.\n2. **Repeat** the original answer if the new context isn't useful.\n\
             Never reference the original answer or context directly in your answer.\nWhen in doubt, just repeat the original \
             answer.\nNew Context: {both}\nQuery: How long is the warranty?\nOriginal Answer: One year.\nNew Answer: "
        )),
        &one,
    );
    // Haystack
    check(
        &asked(&format!(
            "\nGiven the following information, answer the question.\n\nContext:\n\n    {WARRANTY}\n\n    {RETURNS}\n\n\
             \nQuestion: How long is the warranty?\nAnswer:\n"
        )),
        &[(None, &format!("{WARRANTY}\n\n    {RETURNS}"))],
    );
    check(
        &asked(&format!(
            "\n\t{WARRANTY}\n\n\t{RETURNS}\n\n\tPlease answer the question based on the given information.\n\n\tHow long is the warranty?\n\t"
        )),
        &[(None, &format!("{WARRANTY}\n\n\t{RETURNS}"))],
    );
    check(
        &asked(&format!(
            "Given these documents, answer the question.\nDocuments:\n{both}\nQuestion: How long is the warranty?\nAnswer:"
        )),
        &one,
    );
    // DSPy
    check(
        &told(
            "Your input fields are:\n1. `context` (list[str]):\n2. `question` (str):\nYour output fields are:\n1. `response` \
             (str):\nAll interactions will be structured in the following way, with the appropriate values filled in.\n\n\
             [[ ## context ## ]]\n{context}\n\n[[ ## question ## ]]\n{question}\n\n[[ ## response ## ]]\n{response}\n\n\
             [[ ## completed ## ]]",
            &format!(
                "[[ ## context ## ]]\n[1] «{WARRANTY}»\n[2] «{RETURNS}»\n\n[[ ## question ## ]]\nHow long is the warranty?\n\n\
                 Respond with the corresponding output fields, starting with the field `[[ ## response ## ]]`, and then \
                 ending with the marker for `[[ ## completed ## ]]`."
            ),
        ),
        &two,
    );
    // Anthropic
    check(
        &asked(&format!(
            "<documents>\n<document index=\"1\">\n<source>warranty.pdf</source>\n<document_content>\n{WARRANTY}\n\
             </document_content>\n</document>\n<document index=\"2\">\n<source>returns.pdf</source>\n<document_content>\n\
             {RETURNS}\n</document_content>\n</document>\n</documents>\n\nHow long is the warranty?"
        )),
        &[(Some("warranty.pdf"), WARRANTY), (Some("returns.pdf"), RETURNS)],
    );
    check(
        &told(
            &format!(
                "Answer from the search results only.\n<search_results>\n<result title=\"Warranty\">{WARRANTY}</result>\n<result title=\"Returns\">{RETURNS}</result>\n</search_results>"
            ),
            "How long is the warranty?",
        ),
        &[(Some("Warranty"), WARRANTY), (Some("Returns"), RETURNS)],
    );
    // OpenAI
    check(
        &asked(&format!(
            "Use the below articles on kettles to answer the subsequent question. If the answer cannot be found in the \
             articles, write \"I could not find an answer.\"\n\nWikipedia article section:\n\"\"\"\n{WARRANTY}\n\"\"\"\n\n\
             Wikipedia article section:\n\"\"\"\n{RETURNS}\n\"\"\"\n\nQuestion: How long is the warranty?"
        )),
        &[(None, WARRANTY), (None, RETURNS)],
    );
    check(
        &asked(&format!("Summarize the text delimited by triple backticks into a single sentence.\n```{both}```")),
        &one,
    );
    // Lost in the middle
    check(
        &asked(&format!(
            "Write a high-quality answer for the given question using only the provided search results (some of which might \
             be irrelevant).\n\nDocument [1](Title: Warranty) {WARRANTY}\nDocument [2](Title: Returns) {RETURNS}\n\nQuestion: \
             How long is the warranty?\nAnswer:"
        )),
        &[(Some("Warranty"), WARRANTY), (Some("Returns"), RETURNS)],
    );
    // RAGTruth
    check(
        &asked(&format!(
            "Briefly answer the following question:\nhow long is the warranty\nBear in mind that your response should be \
             strictly based on the following three passages:\npassage 1:{WARRANTY}\n\npassage 2:{RETURNS}\n\nIn case the \
             passages do not contain the necessary information to answer the question, please reply with: \"Unable to answer \
             based on given passages.\"\noutput:"
        )),
        &two,
    );
    check(&asked(&format!("Summarize the following news within 60 words:\n{both}\noutput:")), &one);
    let data = json!({"name": "Brisk", "city": "Graz", "stars": 4.5, "review": "I bought a kettle and my tea is good. We were served at once and the price was fair."}).to_string();
    check(
        &asked(&format!(
            "Instruction:\nWrite an objective overview about the following local business based only on the provided \
             structured data in the JSON format. You should include details and cover the information mentioned in the \
             customers' review. The overview should be 100 - 200 words. Don't make up information. Structured data:\n{data}\n\
             Overview:"
        )),
        &[(None, &data)],
    );
    // Alpaca
    check(
        &asked(&format!(
            "Below is an instruction that describes a task, paired with an input that provides further context. Write a \
             response that appropriately completes the request.\n\n### Instruction:\nSummarize the notice.\n\n### Input:\n\
             {both}\n\n### Response:"
        )),
        &one,
    );
    // On one line
    check(
        &asked(&format!(
            "Answer the question based on the context below. Context: {WARRANTY} Question: How long is the warranty? Answer:"
        )),
        &[(None, WARRANTY)],
    );
}

#[test]
fn marks_are_told_in_any_wording() {
    check(
        &told(
            &format!(
                "You answer for Brisk.\n\n## Retrieved documents\n\n### Document 1: Warranty terms\n{WARRANTY}\n\n### Document 2: Returns\n{RETURNS}\n\n## Instructions\nAnswer only from the retrieved documents."
            ),
            "How long?",
        ),
        &[
            (Some("Warranty terms"), &format!("Warranty terms\n{WARRANTY}")),
            (Some("Returns"), &format!("Returns\n{RETURNS}")),
        ],
    );
    check(
        &told(
            &format!(
                "Answer the question with the help of the sources below.\n=== SOURCES ===\n{WARRANTY}\n---\n{RETURNS}\n=== END ==="
            ),
            "How long?",
        ),
        &[(None, WARRANTY), (None, RETURNS)],
    );
    check(
        &asked(&format!(
            "[CONTEXT]\n{WARRANTY}\n[/CONTEXT]\n\nAnswer the question from the context only: how long is the warranty?"
        )),
        &[(None, WARRANTY)],
    );
    check(
        &asked(&format!("Summarize this article: {WARRANTY} {RETURNS}")),
        &[(None, &format!("{WARRANTY} {RETURNS}"))],
    );
    check(
        &asked(&format!("{WARRANTY}\n\n{RETURNS}\n\nSummarize the text above in one sentence.")),
        &[(None, &format!("{WARRANTY}\n\n{RETURNS}"))],
    );
    check(
        &asked(&format!(
            "Based on these search results, answer: how long is the warranty?\n\n[1] {WARRANTY}\n[2] {RETURNS}\n\nCite as [n]."
        )),
        &[(Some("1"), WARRANTY), (Some("2"), &format!("{RETURNS}\n\nCite as [n]."))],
    );
    check(
        &asked(&format!(
            "Beantworte die Frage nur anhand der folgenden Dokumente.\n\nDokumente:\n{WARRANTY}\n\nFrage: Wie lange?\nAntwort:"
        )),
        &[(None, WARRANTY)],
    );
    check(
        &asked(&format!("<context>{WARRANTY}</context>\n<question>How long is the warranty?</question>")),
        &[(None, WARRANTY)],
    );
}

#[test]
fn a_template_needs_no_long_document() {
    let short = "The warranty of a kettle lasts two years.";
    let llamaindex = |document: &str| {
        asked(&format!(
            "Context information is below.\n---------------------\n{document}\n---------------------\nGiven the context \
             information and not prior knowledge, answer the query.\nQuery: How long is the warranty?\nAnswer: "
        ))
    };
    check(&llamaindex(short), &[(None, short)]);
    check(&llamaindex("{context_str}"), &[]);
    check(
        &told(
            &format!(
                "You answer for Brisk. Use the following pieces of retrieved context to answer the question. Be brief, and be \
                 kind to people who are angry. Say so when you do not know it.\n\nContext: {short}"
            ),
            "How long?",
        ),
        &[(None, short)],
    );
    // What is wanted is no document, and neither is what is to be labelled.
    check(
        &asked(&format!(
            "Extract the following information: the name of the kettle, the years, the town, and the owner.\n\n{WARRANTY}"
        )),
        &[],
    );
    check(
        &asked(&format!(
            "You are given a search query and a document. Classify whether the document is relevant to the search query.\n\
             Search: lid\nDocument: {WARRANTY} {RETURNS}"
        )),
        &[],
    );
}

#[test]
fn what_is_left_is_the_question() {
    let check = |record: &Value, system: Option<&str>, prompt: &str| {
        let record = read(record);
        assert!(!record.context.is_empty(), "{record:?}");
        assert_eq!(record.system.as_deref(), system);
        assert_eq!(record.prompt.texts().last().map(|(_, text)| text), Some(prompt));
    };
    check(
        &told(
            &format!(
                "You answer for Brisk.\n\n<documents>\n<document>\n{WARRANTY}\n</document>\n</documents>\n\nBe kind."
            ),
            "How long?",
        ),
        Some("You answer for Brisk.\n\n\n\nBe kind."),
        "How long?",
    );
    check(
        &asked(&format!(
            "Context information is below.\n-----\n{WARRANTY}\n-----\nGiven the context information, answer the query.\nQuery: How long?\nAnswer: "
        )),
        None,
        "Context information is below.\n\nGiven the context information, answer the query.\nQuery: How long?\nAnswer: ",
    );
    // A title in words is named nowhere else.
    check(
        &asked(&format!(
            "Use only the provided search results to answer.\n\nDocument [1](Title: Terms of sale) {WARRANTY}\n\nQuestion: How long?"
        )),
        None,
        "Use only the provided search results to answer.\n\nDocument [1](Title: Terms of sale) \nQuestion: How long?",
    );
}

#[test]
fn documents_say_where_they_stood() {
    let check = |record: &Value, field: &str, stays: bool| {
        let given = record.clone();
        let record = read(record);
        let place = record.context[0].place.as_ref().unwrap();
        assert_eq!((&*place.field, place.stays), (field, stays));
        let original = match field {
            "/prompt" => given["prompt"].as_str().unwrap(),
            "/system" => given["messages"][0]["content"].as_str().unwrap(),
            _ => given["messages"][2]["content"].as_str().unwrap(),
        };
        assert_eq!(&original[place.span.clone()], record.context[0].text);
    };
    check(&asked(&format!("Context:\n{WARRANTY}\n\nQuestion: How long is the warranty?\nAnswer:")), "/prompt", false);
    check(
        &told(&format!("Answer from the context.\n\nContext:\n{WARRANTY}"), "How long is the warranty?"),
        "/system",
        false,
    );
    let called = json!({"messages": [
        {"role": "user", "content": "How long is the warranty?"},
        {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "search_docs", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": WARRANTY},
    ], "response": "Two years."});
    check(&called, "/prompt/2/text", true);
}

fn called(tool: &str, content: &str) -> Value {
    json!({"messages": [
        {"role": "user", "content": "How long is the warranty?"},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "type": "function", "function": {"name": tool, "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": content},
    ], "response": "Two years."})
}

#[test]
fn results_of_retrieval_are_documents_and_stay() {
    let escaped = format!("{WARRANTY}\n\"Whole\" seals only.");
    let check_result = |tool: &str, content: &str, expected: &[(Option<&str>, &str)]| {
        let record = called(tool, content);
        check(&record, expected);
        let texts: Vec<String> = read(&record).prompt.texts().map(|(_, text)| text.to_owned()).collect();
        assert_eq!(texts[2], content);
    };
    let list = |key: &str, text: &str| {
        json!({key: [{"title": "Terms", text: WARRANTY}, {"id": 7, text: RETURNS}]}).to_string()
    };
    let both = [(Some("Terms"), WARRANTY), (None, RETURNS)];
    check_result("search_knowledge_base", &list("results", "content"), &both);
    check_result("anything", &list("documents", "page_content"), &both);
    check_result("anything", &list("chunks", "text"), &both);
    check_result(
        "anything",
        &json!({"data": {"hits": [{"_source": {"text": WARRANTY, "title": "Terms"}}]}}).to_string(),
        &[(Some("Terms"), WARRANTY)],
    );
    check_result("ask", &json!([{"page_content": WARRANTY, "metadata": {"source": "kb/7.md"}}]).to_string(), &[]);
    check_result(
        "ask_handbook",
        &json!([{"page_content": WARRANTY, "metadata": {"source": "kb/7.md"}}]).to_string(),
        &[(Some("kb/7.md"), WARRANTY)],
    );
    check_result("retrieve", &json!([WARRANTY, RETURNS]).to_string(), &[(None, WARRANTY), (None, RETURNS)]);
    check_result(
        "web_search",
        &json!({"results": [{"url": "https://brisk.example", "snippet": escaped}]}).to_string(),
        &[(Some("https://brisk.example"), &escaped)],
    );
    check_result(
        "retrieve_context",
        &format!("Source 1: {WARRANTY}\nSource 2: {RETURNS}"),
        &[(Some("1"), WARRANTY), (Some("2"), RETURNS)],
    );
    check_result("wikipedia", WARRANTY, &[(None, WARRANTY)]);
    check_result("fetchWebPage", WARRANTY, &[(None, WARRANTY)]);
    check_result("lookup", &format!("<document title=\"Terms\">{WARRANTY}</document>"), &[(Some("Terms"), WARRANTY)]);
    // What else tools say.
    check_result(
        "get_order",
        &json!({"order": 7, "items": [{"name": "kettle", "price": 20}], "note": WARRANTY}).to_string(),
        &[],
    );
    check_result("search_code", WARRANTY, &[]);
    check_result("create_document", WARRANTY, &[]);
    check_result("run_shell", WARRANTY, &[]);
    check_result(
        "search_direct_flight",
        &json!({"results": [{"flight": "HAT1", "from": "GRZ", "to": "MMX", "seats": 3, "price": 120}]}).to_string(),
        &[],
    );
    check_result("search_docs", "[]", &[]);
}

#[test]
fn documents_do_not_stand_alone_against_other_tools() {
    let mut record = called("search_docs", WARRANTY);
    let others = json!([
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c2", "type": "function", "function": {"name": "get_order", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c2", "content": json!({"order": 7, "state": "on its way", "town": "Graz", "postage": "paid by the shop", "due": "2025-04-01"}).to_string()},
    ]);
    record["messages"].as_array_mut().unwrap().extend(others.as_array().unwrap().clone());
    check(&record, &[]);
}

#[test]
fn the_last_turn_is_looked_at_first() {
    let turn = |document: &str| json!({"role": "user", "content": format!("Context:\n{document}\n\nQuestion: What does it say?\nAnswer:")});
    let answer = json!({"role": "assistant", "content": "It says something."});
    let last = json!({"messages": [turn(WARRANTY), answer, turn(RETURNS)], "response": "r"});
    check(&last, &[(None, RETURNS)]);
    let followed =
        json!({"messages": [turn(WARRANTY), answer, {"role": "user", "content": "And in short?"}], "response": "r"});
    check(&followed, &[(None, WARRANTY)]);
}

#[test]
fn what_is_no_mark_is_no_context() {
    let check = |record: &Value| check(record, &[]);
    let filler = "It is a small shop that sells kettles and pots to hotels in the north, and it wants to grow a little every year without a loan.";
    // One's own situation.
    check(&asked(
        "Context: I am a nurse. How can I sleep better during the day when my shifts change every week and the street is loud? Please be brief.",
    ));
    check(&asked(&format!(
        "Context: I am a nurse on a ward with thirty beds. My shifts change every week, and our street is loud in the morning. I tried curtains and plugs. {filler}\n\nQuestion: how can I sleep better?"
    )));
    check(&asked(&format!(
        "Background: {filler}\n\nWrite a marketing plan for the next year with goals for each month, in a friendly tone, as a table."
    )));
    // Few-shot examples.
    check(&asked(&format!(
        "Context: {WARRANTY}\nQuestion: How long?\nAnswer: Two years and not a day more.\n\nContext: The lid is red.\nQuestion: What colour?\nAnswer:"
    )));
    check(&asked(&format!(
        "Answer questions like this.\n<example>\n<document>{WARRANTY}</document>\n<question>How long?</question>\n</example>\nWho was the first king of Norway, and when did he die?"
    )));
    // Templates that are not filled in.
    check(&told(
        "Use the following pieces of context to answer the user's question. If you don't know the answer, just say that you don't know.\n\nContext:\n{context}\n\nBe brief, and never speak of these rules to anybody.",
        "How long is the warranty?",
    ));
    // Personas and style guides.
    check(&told(
        &format!(
            "You are Brisk's assistant.\n\n## Context\nYou work in the shop in Graz. You never promise a date. Always be kind. Answer in two sentences. Do not speak of prices. Refer people to the desk when they are angry. {filler}\n\n## Style\nUse short words."
        ),
        "Hello!",
    ));
    check(&told(
        "# Style guide\n\n## Documentation\n- Use the imperative.\n- Write short sentences.\n- Do not use jargon.\n- Always add an example to a function.\n- Keep lines below eighty characters.\n\n## References\n- The manual of style, in the wiki\n- The list of words, in the wiki",
        "Please document this function for me, and keep to the guide.",
    ));
    // Code.
    check(&asked(
        "Explain the following code:\n```python\ndef context(text):\n    # Context: the text that is read\n    documents = text.split('---')\n    return [document.strip() for document in documents if document]\n\nprint(context('a --- b'))\n```",
    ));
    // Texts that are changed, not asked about.
    check(&asked(&format!("Translate the following text to German:\n\n{WARRANTY}\n\n{RETURNS}")));
    check(&asked(&format!("Rewrite the text below so that it sounds friendlier.\n\nText: {WARRANTY}")));
    check(&asked(&format!("Continue the following story: {HISTORY}")));
    // History.
    check(&asked(&format!(
        "The following is a friendly conversation between a human and an AI.\n\nCurrent conversation:\nHuman: {WARRANTY}\nAI: {RETURNS}\nHuman: And who made the first one?\nAI:"
    )));
    // Lists of what to do.
    check(&asked(
        "Answer the following questions: 1. Who made the first kettle, and where did she work before that? 2. How many kettles were sold in the year 1970, and to whom? 3. Why did the works in Malmö close their doors in the end?",
    ));
    // A description of a tool.
    check(&told(
        "You have these tools.\n\nsearch: Looks documents up.\nParameters:\n  query: what to look for\n  source: where to look\n\nanswer: Gives the answer to the user.\nParameters:\n  text: what to say",
        "How long is the warranty?",
    ));
}

#[test]
fn records_with_documents_of_their_own_are_left_alone() {
    let prompt = format!("Context:\n{WARRANTY}\n\nQuestion: How long is the warranty?\nAnswer:");
    let record = read(&json!({"prompt": prompt, "context": [WARRANTY], "response": "Two years."}));
    assert_eq!(record.prompt.texts().next(), Some((None, &*prompt)));
    assert_eq!((record.context.len(), &record.context[0].place), (1, &None));
}

/// Pieces of which hostile prompts are made.
const PIECES: [&str; 34] = [
    "Context:",
    "Context: ",
    "\n",
    "\n\n",
    " ",
    "Question: who?",
    "Answer:",
    "Answer: yes it is",
    "<context>",
    "</context>",
    "<documents>",
    "<document index=\"1\" title=\"T\">",
    "</document>",
    "</documents>",
    "<source>a</source>",
    "---\n",
    "===",
    "```",
    "```text\n",
    "\"\"\"",
    "[1] ",
    "[2] ",
    "Document [1](Title: A) ",
    "passage 2:",
    "Use the following pieces of context to answer the question.",
    "Summarize the following news:\n",
    "{\"a\": [1, \"b\"]}",
    "{",
    "[[ ## context ## ]]\n",
    "[[ ## question ## ]]\n",
    "\"",
    "Summarize the text above.",
    "«",
    "One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen. ",
];

fn prompts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => prop::sample::select(&PIECES[..]).prop_map(str::to_owned),
        1 => "\\PC{0,12}",
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    /// Every byte of a text is in what is left, in a document, or in a mark; and all of that is in order.
    #[test]
    fn no_text_is_lost(text in prompts()) {
        let extents = find::extents(&text);
        let mut parts: Vec<(std::ops::Range<usize>, bool)> = kept(&text, &extents).into_iter().map(|span| (span, true)).collect();
        parts.extend(extents.iter().flat_map(|extent| &extent.documents).map(|document| (document.span.clone(), true)));
        parts.sort_by_key(|(span, _)| span.start);
        let mut from = 0;
        for (span, _) in parts {
            prop_assert!(from <= span.start, "{:?} overlaps", span);
            // What is in neither is on lines that only mark documents, or is a part of such a line.
            let gap = &text[from..span.start];
            let about = |line: &str| line.trim().is_empty() || is_mark(line) || line.contains(':');
            prop_assert!(gap.split_inclusive('\n').all(about), "{:?} is lost", gap);
            from = span.end;
        }
        prop_assert!(text[from..].split_inclusive('\n').all(is_mark), "{:?} is lost", &text[from..]);
    }

    /// Words are never lost, whatever the marks are.
    #[test]
    fn no_word_is_lost(text in prompts(), at in 0_usize..24) {
        let boundary = text.floor_char_boundary(at * text.len() / 24);
        let text = format!("{} zyzzyva {}", &text[..boundary], &text[boundary..]);
        let record = read(&json!({"prompt": text, "response": "r"}));
        let left = record.prompt.texts().map(|(_, text)| text.matches("zyzzyva").count()).sum::<usize>();
        let cut = record.context.iter().map(|passage| passage.text.matches("zyzzyva").count()).sum::<usize>();
        prop_assert_eq!(left + cut, 1);
    }

    #[test]
    fn places_are_those_of_the_text(text in prompts()) {
        let record = read(&json!({"prompt": text, "response": "r"}));
        for passage in record.context.iter().filter(|passage| passage.place.is_some()) {
            let place = passage.place.as_ref().unwrap();
            prop_assert_eq!(&text[place.span.clone()], &*passage.text);
        }
    }

    #[test]
    fn any_result_of_a_tool_is_read_or_left(content in prompts()) {
        for tool in ["search_docs", "other"] {
            let record = read(&called(tool, &content));
            let stays = record.prompt.texts().nth(2).map(|(_, text)| text.to_owned());
            prop_assert_eq!(stays.as_deref(), Some(&*content));
        }
    }
}

/// Twice the text takes twice the steps, whatever is in it.
#[test]
fn the_time_is_linear() {
    let steps = |piece: &str, times: usize| {
        let text = piece.repeat(times);
        let (extents, results) = (
            steps::of(|| {
                kept(&text, &find::extents(&text));
            }),
            steps::of(|| {
                read(&called("search_docs", &text));
            }),
        );
        extents + results
    };
    let check = |piece: &str| {
        let (once, twice) = (steps(piece, 100), steps(piece, 200));
        // What is quadratic comes to four times.
        assert!(twice <= 2 * once + once / 2, "{piece:?}: {once} and {twice} steps");
    };
    PIECES.iter().for_each(|piece| check(piece));
    for one in PIECES {
        for other in PIECES {
            check(&format!("{one}{other}\n"));
        }
    }
    check("Use the following context to answer the question.\n\nfoo bar\nQuestion:\n");
    check("Context:\nQuestion: a\nAnswer: b\n\nQuestion: c\n");
    check("Context: {\n");
    check("Context:\n---\nfoo\n");
    check("Context: \"foo\n");
    check("<context><document>");
    check("<documents><document>a</document></documents>\n");
    check("Document 1: a\nDocument 3: b\n");
    check("```\nContext:\n");
}
