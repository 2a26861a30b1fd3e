//! Parse JSON: the part of RFC 8259 that a specification written by a program needs. Errors name the byte. The parser
//! is part of this crate, not a dependency, so that the daemon builds without a registry: see rust/README.md.

use std::fmt::Write;

const DEPTH_MAX: usize = 16;

#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

pub fn parse(text: &str) -> Result<Json, String> {
    let mut parser = Parser { text, at: 0 };
    let value = parser.value(0)?;
    parser.skip_space();
    if parser.at < text.len() {
        return Err(parser.error("more text after the end"));
    }
    Ok(value)
}

/// Return a text as a JSON string, with its quotes.
pub fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if (c as u32) < 0x20 => {
                _ = write!(out, "\\u{:04x}", c as u32); // writing to a String never fails
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn error(&self, problem: &str) -> String {
        format!("not JSON at byte {}: {}", self.at, problem)
    }

    fn remaining_text(&self) -> &str {
        &self.text[self.at..]
    }

    fn skip_space(&mut self) {
        let remaining_text = self.remaining_text();
        self.at += remaining_text.len() - remaining_text.trim_start_matches([' ', '\t', '\r', '\n']).len();
    }

    /// Skip spaces, then skip the word if it comes next. Return whether it did.
    fn accept(&mut self, word: &str) -> bool {
        self.skip_space();
        let is_next = self.remaining_text().starts_with(word);
        if is_next {
            self.at += word.len();
        }
        is_next
    }

    fn value(&mut self, depth: usize) -> Result<Json, String> {
        if depth > DEPTH_MAX {
            return Err(self.error("nested too deeply"));
        }
        self.skip_space();
        match self.remaining_text().bytes().next() {
            None => Err(self.error("the text ends where a value should be")),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.list(depth),
            Some(b'"') => Ok(Json::Text(self.string()?)),
            Some(_) if self.accept("null") => Ok(Json::Null),
            Some(_) if self.accept("true") => Ok(Json::Bool(true)),
            Some(_) if self.accept("false") => Ok(Json::Bool(false)),
            Some(_) => self.number(),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, String> {
        self.accept("{");
        let mut members: Vec<(String, Json)> = Vec::new();
        if self.accept("}") {
            return Ok(Json::Object(members));
        }
        loop {
            self.skip_space();
            let key = self.string()?;
            if members.iter().any(|(name, _)| *name == key) {
                return Err(self.error(&format!("{} occurs twice", quoted(&key))));
            }
            if !self.accept(":") {
                return Err(self.error("a colon is missing"));
            }
            let value = self.value(depth + 1)?;
            members.push((key, value));
            if self.accept("}") {
                return Ok(Json::Object(members));
            }
            if !self.accept(",") {
                return Err(self.error("a comma or a closing brace is missing"));
            }
        }
    }

    fn list(&mut self, depth: usize) -> Result<Json, String> {
        self.accept("[");
        let mut items = Vec::new();
        if self.accept("]") {
            return Ok(Json::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            if self.accept("]") {
                return Ok(Json::List(items));
            }
            if !self.accept(",") {
                return Err(self.error("a comma or a closing bracket is missing"));
            }
        }
    }

    fn string(&mut self) -> Result<String, String> {
        if !self.remaining_text().starts_with('"') {
            return Err(self.error("a string should be here"));
        }
        self.at += 1;
        let mut out = String::new();
        loop {
            let c = self.remaining_text().chars().next().ok_or_else(|| self.error("a string has no end"))?;
            self.at += c.len_utf8();
            match c {
                '"' => return Ok(out),
                '\\' => out.push(self.escape()?),
                c if (c as u32) < 0x20 => return Err(self.error("a control character in a string")),
                c => out.push(c),
            }
        }
    }

    fn escape(&mut self) -> Result<char, String> {
        let c = self.remaining_text().chars().next().ok_or_else(|| self.error("a string has no end"))?;
        self.at += c.len_utf8();
        match c {
            '"' | '\\' | '/' => Ok(c),
            'b' => Ok('\u{8}'),
            'f' => Ok('\u{c}'),
            'n' => Ok('\n'),
            'r' => Ok('\r'),
            't' => Ok('\t'),
            'u' => {
                let high = self.utf16_unit()?;
                if !(0xd800..0xdc00).contains(&high) {
                    return char::from_u32(high).ok_or_else(|| self.error("half a character"));
                }
                if !self.remaining_text().starts_with("\\u") {
                    return Err(self.error("half a character"));
                }
                self.at += 2;
                let low = self.utf16_unit()?.wrapping_sub(0xdc00);
                if low >= 0x400 {
                    return Err(self.error("half a character"));
                }
                char::from_u32(0x10000 + ((high - 0xd800) << 10) + low).ok_or_else(|| self.error("half a character"))
            }
            _ => Err(self.error("an unknown escape")),
        }
    }

    fn utf16_unit(&mut self) -> Result<u32, String> {
        let digits = self.remaining_text().get(..4).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
        let utf16_unit = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let utf16_unit = utf16_unit.ok_or_else(|| self.error("four hexadecimal digits are missing"))?;
        self.at += 4;
        Ok(utf16_unit)
    }

    fn number(&mut self) -> Result<Json, String> {
        let remaining_text = self.remaining_text();
        let length = remaining_text.bytes().take_while(|b| b.is_ascii_digit() || b"+-.eE".contains(b)).count();
        let digits = &remaining_text[..length];
        let starts_with_digit = digits.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit());
        let number = digits.parse::<f64>().ok().filter(|number| starts_with_digit && number.is_finite());
        let number = number.ok_or_else(|| self.error("no JSON value"))?;
        self.at += length;
        Ok(Json::Number(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_value_is_read() {
        let value = parse(" {\"a\": [1, -2.5e3, true, false, null], \"\\u00e9\\ud83d\\ude00\\n\": \"x\"} ").unwrap();
        let list = vec![Json::Number(1.0), Json::Number(-2500.0), Json::Bool(true), Json::Bool(false), Json::Null];
        let members = vec![("a".into(), Json::List(list)), ("é😀\n".into(), Json::Text("x".into()))];
        assert_eq!(value, Json::Object(members));
        assert_eq!(parse(&quoted("a\"\\\n")).unwrap(), Json::Text("a\"\\\n".into()));
    }

    #[test]
    fn text_that_is_not_json_gives_an_error_and_no_panic() {
        let invalid_texts = [
            "",
            "{",
            "[1,]",
            "{\"a\" 1}",
            "{\"a\":1,\"a\":2}",
            "1 2",
            "nul",
            "\"\\x\"",
            "\"\\ud800\"",
            "+1",
            "1e999",
            "\"é",
            "NaN",
            "\"\\u12é\"",
            ".5",
        ];
        for text in invalid_texts {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse(&"[".repeat(1000)).unwrap_err().contains("deeply"));
    }
}
