//! JSON Schemas in the form that the engine reads.

use serde_json::{Map, Value, json};

use super::{Result, invalid};

/// Keywords whose values are counts; some writers put them down as `2.0`.
const COUNTS: [&str; 6] =
  ["minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"];

/// A schema as text, with the engine's options in it. With `lenient`, keywords that the engine cannot enforce are left
/// out with a warning instead of being an error, and `oneOf` counts as `anyOf`.
pub(super) fn prepared(schema: &Value, lenient: bool) -> Result<String> {
  let mut object = match schema {
    Value::Object(object) => object.clone(),
    Value::Bool(true) => Map::new(),
    Value::Bool(false) => return Err(invalid("the schema is false: nothing satisfies it")),
    other => return Err(invalid(format!("a schema is an object or a boolean, not {other}"))),
  };
  object.values_mut().for_each(tidy);
  tidy_counts(&mut object);
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

fn tidy(value: &mut Value) {
  match value {
    Value::Object(object) => {
      object.values_mut().for_each(tidy);
      tidy_counts(object);
    }
    Value::Array(items) => items.iter_mut().for_each(tidy),
    _ => {}
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
