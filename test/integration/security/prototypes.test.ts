import { afterEach, describe, expect, test } from "bun:test";
import { expectPrototypesClean } from "../../support/hostile.ts";
import { dashboardHttp, origin } from "../../unit/http/dashboard-http.ts";
import { httpOf, messages } from "../../unit/http/support.ts";
import { makeHome, manifest, row, stockOf } from "../../unit/providers/folder.ts";

afterEach(() => {
  expectPrototypesClean();
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
});

const names = ["__proto__", "constructor", "prototype"];
/** The JSON of an object with a field of this name, which `{ [name]: … }` would not make of `__proto__`. */
const withField = (object: object, name: string, value: unknown) =>
  `${JSON.stringify(object).slice(0, -1)},${JSON.stringify(name)}:${JSON.stringify(value)}}`;

describe("a body with a prototype property name", () => {
  test.each(names)("%s does not change the other fields", async (name) => {
    const { post } = httpOf();
    const value = { stream: true, polluted: 1, prototype: { polluted: 1 }, model: "other", messages: [] };
    const response = await post("chat/completions", withField({ model: "chat-1", messages }, name, value));
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/json"]);
    expect((await post("chat/completions", withField({ messages }, name, { model: "chat-1" }))).status).toBe(400);
    const nested = JSON.stringify(messages).replace("{", `{${JSON.stringify(name)}:{"polluted":1,"role":"system"},`);
    expect((await post("chat/completions", `{"model":"chat-1","messages":${nested}}`)).status).toBe(200);
  });

  test.each(names)("%s neither makes an administrator nor sets another field", async (name) => {
    const { send, enter } = await dashboardHttp();
    const { cookie } = await enter("ada@example.org");
    const headers = { origin, cookie, "content-type": "application/json" };
    const ask = (path: string, body: string) => send(path, { method: "POST", headers, body });
    const value = { role: "admin", admin: {}, polluted: 1, name: "laptop", disabled: true };
    expect((await ask("/dashboard/api/keys", withField({}, name, value))).status).toBe(400);
    expect((await ask("/v1/organization/vouchers", withField({ usd: "5" }, name, value))).status).toBe(403);
    const signIn = await ask(
      "/api/auth/sign-in/email",
      withField({}, name, { email: "ada@example.org", password: "x" }),
    );
    expect(signIn.status).toBe(400);
  });

  test.each(names)("%s in a query is a parameter like any other", async (name) => {
    const { ask } = httpOf();
    for (const query of [`${name}[polluted]=1`, `${name}.polluted=1`, `${name}=1&format=array`])
      expect((await ask(`models?${query}`)).status).toBe(200);
  });

  test("is neither a model nor a path", async () => {
    const { ask, post } = httpOf();
    for (const name of [...names, "toString", "hasOwnProperty"]) {
      expect((await ask(`models/${name}`)).status).toBe(404);
      expect((await ask(`files/${name}`)).status).toBe(404);
      expect((await post("chat/completions", { model: name, messages })).status).toBe(400);
    }
  });
});

describe("a dropped-in file with a prototype property name", () => {
  test.each(names)("%s is not loaded as a field", async (name) => {
    const home = makeHome();
    try {
      home.write("plugins/acme.json", withField(manifest(), name, { polluted: 1, credential: "key" }));
      home.write(
        "plugins/beta.json",
        manifest({ models: [JSON.parse(withField({ id: "beta-1", premium: false }, name, {}))] }),
      );
      home.write(`plugins/${name}.json`, manifest({ models: [{ id: "odd-1", premium: false }] }));
      home.write("catalogue/acme.json", withField({ models: [row] }, name, { polluted: 1 }));
      home.write(`catalogue/${name}.json`, { models: [row] });
      const { registry, warnings } = await stockOf(home).pluginManager.load();
      const known = [...registry.modelEntries].map(({ model }) => model.id);
      // `__proto__` is not a name of a plugin; the others are, and mean nothing else.
      expect(known.includes("odd-1")).toBe(name !== "__proto__");
      expect(warnings.join()).toContain(name);
    } finally {
      home.clear();
    }
  });
});
