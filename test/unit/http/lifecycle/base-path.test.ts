import { expect, test } from "bun:test";
import { readConfig } from "../../../../src/config/index.ts";
import type { StaticAssets } from "../../../../src/http/deps.ts";
import { toApiPath } from "../../../../src/http/lifecycle/origin.ts";
import { goodKey, httpOf } from "../support.ts";

const page = new TextEncoder().encode("<title>Dashboard</title>");
const site: StaticAssets = { find: async () => ({ bytes: new Blob([page]), mediaType: "text/html" }) };
const openRoot = () => httpOf(undefined, { config: readConfig({ BASE_PATH: "/" }), site });
const browser = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
const client = { authorization: `Bearer ${goodKey}` };

test("a path of the API is the same below its base path and below /v1", () => {
  const paths = [
    ["/v1/chat/completions", "/api/v1"],
    ["/api/v1/chat/completions", "/api/v1"],
    ["/chat/completions", ""],
    ["/v1/chat/completions", ""],
    ["/v1/gate/chat/completions", "/v1/gate"],
  ] as const;
  expect(paths.map(([path, base]) => toApiPath(path, base))).toEqual(paths.map(() => "/v1/chat/completions"));
  expect(toApiPath("/other/api/v1/models", "/api/v1")).toBe("/other/api/v1/models");
});

test("at the root, GET /models is the list for clients and the page for browsers", async () => {
  const { app } = openRoot();
  const ask = async (headers: Record<string, string>) => {
    const response = await app.handle(new Request("http://localhost/models", { headers }));
    return [response.status, response.headers.get("content-type")?.split(";")[0]];
  };
  expect(await ask(browser)).toEqual([200, "text/html"]);
  expect(await ask(client)).toEqual([200, "application/json"]);
  expect(await ask({ ...browser, ...client })).toEqual([200, "application/json"]);
  expect(await ask({})).toEqual([401, "application/json"]);
});

test("elsewhere the paths of the API and of the dashboard are apart", async () => {
  const { app } = httpOf(undefined, { site });
  const response = await app.handle(new Request("http://localhost/api/v1/models", { headers: browser }));
  expect([response.status, response.headers.get("content-type")]).toEqual([401, "application/json;charset=utf-8"]);
});

test("at the root, a repeated request is the same at both of its paths", async () => {
  const { app } = openRoot();
  const ask = async (path: string) => {
    const response = await app.handle(
      new Request(`http://localhost${path}`, {
        method: "POST",
        headers: { ...client, "content-type": "application/json", "idempotency-key": "once" },
        body: JSON.stringify({ model: "chat-1", messages: [{ role: "user", content: "Hi" }] }),
      }),
    );
    return [((await response.json()) as { id: string }).id, response.headers.get("idempotent-replayed")];
  };
  const [[id], again] = [await ask("/chat/completions"), await ask("/v1/chat/completions")];
  expect(again).toEqual([id as string, "true"]);
});

test("a probe for model servers finds GET /health", async () => {
  const response = await httpOf().app.handle(new Request("http://localhost/health"));
  expect([response.status, await response.json()]).toMatchObject([200, { status: "ok" }]);
});

test("an error has the envelope of the client's API, by what its client says and by the first part of the path", async () => {
  const { app } = httpOf();
  const anthropic = { "anthropic-version": "2023-06-01" };
  const cases: [path: string, method: string, headers: Record<string, string>, isAnthropic: boolean][] = [
    ["/v1/chat/completions/chatcmpl-1/messages", "GET", {}, false],
    ["/v1/messages/batches", "POST", {}, true],
    ["/v1/messages/batches/b_1/results", "GET", {}, true],
    ["/api/v1/messages", "POST", {}, true],
    ["/v1/v1/messages", "POST", {}, true],
    ["/v1/complete", "POST", anthropic, true],
    ["/v1/models", "GET", anthropic, true],
    ["/v1/models", "GET", {}, false],
    ["/v1/models/none", "GET", { ...anthropic, ...client }, true],
    ["/v1/responses/resp_1/messages", "GET", {}, false],
  ];
  const wrong: unknown[] = [];
  for (const [path, method, headers, isAnthropic] of cases) {
    const response = await app.handle(new Request(`http://localhost${path}`, { method, headers }));
    const body = (await response.json()) as { type?: string };
    if ((body.type === "error") !== isAnthropic || response.status < 400) wrong.push({ path, method, body });
  }
  expect(wrong).toEqual([]);
});
