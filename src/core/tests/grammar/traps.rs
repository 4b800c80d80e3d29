//! Schemas that other engines are known to compile to something else: each with texts that must and must not come out.

use super::lexicon::{engine, matches, schema};

#[derive(Clone, Copy)]
struct Trap {
  schema: &'static str,
  admits: &'static [&'static str],
  refuses: &'static [&'static str],
}

const CHOICES: &[Trap] = &[
  Trap {
    schema: r#"{"anyOf": [{"type": "integer"}, {"type": "null"}]}"#,
    admits: &["12", "-3", "null"],
    refuses: &["\"12\"", "true", "1.5", "nul"],
  },
  Trap { schema: r#"{"type": ["string", "null"]}"#, admits: &["\"a\"", "null"], refuses: &["1", "[]"] },
  Trap {
    schema: r#"{"oneOf": [{"type": "object", "properties": {"kind": {"const": "a"}, "x": {"type": "integer"}},
      "required": ["kind", "x"], "additionalProperties": false}, {"type": "object", "properties": {"kind":
      {"const": "b"}, "y": {"type": "string"}}, "required": ["kind", "y"], "additionalProperties": false}]}"#,
    admits: &[r#"{"kind": "a", "x": 1}"#, r#"{"kind": "b", "y": "z"}"#],
    refuses: &[r#"{"kind": "a", "y": "z"}"#, r#"{"kind": "b", "x": 1}"#, r#"{"kind": "c"}"#],
  },
  Trap {
    schema: r#"{"allOf": [{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
      {"type": "object", "properties": {"b": {"type": "boolean"}}, "required": ["b"]}]}"#,
    admits: &[r#"{"a": 1, "b": true}"#],
    refuses: &[r#"{"a": 1}"#, r#"{"b": true}"#, r#"{"a": 1, "b": 2}"#],
  },
  Trap {
    schema: r#"{"const": "a \"quoted\" \\ line\nand\ttab /"}"#,
    admits: &[r#""a \"quoted\" \\ line\nand\ttab /""#],
    refuses: &[r#""a "quoted" \\ line\nand\ttab /""#, "\"a\""],
  },
  Trap {
    schema: r#"{"enum": ["naïve", "日本語", "🦀", "\u00e9", "a|b", "[x]*", "", 1, -2.5, null, true, {"k": [1]}]}"#,
    admits: &[
      "\"naïve\"",
      "\"日本語\"",
      "\"🦀\"",
      "\"é\"",
      "\"a|b\"",
      "\"[x]*\"",
      "\"\"",
      "1",
      "-2.5",
      "null",
      "true",
      r#"{"k": [1]}"#,
    ],
    refuses: &["\"naive\"", "\"a\"", "\"x\"", "2", "false", "{}"],
  },
];

const NUMBERS: &[Trap] = &[
  Trap {
    schema: r#"{"type": "number", "minimum": -5.5, "exclusiveMaximum": 3}"#,
    admits: &["-5.5", "-5", "-0.25", "0", "2.999"],
    refuses: &["-5.51", "-6", "3", "3.0", "3.01", "10"],
  },
  Trap {
    schema: r#"{"type": "integer", "minimum": -12, "maximum": 105}"#,
    admits: &["-12", "-9", "0", "99", "105"],
    refuses: &["-13", "106", "1000", "1.5", "007"],
  },
  Trap {
    schema: r#"{"type": "integer", "exclusiveMinimum": 0}"#,
    admits: &["1", "10", "123456789"],
    refuses: &["0", "-1", "01"],
  },
  Trap { schema: r#"{"type": "integer", "multipleOf": 5}"#, admits: &["0", "15"], refuses: &["7", "51"] },
];

const STRINGS: &[Trap] = &[
  Trap {
    schema: r#"{"type": "string", "pattern": "^[A-Z]{2}-\\d+$"}"#,
    admits: &["\"AB-12\""],
    refuses: &["\"ab-12\"", "\"AB-\"", "\"xAB-12\""],
  },
  Trap {
    schema: r#"{"type": "string", "pattern": "b+"}"#,
    admits: &["\"abbc\""],
    refuses: &["\"ac\"", "\"\""],
  },
  Trap {
    schema: r#"{"type": "string", "pattern": "^(foo|bar)?$", "maxLength": 3}"#,
    admits: &["\"foo\"", "\"\""],
    refuses: &["\"fo\"", "\"foobar\""],
  },
  // Lengths are of code points, not of bytes or UTF-16 units.
  Trap {
    schema: r#"{"type": "string", "minLength": 2, "maxLength": 3}"#,
    admits: &["\"é🦀\"", "\"日本語\"", r#""\n\"""#],
    refuses: &["\"🦀\"", "\"日本語日\"", "\"\""],
  },
  Trap {
    schema: r#"{"type": "string", "format": "date-time"}"#,
    admits: &["\"2024-02-29T23:59:59Z\"", "\"1999-12-31T00:00:00.25+01:00\""],
    refuses: &["\"2024-02-30T00:00:00Z\"", "\"2024-13-01T00:00:00Z\"", "\"2024-01-01\"", "\"soon\""],
  },
  Trap {
    schema: r#"{"type": "string", "format": "email"}"#,
    admits: &["\"a.b+c@example.org\""],
    refuses: &["\"example.org\"", "\"a@\"", "\"a b@example.org\""],
  },
  Trap {
    schema: r#"{"type": "string", "format": "uuid"}"#,
    admits: &["\"123e4567-e89b-12d3-a456-426614174000\""],
    refuses: &["\"123e4567e89b12d3a456426614174000\"", "\"g23e4567-e89b-12d3-a456-426614174000\""],
  },
  Trap {
    schema: r#"{"type": "string", "format": "ipv4"}"#,
    admits: &["\"127.0.0.1\"", "\"255.255.255.255\""],
    refuses: &["\"256.0.0.1\"", "\"1.2.3\"", "\"01.2.3.4\""],
  },
];

const CONTAINERS: &[Trap] = &[
  Trap { schema: "{}", admits: &["1", "\"a\"", "null", r#"{"a": [1, {}]}"#], refuses: &["a", "", "[1"] },
  Trap {
    schema: r#"{"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 3}"#,
    admits: &["[1, 2]", "[1, 2, 3]"],
    refuses: &["[]", "[1]", "[1, 2, 3, 4]", "[1, \"a\"]"],
  },
  Trap {
    schema: r#"{"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false,
      "minItems": 2}"#,
    admits: &["[\"a\", 1]"],
    refuses: &["[\"a\"]", "[1, \"a\"]", "[\"a\", 1, 2]"],
  },
  Trap {
    schema: r#"{"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"],
      "additionalProperties": {"type": "array", "items": {"type": "boolean"}}}"#,
    admits: &[r#"{"id": 1}"#, r#"{"id": 1, "flags": [true, false], "more": []}"#],
    refuses: &[r#"{"flags": [true]}"#, r#"{"id": 1, "flags": [1]}"#, r#"{"id": 1, "id": 2}"#],
  },
  Trap {
    schema: r#"{"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}, "c":
      {"type": "integer"}}, "required": ["b"], "additionalProperties": false}"#,
    admits: &[r#"{"b": 1}"#, r#"{"a": 1, "b": 2}"#, r#"{"b": 2, "c": 3}"#, r#"{"a": 1, "b": 2, "c": 3}"#],
    refuses: &["{}", r#"{"a": 1}"#, r#"{"b": 2, "d": 3}"#, r#"{"b": 2, }"#],
  },
  Trap {
    schema: r##"{"type": "object", "properties": {"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}},
      "required": ["next"], "additionalProperties": false}"##,
    admits: &[r#"{"next": null}"#, r#"{"next": {"next": {"next": null}}}"#],
    refuses: &["{}", r#"{"next": {}}"#, r#"{"next": 1}"#],
  },
  Trap {
    schema: r##"{"$ref": "#/$defs/outer", "$defs": {"outer": {"type": "object", "properties": {"inner":
      {"$ref": "#/$defs/outer/$defs/inner"}}, "required": ["inner"], "additionalProperties": false,
      "$defs": {"inner": {"enum": ["deep"]}}}}}"##,
    admits: &[r#"{"inner": "deep"}"#],
    refuses: &["{}", r#"{"inner": "shallow"}"#],
  },
];

#[test]
fn schemas_mean_what_they_say() {
  for Trap { schema: text, admits, refuses } in [CHOICES, NUMBERS, STRINGS, CONTAINERS].concat() {
    let source = schema(text);
    let compiled = engine().compile(&source, &[]).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert!(compiled.warnings().is_empty(), "{text} is not enforced: {:?}", compiled.warnings());
    for instance in admits {
      assert!(matches(&source, instance), "{text} admits {instance}");
    }
    for instance in refuses {
      assert!(!matches(&source, instance), "{text} refuses {instance}");
    }
  }
}
