//! JSON Schemas.

use super::lexicon::{engine, matches, refused, schema};

#[test]
fn a_schema_admits_what_satisfies_it() {
  let person = schema(
    r#"{"type": "object", "properties": {"name": {"type": "string", "minLength": 1}, "age": {"type": "integer",
    "minimum": 0, "maximum": 150}}, "required": ["name", "age"], "additionalProperties": false}"#,
  );
  assert!(matches(&person, r#"{"name": "é🦀", "age": 150}"#));
  for text in [
    r#"{"name": "", "age": 1}"#,
    r#"{"name": "a", "age": 151}"#,
    r#"{"name": "a", "age": -1}"#,
    r#"{"name": "a"}"#,
    r#"{"name": "a", "age": 1, "b": 2}"#,
  ] {
    assert!(!matches(&person, text), "{text}");
  }
}

#[test]
fn any_of_admits_each_alternative() {
  let optional = schema(r#"{"anyOf": [{"type": "integer"}, {"type": "null"}]}"#);
  assert!(matches(&optional, "12") && matches(&optional, "null"));
  assert!(!matches(&optional, "\"a\""));
}

#[test]
fn a_pattern_is_enforced() {
  let code = schema(r#"{"type": "string", "pattern": "^[A-Z]{2}-[0-9]+$"}"#);
  assert!(matches(&code, "\"AB-12\""));
  assert!(!matches(&code, "\"ab-12\"") && !matches(&code, "\"AB-\""));
}

#[test]
fn references_may_recur() {
  let tree = schema(
    r##"{"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "properties": {"v": {"type": "integer"},
    "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}}, "required": ["v", "children"],
    "additionalProperties": false}}}"##,
  );
  assert!(matches(&tree, r#"{"v": 1, "children": [{"v": 2, "children": []}, {"v": 3, "children": []}]}"#));
  assert!(!matches(&tree, r#"{"v": 1, "children": [{"v": 2}]}"#));
}

#[test]
fn what_is_not_enforced_is_named() {
  let source = schema(r#"{"type": "array", "items": {"type": "integer"}, "uniqueItems": true}"#);
  let compiled = engine().compile(&source, &[]).unwrap();
  assert!(
    compiled.warnings().iter().any(|warning| warning.contains("uniqueItems")),
    "{:?}",
    compiled.warnings()
  );
  assert!(matches(&source, "[1, 1]") && !matches(&source, "[true]"));

  let enforced = schema(r#"{"type": "array", "items": {"type": "integer"}, "maxItems": 2.0}"#);
  assert!(engine().compile(&enforced, &[]).unwrap().warnings().is_empty());
  assert!(!matches(&enforced, "[1, 2, 3]"));
}

#[test]
fn unevaluated_is_additional_where_nothing_else_evaluates() {
  let closed = schema(
    r#"{"type": "object", "properties": {"unevaluatedItems": {"type": "array", "prefixItems": [{"const": 1}],
    "unevaluatedItems": false}}, "required": ["unevaluatedItems"], "unevaluatedProperties": false}"#,
  );
  assert!(engine().compile(&closed, &[]).unwrap().warnings().is_empty());
  assert!(matches(&closed, r#"{"unevaluatedItems": [1]}"#));
  assert!(!matches(&closed, r#"{"unevaluatedItems": [1, 2]}"#));
  assert!(!matches(&closed, r#"{"unevaluatedItems": [1], "a": 1}"#));

  let open = schema(r#"{"type": "object", "allOf": [{"required": ["a"]}], "unevaluatedProperties": false}"#);
  let warnings = engine().compile(&open, &[]).unwrap().warnings().concat();
  assert!(warnings.contains("unevaluatedProperties"), "{warnings}");
  let older = schema(
    r#"{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "unevaluatedProperties": false}"#,
  );
  assert!(matches(&older, r#"{"a": 1}"#));
}

#[test]
fn a_schema_that_nothing_satisfies_is_refused() {
  for text in
    ["false", r#"{"type": "string", "enum": [1]}"#, r#"{"allOf": [{"type": "string"}, {"type": "null"}]}"#]
  {
    refused(&schema(text));
  }
}

#[test]
fn the_engines_own_options_cannot_be_set_by_a_schema() {
  let source = schema(r#"{"type": "object", "x-guidance": {"whitespace_pattern": "x*"}}"#);
  assert!(!matches(&source, "{x}") && matches(&source, "{}"));
}

#[test]
fn a_schema_is_compiled_once() {
  let source = schema(r#"{"type": "boolean"}"#);
  let (first, second) = (engine().compile(&source, &[]).unwrap(), engine().compile(&source, &[]).unwrap());
  assert!(std::sync::Arc::ptr_eq(&first, &second));
}
