use llmverify::rules::{scanner::Scanner, *};
use std::io::{BufRead, BufReader, Write};
fn main() {
    let dir = "/work/wt/injection/src/rules/tables/injection";
    let mut files = vec![];
    for n in ["override", "multilingual", "extraction", "persona", "forcing", "boundary"] {
        let p = format!("{dir}/{n}.toml");
        let t = std::fs::read_to_string(&p).unwrap().replace("id = \"injection/", "id = \"injection/x_");
        files.push((n.to_string() + ".toml", t));
    }
    let lib = match Library::with_files(files.iter().map(|(a, b)| (a.as_str(), b.as_str()))) {
        Ok(l) => l,
        Err(e) => {
            eprintln!("{e}");
            std::process::exit(1)
        }
    };
    let sc = Scanner::new(lib.clone());
    let mut bad = 0;
    for r in lib.rules() {
        if r.id.contains("/x_") {
            for f in examples::failures(r, &lib, &sc) {
                bad += 1;
                eprintln!("EX {} should_hit={} {:?}", f.rule, f.should_hit, f.text);
            }
        }
    }
    eprintln!("{bad} bad examples, {} rules", lib.rules().len());
    let mut out = std::io::BufWriter::new(std::fs::File::create("/tmp/injdev/feats.jsonl").unwrap());
    let t0 = std::time::Instant::now();
    let mut bytes = 0;
    for f in std::env::args().skip(1) {
        let set = f.rsplit('/').next().unwrap().replace(".jsonl.gz", "");
        for l in BufReader::new(flate2::read::GzDecoder::new(std::fs::File::open(&f).unwrap())).lines() {
            let v: serde_json::Value = serde_json::from_str(&l.unwrap()).unwrap();
            let text = v["text"].as_str().or(v["prompt"].as_str()).unwrap_or("");
            bytes += text.len();
            let scan = sc.scan(text);
            let mut m = serde_json::Map::new();
            for h in &scan.hits {
                let id = &lib.rule(h.rule).id;
                if let Some(n) = id.strip_prefix("injection/x_") {
                    let e = m.entry(n.to_string()).or_insert_with(|| serde_json::json!([]));
                    e.as_array_mut().unwrap().push(serde_json::json!([h.span.start, h.span.end]));
                }
            }
            writeln!(out,"{}",serde_json::json!({"set":set,"id":v["id"],"label":v["label"],"meta":v["meta"],"context":v["context"],"text":text,"f":m})).unwrap();
        }
    }
    eprintln!("{bytes} bytes in {:?}", t0.elapsed());
}
