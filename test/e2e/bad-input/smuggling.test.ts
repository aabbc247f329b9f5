import { describe, expect, test } from "bun:test";
import { answersTo } from "../../support/raw-request.ts";
import { useSandboxGateway } from "../../support/sandbox-gateway.ts";

const shared = useSandboxGateway();
const body = '{"model":"famA-4o-mini","messages":[{"role":"user","content":"Hello"}]}';
const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
const length = `content-length: ${body.length}`;
const chunked = "transfer-encoding: chunked";
/** Stands behind each request, where only who reads its end wrongly finds it. */
const hidden = "GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";

const post = (lines: string[], rest: string) => {
  const { key } = shared.gateway;
  const head = ["POST /v1/chat/completions HTTP/1.1", "host: a", `authorization: Bearer ${key}`, ...lines];
  return `${head.join("\r\n")}\r\ncontent-type: application/json\r\n\r\n${rest}`;
};
const statusesIn = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));

describe("a request whose end could be read in two ways", () => {
  test.each<[string, string[], string]>([
    ["says its length and is chunked", [length, chunked], chunks],
    ["is chunked and says its length", [chunked, "content-length: 4"], chunks],
    ["ends early when it is chunked", ["content-length: 6", chunked], "0\r\n\r\nX"],
    ["says its length twice, otherwise", [length, "content-length: 5"], body],
    ["says its length as a list", [`${length}, ${body.length}`], body],
    ["says its length with a sign", [`content-length: +${body.length}`], body],
    ["says a length below nothing", ["content-length: -1"], body],
    ["says its length in hexadecimal", ["content-length: 0x10"], body],
    ["says a length beyond all numbers", ["content-length: 99999999999999999999"], body],
    ["is coded in an unknown way", ["transfer-encoding: xchunked"], chunks],
    ["is not chunked last", ["transfer-encoding: chunked, identity"], chunks],
    ["is coded twice", [chunked, "transfer-encoding: identity"], chunks],
    ["has a space before a colon", ["transfer-encoding : chunked", length], body],
    ["has a vertical tab before a value", ["transfer-encoding:\x0bchunked"], chunks],
    ["folds a line", ["x-a: b", " c: d", length], body],
    ["folds the line of its coding", ["transfer-encoding:", " chunked", length], body],
    ["has a lone carriage return", ["x-a: b\rtransfer-encoding: chunked", length], body],
    ["has a NUL", ["x-a: b\0c", length], body],
    ["has a line without a colon", ["nothing", length], body],
    ["has a header without a name", [": v", length], body],
    ["has a chunk without a size", [chunked], `ZZ\r\n${body}\r\n0\r\n\r\n`],
    ["has a chunk of less than nothing", [chunked], `-1\r\n${body}\r\n0\r\n\r\n`],
    ["has a chunk beyond all numbers", [chunked], `ffffffffffffffffff\r\n${body}\r\n0\r\n\r\n`],
    ["has a chunk's size with a prefix", [chunked], `0x${chunks}`],
    ["ends its chunks' lines with a line feed alone", [chunked], chunks.replaceAll("\r\n", "\n")],
    ["has a chunk longer than it says", [chunked], `5\r\n${body}\r\n0\r\n\r\n`],
  ])("because it %s is refused whole: nothing behind it is answered", async (_, lines, rest) => {
    const before = shared.ledger.counts().calls;
    const statuses = statusesIn(await answersTo(shared.gateway.origin, post(lines, rest + hidden)));
    expect(statuses.length).toBeLessThanOrEqual(1);
    if (statuses.length === 1) expect(statuses[0]).toBe(400);
    expect(shared.ledger.counts().calls).toBe(before);
  });

  test.each([
    ["of bare line feeds", `${hidden.replaceAll("\r\n", "\n")}`],
    ["of HTTP/0.9", "GET /healthz\r\n\r\n"],
    ["of HTTP/2", "GET /healthz HTTP/2.0\r\nhost: a\r\n\r\n"],
    ["without a host", "GET /healthz HTTP/1.1\r\n\r\n"],
    ["by a method that is none", "GE(T /healthz HTTP/1.1\r\nhost: a\r\n\r\n"],
    ["with a head of 200 000 bytes", `GET /healthz HTTP/1.1\r\nhost: a\r\nx: ${"a".repeat(200_000)}\r\n\r\n`],
    ["with 3 000 headers", `GET /healthz HTTP/1.1\r\nhost: a\r\n${"x: y\r\n".repeat(3000)}\r\n`],
  ])("%s is refused", async (_, text) => {
    const statuses = statusesIn(await answersTo(shared.gateway.origin, text + hidden));
    expect(statuses).toHaveLength(1);
    expect(statuses[0]).toBeGreaterThanOrEqual(400);
    expect(statuses[0]).not.toBe(500);
  });

  test.each([
    ["with a length", [length], body],
    ["in chunks", [chunked], chunks],
  ])("and that is plain, %s, is answered", async (_, lines, rest) => {
    const text = post([...lines, "connection: close"], rest);
    expect(statusesIn(await answersTo(shared.gateway.origin, text))).toEqual([200]);
  });
});

describe("a host that is not a host", () => {
  const paths = ["/healthz", "/docs", "/nothing", "/v1/models", "/v1/files/a", "/v1/usage", "/api/auth/get-session"];
  const hosts = ["", "a b", "a b/c", "[", "a:99999", "user@a", "a/../../b", "a?b", "a#b", "a\\b", "%zz", "\xff\xfe"];

  test.each(hosts)("%p is answered in few words and without a fault, whatever is asked", async (host) => {
    for (const path of [...paths, "/dashboard/api/me"]) {
      const text = await answersTo(
        shared.gateway.origin,
        `GET ${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`,
      );
      expect([path, statusesIn(text)[0]]).toEqual([path, expect.any(Number)]);
      expect(statusesIn(text)[0]).toBeLessThan(500);
      expect(text.length).toBeLessThan(3000);
    }
  });
});
