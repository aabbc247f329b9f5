import { expect, test } from "bun:test";
import { toCallerNetwork, toProgram } from "../../../../src/http/lifecycle/http-call.ts";

test("the network of a caller is an IPv4 /24 or an IPv6 /48", () => {
  const networks = {
    "203.0.113.77": "203.0.113.0/24",
    "10.0.0.1": "10.0.0.0/24",
    "2001:db8:1:2:3:4:5:6": "2001:db8:1::/48",
    "2001:db8::1": "2001:db8:0::/48",
    "::1": "0:0:0::/48",
    unknown: "unknown",
    "not an address": "unknown",
  };
  for (const [address, network] of Object.entries(networks))
    expect([address, toCallerNetwork(address)]).toEqual([address, network]);
});

test("a program is the first word of a user agent without its version, and never a credential or a long text", () => {
  const programs: Record<string, string> = {
    "curl/8.5.0": "curl",
    "OpenAI/Python 1.99.1": "OpenAI/Python",
    "AsyncOpenAI/JS 5.0.0": "AsyncOpenAI/JS",
    "python-requests/2.31": "python-requests",
    "claude-cli/2.0.14 (external, cli)": "claude-cli",
    "codex_cli_rs/0.46.0 (Debian 13.0.0; x86_64)": "codex_cli_rs",
    "Mozilla/5.0 (X11; Linux x86_64)": "Mozilla",
    Go: "Go",
    "*": "other",
    "<script>alert(1)</script>": "other",
    "sk-mg-abcdefgh1234567890-0123456789abcdef": "other",
    "mg-at-abcdefgh-00": "other",
    eyJhbGciOiJIUzI1NiJ9: "other",
    "7zip/1": "other",
  };
  for (const [agent, program] of Object.entries(programs)) expect([agent, toProgram(agent)]).toEqual([agent, program]);
  expect(toProgram(null)).toBe("");
  expect(toProgram("")).toBe("");
  expect(toProgram("a".repeat(10_000))).toBe("other");
  expect(toProgram(`x/${"y".repeat(10_000)}`)).toBe("x");
});
