use std::collections::BTreeSet;

use http::Method;

use super::*;
use crate::route::route;

#[test]
fn every_described_path_is_routed_to_its_operation() {
    for operation in DataOperation::ALL {
        let row = operation.row();
        let path = row.path.replace(['{', '}'], "");
        let method: Method = row.method.parse().unwrap();
        let found = DataOperation::of(&route(&method, &path));
        assert_eq!(found, Some(*operation), "{} {path}", row.method);
    }
}

#[test]
fn every_reference_leads_somewhere_and_names_are_used_once() {
    for text in [public(), whole()] {
        let document: Value = serde_json::from_str(text).unwrap();
        let mut references = BTreeSet::new();
        let mut ids = Vec::new();
        walk(&document, &mut references, &mut ids);
        for reference in &references {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{reference}");
        }
        let unique: BTreeSet<&String> = ids.iter().collect();
        assert_eq!(unique.len(), ids.len(), "{ids:?}");
    }
}

fn walk(value: &Value, references: &mut BTreeSet<String>, ids: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match (name.as_str(), member) {
                    ("$ref", Value::String(text)) => drop(references.insert(text.clone())),
                    ("operationId", Value::String(text)) => ids.push(text.clone()),
                    _ => walk(member, references, ids),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| walk(item, references, ids)),
        _ => {}
    }
}

#[test]
fn the_public_part_has_no_path_of_operators() {
    assert!(!public().contains("/admin/") && whole().contains("/admin/keys/{id}"));
}

#[test]
fn each_error_code_is_in_the_description() {
    for code in bardo_types::error_code::ErrorCode::ALL {
        assert!(public().contains(code.as_str()), "{}", code.as_str());
    }
}
