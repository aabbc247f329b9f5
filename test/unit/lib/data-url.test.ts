import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../../src/contract/index.ts";
import { readDataUrl } from "../../../src/lib/data-url.ts";

describe("readDataUrl", () => {
  test.each([
    ["data:image/png;base64,iVBORw0=", { mediaType: "image/png", base64: "iVBORw0=" }],
    ["DATA:IMAGE/PNG;charset=utf-8;BASE64,AAAA", { mediaType: "image/png", base64: "AAAA" }],
    ["data:image/svg+xml,%3Csvg%2F%3E", { mediaType: "image/svg+xml", base64: btoa("<svg/>") }],
  ])("reads %s", (url, parts) => {
    expect(readDataUrl(url)).toEqual(parts);
  });

  test.each(["https://example.com/data:image/png", "", "file:///etc/passwd"])("leaves %p to others", (url) => {
    expect(readDataUrl(url)).toBeUndefined();
  });

  test.each([
    ["data:;base64,AAAA", "media type"],
    ["data:image/png;base64", "media type"],
    ["data:image/png;base64,", "no data"],
    ["data:image/png;base64,AA AA", "not base64"],
    ["data:image/png;base64,AAAAA", "not base64"],
    ["data:text/plain,%E0%A4%A", "percent-encoded"],
  ])("refuses %s and names the field", (url, reason) => {
    expect(() => readDataUrl(url, "messages[0].content[1].image_url.url")).toThrow(reason);
    try {
      readDataUrl(url, "image");
    } catch (error) {
      expect(error).toBeInstanceOf(GatewayError);
      expect(error).toMatchObject({ code: "invalid_request", param: "image" });
    }
  });
});
