import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { answersTo } from "../../support/raw-request.ts";
import { useSandboxGateway } from "../../support/sandbox-gateway.ts";

const shared = useSandboxGateway();
const climbs = [
  "../",
  "..%2f",
  "%2e%2e/",
  "%2e%2e%2f",
  "..%5c",
  "..\\",
  "....//",
  "..;/",
  "%252e%252e%252f",
  "..%c0%af",
  ".%00./",
];
const places = ["/assets/", "/docs/", "/v1/files/", "/api/v1/files/", "/v1/models/", "/dashboard/", "/admin/", "/"];
const targets = ["etc/passwd", "modelgate.db", "package.json", "src/main.ts"];

describe("a path traversal", () => {
  test.each(places)("out of %s reaches no file", async (place) => {
    for (const climb of climbs) {
      for (const target of targets) {
        const path = `${place}${climb.repeat(8)}${target}`;
        const request = `GET ${path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n`;
        const text = await answersTo(shared.gateway.origin, request);
        expect(text).not.toMatch(/root:.*:0:0|SQLite format 3|"devDependencies"|#!\/usr\/bin\/env bun/);
        expect(text).toMatch(/^HTTP\/1\.1 (200|30\d|40\d)/);
      }
    }
  });

  test.each(["../climbed", "/tmp/climbed", "a/b", "..", ".", "", "a\0b", "CON:", "-x", "a..b"])(
    "is not a name of a plugin: %p",
    async (name) => {
      const before = readdirSync(shared.gateway.home).sort();
      const { code } = await shared.gateway.run("plugin", "new", name).catch(() => ({ code: 2 }));
      expect(code).toBe(2);
      expect(readdirSync(shared.gateway.home).sort()).toEqual(before);
      expect(existsSync(join(shared.gateway.home, "../climbed"))).toBe(false);
    },
  );
});

test("a host may have a name of one letter", async () => {
  for (const host of ["a", "a:1", "abcd", "[::1]"]) {
    const request = `GET /healthz HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`;
    expect(await answersTo(shared.gateway.origin, request)).toStartWith("HTTP/1.1 200");
  }
});
