import { describe, expect, test } from "bun:test";
import { expectError } from "../../../support/expect-error.ts";
import { dashboardHttp } from "../dashboard-http.ts";
import { config, goodKey, httpOf, messages } from "../support.ts";

const page = "https://app.example";
const chat = { model: "chat-1", messages };

const openTo = (...corsOrigins: string[]) => httpOf(undefined, { config: { ...config, corsOrigins } });

/** What a browser asks before it sends what the OpenAI client sends. */
const preflight = (origin: string) => ({
  method: "OPTIONS",
  headers: {
    origin,
    authorization: "",
    "access-control-request-method": "POST",
    "access-control-request-headers": "authorization,content-type,x-stainless-lang",
  },
});

/** What the answer says to the browser of pages elsewhere. */
function saidOf({ headers }: Response): Record<string, string> {
  const ours = [...headers].filter(([name]) => name.startsWith("access-control-") || name === "vary");
  return Object.fromEntries(ours);
}

describe("a page elsewhere", () => {
  test("is told nothing where no origin is let in", async () => {
    const { ask, post } = httpOf();
    const response = await post("chat/completions", chat, { origin: page });
    expect([response.status, saidOf(response)]).toEqual([200, {}]);
    await expectError(await ask("chat/completions", preflight(page)), { status: 405 });
  });

  test.each(["chat/completions", "/v1/chat/completions", "models/a%2Fb"])(
    "may send to %s what was asked",
    async (path) => {
      const response = await openTo(page).ask(path, preflight(page));
      expect([response.status, await response.text()]).toEqual([204, ""]);
      expect(saidOf(response)).toEqual({
        "access-control-allow-origin": page,
        "access-control-allow-methods": "GET, POST, DELETE",
        "access-control-allow-headers": "authorization,content-type,x-stainless-lang",
        "access-control-max-age": "7200",
        vary: "origin",
      });
    },
  );

  const read = { "access-control-allow-origin": page, "access-control-expose-headers": "*", vary: "origin" };
  test("reads answers, streams and refusals with all their headers", async () => {
    const { ask, post } = openTo(page, "app://obsidian.md");
    const headers = { origin: page };
    const answers: [Response, number][] = [
      [await post("chat/completions", chat, headers), 200],
      [await post("chat/completions", { ...chat, stream: true }, headers), 200],
      [await post("chat/completions", { ...chat, model: "nobody" }, headers), 400],
      [await post("chat/completions", "{", headers), 400],
      [await post("chat/completions", chat, { ...headers, authorization: "Bearer sk-mg-wrong" }), 401],
      [await post("chat/completions", "x".repeat(32 * 1024 * 1024 + 1), headers), 413],
      [await ask("models", { headers }), 200],
      [await ask("nothing", { headers }), 404],
      [await ask("/v1/nothing", { headers }), 404],
      [await ask("chat/completions", { headers }), 405],
    ];
    for (const [answer, status] of answers) {
      expect([answer.status, saidOf(answer)]).toEqual([status, read]);
      await answer.text();
    }
  });

  test("is told as anybody that there is no such endpoint", async () => {
    await expectError(await openTo(page).ask("nothing", { headers: { origin: page } }), { status: 404 });
    const wrong = await openTo(page).ask("chat/completions", { headers: { origin: page } });
    await expectError(wrong, { status: 405 });
    expect(wrong.headers.get("allow")).toBe("POST");
  });

  test("of another origin is told nothing, and neither is what names none", async () => {
    const { ask, post } = openTo(page);
    for (const headers of [{ origin: "https://app.example.evil" }, { origin: "null" }, {}] as Record<
      string,
      string
    >[]) {
      expect(saidOf(await post("chat/completions", chat, headers))).toEqual({ vary: "origin" });
    }
    expect(saidOf(await ask("chat/completions", preflight("https://evil.example")))).toEqual({ vary: "origin" });
  });

  test("of any origin is let in by a star", async () => {
    const response = await openTo("*").post("chat/completions", chat, { origin: "null" });
    expect(saidOf(response)).toEqual({ "access-control-allow-origin": "*", "access-control-expose-headers": "*" });
  });

  test("never acts for who is signed in: no answer allows credentials, and the page's own API is none of it", async () => {
    const { enter, deps } = await dashboardHttp();
    const { app } = httpOf(undefined, { ...deps, config: { ...deps.config, corsOrigins: ["*"] } });
    const { cookie } = await enter("ada@example.org");
    for (const path of ["/dashboard/api/me", "/dashboard/api/nothing", "/api/auth/get-session", "/healthz", "/"]) {
      const headers = { cookie, origin: page };
      expect(saidOf(await app.handle(new Request(`http://gateway.example${path}`, { headers })))).toEqual({});
    }
    const headers = { authorization: `Bearer ${goodKey}`, origin: page };
    const models = await app.handle(new Request("http://gateway.example/v1/models", { headers }));
    expect(saidOf(models)).not.toHaveProperty("access-control-allow-credentials");
    expect(models.status).toBe(200);
  });
});
