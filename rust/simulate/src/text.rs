//! JSON text, written piece by piece.

use std::fmt::Write;

use assay_spec::json;

/// JSON text to which members and elements are appended.
pub struct Text(pub String);

impl Text {
    pub fn comma(&mut self) {
        if !self.0.ends_with(['{', '[', ':', '\0']) && !self.0.is_empty() {
            self.0.push(',');
        }
    }

    pub fn key(&mut self, key: &str) {
        self.comma();
        self.0.push_str(&json::quoted(key));
        self.0.push(':');
    }

    pub fn number(&mut self, key: &str, value: f64) {
        self.key(key);
        self.value(value);
    }

    pub fn value(&mut self, value: f64) {
        if value == value.trunc() && value.abs() < 1e15 {
            // Writing to a String can't fail.
            let _ = write!(self.0, "{}", value as i64);
        } else if value.is_finite() {
            // Numbers are written to the nanosecond or byte, because smaller digits are rounding errors.
            let _ = write!(self.0, "{value:.9}");
            while self.0.ends_with('0') {
                self.0.pop();
            }
            if self.0.ends_with('.') {
                self.0.pop();
            }
        } else {
            self.0.push_str("null");
        }
    }

    pub fn text(&mut self, key: &str, value: &str) {
        self.key(key);
        self.0.push_str(&json::quoted(value));
    }

    pub fn truth(&mut self, key: &str, value: bool) {
        self.key(key);
        self.0.push_str(if value { "true" } else { "false" });
    }

    pub fn open(&mut self, key: Option<&str>, bracket: char) {
        match key {
            Some(key) => self.key(key),
            None => self.comma(),
        }
        self.0.push(bracket);
    }

    pub fn close(&mut self, bracket: char) {
        self.0.push(bracket);
    }

    pub fn values(&mut self, key: &str, values: impl Iterator<Item = f64>) {
        self.open(Some(key), '[');
        for value in values {
            self.comma();
            self.value(value);
        }
        self.close(']');
    }

    pub fn texts<'a>(&mut self, key: &str, values: impl Iterator<Item = &'a str>) {
        self.open(Some(key), '[');
        for value in values {
            self.comma();
            self.0.push_str(&json::quoted(value));
        }
        self.close(']');
    }
}
