import { readdirSync, readFileSync } from "node:fs";
import * as core2 from "@elizaos/core-2";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { setNativeForTests } from "../../../ts/native/addon.js";
import { localInferencePlugin } from "../../../ts/plugin.js";
import { type Fake, useFake } from "../../helpers/fake-native.js";
import { modelsDirectory } from "../../helpers/models.js";

// The plugin as it is, resolved against core 2. What core 2 lacks is undefined, as in a real module namespace; left out,
// vitest would throw on access.
vi.mock("@elizaos/core", async () => ({
  ...(await import("@elizaos/core-2")),
  getStreamingContext: undefined,
}));

interface Runtime {
  initialize(): Promise<void>;
  stop(): Promise<void>;
  useModel(type: string, params: unknown): Promise<unknown>;
  getModel(type: string): unknown;
  dynamicPromptExecFromState(request: object): Promise<unknown>;
}

let fake: Fake;
let runtime: Runtime;
let removeModels: () => Promise<void>;

beforeEach(async () => {
  fake = useFake();
  const models = await modelsDirectory("chat.gguf", "embed.gguf");
  removeModels = models.remove;
  const character = {
    name: "Ada",
    bio: ["A test agent."],
    settings: {
      MODELS_DIR: models.path,
      LOCAL_LARGE_MODEL: "chat",
      LOCAL_EMBEDDING_MODEL: "embed",
    },
  };
  runtime = new core2.AgentRuntime({
    character: character as never,
    plugins: [localInferencePlugin as never],
    adapter: new core2.InMemoryDatabaseAdapter(),
    // Services of core 2 that need a real database report it as an error.
    logLevel: "fatal",
  }) as unknown as Runtime;
  await runtime.initialize();
}, 120_000);

afterEach(async () => {
  await runtime.stop();
  await removeModels();
  setNativeForTests(undefined);
});

/** Names that the sources import from core at run time: a missing one would fail the whole module. */
function importedNames(): string[] {
  const sources = new URL("../../../ts/", import.meta.url);
  const files = readdirSync(sources, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".ts"),
  );
  const statement = /import \{([^}]*)\} from "@elizaos\/core"/g;
  const names = files.flatMap((file) =>
    [...readFileSync(new URL(file, sources), "utf8").matchAll(statement)].flatMap((match) =>
      (match[1] ?? "").split(","),
    ),
  );
  return names.map((name) => name.trim()).filter((name) => name !== "" && !name.startsWith("type "));
}

describe("core 2", () => {
  it("has every name that the plugin imports", () => {
    const names = importedNames();
    expect(names).toContain("Service");
    expect(Object.keys(core2)).toEqual(expect.arrayContaining(names));
  });

  it("registers the plugin unchanged and asks it for the dimensions without loading", async () => {
    expect(Object.keys(core2)).not.toContain("getStreamingContext");
    expect(runtime.getModel("TEXT_EMBEDDING")).toBeTypeOf("function");
    expect(fake.headers).toHaveLength(1);
    expect(fake.loads).toHaveLength(0);
  });

  it.each(["TEXT_NANO", "TEXT_SMALL", "TEXT_MEDIUM", "TEXT_LARGE", "TEXT_MEGA", "RESPONSE_HANDLER"])(
    "%s is answered",
    async (type) => {
      expect(await runtime.useModel(type, { prompt: "Hi" })).toBe("Hello there");
    },
  );

  it("embeds the string form", async () => {
    expect(await runtime.useModel("TEXT_EMBEDDING", "bread")).toHaveLength(384);
  });

  it("streams to a callback", async () => {
    const chunks: string[] = [];
    const onStreamChunk = (chunk: string) => void chunks.push(chunk);
    expect(await runtime.useModel("TEXT_LARGE", { prompt: "Hi", onStreamChunk })).toBe("Hello there");
    expect(chunks).toEqual(["Hello", " there"]);
  });

  it("prompts that it composes begin alike, whatever the state of the moment", async () => {
    const compose = (weather: string) =>
      runtime.dynamicPromptExecFromState({
        state: {
          values: {},
          data: {
            providers: { WEATHER: { text: `It is ${weather}.` }, ACTIONS: { text: "# Actions\nREPLY" } },
          },
          text: "",
        },
        params: { prompt: "Answer as {{agentName}}.\n{{providers}}\nBe brief." },
        schema: [{ field: "text", description: "the answer" }],
        options: { modelSize: "large", maxRetries: 0, contextCheckLevel: 0 },
      });
    await compose("raining");
    await compose("sunny");
    const [one, other] = fake.inputs.map(({ prompt }) => prompt ?? "");
    const weather = one?.indexOf("raining") ?? -1;
    expect(weather).toBeGreaterThan(0);
    expect(other?.slice(0, weather)).toBe(one?.slice(0, weather));
    for (const stable of ["Answer as", "# Actions", "Use this shape", "Be brief."]) {
      expect(one?.slice(0, weather)).toContain(stable);
    }
  });

  it("stopping the agent frees the models", async () => {
    await runtime.useModel("TEXT_LARGE", { prompt: "Hi" });
    await runtime.stop();
    await vi.waitFor(() => expect(fake.closed).toEqual(["context", "model"]));
  });
});
