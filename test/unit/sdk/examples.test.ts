import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { Glob } from "bun";
import * as kit from "../../../src/sdk/index.ts";

const root = join(import.meta.dir, "../../..");
/** A doc comment, and the name of what is declared below it. */
const documented =
  /^\/\*\*\n((?: \*.*\n)*?) \*\/\nexport (?:async )?(?:function\*?|async function\*|class|const) (\w+)/gm;

/** The code of each example, by the name it stands over. */
async function examplesOf(): Promise<Map<string, string>> {
  const examples = new Map<string, string>();
  for (const pattern of ["src/sdk/*.ts", "src/lib/*.ts", "src/protocols/**/*.ts", "src/contract/*.ts"]) {
    for await (const file of new Glob(pattern).scan(root)) {
      const text = await Bun.file(join(root, file)).text();
      for (const [, comment = "", name = ""] of text.matchAll(documented)) {
        const code = comment.split("@example\n")[1];
        if (code !== undefined) examples.set(name, code.replaceAll(/^ \* ?/gm, ""));
      }
    }
  }
  return examples;
}

const examples = await examplesOf();
const values = new Map<string, unknown>(Object.entries(kit));
const exported = [...values.keys()];

describe("an example of modelgate/plugin", () => {
  test.each(exported)("%s has one that does what it says", async (name) => {
    const code = examples.get(name);
    expect({ name, hasExample: code !== undefined }).toEqual({ name, hasExample: true });
    let compared = 0;
    const compare = (got: unknown, wanted: unknown) => {
      compared++;
      expect(got).toEqual(wanted);
    };
    const checked = (code as string).replaceAll(/^(.*); \/\/ => (.*)$/gm, "compare(($1), ($2));");
    const AsyncFunction = (async () => undefined).constructor as FunctionConstructor;
    await AsyncFunction("compare", ...exported, checked)(compare, ...values.values());
    expect(compared).toBeGreaterThan(0);
  });
});
