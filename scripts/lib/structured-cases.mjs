// One case for each way to constrain an answer: what is asked, and what is wrong with an answer. For a model that
// understands nothing: prompts are short and only the form is judged.

import { builtParts } from "./built.mjs";

const person = {
  type: "object",
  properties: {
    name: { type: "string", minLength: 1, maxLength: 20 },
    code: { type: "string", pattern: "^[A-Z]{2}-[0-9]{3}$" },
    age: { type: "integer", minimum: 0, maximum: 150 },
    note: { anyOf: [{ type: "integer" }, { type: "null" }] },
  },
  required: ["name", "code", "age", "note"],
  additionalProperties: false,
};

const list = {
  type: "array",
  items: { type: "object", properties: { day: { enum: ["mon", "tue"] } }, required: ["day"] },
  minItems: 1,
  maxItems: 3,
};

const skeleton = {
  spans: [
    { kind: "literal", value: '{"action":' },
    { kind: "enum", key: "action", enumValues: ["REPLY", "IGNORE"] },
    { kind: "literal", value: ',"sure":' },
    { kind: "boolean", key: "sure" },
    { kind: "literal", value: ',"weight":' },
    { kind: "number", key: "weight" },
    { kind: "literal", value: ',"text":' },
    { kind: "free-string", key: "text" },
    { kind: "literal", value: "}" },
  ],
};

const tool = {
  type: "function",
  function: {
    name: "get_weather",
    description: "Weather of a city",
    parameters: {
      type: "object",
      properties: { city: { type: "string" }, days: { type: "integer", minimum: 1, maximum: 7 } },
      required: ["city", "days"],
    },
  },
};

const replyPrompt = `Write the next message for Ada. Hello!
Respond using XML format like this:
<response>
    <thought>Your thought here</thought>
    <actions>ACTION1,ACTION2</actions>
    <providers>PROVIDER1,PROVIDER2</providers>
    <text>Your response text here</text>
</response>`;

const decisionPrompt = `Should Ada respond? Hello!
Respond using XML format like this:
<response>
  <name>Ada</name>
  <reasoning>Your reasoning here</reasoning>
  <action>RESPOND | IGNORE | STOP</action>
</response>`;

const json = (text) => {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
};

const bySchema = (validate) => (result) => validate(result.text);

const field = (text, name) => new RegExp(`<${name}>([\\s\\S]*?)</${name}>`).exec(text)?.[1];

/** The functions that the cases need, of the built package. */
export const builtForms = () =>
  builtParts("handlers/form/structure", "handlers/request/object", "engine/text/structured/validate");

/**
 * `{ name, request, problem(result) }`; `forms` are the functions that read forms. A request is the engine's, with a limit that
 * some answers reach, so that closing them is judged too.
 */
export async function structuredCases(forms) {
  const { structureOf, objectSchema, validatorOf } = forms;
  const message = (content) => ({ messages: [{ role: "user", content }] });
  const shape = (params, content) => ({ ...message(content), constraint: structureOf(params)?.constraint });
  const array = objectSchema({ output: "array", schema: list.items });
  const choice = objectSchema({ output: "enum", enumValues: ["red", "green", "blue"] });
  const template = (prompt) => ({
    ...message(prompt),
    constraint: structureOf({}, { prompt, templates: "reply" })?.constraint,
  });
  const parsed = (result) => (json(result.text) ? undefined : "it is not JSON");
  return [
    {
      name: "grammar",
      request: shape({ grammar: 'root ::= ("yes" | "no") (" " [a-z]+)* "!"' }, "Answer yes or no."),
      problem: ({ text }) => (/^(yes|no)( [a-z]+)*!$/.test(text) ? undefined : "it does not match"),
    },
    {
      name: "skeleton",
      request: shape({ responseSkeleton: skeleton }, "What next?"),
      problem: (result) => {
        const value = json(result.text)?.value;
        const kinds = [typeof value?.sure, typeof value?.weight, typeof value?.text].join();
        const known = ["REPLY", "IGNORE"].includes(value?.action);
        return known && kinds === "boolean,number,string" ? undefined : "a span is wrong";
      },
    },
    {
      name: "schema",
      request: shape({ responseSchema: person }, "Invent a person."),
      problem: bySchema(await validatorOf(person)),
    },
    {
      name: "array",
      request: shape({ responseSchema: array }, "Which days?"),
      problem: bySchema(await validatorOf(array)),
    },
    {
      name: "enum",
      request: shape({ responseSchema: choice }, "Which colour?"),
      problem: bySchema(await validatorOf(choice)),
    },
    {
      name: "json_object",
      request: shape({ responseFormat: { type: "json_object" } }, "JSON of a cat."),
      problem: parsed,
    },
    {
      name: "tools",
      request: { ...message("Weather in Rome?"), tools: [tool], toolChoice: "required" },
      problem: await callProblem(validatorOf),
    },
    {
      name: "reply",
      request: template(replyPrompt),
      problem: ({ text }) =>
        text.endsWith("</response>") && field(text, "actions") === "REPLY" && field(text, "text")?.trim()
          ? undefined
          : "it is no reply",
    },
    {
      name: "decision",
      request: template(decisionPrompt),
      problem: ({ text }) =>
        text.endsWith("</response>") && ["RESPOND", "IGNORE", "STOP"].includes(field(text, "action"))
          ? undefined
          : "it decides nothing",
    },
  ];
}

async function callProblem(validatorOf) {
  const validate = await validatorOf(tool.function.parameters);
  return ({ toolCalls }) => {
    if (!toolCalls?.length) return "it calls no tool";
    const wrong = toolCalls.find(
      (call) => call.name !== tool.function.name || validate(call.arguments) !== undefined,
    );
    return wrong && `${wrong.name}: ${validate(wrong.arguments)}`;
  };
}

/** Generates `count` answers of one case, with each of the limits in turn; counts what is wrong and measures. */
export async function runCase(model, { name, request, problem }, { count, limits, lanes = 4 }) {
  const figures = { name, count, failures: [], limits: 0, tokens: 0, forced: 0, refused: 0, ms: 0 };
  const started = performance.now();
  let next = 0;
  const work = async () => {
    while (next < count) {
      const seed = 1 + next;
      next += 1;
      const result = await model.generate({
        ...request,
        maxTokens: limits[seed % limits.length],
        temperature: 1.2,
        topP: 1,
        topK: 0,
        minP: 0,
        seed,
      }).result;
      const reason = problem(result);
      if (reason)
        figures.failures.push({ seed, reason, text: result.text, finishReason: result.finishReason });
      if (result.finishReason === "length") figures.limits += 1;
      figures.tokens += result.usage.completionTokens;
      figures.forced += result.usage.forcedTokens;
      figures.refused += result.usage.refusedTokens;
    }
  };
  await Promise.all(Array.from({ length: lanes }, work));
  figures.ms = performance.now() - started;
  return figures;
}
