//! Scenarios that can't be simulated are refused with a clear message, and nothing panics.

use crate::support::{Case, HDD, SSD};
use assay_simulate::{answer, Tables};
use assay_spec::{json, Json};

fn error_of(text: &str) -> (String, String) {
    let result = answer(text, &mut Tables::default(), || 0.0);
    let result = json::parse(&result).unwrap();
    match (result.member("error"), result.member("kind")) {
        (Some(Json::Text(error)), Some(Json::Text(kind))) => (kind.clone(), error.clone()),
        _ => (String::new(), String::new()),
    }
}

#[test]
fn an_error_names_its_location() {
    let valid_json = Case::new(HDD).json();
    let cases = [
        ("\"read_bytes_per_s\":6e6,", "", "input", "cluster.nodes[0].devices[0].model.read_bytes_per_s: is missing"),
        ("\"read_bytes_per_s\":6e6", "\"read_bytes_per_s\":0", "input", "read_bytes_per_s: must be more than 0"),
        ("\"read_bytes_per_s\":6e6", "\"read_bytes_per_s\":1e200", "input", "is not from 1e3 to 1e13"),
        ("\"read_bytes_per_s\":6e6", "\"read_bytes_per_s\":1e999", "input", "no JSON value"),
        ("\"read_bytes_per_s\":6e6", "\"read_bytes_per_s\":NaN", "input", "no JSON value"),
        ("\"read_bytes_per_s\":6e6", "\"read_bytes_per_s\":-1", "input", "not negative"),
        ("\"cores\":4", "\"cores\":0", "input", "cluster.nodes[0].cores: must be more than 0"),
        ("\"count\":3", "\"count\":0", "input", "cluster.nodes: at least one node is needed"),
        ("\"count\":2", "\"count\":0", "input", "cluster.nodes[0].devices: 1 to 60 are needed"),
        ("\"nic_in_bytes_per_s\":60000000,", "", "input", "nic_in_bytes_per_s: is missing"),
        ("\"dfs\":1,", "", "input", "no device has the purpose dfs"),
        (",\"intermediate\":1", "", "input", "no device has the purpose intermediate"),
        ("\"bytes\":300000000", "\"bytes\":300000000000000", "does-not-fit", "dfs: "),
        ("\"dataset\":\"in\"", "\"dataset\":\"im\"", "input", "no dataset or earlier output is called \"im\""),
        ("\"stage\":\"map\"", "\"stage\":\"mop\"", "input", "no earlier stage is called mop"),
        ("\"am_memory_bytes\":1,", "\"am_memory_bytes\":9,", "input", "no node offers containers of this size"),
        ("\"seed\":1", "\"sead\":1", "input", "sead: unknown; known are"),
        ("\"fidelity\":\"flows\"", "\"fidelity\":\"flow\"", "input", "not one of flows, requests"),
        ("\"tasks\":6,", "", "input", "tasks: is missing"),
        ("\"process_s_per_byte\":10e-9", "\"process_s_per_byte\":1e3", "impossible", "would take longer"),
    ];
    for (part, replacement, kind, message) in cases {
        assert!(valid_json.contains(part), "{part} is not in {valid_json}");
        let (actual_kind, error) = error_of(&valid_json.replace(part, replacement));
        assert!(actual_kind == kind && error.contains(message), "{replacement}: {actual_kind}: {error}");
    }
}

#[test]
fn text_that_is_no_scenario_is_refused() {
    for text in ["", "{", "[]", "null", "\u{0}", "{\"jobs\":[]}", "{\"cluster\":3,\"jobs\":[]}"] {
        assert_eq!(error_of(text).0, "input", "{text}");
    }
}

/// Each number of a valid scenario in turn is replaced: the scenario is refused or simulated, never a panic.
#[test]
fn no_number_makes_the_simulator_panic() {
    let valid_json = Case { bytes: 20e6, maps: 2, reduces: 2, nodes: 2, ..Case::new(SSD) }.json();
    let bytes = valid_json.as_bytes();
    let is_number = |at: usize| bytes[at].is_ascii_digit() || b".eE+-".contains(&bytes[at]);
    let mut at = 0;
    while at < bytes.len() {
        let begins_number = bytes[at].is_ascii_digit() && bytes[at - 1] == b':';
        let end = (at..bytes.len()).find(|&i| !is_number(i)).unwrap_or(bytes.len());
        if begins_number {
            for replacement in ["0", "1", "-1", "0.3", "1e-300", "1e300", "4294967296", "null", "\"x\"", "[]"] {
                let text = format!("{}{}{}", &valid_json[..at], replacement, &valid_json[end..]);
                let result = answer(&text, &mut Tables::default(), || 0.0);
                assert!(json::parse(&result).is_ok(), "{text}: {result}");
            }
        }
        at = end.max(at + 1);
    }
}
