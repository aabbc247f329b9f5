import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { Glob } from "bun";
import * as kit from "../../../src/sdk/index.ts";

const root = join(import.meta.dir, "../../..");
/** A doc comment, and the name of what is declared below it. */
const documented =
  /^\/\*\*\n((?: \*.*\n)*?) \*\/\nexport (?:async )?(?:function\*?|async function\*|class|const) (\w+)/gm;

interface Example {
  readonly code: string;
  /** What the file of the example exports. */
  readonly module: Readonly<Record<string, unknown>>;
}

/** The examples, by the name that each stands over. */
async function examplesOf(): Promise<Map<string, Example>> {
  const examples = new Map<string, Example>();
  for (const pattern of [
    "src/sdk/*.ts",
    "src/lib/*.ts",
    "src/protocols/**/*.ts",
    "src/contract/*.ts",
    "src/provider/*.ts",
  ]) {
    for await (const file of new Glob(pattern).scan(root)) {
      const text = await Bun.file(join(root, file)).text();
      for (const [, comment = "", name = ""] of text.matchAll(documented)) {
        const code = comment.split("@example\n")[1];
        if (code === undefined) continue;
        examples.set(name, { code: code.replaceAll(/^ \* ?/gm, ""), module: await import(join(root, file)) });
      }
    }
  }
  return examples;
}

const examples = await examplesOf();
/** An example of one function may use others, of the kit first. */
const known = new Map([...examples.values()].flatMap(({ module }) => Object.entries(module)));
for (const [name, value] of Object.entries(kit)) known.set(name, value);

test("everything that modelgate/plugin hands out has an example", () => {
  expect(Object.keys(kit).filter((name) => !examples.has(name))).toEqual([]);
});

describe("an example", () => {
  test.each([...examples])("of %s does what it says", async (_, { code, module }) => {
    let compared = 0;
    const compare = (got: unknown, wanted: unknown) => {
      compared++;
      expect(got).toEqual(wanted);
    };
    const checked = code.replaceAll(/^(.*); \/\/ => (.*)$/gm, "compare(($1), ($2));");
    const scope = new Map([...known, ...Object.entries(module)]);
    const AsyncFunction = (async () => undefined).constructor as FunctionConstructor;
    await AsyncFunction("compare", ...scope.keys(), checked)(compare, ...scope.values());
    expect(compared).toBeGreaterThan(0);
  });
});
