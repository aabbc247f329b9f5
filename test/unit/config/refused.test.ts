import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkConnections, readConfig } from "../../../src/config/index.ts";

test("refuses NODE_TLS_REJECT_UNAUTHORIZED=0, which would be ignored, in one sentence", () => {
  const variable = "NODE_TLS_REJECT_UNAUTHORIZED";
  const problem = "certificates are always verified; unset it, and add an authority with NODE_EXTRA_CA_CERTS";
  expect(() => readConfig({ [variable]: "0" })).toThrow(
    expect.objectContaining({ name: "ConfigError", variable, message: `Cannot use ${variable}: ${problem}` }),
  );
  expect(() => readConfig({ [variable]: "" })).not.toThrow();
});

const proxies = ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "https_proxy", "http_proxy", "all_proxy"];

test.each(proxies)("refuses a proxy in %s through which no call could go", (variable) => {
  const bad = [
    "socks5://127.0.0.1:1080",
    '"http://127.0.0.1:3128"',
    " http://127.0.0.1:3128",
    "http://127.0.0.1:3128\r",
    "http://",
    "http://a b",
  ];
  for (const text of bad) {
    expect(() => checkConnections({ [variable]: text })).toThrow(
      expect.objectContaining({ variable, message: expect.stringContaining("expected an HTTP proxy such as") }),
    );
  }
  for (const text of [
    "",
    " ",
    "http://127.0.0.1:3128",
    "https://user:p%40ss@proxy.example.com",
    "proxy.example.com:3128",
  ]) {
    expect(() => checkConnections({ [variable]: text })).not.toThrow();
  }
});

test("takes any proxy for all schemes where each scheme has one of its own", () => {
  const own = { https_proxy: "http://127.0.0.1:3128", HTTP_PROXY: "http://127.0.0.1:3128" };
  expect(() => checkConnections({ ...own, ALL_PROXY: "socks5://127.0.0.1:1080" })).not.toThrow();
  expect(() => checkConnections({ HTTP_PROXY: own.HTTP_PROXY, ALL_PROXY: "socks5://127.0.0.1:1080" })).toThrow();
});

test("reads the settings of a command in a shell with another proxy, because only a gateway makes connections", () => {
  expect(() => readConfig({ ALL_PROXY: "socks5://127.0.0.1:1080", NODE_EXTRA_CA_CERTS: "/nowhere.pem" })).not.toThrow();
});

test("does not show the password of a proxy that it refuses", () => {
  for (const text of ["socks5://user:hunter2@proxy:1080", "user:hunter2@"]) {
    expect(() => checkConnections({ HTTPS_PROXY: text })).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining("hunter2") }),
    );
  }
});

test("refuses a file of certificates that is not there or has none, because the runtime goes on without it", () => {
  const folder = mkdtempSync(join(tmpdir(), "modelgate-certificates-"));
  const file = join(folder, "ca.pem");
  const refusal = (problem: string) => `Cannot use NODE_EXTRA_CA_CERTS: ${file} ${problem}`;
  const read = () => checkConnections({ NODE_EXTRA_CA_CERTS: file });
  try {
    expect(read).toThrow(refusal("cannot be read (ENOENT), expected the path of a file"));
    writeFileSync(file, "MIIB");
    expect(read).toThrow(refusal("has no certificate, expected a file of certificates in PEM"));
    writeFileSync(file, "# ours\n-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n");
    expect(read).not.toThrow();
  } finally {
    rmSync(folder, { recursive: true });
  }
});
