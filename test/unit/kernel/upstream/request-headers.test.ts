import { describe, expect, test } from "bun:test";
import { createHeaders } from "../../../../src/kernel/upstream/http-client.ts";

describe("a header", () => {
  test.each([
    ["a line break in its value", { "x-a": "secret\r\nx-evil: 1" }],
    ["a lone line feed in its value", { "x-a": "secret\nx-evil: 1" }],
    ["a NUL in its value", { "x-a": "secret\0" }],
    ["a letter that is not ASCII", { "x-a": "secreté" }],
    ["a line break in its name", { "x-a: b\r\nx-evil": "1" }],
    ["a space in its name", { "x a": "1" }],
    ["no name", { "": "1" }],
    ["a length of its own", { "Content-Length": "0" }],
    ["an encoding of its own", { "transfer-encoding": "chunked" }],
    ["a host of its own", { host: "evil.example" }],
    ["a connection of its own", { Connection: "close" }],
  ])("with %s is refused, and its value not shown", (_, headers) => {
    for (const place of [[headers], [undefined, headers]]) {
      const create = () => createHeaders(...place);
      expect(create).toThrow(TypeError);
      expect(create).not.toThrow(/secret/);
    }
  });
});
