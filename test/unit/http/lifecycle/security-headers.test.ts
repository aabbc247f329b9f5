import { describe, expect, test } from "bun:test";
import { expectError } from "../../../support/expect-error.ts";
import { dashboardHttp, origin } from "../dashboard-http.ts";
import { goodKey, helloPlugin, httpOf, messages } from "../support.ts";

/** The answers of every route over plain HTTP, asked once for all tests of this file. */
let plainAnswers: ReturnType<typeof everyAnswer> | undefined;
const everyPlainAnswer = () => {
  plainAnswers ??= everyAnswer({});
  return plainAnswers;
};

/** Every route there is, asked so that it answers something: well or with an error, it makes no difference here. */
async function everyAnswer(headers: Record<string, string>): Promise<[string, Response][]> {
  const { app, send, enter } = await dashboardHttp();
  const admin = await enter("admin@example.org", "admin");
  const found: [string, Response][] = [];
  for (const { method, path } of app.routes) {
    const body = method === "GET" ? {} : { body: "{}" };
    for (const who of [{}, { cookie: admin.cookie }, { authorization: `Bearer ${goodKey}` }]) {
      const all = { origin, "content-type": "application/json", ...headers, ...who };
      const asked = path.replace(/:\w+/, "x").replace("*", "x");
      found.push([`${method} ${path} ${Object.keys(who)}`, await send(asked, { method, headers: all, ...body })]);
    }
  }
  expect(found.length).toBeGreaterThan(100);
  return found;
}

describe("every answer there is", () => {
  test("is taken by a browser for what it says it is", async () => {
    const without = (await everyPlainAnswer()).filter(
      ([, { headers }]) => headers.get("x-content-type-options") !== "nosniff" || !headers.has("content-type"),
    );
    expect(without.map(([about]) => about)).toEqual([]);
  });

  test("but those of calls is framed by nobody, and tells no other site its address", async () => {
    const open = (await everyPlainAnswer()).filter(([about, { status, headers }]) => {
      if (status === 200 && / \/(api\/)?v1\/(models|v1)/.test(about)) return false;
      const policy = headers.get("content-security-policy") ?? "";
      return !policy.includes("frame-ancestors 'none'") || headers.get("referrer-policy") !== "no-referrer";
    });
    expect(open.map(([about]) => about)).toEqual([]);
  });

  test("that tells of an account, or of a failure, is kept nowhere", async () => {
    const kept = (await everyPlainAnswer()).filter(([about, { status, headers }]) => {
      const isPublic = status === 200 && / \/(docs|openapi|(api\/)?v1\/(models|v1))/.test(about);
      return !isPublic && headers.get("cache-control") !== "no-store";
    });
    expect(kept.map(([about]) => about)).toEqual([]);
  });

  test("of a page asks for TLS for a year once it came by TLS, and does not before", async () => {
    const behind = await everyAnswer({ "x-forwarded-proto": "https", origin: "https://gateway.example" });
    const pages = behind.filter(([about]) => / \/(docs|dashboard|api\/auth|healthz)/.test(about));
    expect(pages.length).toBeGreaterThan(50);
    const without = pages.filter(([, { headers }]) => headers.get("strict-transport-security") !== "max-age=31536000");
    expect(without.map(([about]) => about)).toEqual([]);
    for (const [, { headers }] of await everyPlainAnswer())
      expect(headers.has("strict-transport-security")).toBe(false);
  });

  test("of a call, whole, streamed or failed, is taken for what it says it is", async () => {
    const { post } = httpOf([helloPlugin]);
    for (const body of [{ model: "chat-1", messages }, { model: "chat-1", messages, stream: true }, {}]) {
      const { headers } = await post("chat/completions", body);
      expect(headers.get("x-content-type-options")).toBe("nosniff");
    }
  });

  // A header of a page on it would mean that the answer was made a second time, its body as a stream, at each call.
  test.each([false, true])("of a call goes out as its handler made it (stream: %p)", async (stream) => {
    const { send } = await dashboardHttp();
    const { headers } = await send("/v1/chat/completions", {
      method: "POST",
      headers: { authorization: `Bearer ${goodKey}` },
      body: JSON.stringify({ model: "chat-1", messages, stream }),
    });
    const names = [...headers.keys()].filter((name) => !/^x-(ratelimit|modelgate|request-id)/.test(name));
    const ofStream = stream ? ["cache-control", "x-accel-buffering"] : [];
    expect(names.toSorted()).toEqual([...ofStream, "content-type", "x-content-type-options"].toSorted());
  });
});

describe("a page of the gateway", () => {
  test.each(["/docs", "/docs/start.js", "/docs/swagger-ui.js"])("%s runs scripts of its own alone", async (path) => {
    const policy = (await httpOf().ask(path)).headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'self'");
    expect(policy.replace("style-src 'self' 'unsafe-inline'", "")).not.toMatch(/unsafe-|\*|https?:/);
  });
});

describe("a large body of nobody who is known", () => {
  const kibibyte = "x".repeat(1024);
  /** A body of 64 MB that counts how much of it was asked for. */
  function endless() {
    let sent = 0;
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          sent += 1024;
          if (sent > 64 * 1024 * 1024) controller.close();
          else controller.enqueue(new TextEncoder().encode(kibibyte));
        },
      },
      { highWaterMark: 0 },
    );
    return { body, sent: () => sent };
  }

  test.each([
    ["POST", "/dashboard/api/keys", 401],
    ["POST", "/v1/organization/vouchers", 401],
    ["DELETE", "/dashboard/api/keys/x", 401],
    ["POST", "/dashboard/api/invitations/accept", 413],
    ["POST", "/api/auth/sign-in/email", 413],
    ["POST", "/api/auth/sign-out", 413],
    ["POST", "/v1/chat/completions", 401],
    ["POST", "/v1/audio/transcriptions", 401],
  ])("is not read by %s %s", async (method, path, status) => {
    const { send } = await dashboardHttp();
    const { body, sent } = endless();
    const headers = { origin, "content-type": "application/json" };
    await expectError(await send(path, { method, headers, body }), { status });
    expect(sent()).toBeLessThan(1024 * 1024);
  });

  test("is refused by the length it says, before a byte of it", async () => {
    const { send } = await dashboardHttp();
    const { body, sent } = endless();
    const headers = { origin, "content-type": "application/json", "content-length": "67108864" };
    await expectError(await send("/api/auth/sign-out", { method: "POST", headers, body }), { status: 413 });
    expect(sent()).toBe(0);
  });
});

describe("a form of the page", () => {
  test("that is not JSON, too deep or too long says so", async () => {
    const { enter, send } = await dashboardHttp();
    const ada = await enter("ada@example.org");
    const headers = { origin, cookie: ada.cookie, "content-type": "application/json" };
    const make = (body: string) => send("/dashboard/api/keys", { method: "POST", headers, body });
    await expectError(await make("{"), { status: 400, says: "Cannot read the body as JSON" });
    await expectError(await make(`${"[".repeat(100_000)}${"]".repeat(100_000)}`), { status: 400 });
    await expectError(await make(JSON.stringify({ name: "x".repeat(262_144) })), { status: 413 });
    expect((await make(JSON.stringify({ name: "laptop" }))).status).toBe(200);
  });
});
