import { afterEach, beforeEach, describe, expect, setSystemTime, test } from "bun:test";
import { forgetKept } from "../../../src/lib/kept-with.ts";
import { fetchToken, type TokenRequest } from "../../../src/protocols/fetch-token.ts";
import { readCredential, type TokenResponse } from "../../../src/provider/index.ts";
import { errorOf } from "../../support/error-of.ts";

const start = Date.parse("2026-11-24T12:00:00Z");
const later = (seconds: number) => setSystemTime(new Date(start + 1000 * seconds));
const ask = (): TokenRequest => ({ url: "https://auth.example/token", form: { grant_type: "client_credentials" } });
const grant = (token: string, seconds: unknown = 3600): TokenResponse => ({
  status: 200,
  headers: new Headers(),
  body: JSON.stringify({ access_token: token, expires_in: seconds }),
});

/** An endpoint that gives these answers, and counts how often it is asked. */
function endpoint(...answers: (TokenResponse | Error)[]) {
  const asked: unknown[] = [];
  const postForm = async (url: string, form: unknown) => {
    const answer = answers[Math.min(asked.push([url, form]), answers.length) - 1];
    await Promise.resolve();
    if (answer instanceof Error) throw answer;
    return answer as TokenResponse;
  };
  return { asked, postForm };
}

beforeEach(() => void later(0));
afterEach(() => void setSystemTime());

describe("a token", () => {
  test("is fetched once for all calls that need it at the same time, and kept", async () => {
    const request = endpoint(grant("a"));
    const credential = readCredential("k");
    const all = await Promise.all([1, 2, 3].map(() => fetchToken(request, credential, ask)));
    expect([all, await fetchToken(request, credential, ask), request.asked.length]).toEqual([["a", "a", "a"], "a", 1]);
    expect(request.asked[0]).toEqual(["https://auth.example/token", { grant_type: "client_credentials" }]);
  });

  test("of one credential is not that of another", async () => {
    const request = endpoint(grant("a"), grant("b"));
    const tokens = [readCredential("k"), readCredential("k")].map((one) => fetchToken(request, one, ask));
    expect(await Promise.all(tokens)).toEqual(["a", "b"]);
  });

  test("is renewed before its end, while the one before still serves", async () => {
    const request = endpoint(grant("a"), grant("b"));
    const credential = readCredential("k");
    await fetchToken(request, credential, ask);
    later(3600 - 299);
    expect(await fetchToken(request, credential, ask)).toBe("a");
    await Bun.sleep(0);
    expect(await fetchToken(request, credential, ask)).toBe("b");
    expect(request.asked).toHaveLength(2);
  });

  test("serves until its end although it cannot be renewed, and the endpoint is not asked with every call", async () => {
    const request = endpoint(grant("a"), new Error("away"));
    const credential = readCredential("k");
    await fetchToken(request, credential, ask);
    later(3400);
    for (let call = 0; call < 5; call++) {
      expect(await fetchToken(request, credential, ask)).toBe("a");
      await Bun.sleep(0);
    }
    expect(request.asked).toHaveLength(2);
    later(3595);
    expect(await errorOf(fetchToken(request, credential, ask))).toMatchObject({ message: "away" });
  });

  test("whose life is not told is kept for a minute at most", async () => {
    const request = endpoint(grant("a", null), grant("b", "3599"));
    const credential = readCredential("k");
    await fetchToken(request, credential, ask);
    later(55);
    expect(await fetchToken(request, credential, ask)).toBe("b");
  });

  test("that its provider refused is fetched anew", async () => {
    const request = endpoint(grant("a"), grant("b"));
    const credential = readCredential("k");
    await fetchToken(request, credential, ask);
    forgetKept(credential);
    expect(await fetchToken(request, credential, ask)).toBe("b");
  });

  test.each<[string, Partial<TokenResponse>, object]>([
    [
      "refuses",
      { status: 401, body: '{"error":"invalid_client","error_description":"App 1234 of tenant x"}' },
      { kind: "auth", message: "The token endpoint of the provider answered 401, invalid_client" },
    ],
    ["refuses the grant", { status: 400, body: '{"error":"invalid_grant"}' }, { kind: "auth" }],
    [
      "limits",
      { status: 429, body: "{}", headers: new Headers({ "retry-after": "3" }) },
      { kind: "rate_limited", retryAfterMs: 3000 },
    ],
    ["fails", { status: 503, body: "down" }, { kind: "overloaded" }],
    ["answers a page", { status: 200, body: "<html>" }, { kind: "bad_response" }],
    [
      "gives a token that no header can carry",
      { status: 200, body: '{"access_token":"a b"}' },
      { kind: "bad_response" },
    ],
  ])("is not had where the endpoint %s, and nothing of its words is shown", async (_, answer, expected) => {
    const request = endpoint({ ...grant("a"), ...answer });
    const error = await errorOf(fetchToken(request, readCredential("k"), ask));
    expect(error).toMatchObject(expected);
    expect((error as Error).message).not.toContain("tenant");
  });
});
