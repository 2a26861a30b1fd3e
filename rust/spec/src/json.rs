//! Parse JSON: the part of RFC 8259 that a specification written by a program needs. Errors name the byte. It is
//! written here and not a crate, so that the daemon builds without a registry: see rust/README.md.

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
    parser.space();
    if parser.at < text.len() {
        return Err(parser.wrong("more text after the end"));
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
                _ = write!(out, "\\u{:04x}", c as u32); // a String takes everything
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
    fn wrong(&self, what: &str) -> String {
        format!("not JSON at byte {}: {}", self.at, what)
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
    }

    fn takes(&mut self, word: &str) -> bool {
        self.space();
        let matches = self.rest().starts_with(word);
        if matches {
            self.at += word.len();
        }
        matches
    }

    fn value(&mut self, depth: usize) -> Result<Json, String> {
        if depth > DEPTH_MAX {
            return Err(self.wrong("nested too deeply"));
        }
        self.space();
        match self.rest().bytes().next() {
            None => Err(self.wrong("the text ends where a value should be")),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.list(depth),
            Some(b'"') => Ok(Json::Text(self.string()?)),
            Some(_) if self.takes("null") => Ok(Json::Null),
            Some(_) if self.takes("true") => Ok(Json::Bool(true)),
            Some(_) if self.takes("false") => Ok(Json::Bool(false)),
            Some(_) => self.number(),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, String> {
        self.takes("{");
        let mut members: Vec<(String, Json)> = Vec::new();
        if self.takes("}") {
            return Ok(Json::Object(members));
        }
        loop {
            self.space();
            let key = self.string()?;
            if members.iter().any(|(known, _)| *known == key) {
                return Err(self.wrong(&format!("{} occurs twice", quoted(&key))));
            }
            if !self.takes(":") {
                return Err(self.wrong("a colon is missing"));
            }
            let value = self.value(depth + 1)?;
            members.push((key, value));
            if self.takes("}") {
                return Ok(Json::Object(members));
            }
            if !self.takes(",") {
                return Err(self.wrong("a comma or a closing brace is missing"));
            }
        }
    }

    fn list(&mut self, depth: usize) -> Result<Json, String> {
        self.takes("[");
        let mut items = Vec::new();
        if self.takes("]") {
            return Ok(Json::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            if self.takes("]") {
                return Ok(Json::List(items));
            }
            if !self.takes(",") {
                return Err(self.wrong("a comma or a closing bracket is missing"));
            }
        }
    }

    fn string(&mut self) -> Result<String, String> {
        if !self.rest().starts_with('"') {
            return Err(self.wrong("a string should be here"));
        }
        self.at += 1;
        let mut out = String::new();
        loop {
            let c = self.rest().chars().next().ok_or_else(|| self.wrong("a string has no end"))?;
            self.at += c.len_utf8();
            match c {
                '"' => return Ok(out),
                '\\' => out.push(self.escape()?),
                c if (c as u32) < 0x20 => return Err(self.wrong("a control character in a string")),
                c => out.push(c),
            }
        }
    }

    fn escape(&mut self) -> Result<char, String> {
        let c = self.rest().chars().next().ok_or_else(|| self.wrong("a string has no end"))?;
        self.at += c.len_utf8();
        match c {
            '"' | '\\' | '/' => Ok(c),
            'b' => Ok('\u{8}'),
            'f' => Ok('\u{c}'),
            'n' => Ok('\n'),
            'r' => Ok('\r'),
            't' => Ok('\t'),
            'u' => {
                let high = self.unit()?;
                if !(0xd800..0xdc00).contains(&high) {
                    return char::from_u32(high).ok_or_else(|| self.wrong("half a character"));
                }
                if !self.rest().starts_with("\\u") {
                    return Err(self.wrong("half a character"));
                }
                self.at += 2;
                let low = self.unit()?.wrapping_sub(0xdc00);
                if low >= 0x400 {
                    return Err(self.wrong("half a character"));
                }
                char::from_u32(0x10000 + ((high - 0xd800) << 10) + low).ok_or_else(|| self.wrong("half a character"))
            }
            _ => Err(self.wrong("an unknown escape")),
        }
    }

    fn unit(&mut self) -> Result<u32, String> {
        let digits = self.rest().get(..4).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
        let unit = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let unit = unit.ok_or_else(|| self.wrong("four hexadecimal digits are missing"))?;
        self.at += 4;
        Ok(unit)
    }

    fn number(&mut self) -> Result<Json, String> {
        let rest = self.rest();
        let length = rest.bytes().take_while(|b| b.is_ascii_digit() || b"+-.eE".contains(b)).count();
        let digits = &rest[..length];
        let starts_well = digits.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit());
        let number = digits.parse::<f64>().ok().filter(|number| starts_well && number.is_finite());
        let number = number.ok_or_else(|| self.wrong("no JSON value"))?;
        self.at += length;
        Ok(Json::Number(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_json_can_say() {
        let value = parse(" {\"a\": [1, -2.5e3, true, false, null], \"\\u00e9\\ud83d\\ude00\\n\": \"x\"} ").unwrap();
        let list = vec![Json::Number(1.0), Json::Number(-2500.0), Json::Bool(true), Json::Bool(false), Json::Null];
        let members = vec![("a".into(), Json::List(list)), ("é😀\n".into(), Json::Text("x".into()))];
        assert_eq!(value, Json::Object(members));
        assert_eq!(parse(&quoted("a\"\\\n")).unwrap(), Json::Text("a\"\\\n".into()));
    }

    #[test]
    fn refuses_what_is_not_json_and_never_panics() {
        let bad = [
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
        for text in bad {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse(&"[".repeat(1000)).unwrap_err().contains("deeply"));
    }
}
