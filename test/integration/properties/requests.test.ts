import { describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import fc from "fast-check";
import { anyJson, expectPrototypesClean, runs } from "../../support/hostile.ts";
import { wavFile } from "../../support/wav.ts";
import { dashboardHttp, origin } from "../../unit/http/dashboard-http.ts";
import { httpOf } from "../../unit/http/support.ts";

const words = [
  "model",
  "messages",
  "role",
  "user",
  "content",
  "chat-1",
  "stream",
  "tools",
  "type",
  "function",
  "name",
  "parameters",
  "n",
  "stop",
  "temperature",
  "input",
  "prompt",
  "voice",
  "dimensions",
  "response_format",
  "tool_calls",
  "tool_call_id",
  "image_url",
  "url",
  "email",
  "password",
  "token",
  "usd",
  "note",
  "tokens",
  "disabled",
  "code",
  "expires_at",
  "allowed_models",
];
const json = anyJson(...words).map((value) => JSON.stringify(value));
/** JSON, JSON with a byte less or another, and no JSON at all. */
const body = fc.oneof(
  json,
  fc.tuple(json, fc.nat()).map(([text, at]) => text.slice(0, at % (text.length + 1))),
  fc.string({ unit: "binary" }),
);
const paths = [
  "chat/completions",
  "embeddings",
  "images/generations",
  "audio/speech",
  "audio/transcriptions",
  "moderations",
  "rerank",
];

async function expectAnswered(response: Response): Promise<void> {
  const text = await response.text();
  expect(response.status).toBeLessThan(500);
  if (response.status < 400) return;
  const { error } = JSON.parse(text) as { error: Record<string, unknown> };
  expect(Object.keys(error)).toEqual(["message", "type", "param", "code"]);
  expect(error.message).toBeString();
}

describe("a request", () => {
  test("of any body is answered, or refused in our form", async () => {
    const { post } = httpOf();
    const property = fc.asyncProperty(fc.constantFrom(...paths), body, async (path, given) => {
      await expectAnswered(await post(path, given));
      expectPrototypesClean();
    });
    await fc.assert(property, runs(400));
  });

  test("of any form is answered, or refused in our form", async () => {
    const { ask } = httpOf();
    const name = fc.oneof(fc.constantFrom("file", "model", "temperature", "__proto__", "constructor"), fc.string());
    const value = fc.oneof(fc.string(), fc.constantFrom("chat-1", "", "NaN"), fc.constant(wavFile(10)));
    const form = fc.array(fc.tuple(name, value), { maxLength: 4 });
    const spoil = fc.tuple(fc.nat(), fc.uint8Array({ maxLength: 3 }), fc.nat());
    const property = fc.asyncProperty(form, spoil, async (fields, [at, put, cut]) => {
      const encoded = new Response(formOf(fields));
      const bytes = new Uint8Array(await encoded.arrayBuffer());
      const headers = { "content-type": encoded.headers.get("content-type") ?? "" };
      bytes.set(put.subarray(0, Math.max(0, bytes.length - (at % bytes.length))), at % bytes.length);
      for (const sent of [bytes, bytes.subarray(0, cut % (bytes.length + 1))])
        await expectAnswered(await ask("audio/transcriptions", { method: "POST", headers, body: sent }));
      expectPrototypesClean();
    });
    await fc.assert(property, runs(100));
  });

  test("of any path and query is answered, or refused in our form", async () => {
    const { ask } = httpOf();
    const part = fc.oneof(
      fc.constantFrom("..", ".", "%2e%2e", "v1", "models", "files", "__proto__", "%00", "%ff", "docs", ""),
      fc.string(),
    );
    const query = fc.dictionary(
      fc.oneof(fc.constantFrom("format", "expires", "__proto__", "signature"), fc.string()),
      fc.string(),
    );
    const property = fc.asyncProperty(fc.array(part, { maxLength: 5 }), query, async (parts, asked) => {
      const search = new URLSearchParams(asked).toString();
      await expectAnswered(await ask(`http://gateway.example/${parts.join("/").replaceAll(/[?#]/g, "")}?${search}`));
      expectPrototypesClean();
    });
    await fc.assert(property, runs(300));
  });
});

test("the page's own API answers any body, or refuses it in our form", async () => {
  const { app, send, enter } = await dashboardHttp();
  const routes = app.routes.filter(({ method, path }) => method !== "GET" && path.startsWith("/dashboard/api"));
  let entered = 0;
  const property = fc.asyncProperty(
    fc.constantFrom(...routes),
    body,
    fc.constantFrom("own", "x", "__proto__", "%00"),
    async ({ method, path }, given, id) => {
      // A session of its own: some routes end the one that they are called in.
      const { cookie, account } = await enter(`admin${entered++}@example.org`, "admin");
      const headers = { origin, cookie, "content-type": "application/json" };
      const asked = path.replace(/:\w+/g, id === "own" ? account.id : id);
      await expectAnswered(await send(asked, { method, headers, body: given }));
      expectPrototypesClean();
    },
  );
  await fc.assert(property, runs(200));
}, 300_000);

/** Whether a text can be the value of a header at all. */
function isHeader(text: string): boolean {
  try {
    return new Headers({ cookie: text }).get("cookie") === text;
  } catch {
    return false;
  }
}

test("a cookie is a session only as it was signed", async () => {
  const { deps, enter } = await dashboardHttp();
  const { cookie } = await enter("ada@example.org");
  const real = cookie.slice("session=".length);
  expect(await deps.signIn.sessionUserOf(cookie)).toBeDefined();
  const token = decodeURIComponent(real).split(".")[0] as string;
  const forged = (text: string) => `${text}.${createHmac("sha256", "another").update(text).digest("base64")}`;
  const value = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom("", ".", "%", "%ff", token, `${token}.`, forged(token), encodeURIComponent(forged(token))),
    fc.tuple(fc.nat(), fc.string({ minLength: 1, maxLength: 1 })).map(([at, put]) => {
      const where = at % token.length;
      return real.slice(0, where) + put + real.slice(where + 1);
    }),
  );
  const before = fc.constantFrom("", "session; ", "a=b; ", "session2=x; ", ";;; ");
  const property = fc.asyncProperty(before, value, async (others, given) => {
    const cookies = `${others}session=${given}`;
    fc.pre(given !== real && isHeader(cookies));
    expect(await deps.signIn.sessionUserOf(cookies)).toBeUndefined();
  });
  await fc.assert(property, runs(300));
});

function formOf(fields: [string, string | File][]): FormData {
  const form = new FormData();
  for (const [name, value] of fields) form.append(name, value);
  return form;
}
