//! Typed access to the members of an object. A missing, unknown or out-of-range member is an error with its path.

use crate::json::Json;

impl Json {
    pub fn member(&self, key: &str) -> Option<&Json> {
        match self {
            Json::Object(members) => members.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }
}

/// The members of an object, and the path to them for messages, with a trailing point.
pub struct Fields<'a> {
    pub at: String,
    object: &'a Json,
}

impl<'a> Fields<'a> {
    /// Check that the object has no other keys than `known_keys`.
    pub fn new(at: String, object: &'a Json, known_keys: &[&str]) -> Result<Fields<'a>, String> {
        let members = match object {
            Json::Object(members) => members,
            _ => return Err(format!("{}: must be an object", at.trim_end_matches('.'))),
        };
        if let Some((key, _)) = members.iter().find(|(key, _)| !known_keys.contains(&key.as_str())) {
            return Err(format!("{at}{key}: unknown; known are {}", known_keys.join(", ")));
        }
        Ok(Fields { at, object })
    }

    /// Return the member if it exists and is not null.
    pub fn optional(&self, key: &str) -> Option<&'a Json> {
        self.object.member(key).filter(|value| **value != Json::Null)
    }

    pub fn required(&self, key: &str) -> Result<&'a Json, String> {
        self.optional(key).ok_or_else(|| format!("{}{key}: is missing", self.at))
    }

    pub fn text(&self, key: &str) -> Result<String, String> {
        match self.required(key)? {
            Json::Text(text) => Ok(text.clone()),
            _ => Err(format!("{}{key}: must be a string", self.at)),
        }
    }

    pub fn list(&self, key: &str) -> Result<&'a [Json], String> {
        match self.required(key)? {
            Json::List(items) => Ok(items),
            _ => Err(format!("{}{key}: must be a list", self.at)),
        }
    }

    pub fn as_number(&self, key: &str, value: &Json) -> Result<f64, String> {
        match value {
            Json::Number(number) if *number >= 0.0 => Ok(*number),
            _ => Err(format!("{}{key}: must be a number that is not negative", self.at)),
        }
    }

    pub fn number(&self, key: &str) -> Result<f64, String> {
        self.as_number(key, self.required(key)?)
    }

    pub fn number_or(&self, key: &str, default: f64) -> Result<f64, String> {
        self.optional(key).map_or(Ok(default), |value| self.as_number(key, value))
    }

    pub fn as_positive(&self, key: &str, number: f64) -> Result<f64, String> {
        if number <= 0.0 {
            return Err(format!("{}{key}: must be more than 0", self.at));
        }
        Ok(number)
    }

    pub fn positive(&self, key: &str) -> Result<f64, String> {
        self.as_positive(key, self.number(key)?)
    }

    pub fn positive_or(&self, key: &str, default: f64) -> Result<f64, String> {
        self.as_positive(key, self.number_or(key, default)?)
    }

    pub fn optional_positive(&self, key: &str) -> Result<Option<f64>, String> {
        self.optional(key).map(|_| self.positive(key)).transpose()
    }

    pub fn as_integer(&self, key: &str, number: f64) -> Result<u64, String> {
        if number.fract() != 0.0 || number >= 9_007_199_254_740_992.0 {
            return Err(format!("{}{key}: must be a whole number", self.at));
        }
        Ok(number as u64)
    }

    pub fn integer(&self, key: &str) -> Result<u64, String> {
        self.as_integer(key, self.number(key)?)
    }

    pub fn integer_or(&self, key: &str, default: f64) -> Result<u64, String> {
        self.as_integer(key, self.number_or(key, default)?)
    }

    pub fn check_queue_depth(&self, depth: usize) -> Result<(), String> {
        if depth == 0 || depth > 65536 {
            return Err(format!("{}queue_depth: must be 1 to 65536", self.at));
        }
        Ok(())
    }
}
