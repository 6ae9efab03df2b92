//! National identifiers of Europe: length, dates, ranges, check digits.
//!
//! **Formula**: each function states its own. A random number of the right length passes one check digit with a chance
//! of 0.1 (mod 10), 0.09 (mod 11), 0.043 (mod 23), 0.01 (mod 97); a date in it with 0.04.
//!
//! **Source**: the issuing authorities' published descriptions; agreement with python-stdnum on
//! `fixtures/golden/pii_numbers.jsonl`.

use super::number::{
    digits, is_date, is_mod_11_10, is_one_character, luhn, luhn_sum, luhn_text, number_checks, pair, value, weighted,
};

number_checks![
    uk_nhs,
    uk_nino,
    uk_utr,
    uk_driving_licence,
    ie_pps,
    fr_nir,
    fr_nif,
    fr_siren,
    fr_siret,
    de_tax_id,
    de_tax_number,
    de_social_security,
    de_health_insurance,
    de_lanr,
    de_document,
    de_vat_id,
    at_svnr,
    ch_ahv,
    ch_uid,
    nl_bsn,
    be_nn,
    it_fiscal_code,
    it_vat_code,
    es_nif,
    es_nie,
    es_cif,
    pt_nif,
    pt_cc,
    pl_pesel,
    pl_nip,
    pl_regon,
    cz_rc,
    ro_cnp,
    bg_egn,
    hr_oib,
    si_emso,
    gr_amka,
    gr_vat,
    baltic_code,
    lv_code,
    dk_cpr,
    no_fodselsnummer,
    se_personnummer,
    se_organisationsnummer,
    fi_personal_identity_code,
    is_kennitala,
    tr_national_id,
    ru_inn,
    ru_snils,
    ua_rntrc,
];

/// Weights 10 to 2, 11 - mod 11; 11 becomes 0, 10 is not given out.
fn uk_nhs(number: &[u8]) -> bool {
    digits::<10>(number).is_some_and(|d| {
        (11 - weighted(&d, &[10, 9, 8, 7, 6, 5, 4, 3, 2]) % 11) % 11 == d[9] && !is_one_character(number)
    })
}

/// Two letters of which some are never given out, six digits, A to D.
fn uk_nino(number: &[u8]) -> bool {
    let [first, second, middle @ .., last] = number else { return false };
    let is_given = |letter: &u8| letter.is_ascii_uppercase() && !b"DFIQUV".contains(letter);
    let is_prefix = is_given(first) && is_given(second) && *second != b'O';
    is_prefix
        && ![b"BG", b"GB", b"NK", b"KN", b"TN", b"NT", b"ZZ"].contains(&&[*first, *second])
        && digits::<6>(middle).is_some()
        && (b'A'..=b'D').contains(last)
}

/// The first digit checks the others: weights 6 7 8 9 10 5 4 3 2, looked up in 21987654321.
fn uk_utr(number: &[u8]) -> bool {
    digits::<10>(number).is_some_and(|d| {
        let rest = weighted(&d[1..], &[6, 7, 8, 9, 10, 5, 4, 3, 2]) % 11;
        u32::from(b"21987654321"[rest as usize] - b'0') == d[0]
    })
}

/// Surname padded with 9, birth date (women: month + 50), initials padded with 9, check characters.
fn uk_driving_licence(number: &[u8]) -> bool {
    if number.len() != 16 {
        return false;
    }
    let Some(d) = digits::<6>(&number[5..11]) else { return false };
    let letters = number[..5].iter().take_while(|byte| byte.is_ascii_uppercase()).count();
    let (month, day) = (pair(&d, 1) % 50, pair(&d, 3));
    letters > 0
        && number[letters..5].iter().all(|byte| *byte == b'9')
        && (1..=12).contains(&month)
        && pair(&d, 1) <= 62
        && (1..=31).contains(&day)
        && number[11..13].iter().all(|byte| byte.is_ascii_uppercase() || *byte == b'9')
        && number[14..].iter().all(u8::is_ascii_uppercase)
}

/// Weights 8 to 2, and 9 for a second letter, mod 23; 0 is W.
fn ie_pps(number: &[u8]) -> bool {
    let Some(d) = number.get(..7).and_then(digits::<7>) else { return false };
    let second = match number.get(8) {
        None => 0,
        Some(letter @ b'A'..=b'I') => u32::from(letter - b'A' + 1),
        Some(b'W' | b'T' | b'X') => 0,
        Some(_) => return false,
    };
    let sum = weighted(&d, &[8, 7, 6, 5, 4, 3, 2]) + 9 * second;
    (8..=9).contains(&number.len()) && number[7] == b"WABCDEFGHIJKLMNOPQRSTUV"[(sum % 23) as usize]
}

/// Key = 97 - n mod 97, with 2A as 19 and 2B as 18 in the place of the department.
fn fr_nir(number: &[u8]) -> bool {
    if number.len() != 15 || !matches!(number[0], b'1'..=b'4' | b'7' | b'8') {
        return false;
    }
    let mut plain = number.to_vec();
    match &number[5..7] {
        b"2A" => plain[5..7].copy_from_slice(b"19"),
        b"2B" => plain[5..7].copy_from_slice(b"18"),
        _ => {}
    }
    let (Some(body), Some(key)) = (value(&plain[..13]), value(&plain[13..])) else { return false };
    97 - body % 97 == key
}

/// The last three of thirteen digits are the others mod 511.
fn fr_nif(number: &[u8]) -> bool {
    number.len() == 13
        && matches!(number[0], b'0'..=b'3')
        && value(&number[..10]).zip(value(&number[10..])).is_some_and(|(body, check)| body % 511 == check)
}

/// Luhn over nine digits.
fn fr_siren(number: &[u8]) -> bool {
    number.len() == 9 && luhn_text(number) && !is_one_character(number)
}

/// A SIREN and five digits, Luhn over both; those of the post (SIREN 356000000) sum up to a multiple of 5.
fn fr_siret(number: &[u8]) -> bool {
    digits::<14>(number).is_some_and(|d| {
        let is_post = number.starts_with(b"356000000") && d.iter().sum::<u32>().is_multiple_of(5);
        luhn(&d[..9]) && (luhn(&d) || is_post) && !is_one_character(number)
    })
}

/// ISO 7064 mod 11,10; the first is not 0, and none of the first ten digits stands there more than three times.
fn de_tax_id(number: &[u8]) -> bool {
    digits::<11>(number).is_some_and(|d| {
        let times = |digit: u32| d[..10].iter().filter(|other| **other == digit).count();
        d[0] != 0 && (0..10).all(|digit| times(digit) <= 3) && is_mod_11_10(&d)
    })
}

/// The uniform form of thirteen digits: a state's prefix, and 0 in fifth place; or ten or eleven, as offices write it.
fn de_tax_number(number: &[u8]) -> bool {
    match number.len() {
        10 | 11 => value(number).is_some_and(|value| value > 0),
        13 => digits::<13>(number)
            .is_some_and(|d| matches!(pair(&d, 0), 10 | 11 | 21..=32 | 40 | 41 | 51..=56 | 90..=92) && d[4] == 0),
        _ => false,
    }
}

fn digit_sum(number: u32) -> u32 {
    number / 10 + number % 10
}

/// The letter as two digits, weights 2 1 2 5 7 1 2 1 2 1 2 1, digit sums, mod 10; a birth day (+50) and month.
fn de_social_security(number: &[u8]) -> bool {
    if number.len() != 12 || !number[8].is_ascii_uppercase() {
        return false;
    }
    let letter = u32::from(number[8] - b'A' + 1);
    let (Some(front), Some(back)) = (digits::<8>(&number[..8]), digits::<3>(&number[9..])) else { return false };
    let mut d = front.to_vec();
    d.extend([letter / 10, letter % 10, back[0], back[1]]);
    let terms = d.iter().zip([2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1]);
    let sum: u32 = terms.map(|(digit, weight)| digit_sum(digit * weight)).sum();
    let is_area =
        matches!(pair(&front, 0), 2..=4 | 8..=21 | 23..=26 | 28 | 29 | 38..=40 | 42..=44 | 48..=54 | 56..=82 | 89);
    is_area && matches!(pair(&front, 2), 1..=31 | 51..=81) && (1..=12).contains(&pair(&front, 4)) && sum % 10 == back[2]
}

/// The letter as two digits, weights 1 2 1 2 ..., digit sums, mod 10.
fn de_health_insurance(number: &[u8]) -> bool {
    let Some((first, rest)) = number.split_first() else { return false };
    let Some(d) = digits::<9>(rest) else { return false };
    if !first.is_ascii_uppercase() {
        return false;
    }
    let letter = u32::from(first - b'A' + 1);
    let terms = [letter / 10, letter % 10].into_iter().chain(d[..8].iter().copied()).zip([1, 2].into_iter().cycle());
    terms.map(|(digit, weight)| digit_sum(digit * weight)).sum::<u32>() % 10 == d[8]
}

/// Weights 4 9 4 9 4 9, 10 - mod 10, in seventh place.
fn de_lanr(number: &[u8]) -> bool {
    digits::<9>(number)
        .is_some_and(|d| (10 - weighted(&d, &[4, 9, 4, 9, 4, 9]) % 10) % 10 == d[6] && !is_one_character(number))
}

/// Serial numbers of identity cards and passports: weights 7 3 1, letters 10 to 35, mod 10 in ninth place.
fn de_document(number: &[u8]) -> bool {
    let Some((check, body)) = number.split_last() else { return false };
    let is_first = body.first().is_some_and(|first| b"CFGHJKLMNPRTVWXYZ".contains(first));
    let values: Option<Vec<u32>> = body.iter().map(|byte| char::from(*byte).to_digit(36)).collect();
    values.is_some_and(|values| {
        number.len() == 9
            && is_first
            && u32::from(check.wrapping_sub(b'0')) == weighted(&values, &[7, 3, 1, 7, 3, 1, 7, 3]) % 10
    })
}

/// DE and nine digits, ISO 7064 mod 11,10.
fn de_vat_id(number: &[u8]) -> bool {
    number.strip_prefix(b"DE").and_then(digits::<9>).is_some_and(|d| d[0] != 0 && is_mod_11_10(&d))
}

/// Weights 3 7 9 _ 5 8 4 2 1 6, mod 11, in fourth place; a birth date (months 13 to 15 where none is known).
fn at_svnr(number: &[u8]) -> bool {
    digits::<10>(number).is_some_and(|d| {
        let is_birth = is_date(pair(&d, 8), pair(&d, 6).min(12), pair(&d, 4)) && pair(&d, 6) <= 15;
        d[0] != 0 && is_birth && weighted(&d, &[3, 7, 9, 0, 5, 8, 4, 2, 1, 6]) % 11 == d[3]
    })
}

/// 756, and weights 1 3 1 3 ... mod 10 as in a bar code.
fn ch_ahv(number: &[u8]) -> bool {
    number.starts_with(b"756")
        && digits::<13>(number)
            .is_some_and(|d| weighted(&d, &[1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1]).is_multiple_of(10))
}

/// CHE and nine digits: weights 5 4 3 2 7 6 5 4, 11 - mod 11.
fn ch_uid(number: &[u8]) -> bool {
    number
        .strip_prefix(b"CHE")
        .and_then(digits::<9>)
        .is_some_and(|d| (11 - weighted(&d, &[5, 4, 3, 2, 7, 6, 5, 4]) % 11) % 11 == d[8])
}

/// Weights 9 to 2 and -1, mod 11.
fn nl_bsn(number: &[u8]) -> bool {
    digits::<9>(number).is_some_and(|d| {
        weighted(&d, &[9, 8, 7, 6, 5, 4, 3, 2, 10]).is_multiple_of(11) && value(number).is_some_and(|value| value > 0)
    })
}

/// 97 - first nine mod 97; a 2 goes in front for who was born in 2000 or later, which a year above the present rules out.
fn be_nn(number: &[u8]) -> bool {
    /// Two digits of a year up to which a birth may lie in this century.
    const YEAR_MAX: u64 = 29;
    if number.len() != 11 {
        return false;
    }
    let (Some(body), Some(check), Some(d)) = (value(&number[..9]), value(&number[9..]), digits::<11>(number)) else {
        return false;
    };
    let year = body / 10_000_000;
    let is_birth = pair(&d, 2) <= 12 && pair(&d, 4) <= 31;
    is_birth && (97 - body % 97 == check || year <= YEAR_MAX && 97 - (2_000_000_000 + body) % 97 == check)
}

/// Odd places by a table, even ones by value, mod 26; letters may stand for digits where two codes would be the same.
fn it_fiscal_code(number: &[u8]) -> bool {
    const ODD: [u32; 26] =
        [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23];
    const SHAPE: &[u8; 16] = b"LLLLLLDDMDDLDDDL";
    const MONTHS: &[u8] = b"ABCDEHLMPRST";
    const AS_DIGIT: &[u8] = b"LMNPQRSTUV";
    if number.len() != 16 {
        return false;
    }
    let fits = SHAPE.iter().zip(number).all(|(kind, byte)| match kind {
        b'L' => byte.is_ascii_uppercase(),
        b'M' => MONTHS.contains(byte),
        _ => byte.is_ascii_digit() || AS_DIGIT.contains(byte),
    });
    let value_of = |byte: u8| if byte.is_ascii_digit() { byte - b'0' } else { byte.wrapping_sub(b'A') };
    let value_in_place = |(place, byte): (usize, &u8)| {
        let value = usize::from(value_of(*byte));
        if place % 2 == 0 { ODD.get(value).copied().unwrap_or(0) } else { value as u32 }
    };
    fits && number[..15].iter().enumerate().map(value_in_place).sum::<u32>() % 26 == u32::from(number[15] - b'A')
}

/// Luhn over eleven digits, the first seven not all 0, then an office.
fn it_vat_code(number: &[u8]) -> bool {
    digits::<11>(number).is_some_and(|d| {
        let office = d[7] * 100 + pair(&d, 8);
        d[..7] != [0; 7] && matches!(office, 1..=100 | 120 | 121 | 888 | 999) && luhn(&d)
    })
}

/// The letter of a Spanish number: its value mod 23.
fn es_letter(value: u64) -> u8 {
    b"TRWAGMYFPDXBNJZSQVHLCKE"[(value % 23) as usize]
}

/// Seven or eight digits and their letter; K, L, M in front of seven for who has no other number.
fn es_nif(number: &[u8]) -> bool {
    let Some((letter, body)) = number.split_last() else { return false };
    let body = if body.len() == 8 {
        body.strip_prefix(b"K").or(body.strip_prefix(b"L")).or(body.strip_prefix(b"M")).unwrap_or(body)
    } else {
        body
    };
    (7..=8).contains(&body.len()) && value(body).is_some_and(|value| es_letter(value) == *letter)
}

/// X, Y, Z stand for 0, 1, 2 in front of seven digits.
fn es_nie(number: &[u8]) -> bool {
    let [first @ b'X'..=b'Z', body @ .., letter] = number else { return false };
    body.len() == 7
        && value(body).is_some_and(|value| es_letter(u64::from(first - b'X') * 10_000_000 + value) == *letter)
}

/// A form of company, seven digits, and the Luhn check digit of these, as a digit or as a letter.
fn es_cif(number: &[u8]) -> bool {
    let [form, body @ .., check] = number else { return false };
    let Some(d) = digits::<7>(body) else { return false };
    let mut shifted = d.to_vec();
    shifted.push(0);
    let digit = ((10 - luhn_sum(&shifted) % 10) % 10) as u8;
    b"ABCDEFGHJNPQRSUVW".contains(form) && (*check == b'0' + digit || *check == b"JABCDEFGHI"[usize::from(digit)])
}

/// Weights 9 to 2, 11 - mod 11, mod 11, 10 becomes 0.
fn pt_nif(number: &[u8]) -> bool {
    digits::<9>(number)
        .is_some_and(|d| d[0] != 0 && (11 - weighted(&d, &[9, 8, 7, 6, 5, 4, 3, 2]) % 11) % 11 % 10 == d[8])
}

/// Nine digits, two characters, one digit: Luhn from the left over values 0 to 35.
fn pt_cc(number: &[u8]) -> bool {
    if number.len() != 12 || !number[..9].iter().chain(&number[11..]).all(u8::is_ascii_digit) {
        return false;
    }
    let values = number.iter().map(|byte| char::from(*byte).to_digit(36).unwrap_or(0));
    let doubled = |value: u32| if value * 2 > 9 { value * 2 - 9 } else { value * 2 };
    let terms = values.enumerate().map(|(place, value)| if place % 2 == 0 { doubled(value) } else { value });
    terms.sum::<u32>().is_multiple_of(10)
}

/// Weights 1 3 7 9, 10 - mod 10; a birth date with the century in the month.
fn pl_pesel(number: &[u8]) -> bool {
    digits::<11>(number).is_some_and(|d| {
        let century = [1900, 2000, 2100, 2200, 1800][(pair(&d, 2) / 20) as usize];
        is_date(century + pair(&d, 0), pair(&d, 2) % 20, pair(&d, 4))
            && weighted(&d, &[1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1]).is_multiple_of(10)
    })
}

/// Weights 6 5 7 2 3 4 5 6 7, mod 11.
fn pl_nip(number: &[u8]) -> bool {
    digits::<10>(number)
        .is_some_and(|d| weighted(&d, &[6, 5, 7, 2, 3, 4, 5, 6, 7]) % 11 == d[9] && !is_one_character(number))
}

/// Weights 8 9 2 3 4 5 6 7, mod 11, mod 10; over fourteen digits 2 4 8 5 0 9 7 3 6 1 2 4 8 besides.
fn pl_regon(number: &[u8]) -> bool {
    let short = |d: &[u32]| weighted(d, &[8, 9, 2, 3, 4, 5, 6, 7]) % 11 % 10 == d[8];
    digits::<9>(number).is_some_and(|d| short(&d))
        || digits::<14>(number)
            .is_some_and(|d| short(&d) && weighted(&d, &[2, 4, 8, 5, 0, 9, 7, 3, 6, 1, 2, 4, 8]) % 11 % 10 == d[13])
}

/// A birth date (women: month + 50; +20 where a day ran out of numbers); the first nine digits mod 11, mod 10.
fn cz_rc(number: &[u8]) -> bool {
    let Some(d) = digits::<10>(number) else { return false };
    let month = pair(&d, 2) % 50;
    let year = pair(&d, 0) + if pair(&d, 0) < 54 { 2000 } else { 1900 };
    let month = if month > 20 && year >= 2004 { month - 20 } else { month };
    is_date(year, month, pair(&d, 4)) && value(&number[..9]).is_some_and(|body| body % 11 % 10 == u64::from(d[9]))
}

/// Weights 2 7 9 1 4 6 3 5 8 2 7 9, mod 11, 10 becomes 1; sex and century, birth date, county.
fn ro_cnp(number: &[u8]) -> bool {
    digits::<13>(number).is_some_and(|d| {
        let century = match d[0] {
            3 | 4 => 1800,
            5 | 6 => 2000,
            _ => 1900,
        };
        let rest = weighted(&d, &[2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9]) % 11;
        d[0] != 0
            && is_date(century + pair(&d, 1), pair(&d, 3), pair(&d, 5))
            && matches!(pair(&d, 7), 1..=48 | 51 | 52 | 70 | 80..=83)
            && (if rest == 10 { 1 } else { rest }) == d[12]
    })
}

/// Weights 2 4 8 5 10 9 7 3 6, mod 11, mod 10; a birth date with the century in the month.
fn bg_egn(number: &[u8]) -> bool {
    digits::<10>(number).is_some_and(|d| {
        let (century, month) = match pair(&d, 2) {
            month @ 41.. => (2000, month - 40),
            month @ 21.. => (1800, month - 20),
            month => (1900, month),
        };
        is_date(century + pair(&d, 0), month, pair(&d, 4))
            && weighted(&d, &[2, 4, 8, 5, 10, 9, 7, 3, 6]) % 11 % 10 == d[9]
    })
}

/// ISO 7064 mod 11,10.
fn hr_oib(number: &[u8]) -> bool {
    digits::<11>(number).is_some_and(|d| is_mod_11_10(&d) && !is_one_character(number))
}

/// Weights 7 6 5 4 3 2 twice, 11 - mod 11, mod 10; day, month and three digits of the year of birth.
fn si_emso(number: &[u8]) -> bool {
    digits::<13>(number).is_some_and(|d| {
        let year = d[4] * 100 + pair(&d, 5);
        is_date(if year < 800 { 2000 + year } else { 1000 + year }, pair(&d, 2), pair(&d, 0))
            && (11 - weighted(&d, &[7, 6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11) % 11 % 10 == d[12]
    })
}

/// Luhn; begins with a birth date.
fn gr_amka(number: &[u8]) -> bool {
    digits::<11>(number).is_some_and(|d| {
        let is_birth = |century: u32| is_date(century + pair(&d, 4), pair(&d, 2), pair(&d, 0));
        (is_birth(1900) || is_birth(2000)) && luhn(&d)
    })
}

/// Powers of two, mod 11, mod 10.
fn gr_vat(number: &[u8]) -> bool {
    digits::<9>(number)
        .is_some_and(|d| weighted(&d, &[256, 128, 64, 32, 16, 8, 4, 2]) % 11 % 10 == d[8] && !is_one_character(number))
}

/// Estonia and Lithuania: weights 1 to 9 and 1, mod 11; if that is 10, weights 3 to 9, 1, 2, 3; a birth date.
fn baltic_code(number: &[u8]) -> bool {
    digits::<11>(number).is_some_and(|d| {
        let first = weighted(&d, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 1]) % 11;
        let second = weighted(&d, &[3, 4, 5, 6, 7, 8, 9, 1, 2, 3]) % 11;
        let check = if first < 10 { first } else { second % 10 };
        let century = 1800 + d[0].saturating_sub(1) / 2 * 100;
        (1..=8).contains(&d[0]) && is_date(century + pair(&d, 1), pair(&d, 3), pair(&d, 5)) && check == d[10]
    })
}

/// 1 + weights 10 5 8 4 2 1 6 3 7 9, mod 11, mod 10; a birth date, or 32 in front where it is not told.
fn lv_code(number: &[u8]) -> bool {
    digits::<11>(number).is_some_and(|d| {
        let century = 1800 + 100 * d[6];
        let is_birth = d[6] <= 2 && is_date(century + pair(&d, 4), pair(&d, 2), pair(&d, 0));
        (is_birth || pair(&d, 0) == 32) && (1 + weighted(&d, &[10, 5, 8, 4, 2, 1, 6, 3, 7, 9])) % 11 % 10 == d[10]
    })
}

/// A birth date, its century by the seventh digit. Since 2007 the old check digit (mod 11) is no longer kept.
fn dk_cpr(number: &[u8]) -> bool {
    digits::<10>(number).is_some_and(|d| {
        let year = pair(&d, 4);
        let century = match (d[6], year) {
            (0..=3, _) | (4 | 9, 37..) => 1900,
            (5..=8, 58..) => 1800,
            _ => 2000,
        };
        is_date(century + year, pair(&d, 2), pair(&d, 0))
    })
}

/// Two check digits: 3 7 6 1 8 9 4 5 2 and 5 4 3 2 7 6 5 4 3 2, 11 - mod 11; a birth date (day + 40, month + 40 or 80).
fn no_fodselsnummer(number: &[u8]) -> bool {
    digits::<11>(number).is_some_and(|d| {
        let (day, month) = (pair(&d, 0) % 40, pair(&d, 2) % 40);
        is_date(0, month, day)
            && weighted(&d, &[3, 7, 6, 1, 8, 9, 4, 5, 2, 1]).is_multiple_of(11)
            && weighted(&d, &[5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1]).is_multiple_of(11)
    })
}

/// Luhn over the last ten digits; a birth date (day + 60 for who has no number yet).
fn se_personnummer(number: &[u8]) -> bool {
    let short = match number.len() {
        12 if matches!(&number[..2], b"18" | b"19" | b"20") => &number[2..],
        10 => number,
        _ => return false,
    };
    digits::<10>(short).is_some_and(|d| {
        let day = pair(&d, 4);
        let is_birth =
            |century: u32| is_date(century + pair(&d, 0), pair(&d, 2), if day > 60 { day - 60 } else { day });
        let is_birth = match (number.len(), &number[..2]) {
            (12, b"20") => is_birth(2000),
            (12, b"18") => is_birth(1800),
            (12, _) => is_birth(1900),
            _ => is_birth(1900) || is_birth(2000),
        };
        is_birth && luhn(&d)
    })
}

/// Luhn; the third digit is at least 2, which no month begins with.
fn se_organisationsnummer(number: &[u8]) -> bool {
    digits::<10>(number).is_some_and(|d| matches!(d[0], 1 | 2 | 3 | 5..=9) && d[2] >= 2 && luhn(&d))
}

/// A birth date, a sign for the century, a serial from 002 on, and date with serial mod 31 as a character.
fn fi_personal_identity_code(number: &[u8]) -> bool {
    // The signs + and - are no letters, and fall away: then ten characters are left.
    let (date, serial, check) = match number {
        [date @ .., century, a, b, c, check] if number.len() == 11 && b"ABCDEFYXWVU".contains(century) => {
            (date, [*a, *b, *c], check)
        }
        [date @ .., a, b, c, check] if number.len() == 10 => (date, [*a, *b, *c], check),
        _ => return false,
    };
    let (Some(d), Some(number), Some(serial)) = (digits::<6>(date), value(date), value(&serial)) else { return false };
    let day_of = |century: u32| is_date(century + pair(&d, 4), pair(&d, 2), pair(&d, 0));
    (day_of(1900) || day_of(2000))
        && serial >= 2
        && b"0123456789ABCDEFHJKLMNPRSTUVWXY"[((number * 1000 + serial) % 31) as usize] == *check
}

/// Weights 3 2 7 6 5 4 3 2, 11 - mod 11 in ninth place; a birth date (firms: day + 40), the century last.
fn is_kennitala(number: &[u8]) -> bool {
    digits::<10>(number).is_some_and(|d| {
        let century = match d[9] {
            9 => 1900,
            0 => 2000,
            _ => return false,
        };
        let day = pair(&d, 0);
        is_date(century + pair(&d, 4), pair(&d, 2), if day > 40 { day - 40 } else { day })
            && weighted(&d, &[3, 2, 7, 6, 5, 4, 3, 2, 1]).is_multiple_of(11)
    })
}

/// 7 · odd places - even places mod 10 is the tenth digit, the sum of ten mod 10 the last.
fn tr_national_id(number: &[u8]) -> bool {
    digits::<11>(number).is_some_and(|d| {
        let odd = d[0] + d[2] + d[4] + d[6] + d[8];
        let even = d[1] + d[3] + d[5] + d[7];
        d[0] != 0 && (7 * odd + 9 * even) % 10 == d[9] && d[..10].iter().sum::<u32>() % 10 == d[10]
    })
}

/// Persons, twelve digits: weights 7 2 4 10 3 5 9 4 6 8 and 3 7 2 4 10 3 5 9 4 6 8; firms, ten: 2 4 10 3 5 9 4 6 8.
fn ru_inn(number: &[u8]) -> bool {
    if is_one_character(number) {
        return false;
    }
    if let Some(d) = digits::<10>(number) {
        return weighted(&d, &[2, 4, 10, 3, 5, 9, 4, 6, 8]) % 11 % 10 == d[9];
    }
    digits::<12>(number).is_some_and(|d| {
        weighted(&d, &[7, 2, 4, 10, 3, 5, 9, 4, 6, 8]) % 11 % 10 == d[10]
            && weighted(&d, &[3, 7, 2, 4, 10, 3, 5, 9, 4, 6, 8]) % 11 % 10 == d[11]
    })
}

/// Weights 9 to 1, mod 101, 100 becomes 0, as two digits.
fn ru_snils(number: &[u8]) -> bool {
    digits::<11>(number).is_some_and(|d| {
        weighted(&d, &[9, 8, 7, 6, 5, 4, 3, 2, 1]) % 101 % 100 == pair(&d, 9) && !is_one_character(number)
    })
}

/// Weights -1 5 7 9 4 6 10 5 7, mod 11, mod 10.
fn ua_rntrc(number: &[u8]) -> bool {
    digits::<10>(number)
        .is_some_and(|d| weighted(&d, &[10, 5, 7, 9, 4, 6, 10, 5, 7]) % 11 % 10 == d[9] && !is_one_character(number))
}
