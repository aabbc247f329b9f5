import { describe, expect, test } from "bun:test";
import { readUsage } from "../../../src/protocols/openai/usage-report.ts";
import { classifyRefusal } from "../../../src/protocols/upstream-errors.ts";
import { contractVersion } from "../../../src/provider/index.ts";
import { definePlugin, type PluginDefinition } from "../../../src/sdk/define-plugin.ts";
import { PluginError } from "../../../src/sdk/errors.ts";
import { openai } from "../../../src/sdk/openai.ts";
import { readModels } from "../../../src/sdk/read-models.ts";
import { headersOf } from "../../support/authorize.ts";
import { plainModel } from "./fake-call.ts";

const free = { inputToken: { usd: "0", per: 1 }, outputToken: { usd: "0", per: 1 } };
const acme = {
  name: "acme",
  baseUrl: "https://api.acme.example/v1",
  models: [plainModel],
  handlers: openai({ chat: {} }),
} satisfies PluginDefinition;

describe("definePlugin", () => {
  test("fills in what is left out", async () => {
    expect(definePlugin(acme)).toEqual({
      ...acme,
      handlers: { chat: expect.any(Function) },
      contractVersion,
      hosts: [],
      credential: "key",
      maxChoices: {},
      authorize: expect.any(Function),
      readError: classifyRefusal,
      readUsage: readUsage,
    });
    expect(await headersOf(definePlugin(acme), "k")).toEqual({ authorization: "Bearer k" });
  });

  test("completes rows, whose names at the provider lack the prefix of unlisted models", () => {
    const models = [
      { id: "acme/one", premium: false },
      { id: "two", premium: false, ownedBy: "maker", created: 5, upstreamId: "zwei" },
      { id: "acme/", premium: false },
    ];
    const completed = { premium: false, capability: "chat", ownedBy: "acme", created: 0 };
    expect(
      definePlugin({ ...acme, models, unlisted: { premium: false, prefix: "acme/", price: free } }).models,
    ).toEqual([
      { ...completed, id: "acme/one", upstreamId: "one" },
      { ...completed, id: "two", ownedBy: "maker", created: 5, upstreamId: "zwei" },
      { ...completed, id: "acme/", upstreamId: "acme/" },
    ] as never);
    expect(definePlugin({ ...acme, models: models.slice(0, 1) }).models[0]?.upstreamId).toBe("acme/one");
  });

  test("leaves the rows alone that leave out nothing", () => {
    const models = readModels([plainModel]);
    expect(definePlugin({ ...acme, models }).models).toEqual([plainModel]);
  });

  test("keeps what is given", () => {
    const given = {
      authorize: (_: unknown, { key }: { key: string }) => ({ "x-api-key": key }),
      hosts: ["files.acme.example", "localhost:8080"],
      credential: "none" as const,
      maxChoices: { chat: 1, images: 4 },
      contractVersion,
      readError: classifyRefusal,
    };
    expect(definePlugin({ ...acme, ...given })).toMatchObject(given);
  });

  test("takes slashes off the end of the base URL", () => {
    expect(definePlugin({ ...acme, baseUrl: "http://127.0.0.1:9/v1//" }).baseUrl).toBe("http://127.0.0.1:9/v1");
  });

  test("checks rows that have not been through readModels", () => {
    expect(() => definePlugin({ ...acme, models: [{ ...plainModel, created: -1 }] })).toThrow("models[0].created");
  });

  test.each<[string, Record<string, unknown>, string]>([
    ["a name in capitals", { name: "Acme" }, 'Cannot load the plugin "Acme": its name must be kebab-case'],
    ["a name with an underscore", { name: "my_acme" }, "kebab-case"],
    ["no name", { name: undefined }, "kebab-case"],
    ["no base URL", { baseUrl: undefined }, "Cannot load the plugin acme: baseUrl is undefined; expected an address"],
    ["a base URL of another kind", { baseUrl: "ftp://acme.example" }, "baseUrl is"],
    ["a base URL with a key", { baseUrl: "https://acme.example/?key=1" }, "baseUrl holds a query"],
    [
      "an endpoint that the plugin does not speak",
      { models: [{ ...plainModel, endpoint: "responses" }] },
      'add "responses": {} to the options of the plugin',
    ],
    ["an unknown field", { basUrl: "x" }, "unknown field basUrl, did you mean baseUrl?"],
    [
      "another contract",
      { contractVersion: 3 },
      `it is written for contract 3, this gateway speaks ${contractVersion}`,
    ],
    ["a wrong credential", { credential: "password" }, 'credential is "password"; expected "key", "none"'],
    [
      "a way to sign in without a label",
      { credential: { fields: [{ name: "a", label: "A" }], methods: [{ name: "a", fields: ["a"] }] } },
      'credential.methods is [{"name":"a","fields":["a"]}]; expected [{ name, label, fields: [name, …] }]',
    ],
    [
      "a way to sign in with a field that is not there",
      { credential: { fields: [{ name: "a", label: "A" }], methods: [{ name: "m", label: "M", fields: ["a", "b"] }] } },
      'credential.methods names "b"; expected the names of its fields',
    ],
    [
      "a field of no way to sign in",
      {
        credential: {
          fields: [
            { name: "a", label: "A" },
            { name: "b", label: "B" },
          ],
          methods: [{ name: "m", label: "M", fields: ["a"] }],
        },
      },
      "no way to sign in has the field b; name it in credential.methods",
    ],
    ["a host with a scheme", { hosts: ["https://x.example"] }, 'hosts has "https://x.example"; expected a host name'],
    ["no handlers", { handlers: undefined }, "handlers must be an object"],
    [
      "a handler of no capability",
      { handlers: { chatt: () => 1 } },
      "handlers.chatt is not a capability, did you mean chat?",
    ],
    ["a handler that is no function", { handlers: { chat: {} } }, "handlers.chat must be a function"],
    [
      "a model without its handler",
      { handlers: openai({ embeddings: {} }) },
      "model acme-1 can chat, but there is no handlers.chat; add it or remove the row",
    ],
    ["no models", { models: undefined }, "Cannot load the plugin acme: Cannot read the catalogue"],
    [
      "a bound that is none",
      { maxChoices: { chat: 0 } },
      "maxChoices.chat is 0; expected chat or images with a whole number above 0",
    ],
    ["a bound of another capability", { maxChoices: { speech: 1 } }, "maxChoices.speech"],
    [
      "fields of a request that are no list",
      { requestFields: "seed" },
      'requestFields is "seed"; expected a list of names',
    ],
    ["an authorize that is no function", { authorize: "Bearer" }, "authorize must be a function"],
  ])("refuses %s", (_, wrong, sentence) => {
    const definition = { ...acme, ...wrong } as PluginDefinition;
    expect(() => definePlugin(definition)).toThrow(PluginError);
    expect(() => definePlugin(definition)).toThrow(sentence);
  });

  test("refuses what is no definition", () => {
    expect(() => definePlugin(null as never)).toThrow("expected an object");
  });
});
