import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { builtIn, code, type Home, makeHome, manifest, row, stockOf } from "./folder.ts";

const homes: Home[] = [];
afterAll(() => {
  for (const home of homes) home.clear();
});

function newHome(): Home {
  const home = makeHome();
  homes.push(home);
  home.write("plugins/good.json", manifest({ models: [{ id: "good-1", premium: false }] }));
  return home;
}

const priced = { inputToken: { usd: "1" }, outputToken: { usd: "1", per: 1 } };
const exported = (body: string) => `import { definePlugin } from "modelgate/plugin";\nexport default ${body};\n`;

/** What is dropped, and what is said of it: file, place and fix in one sentence. */
const bad: readonly (readonly [string, string, string | object, string])[] = [
  [
    "a syntax error in JSON",
    "bad.json",
    '{\n  "baseUrl": "http://x"\n  "models": []\n}',
    'line 3, column 3: "\\"" was not expected; fix the JSON there',
  ],
  ["JSON that breaks off", "bad.json", '{"baseUrl": [', "line 1, column 14: the end of the file was not expected"],
  ["JSON that is not an object", "bad.json", "[]", "expected a JSON object with name, baseUrl, dialect and models"],
  [
    "a misspelt key",
    "bad.json",
    { baseURL: "http://x", dialect: "openai", models: [{ id: "a" }] },
    "baseURL: unknown field, did you mean baseUrl?",
  ],
  ["a wrong type", "bad.json", manifest({ baseUrl: 7 }), "baseUrl: got 7, expected string"],
  ["another dialect", "bad.json", manifest({ dialect: "acme" }), 'dialect: got "acme", expected'],
  [
    "an unknown quirk",
    "bad.json",
    manifest({ options: { chat: { omits: ["seed"] } } }),
    "options.chat.omits: unknown field, did you mean omit?",
  ],
  [
    "a misspelt field of a row",
    "bad.json",
    manifest({ models: [{ id: "a", premuim: true }] }),
    "models[0].premuim (a): unknown field, did you mean premium?",
  ],
  [
    "a row without premium",
    "bad.json",
    manifest({ models: [{ id: "a" }] }),
    "models[0].premium (a): it is missing: paid from the wallet if true",
  ],
  [
    "a price without a unit",
    "bad.json",
    manifest({ models: [{ id: "a", premium: true, price: priced }] }),
    "models[0].price.inputToken.per (a): it is missing: for this many units, such as 1000000",
  ],
  [
    "no price where one is due",
    "bad.json",
    manifest({ models: [{ id: "a", premium: true }] }),
    "it is premium and has no price for inputToken, outputToken; add price.inputToken",
  ],
  [
    "another name than the file's",
    "bad.json",
    manifest({ name: "other" }),
    "it calls itself other, but the file says bad; make the two agree",
  ],
  ["a name in capitals", "Bad.json", manifest(), "its name must be kebab-case, such as my-provider; rename it"],
  [
    "a newer contract",
    "bad.json",
    manifest({ contractVersion: 3 }),
    "it is written for contract 3, this gateway speaks 1; update the gateway",
  ],
  ["an older contract", "bad.json", manifest({ contractVersion: 0 }), "what changed: contract 1: the first version"],
  [
    "an authorize without a key",
    "bad.json",
    manifest({ authorize: { "x-api-key": "k" } }),
    "authorize has no {key}; write where the key goes",
  ],
  ["an empty file", "bad.ts", " \n", "it is empty, expected a plugin; write one or remove the file"],
  [
    "a syntax error in code",
    "bad.ts",
    "export default {\n  a: 1,,\n};\n",
    'bad.ts, line 2, column 8: Expected identifier but found ","; fix it there',
  ],
  [
    "no default export",
    "bad.ts",
    "export const plugin = 1;\n",
    "it has no default export; write export default definePlugin({ … })",
  ],
  ["code that throws", "bad.ts", "throw new Error('boom'); export default 1;\n", "it failed while it was loaded: boom"],
  [
    "code that asks the network",
    "bad.ts",
    "export default fetch('http://127.0.0.1');\n",
    "plugins cannot use fetch; use call.upstream",
  ],
  ["code that asks the environment", "bad.ts", "export default process.env.HOME;\n", "it failed while it was loaded"],
  [
    "code that asks the disk",
    "bad.ts",
    "import { readFileSync } from 'node:fs';\nexport default readFileSync('/etc/hosts');\n",
    "it imports node:fs, which is not given to plugins; a plugin imports modelgate/plugin, files",
  ],
  [
    "code that imports a package",
    "bad.ts",
    "import { x } from 'some-package';\nexport default x;\n",
    "bad.ts imports some-package, which is not given to plugins",
  ],
  [
    "a single file that imports another",
    "bad.ts",
    "import { x } from './good.json';\nexport default x;\n",
    "it imports ./good.json, but is a single file; make it a folder bad/ with index.ts",
  ],
  [
    "a misspelt field in code",
    "bad.ts",
    exported('definePlugin({ name: "bad", baseURL: "http://x" })'),
    "unknown field baseURL, did you mean baseUrl?",
  ],
  ["a nonsense export", "bad.ts", exported("7"), "expected an object with name, baseUrl, models, handlers"],
  [
    "a folder without an index",
    "bad/main.ts",
    "export default 1;",
    "it has no file named index.ts, index.js, index.json; add one",
  ],
  ["another kind of file", "bad.yaml", "name: bad", "a plugin is name.json, name.ts, name.js or a folder"],
  [
    "a model sold on other terms",
    "bad.json",
    manifest({
      models: [
        {
          id: "stock-1",
          premium: true,
          price: { inputToken: { usd: "1", per: 1 }, outputToken: { usd: "1", per: 1 } },
        },
      ],
    }),
    "Plugin 'bad' sells 'stock-1' with premium true, but plugin 'stock' with false: make the two rows agree",
  ],
  [
    "the name of a built-in plugin",
    "stock.json",
    manifest(),
    "the name stock belongs to a built-in plugin; rename one of the two",
  ],
  [
    "the name of the sandbox",
    "sandbox.json",
    manifest(),
    "the name sandbox belongs to a built-in plugin; rename one of the two",
  ],
  [
    "the name of another file",
    "good.ts",
    code("good"),
    "the name good belongs to plugins/good.json; rename one of the two",
  ],
];

describe("a dropped file is refused in one sentence, and everything else goes on:", () => {
  test.each(bad)("%s", async (_, file, content, said) => {
    const home = newHome();
    home.write(`plugins/${file}`, content);
    const { pluginManager } = stockOf(home, { builtIns: [builtIn("stock")] });
    const snapshot = await pluginManager.load();
    const [sentence, ...more] = snapshot.warnings;
    expect(sentence).toStartWith(`Cannot load plugins/${file.split("/")[0]}`);
    expect(sentence).toContain(said);
    expect(sentence).not.toContain(home.path);
    expect(more).toEqual([]);
    expect([...snapshot.registry.modelEntries].map(({ model }) => model.id)).toEqual(["stock-1", "good-1"]);
    expect(snapshot.states.find(({ error }) => error !== null)).toMatchObject({
      status: "refused",
      error: sentence as string,
    });
  });

  test("a link that leads out of the folder", async () => {
    const home = newHome();
    home.write("outside.json", manifest());
    home.write("outside/index.ts", code("bad"));
    symlinkSync(join(home.path, "outside.json"), join(home.path, "plugins/bad.json"));
    symlinkSync(join(home.path, "outside"), join(home.path, "plugins/worse"));
    symlinkSync(join(home.path, "nowhere"), join(home.path, "plugins/worst.ts"));
    const { warnings, registry } = await stockOf(home).pluginManager.load();
    expect(warnings).toEqual([
      "Cannot load plugins/bad.json: it is a link that leads out of the folder; put the file itself there",
      "Cannot load plugins/worse: it is a link that leads out of the folder; put the file itself there",
      "Cannot load plugins/worst.ts: it is a link to nothing; put the file itself there",
    ]);
    expect(registry.size).toBe(1);
  });

  test("a file beside it that is a link out of its folder", async () => {
    const home = newHome();
    home.write("secret.json", { secret: 1 });
    home.write("plugins/bad/index.ts", "import s from './rows.json'; export default s;");
    symlinkSync(join(home.path, "secret.json"), join(home.path, "plugins/bad/rows.json"));
    home.write("plugins/worse/index.ts", "import s from '../good.json'; export default s;");
    const { warnings } = await stockOf(home).pluginManager.load();
    expect(warnings).toEqual([
      expect.stringContaining("which lies outside of its folder; put the file itself there"),
      "Cannot load plugins/worse/index.ts: it imports good.json, which lies outside of its folder; put the file itself there",
    ]);
  });

  test("a link within the folder is fine, as orchestrators mount files", async () => {
    const home = newHome();
    home.write("plugins/..data/acme.json", manifest());
    symlinkSync("..data/acme.json", join(home.path, "plugins/acme.json"));
    const { warnings, registry } = await stockOf(home).pluginManager.load();
    expect([warnings, registry.size]).toEqual([[], 2]);
  });

  test("a file of 100 MB", async () => {
    const home = newHome();
    for (const name of ["bad.json", "bad.ts", "more/index.ts"]) {
      home.write(`plugins/${name}`, "");
      truncateSync(join(home.path, "plugins", name), 100 * 1024 * 1024);
    }
    home.remove("plugins/bad.ts");
    const { warnings } = await stockOf(home).pluginManager.load();
    expect(warnings).toEqual([
      "Cannot load plugins/bad.json: it has 104857600 bytes, expected at most 8388608; is it the right file?",
      "Cannot load plugins/more/index.ts: it has 104857600 bytes, expected at most 8388608; is it the right file?",
    ]);
  });

  test("a folder that is not there, where the operator names one, or is none", async () => {
    const home = newHome();
    writeFileSync(join(home.path, "file"), "");
    const pluginFolders = ["missing", "file"].map((name) => ({
      path: join(home.path, name),
      label: name,
      required: true,
    }));
    const { warnings } = await stockOf(home, { pluginFolders, builtIns: [builtIn("stock")] }).pluginManager.load();
    expect(warnings).toEqual([
      "Cannot read the folder missing (ENOENT), so what it held before stays; create it",
      "Cannot read the folder file (ENOTDIR), so what it held before stays; let the gateway's user read it",
    ]);
  });

  test("a folder that can no longer be read keeps what it held", async () => {
    const home = newHome();
    const { pluginManager } = stockOf(home);
    await pluginManager.load();
    home.remove("plugins");
    writeFileSync(join(home.path, "plugins"), "");
    const { registry, warnings } = await pluginManager.load();
    expect([registry.size, warnings.length]).toEqual([1, 1]);
  });

  test("credentials that cannot be used, and those that are missing", async () => {
    const home = newHome();
    home.write("plugins/bad.json", manifest({ models: [row] }));
    home.write("plugins/keyless.json", manifest({ credential: "key", models: [{ ...row, id: "k-1" }] }));
    const { pluginManager, log } = stockOf(home, {
      readCredentials({ name }) {
        if (name === "bad") throw new Error("Cannot use BAD_BASE_URL: it is wrong");
        return { keys: [] };
      },
    });
    const { states, warnings } = await pluginManager.load();
    expect(states.map(({ name, status }) => [name, status])).toEqual([
      ["bad", "refused"],
      ["good", "serving"],
      ["keyless", "no_credential"],
    ]);
    const sentence =
      "Cannot serve plugins/keyless.json: it has no key; add one on the page Providers, set KEYLESS_API_KEY and start again, or credential to none in the plugin";
    expect(warnings).toEqual(["Cannot use BAD_BASE_URL: it is wrong", sentence]);
    expect(log.lines).toContainEqual(
      expect.objectContaining({ event: "plugin_refused", fields: { message: sentence } }),
    );
  });

  test("folders and files of editors and package managers are left alone", async () => {
    const home = newHome();
    for (const name of [".git/x.ts", "node_modules/x/index.ts", "a.ts~", "modelgate-plugin.d.ts", "README.md"]) {
      home.write(`plugins/${name}`, "nothing of ours");
    }
    mkdirSync(join(home.path, "plugins/empty"));
    expect((await stockOf(home).pluginManager.load()).warnings).toEqual([]);
  });
});

test("a folder that every user of the machine can write to is named, and loaded all the same", async () => {
  const home = newHome();
  const folder = join(home.path, "plugins");
  const warningsOf = async () => (await stockOf(home).pluginManager.load()).warnings;
  chmodSync(folder, 0o770);
  const before = await warningsOf();
  chmodSync(folder, 0o777);
  expect([before, await warningsOf()]).toEqual([[], [expect.stringContaining("chmod o-w")]]);
});
