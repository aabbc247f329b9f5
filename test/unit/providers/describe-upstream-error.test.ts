import { expect, test } from "bun:test";
import { UpstreamError } from "../../../src/contract/index.ts";
import { ConnectionError } from "../../../src/kernel/index.ts";
import { describeUpstreamError } from "../../../src/providers/index.ts";

const failed = (code: string) => new ConnectionError(Object.assign(new Error("at a host"), { code }));
const page = "The provider's answer is a page (HTML), not JSON: its base URL seems wrong";

test.each([
  ["an unknown host", failed("ENOTFOUND"), ": Cannot connect to the provider: its host name cannot be resolved"],
  ["a refused connection", failed("ECONNREFUSED"), ": Cannot connect to the provider: connection refused"],
  ["a failed TLS handshake", failed("EPROTO"), ": Cannot connect to the provider: the TLS handshake failed"],
  [
    "a certificate that is not accepted",
    failed("CERT_HAS_EXPIRED"),
    ": Cannot connect to the provider: certificate not accepted (CERT_HAS_EXPIRED)",
  ],
  ["a host that is late", failed("ETIMEDOUT"), ": Timed out connecting to the provider"],
  ["a page in place of JSON", new UpstreamError("bad_response", page, { status: 200 }), ` answered 200: ${page}`],
  [
    "an overloaded provider",
    new UpstreamError("overloaded", "Busy", { status: 503 }),
    " answered 503: Busy (overloaded)",
  ],
])("%s is told to an administrator in words of its own", (_, error, words) => {
  expect(describeUpstreamError(error, "api.acme.example", [])).toBe(`api.acme.example${words}`);
});
