import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { askPublicBy } from "../../src/kernel/ask-public.ts";
import { downloadPublic } from "../../src/kernel/download.ts";
import type { Question } from "../../src/kernel/wire/ask.ts";
import { rejectionOf } from "./support.ts";
import { faultOf, questionTo, textOf } from "./wire/asking.ts";
import { answerOf, type RawServer, startRaw } from "./wire/raw-server.ts";

const now = () => Date.now();
const publicAddress = "93.184.216.34";
const get = (baseUrl: string): Question => questionTo(baseUrl, { path: "/a.png?b=1", body: undefined });

describe("a name that is asked again for the connection", () => {
  let inside: RawServer;
  let base: string;
  beforeAll(async () => {
    inside = await startRaw(answerOf("the operator's own"));
    base = inside.baseUrl.replace("127.0.0.1", "rebind.example").replace("/v1", "");
  });
  afterAll(() => inside.stop());

  test.each([
    [["127.0.0.1"]],
    [["::1"]],
    [["::ffff:127.0.0.1"]],
    [["64:ff9b::7f00:1"]],
    [["169.254.169.254"]],
    [["10.0.0.1"]],
    [[publicAddress, "127.0.0.1"]],
  ])("and now leads to %p is not connected to", async (addresses) => {
    const before = inside.accepted;
    const error = await faultOf(askPublicBy(async () => addresses, now)(get(base)));
    expect(error.message).toContain("private address");
    expect(inside.accepted).toBe(before);
  });

  test("is never connected to by a download either, whose first look found it public", async () => {
    const asked: string[] = [];
    const rebind = askPublicBy(
      async (host) => {
        asked.push(host);
        return ["127.0.0.1"];
      },
      now,
      {},
    );
    const ask = (question: Question) => rebind({ ...question, baseUrl: base });
    const error = await rejectionOf(
      downloadPublic(ask, `https://${publicAddress}/a.png`, new AbortController().signal),
    );
    expect([error.code, asked]).toEqual(["invalid_request", ["rebind.example"]]);
    expect(inside.requests).toEqual([]);
  });
});

test("a GET has no body and no length, and leaves no connection behind", async () => {
  const server = await startRaw(answerOf("bytes", ["content-type: image/png"]));
  try {
    // An address is connected to as it stands; whether it is public is asked before.
    const answer = await askPublicBy(async () => [], now)(get(server.baseUrl));
    expect([answer.status, answer.contentType, await textOf(answer)]).toEqual([200, "image/png", "bytes"]);
    const [{ head, body } = { head: "", body: "x" }] = server.requests;
    expect(head).toStartWith("GET /v1/a.png?b=1 HTTP/1.1\r\n");
    expect([/content-length|transfer-encoding|content-type/i.test(head), body]).toEqual([false, ""]);
    for (const end = Date.now() + 5000; server.open.size > 0 && Date.now() < end; ) await Bun.sleep(5);
    expect(server.open.size).toBe(0);
  } finally {
    await server.stop();
  }
});
