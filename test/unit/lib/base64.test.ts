import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { base64ToFloats, floatsToBase64, fromBase64, toBase64 } from "../../../src/lib/base64.ts";
import { recordingAt, recordingsMissing } from "../../support/recordings.ts";

describe("base64", () => {
  test("comes back as the bytes that went in", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
        const text = toBase64(bytes);
        expect(text).toBe(btoa(String.fromCharCode(...bytes)));
        expect(fromBase64(text)).toEqual(new Uint8Array(bytes));
        expect(fromBase64(text.replace(/=+$/, "").replaceAll("+", "-").replaceAll("/", "_"))).toEqual(
          new Uint8Array(bytes),
        );
      }),
    );
  });

  test("is made of a view, not of the buffer under it", () => {
    expect(toBase64(Uint8Array.of(0, 1, 2, 3).subarray(1, 3))).toBe("AQI=");
  });

  test.each(["A", "AAAA=A", "A A=", "AA*A", "ÄAAA", "AAAAA", "=AAA"])("refuses %p", (text) => {
    expect(() => fromBase64(text)).toThrow(RangeError);
  });
});

describe("vectors", () => {
  test("come back as the float32 nearest to what went in", () => {
    fc.assert(
      fc.property(fc.array(fc.float({ noNaN: true })), (floats) => {
        expect(base64ToFloats(floatsToBase64(floats))).toEqual(floats);
      }),
    );
  });

  test("are little-endian", () => {
    expect(floatsToBase64([1])).toBe(toBase64(Uint8Array.of(0, 0, 0x80, 0x3f)));
  });

  test("are refused when they are not a whole number of floats", () => {
    expect(() => base64ToFloats("AAAAAAA=")).toThrow("5 bytes");
  });

  test.skipIf(recordingsMissing !== undefined)("of a recorded embedding have its dimensions and unit length", () => {
    const { body } = recordingAt("openai/embeddings/3-small-base64-256-dimensions.json");
    const { data } = JSON.parse(new TextDecoder().decode(body));
    const vector = base64ToFloats(data[0].embedding);
    expect(vector).toHaveLength(256);
    expect(Math.hypot(...vector)).toBeCloseTo(1, 5);
    expect(floatsToBase64(vector)).toBe(data[0].embedding);
  });
});
