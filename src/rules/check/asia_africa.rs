//! National identifiers of Asia, the Pacific and Africa: length, dates, ranges, check digits.
//!
//! **Formula**: each function states its own. A random number of the right length passes one check digit with a chance
//! of 0.1 (mod 10) or 0.09 (mod 11), 0.011 (mod 89); a date in it with 0.04.
//!
//! **Source**: the issuing authorities' published descriptions; agreement with python-stdnum on
//! `fixtures/golden/pii_numbers.jsonl`, where it knows the type.

use super::number::{digits, is_date, is_one_character, luhn, number_checks, pair, value, verhoeff, weighted};

number_checks![
    in_aadhaar,
    in_vid,
    in_pan,
    in_gstin,
    in_vehicle,
    cn_ric,
    hk_id,
    tw_id,
    jp_my_number,
    kr_rrn,
    kr_frn,
    kr_brn,
    kr_driver_license,
    th_tnin,
    sg_nric_fin,
    sg_uen,
    my_nric,
    id_nik,
    ph_tin,
    vn_mst,
    pk_cnic,
    il_id,
    ae_id,
    au_tfn,
    au_abn,
    au_acn,
    au_medicare,
    nz_ird,
    za_id_number,
    ng_nin,
    eg_national_id,
    ke_pin,
    gh_tin,
];

/// Verhoeff; the first digit is at least 2, and the number does not read the same backwards.
fn in_aadhaar(number: &[u8]) -> bool {
    digits::<12>(number).is_some_and(|d| d[0] >= 2 && verhoeff(&d) && !number.iter().eq(number.iter().rev()))
}

/// As Aadhaar, with sixteen digits.
fn in_vid(number: &[u8]) -> bool {
    digits::<16>(number).is_some_and(|d| d[0] >= 2 && verhoeff(&d) && !number.iter().eq(number.iter().rev()))
}

/// Five letters, of which the fourth is a kind of holder, four digits that are not all 0, a letter.
fn in_pan(number: &[u8]) -> bool {
    number.len() == 10
        && number[..5].iter().chain(&number[9..]).all(u8::is_ascii_uppercase)
        && b"ABCFGHJLPTKE".contains(&number[3])
        && digits::<4>(&number[5..9]).is_some_and(|d| d != [0; 4])
}

/// A state, a PAN in shape, an entity, Z, and a check character, which is not asked for: it is often mistyped.
fn in_gstin(number: &[u8]) -> bool {
    number.len() == 15
        && digits::<2>(&number[..2]).is_some_and(|d| matches!(pair(&d, 0), 1..=38 | 97 | 99))
        && number[2..7].iter().chain(&number[11..12]).all(u8::is_ascii_uppercase)
        && digits::<4>(&number[7..11]).is_some()
        && number[12] != b'0'
}

/// The first two letters are a state, the last digits are not all 0.
fn in_vehicle(number: &[u8]) -> bool {
    const STATES: &[u8] = b"ANAPARASBRCGCHDDDLDNGAGJHPHRJHJKKAKLLALDMHMLMNMPMZNLODPBPYRJSKTGTNTRTSUKUPWB";
    let tail = number.iter().rev().take_while(|byte| byte.is_ascii_digit());
    number.len() >= 6
        && STATES.chunks(2).any(|state| number.starts_with(state))
        && tail.into_iter().any(|digit| *digit != b'0')
}

/// ISO 7064 mod 11-2; a province and a birth date.
fn cn_ric(number: &[u8]) -> bool {
    const WEIGHTS: [u32; 17] = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2];
    let Some((check, Some(d))) = number.split_last().map(|(check, body)| (check, digits::<17>(body))) else {
        return false;
    };
    let year = pair(&d, 6) * 100 + pair(&d, 8);
    matches!(d[0], 1..=6 | 8)
        && (1850..=2100).contains(&year)
        && is_date(year, pair(&d, 10), pair(&d, 12))
        && *check == b"10X98765432"[(weighted(&d, &WEIGHTS) % 11) as usize]
}

/// One or two letters (10 to 35, a blank 36), six digits: weights 9 to 2, 11 - mod 11; 10 is A.
fn hk_id(number: &[u8]) -> bool {
    let Some((check, body)) = number.split_last() else { return false };
    let letters = body.len().wrapping_sub(6);
    if !(1..=2).contains(&letters) || !body[..letters].iter().all(u8::is_ascii_uppercase) {
        return false;
    }
    let letter = |byte: u8| u32::from(byte - b'A') + 10;
    let front = if letters == 1 { [36, letter(body[0])] } else { [letter(body[0]), letter(body[1])] };
    let Some(d) = digits::<6>(&body[letters..]) else { return false };
    let rest = (weighted(&front, &[9, 8]) + weighted(&d, &[7, 6, 5, 4, 3, 2])) % 11;
    *check == b"0123456789A"[((11 - rest) % 11) as usize]
}

/// The letter as two digits of a city, weights 1 9 8 7 6 5 4 3 2 1 1, mod 10; 1 or 2 second.
fn tw_id(number: &[u8]) -> bool {
    const CITIES: &[u8; 26] = b"ABCDEFGHJKLMNPQRSTUVXYWZIO";
    let Some((letter, rest)) = number.split_first() else { return false };
    let Some(city) = CITIES.iter().position(|known| known == letter) else { return false };
    digits::<9>(rest).is_some_and(|d| {
        let city = city as u32 + 10;
        matches!(d[0], 1 | 2 | 8 | 9)
            && (city / 10 + city % 10 * 9 + weighted(&d, &[8, 7, 6, 5, 4, 3, 2, 1, 1])).is_multiple_of(10)
    })
}

/// Weights 6 5 4 3 2 7 6 5 4 3 2, 11 - mod 11, 10 and 11 become 0.
fn jp_my_number(number: &[u8]) -> bool {
    digits::<12>(number).is_some_and(|d| {
        (11 - weighted(&d, &[6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2]) % 11) % 11 % 10 == d[11] && !is_one_character(number)
    })
}

/// A birth date and a digit for sex and century. The check digit of old numbers is no longer kept since 2020.
fn kr_rrn(number: &[u8]) -> bool {
    digits::<13>(number).is_some_and(|d| matches!(d[6], 1..=4) && is_korean_birth(&d))
}

/// As of a citizen, with 5 to 8 for sex and century.
fn kr_frn(number: &[u8]) -> bool {
    digits::<13>(number).is_some_and(|d| matches!(d[6], 5..=8) && is_korean_birth(&d))
}

fn is_korean_birth(d: &[u32; 13]) -> bool {
    let century = if matches!(d[6], 1 | 2 | 5 | 6) { 1900 } else { 2000 };
    is_date(century + pair(d, 0), pair(d, 2), pair(d, 4))
}

/// Weights 1 3 7 1 3 7 1 3 5, and the tens of the last product, 10 - mod 10.
fn kr_brn(number: &[u8]) -> bool {
    digits::<10>(number).is_some_and(|d| {
        let sum = weighted(&d, &[1, 3, 7, 1, 3, 7, 1, 3, 5]) + d[8] * 5 / 10;
        !is_one_character(number) && (10 - sum % 10) % 10 == d[9]
    })
}

/// Begins with a region from 11 to 26, or 28.
fn kr_driver_license(number: &[u8]) -> bool {
    digits::<12>(number).is_some_and(|d| matches!(pair(&d, 0), 11..=26 | 28))
}

/// Weights 13 to 2, 11 - mod 11, mod 10; a kind of person and a province.
fn th_tnin(number: &[u8]) -> bool {
    digits::<13>(number).is_some_and(|d| {
        let sum = weighted(&d, &[13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2]);
        let is_province = matches!(pair(&d, 1), 10..=27 | 30..=58 | 60..=67 | 70..=77 | 80..=86 | 90..=96);
        (1..=8).contains(&d[0]) && is_province && (11 - sum % 11) % 10 == d[12]
    })
}

/// Weights 2 7 6 5 4 3 2, and 4 for T and G, 3 for M, mod 11, looked up by the first letter.
fn sg_nric_fin(number: &[u8]) -> bool {
    let [first, body @ .., last] = number else { return false };
    let Some(d) = digits::<7>(body) else { return false };
    let (offset, letters) = match first {
        b'S' => (0, b"JZIHGFEDCBA"),
        b'T' => (4, b"JZIHGFEDCBA"),
        b'F' => (0, b"XWUTRQPNMLK"),
        b'G' => (4, b"XWUTRQPNMLK"),
        b'M' => (3, b"XWUTRQPNJLK"),
        _ => return false,
    };
    letters[((offset + weighted(&d, &[2, 7, 6, 5, 4, 3, 2])) % 11) as usize] == *last
}

/// Three forms, each with its weights and letters.
fn sg_uen(number: &[u8]) -> bool {
    let Some((check, body)) = number.split_last() else { return false };
    if let Some(d) = digits::<8>(body) {
        return b"XMKECAWLJDB"[(weighted(&d, &[10, 4, 9, 3, 8, 2, 7, 1]) % 11) as usize] == *check;
    }
    if let Some(d) = digits::<9>(body) {
        let is_year = (1800..2100).contains(&(pair(&d, 0) * 100 + pair(&d, 2)));
        return is_year && b"ZKCMDNERGWH"[(weighted(&d, &[10, 8, 6, 4, 9, 7, 5, 3, 1]) % 11) as usize] == *check;
    }
    const ALPHABET: &[u8] = b"ABCDEFGHJKLMNPQRSTUVWX0123456789";
    let values: Option<Vec<u32>> =
        body.iter().map(|byte| ALPHABET.iter().position(|known| known == byte).map(|at| at as u32)).collect();
    let Some(values) = values.filter(|values| values.len() == 9) else { return false };
    let sum = weighted(&values, &[4, 3, 5, 3, 10, 2, 2, 5, 7]) + 11 - 5;
    b"RST".contains(&body[0])
        && digits::<2>(&body[1..3]).is_some()
        && body[3..5].iter().all(u8::is_ascii_uppercase)
        && digits::<4>(&body[5..]).is_some()
        && ALPHABET[(sum % 11) as usize] == *check
}

/// A birth date and a place of birth.
fn my_nric(number: &[u8]) -> bool {
    digits::<12>(number).is_some_and(|d| {
        let is_birth = |century: u32| is_date(century + pair(&d, 0), pair(&d, 2), pair(&d, 4));
        (is_birth(1900) || is_birth(2000)) && !matches!(pair(&d, 6), 0 | 17..=20 | 69 | 70 | 73 | 80 | 81 | 94..=97)
    })
}

/// A province, a birth date (women: day + 40), a serial that is not 0.
fn id_nik(number: &[u8]) -> bool {
    digits::<16>(number).is_some_and(|d| {
        matches!(pair(&d, 0), 11..=21 | 31..=36 | 51..=53 | 61..=65 | 71..=76 | 81 | 82 | 91..=97)
            && is_date(0, pair(&d, 8), if pair(&d, 6) > 40 { pair(&d, 6) - 40 } else { pair(&d, 6) })
            && d[12..] != [0; 4]
    })
}

/// Weights 9 to 2, mod 11; three more digits name a branch.
fn ph_tin(number: &[u8]) -> bool {
    matches!(number.len(), 9 | 12 | 13 | 14)
        && value(number).is_some()
        && digits::<9>(&number[..9])
            .is_some_and(|d| weighted(&d, &[9, 8, 7, 6, 5, 4, 3, 2]) % 11 == d[8] && d[..8] != [0; 8])
}

/// Weights 31 29 23 19 17 13 7 5 3, 10 - mod 11; three more digits name a branch.
fn vn_mst(number: &[u8]) -> bool {
    matches!(number.len(), 10 | 13)
        && value(number).is_some()
        && digits::<10>(&number[..10]).is_some_and(|d| {
            10_u32.checked_sub(weighted(&d, &[31, 29, 23, 19, 17, 13, 7, 5, 3]) % 11) == Some(d[9]) && d[2..9] != [0; 7]
        })
        && (number.len() == 10 || !number.ends_with(b"000"))
}

/// A province from 1 to 7, and a last digit that tells the sex.
fn pk_cnic(number: &[u8]) -> bool {
    digits::<13>(number).is_some_and(|d| (1..=7).contains(&d[0]) && d[12] != 0 && !is_one_character(number))
}

/// Luhn over nine digits.
fn il_id(number: &[u8]) -> bool {
    digits::<9>(number).is_some_and(|d| luhn(&d) && d != [0; 9])
}

/// 784, a year of birth, Luhn.
fn ae_id(number: &[u8]) -> bool {
    digits::<15>(number).is_some_and(|d| {
        number.starts_with(b"784") && (1900..2100).contains(&(pair(&d, 3) * 100 + pair(&d, 5))) && luhn(&d)
    })
}

/// Weights 1 4 3 7 5 8 6 9 10, mod 11.
fn au_tfn(number: &[u8]) -> bool {
    digits::<9>(number)
        .is_some_and(|d| weighted(&d, &[1, 4, 3, 7, 5, 8, 6, 9, 10]).is_multiple_of(11) && !is_one_character(number))
}

/// One less in the first place, weights 10 1 3 5 7 9 11 13 15 17 19, mod 89.
fn au_abn(number: &[u8]) -> bool {
    digits::<11>(number)
        .is_some_and(|d| d[0] > 0 && (weighted(&d, &[10, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19]) - 10).is_multiple_of(89))
}

/// Weights 8 to 1, 10 - mod 10.
fn au_acn(number: &[u8]) -> bool {
    digits::<9>(number)
        .is_some_and(|d| (10 - weighted(&d, &[8, 7, 6, 5, 4, 3, 2, 1]) % 10) % 10 == d[8] && d[..8] != [0; 8])
}

/// Weights 1 3 7 9 1 3 7 9, mod 10 in ninth place; begins with 2 to 6.
fn au_medicare(number: &[u8]) -> bool {
    digits::<10>(number)
        .is_some_and(|d| (2..=6).contains(&d[0]) && weighted(&d, &[1, 3, 7, 9, 1, 3, 7, 9]) % 10 == d[8])
}

/// Weights 3 2 7 6 5 4 3 2, 11 - mod 11; if that is 10, weights 7 4 3 2 5 2 7 6.
fn nz_ird(number: &[u8]) -> bool {
    let padded: Vec<u8> = if number.len() == 8 { [b"0", number].concat() } else { number.to_vec() };
    digits::<9>(&padded).is_some_and(|d| {
        let check = |weights: &[u32]| (11 - weighted(&d, weights) % 11) % 11;
        let first = check(&[3, 2, 7, 6, 5, 4, 3, 2]);
        let is_range = value(&padded).is_some_and(|value| (10_000_001..150_000_000).contains(&value));
        is_range && (if first == 10 { check(&[7, 4, 3, 2, 5, 2, 7, 6]) } else { first }) == d[8]
    })
}

/// Luhn; a birth date, and 0 to 2 for citizen, resident or refugee.
fn za_id_number(number: &[u8]) -> bool {
    digits::<13>(number).is_some_and(|d| {
        let is_birth = |century: u32| is_date(century + pair(&d, 0), pair(&d, 2), pair(&d, 4));
        (is_birth(1900) || is_birth(2000)) && d[10] <= 2 && luhn(&d)
    })
}

/// Verhoeff over eleven digits.
fn ng_nin(number: &[u8]) -> bool {
    digits::<11>(number).is_some_and(|d| verhoeff(&d) && !is_one_character(number))
}

/// A century, a birth date, a governorate.
fn eg_national_id(number: &[u8]) -> bool {
    digits::<14>(number).is_some_and(|d| {
        let year = 1700 + 100 * d[0] + pair(&d, 1);
        matches!(d[0], 2 | 3)
            && is_date(year, pair(&d, 3), pair(&d, 5))
            && matches!(pair(&d, 7), 1..=4 | 11..=19 | 21..=29 | 31..=35 | 88)
    })
}

/// A or P, nine digits, a letter.
fn ke_pin(number: &[u8]) -> bool {
    let [first, body @ .., last] = number else { return false };
    matches!(first, b'A' | b'P') && digits::<9>(body).is_some() && last.is_ascii_uppercase()
}

/// A kind of taxpayer, 00, seven digits, and Σ place · digit mod 11; 10 is X.
fn gh_tin(number: &[u8]) -> bool {
    let Some((check, body)) = number.split_last() else { return false };
    let Some((first, rest)) = body.split_first() else { return false };
    digits::<9>(rest).is_some_and(|d| {
        let sum = weighted(&d, &[1, 2, 3, 4, 5, 6, 7, 8, 9]);
        b"PCGQV".contains(first) && d[..2] == [0, 0] && *check == b"0123456789X"[(sum % 11) as usize]
    })
}
