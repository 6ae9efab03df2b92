//! What tokens cost, by a table of prices that the user keeps.
//!
//! **Formula**: cost = (prompt tokens - cached tokens) · input price + cached tokens · cached input price + response tokens ·
//! output price, with the first price whose pattern matches the model. The tokens of the prompt hold the cached ones: where
//! a log counts them beside (Anthropic, Bedrock), they were added when it was read. Without a cached input price, the input
//! price stands for it. Prices are per million tokens; they are rounded to a millionth of the currency per million tokens, which is
//! 10⁻¹² of it per token, and costs are counted in that unit as integers, so that parts of a log add up exactly.
//!
//! **Range**: 0 to 3 · 10²⁶ of a currency.
//!
//! **Limits**: prices change; the table is the user's. A record without tokens costs nothing. A record whose model no price
//! fits costs nothing either, and is counted with its tokens ([`Unpriced`]). Tokens that were written to a cache cost
//! what others of the prompt do, though some providers take more.

use std::collections::BTreeMap;

use globset::{Glob, GlobMatcher};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Units of cost in one of a currency.
const PICO: f64 = 1e12;
/// Units per token of a price of one per million tokens.
const PICO_PER_MICRO: f64 = 1e6;

/// One entry of `[[prices]]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// The model's name; `*` stands for anything: `gpt-4o*`.
    pub model: String,
    /// Price of a million prompt tokens.
    pub input_per_million: f64,
    /// Price of a million response tokens.
    pub output_per_million: f64,
    /// Price of a million prompt tokens that came from a cache; the input price when not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input_per_million: Option<f64>,
    /// The currency, as in `USD`.
    #[serde(default = "usd")]
    pub currency: String,
}

fn usd() -> String {
    "USD".to_owned()
}

/// Characters of a currency.
const CURRENCY_CHARS_MAX: usize = 12;

/// Prices ready to be looked up.
#[derive(Clone, Debug, Default)]
pub struct PriceTable {
    rows: Vec<Row>,
}

#[derive(Clone, Debug)]
struct Row {
    matcher: GlobMatcher,
    input_pico: u64,
    cached_pico: u64,
    output_pico: u64,
    currency: String,
}

/// Tokens of one record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// In the prompt, those from a cache among them.
    pub prompt: u64,
    /// Of those, from a cache.
    pub cached: u64,
    /// In the response.
    pub response: u64,
}

impl PriceTable {
    /// The table of these entries.
    ///
    /// # Errors
    /// When a pattern is no glob, a price is negative or no number, or a currency no short word.
    pub fn new(prices: &[Price]) -> Result<PriceTable, String> {
        let row = |price: &Price| {
            let bad = |what: &str| format!("[[prices]] model = \"{}\": {what}", price.model);
            let pico = |per_million: f64| {
                let is_price = (0.0..=1e9).contains(&per_million);
                if is_price {
                    Ok((per_million * PICO_PER_MICRO).round() as u64)
                } else {
                    Err(bad("a price is no price"))
                }
            };
            let is_word = price.currency.chars().all(char::is_alphanumeric) && !price.currency.is_empty();
            if !is_word || price.currency.chars().count() > CURRENCY_CHARS_MAX {
                return Err(bad("the currency is no word such as USD"));
            }
            Ok(Row {
                matcher: Glob::new(&price.model).map_err(|error| bad(&error.to_string()))?.compile_matcher(),
                input_pico: pico(price.input_per_million)?,
                cached_pico: pico(price.cached_input_per_million.unwrap_or(price.input_per_million))?,
                output_pico: pico(price.output_per_million)?,
                currency: price.currency.clone(),
            })
        };
        Ok(PriceTable { rows: prices.iter().map(row).collect::<Result<_, String>>()? })
    }

    /// Whether nothing has a price.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// What the tokens of one record cost.
    pub fn charge(&self, model: Option<&str>, tokens: Tokens) -> Charge<'_> {
        if self.is_empty() || tokens.prompt == 0 && tokens.response == 0 {
            return Charge::Free;
        }
        model
            .and_then(|model| self.cost(model, tokens))
            .map_or(Charge::Unpriced, |(currency, pico)| Charge::Of(currency, pico))
    }

    /// What `tokens` of `model` cost; `None` without a price.
    pub fn cost(&self, model: &str, tokens: Tokens) -> Option<(&str, u128)> {
        let row = self.rows.iter().find(|row| row.matcher.is_match(model))?;
        let cached = tokens.cached.min(tokens.prompt);
        let part = |tokens: u64, pico: u64| u128::from(tokens) * u128::from(pico);
        let pico = part(tokens.prompt - cached, row.input_pico)
            + part(cached, row.cached_pico)
            + part(tokens.response, row.output_pico);
        Some((&row.currency, pico))
    }
}

/// What the tokens of one record cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Charge<'p> {
    /// There are no tokens, or no prices at all.
    #[default]
    Free,
    /// There are tokens, and no price fits the model.
    Unpriced,
    /// A currency, and how many 10⁻¹² of it.
    Of(&'p str, u128),
}

impl Charge<'_> {
    /// How much of its currency; `None` where that is not known, or nothing has a price.
    pub fn amount(self) -> Option<f64> {
        if let Charge::Of(_, pico) = self { Some(pico as f64 / PICO) } else { None }
    }
}

/// Costs by currency, while they are counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Costs {
    by_currency: BTreeMap<String, (u128, u64)>,
    unpriced: Unpriced,
}

impl Costs {
    /// Counts one record with these tokens.
    pub fn add(&mut self, charge: Charge<'_>, prompt_tokens: u64, response_tokens: u64) {
        match charge {
            Charge::Free => {}
            Charge::Unpriced => self.unpriced.merge(&Unpriced { records: 1, prompt_tokens, response_tokens }),
            Charge::Of(currency, pico) => {
                if !self.by_currency.contains_key(currency) {
                    self.by_currency.insert(currency.to_owned(), (0, 0));
                }
                if let Some((sum, records)) = self.by_currency.get_mut(currency) {
                    *sum = sum.saturating_add(pico);
                    *records += 1;
                }
            }
        }
    }

    /// Adds the costs of `other`.
    pub fn merge(&mut self, other: &Costs) {
        for (currency, (pico, records)) in &other.by_currency {
            let sum = self.by_currency.entry(currency.clone()).or_default();
            sum.0 = sum.0.saturating_add(*pico);
            sum.1 += records;
        }
        self.unpriced.merge(&other.unpriced);
    }

    /// What no price fits, if anything.
    pub fn unpriced(&self) -> Option<Unpriced> {
        (self.unpriced.records > 0).then_some(self.unpriced)
    }

    /// The costs as they are reported.
    pub fn finish(&self) -> Vec<Cost> {
        let cost = |(currency, (pico, records)): (&String, &(u128, u64))| Cost {
            currency: currency.clone(),
            amount: *pico as f64 / PICO,
            records: *records,
        };
        self.by_currency.iter().map(cost).collect()
    }
}

/// Records with tokens whose model no price fits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Unpriced {
    /// How many there are.
    pub records: u64,
    /// Tokens in their prompts.
    pub prompt_tokens: u64,
    /// Tokens in their responses.
    pub response_tokens: u64,
}

impl Unpriced {
    /// All tokens.
    pub fn tokens(&self) -> u64 {
        self.prompt_tokens.saturating_add(self.response_tokens)
    }

    fn merge(&mut self, other: &Unpriced) {
        self.records += other.records;
        self.prompt_tokens = self.prompt_tokens.saturating_add(other.prompt_tokens);
        self.response_tokens = self.response_tokens.saturating_add(other.response_tokens);
    }
}

/// What tokens cost.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Cost {
    /// The currency.
    pub currency: String,
    /// How much of it.
    pub amount: f64,
    /// Records that had tokens and a price.
    pub records: u64,
}

impl Cost {
    /// The amount with as many digits as tell something, and the currency.
    pub fn shown(&self) -> String {
        let digits = match self.amount {
            amount if amount >= 1.0 || amount == 0.0 => 2,
            amount if amount >= 0.01 => 4,
            _ => 8,
        };
        format!("{:.digits$} {}", self.amount, self.currency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn price(model: &str, input: f64, output: f64) -> Price {
        Price {
            model: model.to_owned(),
            input_per_million: input,
            output_per_million: output,
            currency: usd(),
            ..Price::default()
        }
    }

    fn tokens(prompt: u64, cached: u64, response: u64) -> Tokens {
        Tokens { prompt, cached, response }
    }

    #[test]
    fn the_first_pattern_that_matches_counts() {
        let cached = Price { cached_input_per_million: Some(0.25), ..price("gpt-4o-mini*", 0.5, 2.0) };
        let table = PriceTable::new(&[cached, price("gpt-4o*", 2.5, 10.0)]).unwrap();
        assert_eq!(table.cost("gpt-4o", tokens(1_000_000, 0, 100_000)), Some(("USD", 3_500_000_000_000)));
        assert_eq!(table.cost("gpt-4o-mini", tokens(1000, 400, 0)), Some(("USD", 600 * 500_000 + 400 * 250_000)));
        assert_eq!(table.cost("claude", tokens(1, 0, 1)), None);
        assert_eq!(table.cost("gpt-4o", tokens(u64::MAX, u64::MAX, u64::MAX)).map(|(_, pico)| pico > 0), Some(true));
    }

    #[test]
    fn tokens_without_a_price_are_told_from_no_tokens() {
        let table = PriceTable::new(&[price("gpt-4o*", 2.5, 10.0)]).unwrap();
        for (model, prompt, expected) in [
            (Some("gpt-4o"), 2, Charge::Of("USD", 5_000_000)),
            (Some("claude"), 2, Charge::Unpriced),
            (None, 2, Charge::Unpriced),
            (Some("claude"), 0, Charge::Free),
        ] {
            assert_eq!(table.charge(model, tokens(prompt, 0, 0)), expected, "{model:?}");
        }
        assert_eq!(PriceTable::default().charge(Some("gpt-4o"), tokens(2, 0, 0)), Charge::Free);
    }

    #[test]
    fn what_is_no_price_is_refused() {
        for bad in [price("[", 1.0, 1.0), price("a", -1.0, 1.0), price("a", f64::NAN, 1.0)] {
            assert!(PriceTable::new(&[bad]).is_err());
        }
        assert!(PriceTable::new(&[Price { currency: "::error".to_owned(), ..price("a", 1.0, 1.0) }]).is_err());
    }

    #[test]
    fn parts_add_up_exactly() {
        let mut whole = Costs::default();
        let mut parts = [Costs::default(), Costs::default()];
        for i in 0..1000u128 {
            let charge = if i % 10 == 0 { Charge::Unpriced } else { Charge::Of("USD", i * 37) };
            whole.add(charge, 3, 4);
            parts[usize::from(i % 3 == 0)].add(charge, 3, 4);
        }
        let [mut first, second] = parts;
        first.merge(&second);
        assert_eq!(first, whole);
        assert_eq!(whole.finish()[0].records, 900);
        let unpriced = Unpriced { records: 100, prompt_tokens: 300, response_tokens: 400 };
        assert_eq!(whole.unpriced(), Some(unpriced));
    }
}
