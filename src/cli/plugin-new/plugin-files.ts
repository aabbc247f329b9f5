import { getVariablePrefix } from "../../config/index.ts";
import { builtTypes } from "./built-types.bun.ts";
import openaiFixture from "./openai-fixture.txt" with { type: "text" };
import openaiIndex from "./openai-index.txt" with { type: "text" };
import translatedFixtures from "./translated-fixtures.json" with { type: "json" };
import translatedIndex from "./translated-index.txt" with { type: "text" };

/** Wire format of a new plugin. */
export type Dialect = "openai" | "translated";

/** Made once: a checkout runs the compiler for them. */
let types: string | Promise<string> | undefined;

/** The declarations of `modelgate/plugin`, for editors and `tsc`. */
async function pluginTypes(): Promise<string> {
  types ??= builtTypes === undefined ? import("./build-types.bun.ts").then((it) => it.buildTypes()) : builtTypes;
  return types;
}

/** The files of a new plugin, by path in its folder. */
export async function createPluginFiles(name: string, dialect: Dialect): Promise<Map<string, string>> {
  const named = (text: string) => text.replaceAll("__NAME__", name).replaceAll("__VARIABLE__", getVariablePrefix(name));
  const files = new Map<string, string>([
    ["index.ts", named(dialect === "openai" ? openaiIndex : translatedIndex)],
    ["catalogue.json", createCatalogue(name, dialect)],
    ["modelgate-plugin.d.ts", await pluginTypes()],
    ["tsconfig.json", tsconfig],
  ]);
  if (dialect === "openai") files.set("fixtures/answer.json", named(openaiFixture));
  else {
    for (const [file, fixture] of Object.entries(translatedFixtures)) {
      files.set(`fixtures/${file}.json`, `${JSON.stringify(fixture, null, 2)}\n`);
    }
  }
  return files;
}

function createCatalogue(name: string, dialect: Dialect): string {
  const toPrice = (input: string, output: string) => ({
    inputToken: { usd: input, per: 1_000_000 },
    outputToken: { usd: output, per: 1_000_000 },
  });
  const sample =
    dialect === "openai"
      ? { upstreamId: "small", outputTokensMax: 8192, price: toPrice("0.10", "0.40") }
      : { upstreamId: "command-r7b-12-2024", outputTokensMax: 4096, price: toPrice("0.0375", "0.15") };
  const { upstreamId, outputTokensMax, price } = sample;
  const row = {
    id: `${name}-small`,
    upstreamId,
    capability: "chat",
    premium: true,
    contextTokens: 128_000,
    outputTokensMax,
    ownedBy: name,
    created: 1_790_000_000,
    price,
  };
  return `${JSON.stringify({ models: [row] }, null, 2)}\n`;
}

/** For `tsc` and editors; the gateway does not read it. */
const tsconfig = `{
  "compilerOptions": {
    "target": "ESNext",
    "module": "Preserve",
    "moduleResolution": "bundler",
    "lib": ["ESNext", "DOM", "DOM.Iterable", "DOM.AsyncIterable"],
    "types": [],
    "strict": true,
    "noEmit": true,
    "allowImportingTsExtensions": true,
    "resolveJsonModule": true,
    "skipLibCheck": false
  },
  "include": ["."]
}
`;
