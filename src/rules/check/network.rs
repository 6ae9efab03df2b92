//! Names of the net: mail addresses, IP and MAC addresses, web addresses.
//!
//! **Formula**: a domain ends in `xn--…`, a country's two letters, or three letters and more that are no file ending;
//! IP addresses parse; MAC addresses are neither all zeros nor all ones.
//!
//! **Source**: RFC 5321, RFC 2606 and RFC 6761 (names of examples), RFC 1918, RFC 5737, RFC 3849, RFC 4291, IEEE 802,
//! RFC 2142 (mailboxes of roles), ISO 3166-1.
//!
//! **Limits**: there is no list of all top-level domains here; a made-up ending of three letters passes.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Candidate, Check, Checked};

/// The checks of this file, by name.
pub const CHECKS: &[(&str, Check)] =
    &[("email", email), ("ip_v4", ip_v4), ("ip_v6", ip_v6), ("mac", mac), ("url", url)];

const COUNTRIES: &[u8] = b"ADAEAFAGAIALAMAOAQARASATAUAWAXAZBABBBDBEBFBGBHBIBJBLBMBNBOBQBRBSBTBVBWBYBZCACCCDCFCGCHCI\
CKCLCMCNCOCRCUCVCWCXCYCZDEDJDKDMDODZECEEEGEHERESETFIFJFKFMFOFRGAGBGDGEGFGGGHGIGLGMGNGPGQGRGSGTGUGWGYHKHMHNHRHTHUIDIEILIMIN\
IOIQIRISITJEJMJOJPKEKGKHKIKMKNKPKRKWKYKZLALBLCLILKLRLSLTLULVLYMAMCMDMEMFMGMHMKMLMMMNMOMPMQMRMSMTMUMVMWMXMYMZNANCNENFNGNINL\
NONPNRNUNZOMPAPEPFPGPHPKPLPMPNPRPSPTPWPYQARERORSRURWSASBSCSDSESGSHSISJSKSLSMSNSOSRSSSTSVSXSYSZTCTDTFTGTHTJTKTLTMTNTOTRTTTV\
TWTZUAUGUMUSUYUZVAVCVEVGVIVNVUWFWSXKYEYTZAZMZW";

/// Endings of files that look like ends of domains.
const FILE_ENDINGS: &[&str] = &[
    "png",
    "jpg",
    "jpeg",
    "gif",
    "svg",
    "webp",
    "css",
    "html",
    "htm",
    "json",
    "xml",
    "yaml",
    "yml",
    "toml",
    "txt",
    "log",
    "csv",
    "pdf",
    "doc",
    "docx",
    "xls",
    "xlsx",
    "zip",
    "tar",
    "exe",
    "dll",
    "jar",
    "java",
    "cpp",
    "php",
    "tsx",
    "jsx",
    "sql",
    "bin",
    "lock",
    "ini",
    "conf",
    "cfg",
    "ipynb",
    "local",
    "internal",
    "lan",
    "localdomain",
    "length",
    "value",
    "name",
    "append",
    "push",
    "map",
    "get",
    "set",
    "add",
    "data",
    "log",
    "join",
    "split",
    "self",
    "this",
    "new",
];

/// Names that stand for any domain in documentation.
const EXAMPLE_DOMAINS: &[&str] = &[
    "example.com",
    "example.org",
    "example.net",
    "example.edu",
    "example.co.uk",
    "domain.com",
    "yourdomain.com",
    "mydomain.com",
    "company.com",
    "yourcompany.com",
    "mycompany.com",
    "email.com",
    "test.com",
    "acme.com",
    "foo.com",
    "bar.com",
    "sample.com",
    "website.com",
    "yourwebsite.com",
    "mail.com",
    "abc.com",
    "xyz.com",
    "host.com",
    "server.com",
];

/// Mailboxes that belong to an office, not to a person.
const ROLES: &[&str] = &[
    "info",
    "support",
    "sales",
    "contact",
    "admin",
    "administrator",
    "noreply",
    "no-reply",
    "donotreply",
    "do-not-reply",
    "webmaster",
    "postmaster",
    "hostmaster",
    "abuse",
    "security",
    "help",
    "helpdesk",
    "hello",
    "office",
    "press",
    "media",
    "marketing",
    "billing",
    "privacy",
    "legal",
    "jobs",
    "careers",
    "hr",
    "team",
    "service",
    "feedback",
    "enquiries",
];

/// Names that stand for anybody.
const ANYBODY: &[&str] = &[
    "user",
    "username",
    "you",
    "your",
    "yourname",
    "your.name",
    "name",
    "email",
    "example",
    "test",
    "foo",
    "bar",
    "someone",
    "your.email",
    "your_email",
    "youremail",
    "your-email",
    "me",
    "sender",
    "recipient",
    "receiver",
    "from",
    "to",
    "first.last",
    "firstname.lastname",
    "user1",
    "user2",
];

/// Whether these two letters are a country of ISO 3166-1, in upper case.
pub fn is_country(letters: &[u8]) -> bool {
    COUNTRIES.chunks(2).any(|country| country == letters)
}

/// Whether a domain may end in this.
pub fn is_top_level(ending: &str) -> bool {
    let lower = ending.to_ascii_lowercase();
    if lower.len() == 2 {
        return is_country(lower.to_ascii_uppercase().as_bytes())
            && !matches!(lower.as_str(), "py" | "rs" | "md" | "sh")
            || matches!(lower.as_str(), "eu" | "uk");
    }
    let is_word = lower.len() >= 3 && lower.bytes().all(|byte| byte.is_ascii_lowercase());
    lower.starts_with("xn--") || is_word && !FILE_ENDINGS.contains(&lower.as_str())
}

fn is_example_domain(domain: &str) -> bool {
    let is_under = |known: &str| domain.strip_suffix(known).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    EXAMPLE_DOMAINS.iter().any(|known| is_under(known))
        || ["example", "test", "invalid", "localhost"].iter().any(|known| is_under(known))
}

fn email(candidate: &Candidate<'_>) -> Checked {
    let spelled = candidate.value().to_ascii_lowercase();
    let address = spelled_out(&spelled);
    let Some((local, domain)) = address.split_once('@') else { return Checked::Fails };
    let labels = domain.rsplit_once('.');
    if local.is_empty() || local.len() > 64 || local.ends_with('.') || local.contains("..") {
        return Checked::Fails;
    }
    if !labels.is_some_and(|(_, ending)| is_top_level(ending)) {
        return Checked::Fails;
    }
    // `git@host:path` names a repository, and `user@host` behind `://` or with a password is access.
    let is_repository = local == "git" && candidate.after().starts_with([':', '/']);
    let is_call = candidate.after().starts_with('(');
    if is_repository || is_call {
        return Checked::Fails;
    }
    if is_example_domain(domain) {
        return Checked::Example("domain of examples");
    }
    if ANYBODY.contains(&local) {
        return Checked::Example("address of anybody");
    }
    if ROLES.contains(&local) { Checked::Example("mailbox of an office") } else { Checked::Holds }
}

/// `jo [at] host (dot) org` → `jo@host.org`.
fn spelled_out(address: &str) -> String {
    if address.contains('@') && !address.contains(['[', '(', ' ']) {
        return address.to_owned();
    }
    let words = address.split(|c: char| c.is_whitespace() || "[](){}<>".contains(c)).filter(|word| !word.is_empty());
    words
        .map(|word| {
            if word == "at" {
                "@"
            } else if word == "dot" {
                "."
            } else {
                word
            }
        })
        .collect()
}

/// Why an address names no one's machine.
fn is_local(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(v4) => is_local_v4(v4),
        IpAddr::V6(v6) => is_local_v6(v6),
    }
}

fn is_local_v4(v4: Ipv4Addr) -> Option<&'static str> {
    let [a, b, ..] = v4.octets();
    if v4.is_private() || a == 100 && (64..128).contains(&b) {
        return Some("private network");
    }
    if v4.is_loopback() || v4.is_unspecified() || v4.is_link_local() || v4.is_broadcast() || a == 0 || a >= 224 {
        return Some("no host's own address");
    }
    if v4.is_documentation() || a == 198 && (18..20).contains(&b) {
        return Some("network of documentation");
    }
    // Servers that everybody asks for names, and what people type for any address.
    let octets = v4.octets();
    let is_public_resolver = matches!(octets, [8, 8, 8, 8] | [8, 8, 4, 4] | [1, 1, 1, 1] | [1, 0, 0, 1] | [9, 9, 9, 9]);
    (is_public_resolver || octets == [1, 2, 3, 4]).then_some("well known address")
}

fn is_local_v6(v6: Ipv6Addr) -> Option<&'static str> {
    if let Some(v4) = v6.to_ipv4_mapped() {
        return is_local_v4(v4);
    }
    let [first, second, ..] = v6.segments();
    if v6.is_loopback() || v6.is_unspecified() || first & 0xffc0 == 0xfe80 || first >= 0xff00 {
        return Some("no host's own address");
    }
    if first & 0xfe00 == 0xfc00 {
        return Some("private network");
    }
    (first == 0x2001 && second == 0xdb8).then_some("network of documentation")
}

fn ip_v4(candidate: &Candidate<'_>) -> Checked {
    let value = candidate.value().split('/').next().unwrap_or_default();
    let Ok(address) = value.parse::<Ipv4Addr>() else { return Checked::Fails };
    let before = candidate.before();
    let is_part = before.ends_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
        || candidate.after().trim_start_matches('.').starts_with(|c: char| c.is_ascii_digit())
        || candidate.after().starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    // Sections are counted from 1 and stay small: 1.2.3.4, 10.1.2.3 behind words for them.
    if is_part || is_version(candidate.just_before(VERSION_WORD_BYTES)) {
        return Checked::Fails;
    }
    is_local(IpAddr::V4(address)).map_or(Checked::Holds, Checked::Example)
}

/// Bytes in front of a number in which the word for a version stands.
const VERSION_WORD_BYTES: usize = 24;

fn is_version(before: &str) -> bool {
    const WORDS: &[&str] =
        &["version", "versions", "ver", "v", "release", "section", "chapter", "clause", "firmware", "build"];
    let last = before.trim_end_matches([' ', ':', '=', '"', '\'', '.', '(']).rsplit(|c: char| !c.is_ascii_alphabetic());
    last.into_iter().next().is_some_and(|word| WORDS.contains(&word.to_ascii_lowercase().as_str()))
}

fn ip_v6(candidate: &Candidate<'_>) -> Checked {
    let value = candidate.value();
    let (address, rest) = value.find(['/', '%']).map_or((value, ""), |at| value.split_at(at));
    let Ok(parsed) = address.parse::<Ipv6Addr>() else { return Checked::Fails };
    let joined = |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '_' | '.');
    if candidate.before().ends_with(joined) {
        return Checked::Fails;
    }
    let after = candidate.after();
    if after.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '_'))
        || after.trim_start_matches('.').len() < after.len() && after[1..].starts_with(|c: char| c.is_ascii_hexdigit())
    {
        return Checked::Fails;
    }
    // `::` is a path in many languages; it is an address when the text is nothing else or speaks of addresses.
    let digits = address.bytes().filter(u8::is_ascii_hexdigit).count();
    if digits < 4 && !rest.starts_with('/') && !speaks_of_addresses(candidate) {
        return Checked::Fails;
    }
    is_local(IpAddr::V6(parsed)).map_or(Checked::Holds, Checked::Example)
}

fn speaks_of_addresses(candidate: &Candidate<'_>) -> bool {
    let words =
        ["ip", "ipv6", "src", "dst", "loopback", "address", "host", "multicast", "localhost"].map(str::to_owned);
    candidate.value().len() == candidate.text.trim().len()
        || crate::rules::scanner::has_word_near(candidate.text, &(candidate.start..candidate.end), &words)
}

fn mac(candidate: &Candidate<'_>) -> Checked {
    let digits: Vec<u8> = super::number::compact(candidate.value());
    let joined = |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '-' | '_');
    if digits.len() != 12 || candidate.before().ends_with(joined) || candidate.after().starts_with(joined) {
        return Checked::Fails;
    }
    match digits.as_slice() {
        b"000000000000" | b"FFFFFFFFFFFF" => Checked::Fails,
        b"001122334455" | b"AABBCCDDEEFF" | b"001A2B3C4D5E" | b"0123456789AB" | b"123456789ABC" => {
            Checked::Example("address of documentation")
        }
        _ => Checked::Holds,
    }
}

fn url(candidate: &Candidate<'_>) -> Checked {
    let value = candidate.value();
    let rest = value.split_once("://").map_or(value, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default().split(':').next().unwrap_or_default();
    match host.rsplit_once('.') {
        Some((name, ending)) if !name.is_empty() && name != "www" && is_top_level(ending) => Checked::Holds,
        _ => Checked::Fails,
    }
}
