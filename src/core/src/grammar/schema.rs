//! JSON Schemas in the form that the engine reads.

use serde_json::{Map, Value, json};

use super::error::invalid;
use crate::error::Result;

/// Keywords whose values are counts; some writers put them down as `2.0`.
const COUNTS: [&str; 6] =
  ["minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"];

/// Keywords whose values are no schemas.
const VALUES: [&str; 5] = ["const", "default", "enum", "examples", "required"];
/// Keywords whose values are schemas by name.
const MAPS: [&str; 5] = ["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"];
/// Keywords with schemas for the same value: what these evaluate is not unevaluated.
const IN_PLACE: [&str; 12] = [
  "$ref",
  "$dynamicRef",
  "$recursiveRef",
  "allOf",
  "anyOf",
  "oneOf",
  "not",
  "if",
  "then",
  "else",
  "dependentSchemas",
  "contains",
];

/// A schema as text, with the engine's options in it. With `lenient`, keywords that the engine cannot enforce are left
/// out with a warning instead of being an error, and `oneOf` counts as `anyOf`.
pub(super) fn prepared(schema: &Value, lenient: bool) -> Result<String> {
  let mut object = match schema {
    Value::Object(object) => object.clone(),
    Value::Bool(true) => Map::new(),
    Value::Bool(false) => return Err(invalid("the schema is false: nothing satisfies it")),
    other => return Err(invalid(format!("a schema is an object or a boolean, not {other}"))),
  };
  let evaluating = object
    .get("$schema")
    .is_none_or(|named| ["2019-09", "2020-12"].iter().any(|draft| named.to_string().contains(draft)));
  tidy_schema(&mut object, evaluating);
  let options = json!({
    // Fixed separators: a model cannot spend its tokens on blanks, and more of the text is determined.
    "whitespace_flexible": false,
    "item_separator": ", ",
    "key_separator": ": ",
    "lenient": lenient,
    "coerce_one_of": lenient,
    "json_allow_general_unicode_escapes": true,
  });
  object.insert("x-guidance".to_owned(), options);
  serde_json::to_string(&object).map_err(invalid)
}

/// Reads a schema.
pub(super) fn parse(source: &str) -> Result<Value> {
  serde_json::from_str(source).map_err(invalid)
}

/// `evaluating`: the draft knows `unevaluatedItems` and `unevaluatedProperties`.
fn tidy(value: &mut Value, evaluating: bool) {
  match value {
    Value::Object(object) => tidy_schema(object, evaluating),
    Value::Array(items) => items.iter_mut().for_each(|item| tidy(item, evaluating)),
    _ => {}
  }
}

fn tidy_schema(object: &mut Map<String, Value>, evaluating: bool) {
  for (keyword, value) in object.iter_mut().filter(|(keyword, _)| !VALUES.contains(&keyword.as_str())) {
    match value {
      Value::Object(named) if MAPS.contains(&keyword.as_str()) => {
        named.values_mut().for_each(|inner| tidy(inner, evaluating));
      }
      _ => tidy(value, evaluating),
    }
  }
  tidy_counts(object);
  if evaluating && !IN_PLACE.iter().any(|keyword| object.contains_key(*keyword)) {
    tidy_unevaluated(object);
  }
}

/// With nothing else that evaluates, what is unevaluated is what is additional, which the engine can enforce.
fn tidy_unevaluated(object: &mut Map<String, Value>) {
  for (keyword, plain) in [("unevaluatedItems", "items"), ("unevaluatedProperties", "additionalProperties")] {
    if let Some(value) = object.remove(keyword)
      && !object.contains_key(plain)
    {
      object.insert(plain.to_owned(), value);
    }
  }
}

fn tidy_counts(object: &mut Map<String, Value>) {
  for key in COUNTS {
    let Some(value) = object.get_mut(key) else { continue };
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be a count")]
    if let Some(number) =
      value.as_f64().filter(|n| !value.is_u64() && *n >= 0.0 && n.fract() == 0.0 && *n < 1e15)
    {
      *value = json!(number as u64);
    }
  }
}
