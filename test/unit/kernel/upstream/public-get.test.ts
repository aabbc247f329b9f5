import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createServer as createProxy, type Server as ProxyServer } from "node:http";
import { connect } from "node:net";
import { createServer, type Server } from "node:tls";
import {
  createPublicGet,
  type Download,
  downloadBytesMax,
  downloadPublic,
} from "../../../../src/kernel/upstream/download.ts";
import type { Resolve } from "../../../../src/kernel/upstream/ssrf-guard.ts";
import { makeCertificates } from "../../../support/certificates.ts";
import { answerOf } from "../../../support/raw-server.ts";
import { until } from "../../../support/until.ts";
import { rejectionOf } from "../support.ts";

/** Two addresses of this machine: one stands for the public internet, the other for the operator's own network. */
const [publicAddress, privateAddress] = ["127.0.0.1", "127.0.0.2"];
/** The name in the certificate. */
const host = "elsewhere.example";
const isPublic = (address: string) => address === publicAddress;
const certificates = makeCertificates();
if (certificates === undefined) console.log("Downloads over TLS are not tested: there is no openssl command");

interface Site {
  heads: string[];
  accepted: number;
  open: number;
}

describe.skipIf(certificates === undefined)("a download of a name", () => {
  const sites: Record<string, Site> = {};
  const servers: (Server | ProxyServer)[] = [];
  const tunnels: string[] = [];
  let port = 0;
  let proxyUrl = "";
  let answer: string | Uint8Array;

  async function startSite(address: string, wanted: number): Promise<number> {
    const site: Site = { heads: [], accepted: 0, open: 0 };
    sites[address] = site;
    const { key, foreignCert: cert } = certificates as NonNullable<typeof certificates>;
    const server = createServer({ key, cert }, (socket) => {
      socket.on("error", () => socket.destroy());
      socket.on("data", (bytes) => {
        site.heads.push(bytes.toString());
        if (/^GET \/away/.test(bytes.toString())) {
          socket.write(answerOf("", [`location: https://${host}:${port}/moved`], "302 Found"));
        } else socket.write(answer);
      });
    });
    server.on("connection", (socket) => {
      site.accepted++;
      site.open++;
      socket.on("close", () => site.open--);
    });
    server.on("tlsClientError", () => undefined);
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(wanted, address, resolve));
    return (server.address() as { port: number }).port;
  }

  beforeAll(async () => {
    port = await startSite(publicAddress, 0);
    await startSite(privateAddress, port);
    const proxy = createProxy((_, response) => response.writeHead(500).end());
    proxy.on("connect", ({ url = "" }, socket) => {
      tunnels.push(url);
      const [name, to] = url.split(":") as [string, string];
      const upstream = connect(Number(to), name, () => {
        socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
        upstream.pipe(socket).pipe(upstream);
      });
      for (const end of [upstream, socket]) end.on("error", () => undefined);
    });
    servers.push(proxy);
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    proxyUrl = `http://127.0.0.1:${(proxy.address() as { port: number }).port}`;
  });
  afterAll(() => {
    for (const server of servers) server.close();
  });

  /** What is looked up, one result after the other, the last for ever. */
  function resolveTo(...results: string[][]): Resolve & { names: string[] } {
    const names: string[] = [];
    const resolve = async (name: string) => {
      names.push(name);
      return results[Math.min(names.length, results.length) - 1] ?? [];
    };
    return Object.assign(resolve, { names });
  }

  const ways: [string, boolean][] = [
    ["without a proxy", false],
    ["by a proxy", true],
  ];
  function fetchFile(resolve: Resolve, byProxy: boolean, changes: { path?: string; signal?: AbortSignal } = {}) {
    for (const site of Object.values(sites)) Object.assign(site, { heads: [], accepted: 0 });
    tunnels.length = 0;
    const { ca } = certificates as NonNullable<typeof certificates>;
    const get = createPublicGet({ resolve, isPublic, ca, proxyEnv: byProxy ? { HTTPS_PROXY: proxyUrl } : undefined });
    const { path = "/a.png?b=1", signal = new AbortController().signal } = changes;
    return downloadPublic(get, `https://${host}:${port}${path}`, signal, () => undefined);
  }
  const textOf = ({ bytes, mediaType }: Download) => [new TextDecoder().decode(bytes), mediaType];

  test("comes from the second address where nobody listens at the first", async () => {
    answer = answerOf("bytes", ["content-type: image/png"]);
    const { ca } = certificates as NonNullable<typeof certificates>;
    const get = createPublicGet({ resolve: async () => ["127.0.0.3", publicAddress], isPublic: () => true, ca });
    const file = await downloadPublic(
      get,
      `https://${host}:${port}/a.png`,
      new AbortController().signal,
      () => undefined,
    );
    expect(textOf(file)).toEqual(["bytes", "image/png"]);
  });

  describe.each(ways)("%s", (_, byProxy) => {
    beforeAll(() => {
      answer = answerOf("bytes", ["content-type: image/png"]);
    });

    test("comes from the address that was checked, and is verified for the name", async () => {
      const resolve = resolveTo([publicAddress]);
      expect(textOf(await fetchFile(resolve, byProxy))).toEqual(["bytes", "image/png"]);
      expect(resolve.names).toEqual([host]);
      const [head = ""] = sites[publicAddress]?.heads ?? [];
      expect(head).toStartWith("GET /a.png?b=1 HTTP/1.1\r\n");
      expect(head.toLowerCase()).toContain(`\r\nhost: ${host}:${port}\r\n`);
      expect(head).not.toMatch(/content-length|transfer-encoding|content-type|authorization/i);
      expect(tunnels).toEqual(byProxy ? [`${publicAddress}:${port}`] : []);
      await until(() => sites[publicAddress]?.open === 0);
    });

    test("that is public when it is checked and private afterwards reaches the public address", async () => {
      const resolve = resolveTo([publicAddress], [privateAddress]);
      expect(textOf(await fetchFile(resolve, byProxy))).toEqual(["bytes", "image/png"]);
      expect([resolve.names.length, sites[privateAddress]?.accepted]).toEqual([1, 0]);
      if (byProxy) expect(tunnels).toEqual([`${publicAddress}:${port}`]);
    });

    test.each([
      ["private when it is checked and public afterwards", [[privateAddress], [publicAddress]]],
      ["public and private at once", [[publicAddress, privateAddress]]],
      ["without an address", [[]]],
    ])("that is %s reaches nothing", async (_, results) => {
      const error = await rejectionOf(fetchFile(resolveTo(...results), byProxy));
      expect([error.code, error.message]).toEqual(["invalid_request", expect.stringContaining("not on the public")]);
      expect([sites[publicAddress]?.accepted, sites[privateAddress]?.accepted, tunnels]).toEqual([0, 0, []]);
    });

    test("that redirects is looked up and checked again", async () => {
      const resolve = resolveTo([publicAddress], [privateAddress]);
      const error = await rejectionOf(fetchFile(resolve, byProxy, { path: "/away" }));
      expect(error.message).toContain("not on the public internet");
      expect([resolve.names, sites[privateAddress]?.accepted]).toEqual([[host, host], 0]);
      await until(() => sites[publicAddress]?.open === 0);
    });

    test("whose certificate is for another name is refused", async () => {
      const { ca } = certificates as NonNullable<typeof certificates>;
      const proxyEnv = byProxy ? { HTTPS_PROXY: proxyUrl } : undefined;
      const get = createPublicGet({ resolve: async () => [publicAddress], isPublic, ca, proxyEnv });
      const before = sites[publicAddress]?.heads.length;
      const error = await rejectionOf(
        downloadPublic(get, `https://other.example:${port}/a.png`, new AbortController().signal, () => undefined),
      );
      expect(error.message).toContain("could not be reached");
      expect(sites[publicAddress]?.heads.length).toBe(before as number);
    });

    test("that is longer than its bound is read no further, and its connection closed", async () => {
      const length = downloadBytesMax + 1;
      answer = Buffer.concat([
        Buffer.from(`HTTP/1.1 200 OK\r\ncontent-length: ${length * 2}\r\n\r\n`),
        new Uint8Array(length),
      ]);
      expect((await rejectionOf(fetchFile(resolveTo([publicAddress]), byProxy))).message).toContain("larger than");
      await until(() => sites[publicAddress]?.open === 0);
    });

    test("that is aborted in the middle closes its connection", async () => {
      answer = "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello";
      const cut = new AbortController();
      const error = rejectionOf(fetchFile(resolveTo([publicAddress]), byProxy, { signal: cut.signal }));
      await until(() => sites[publicAddress]?.heads.length === 1);
      cut.abort();
      expect((await error).message).toContain("could not be reached");
      await until(() => sites[publicAddress]?.open === 0);
    });
  });
});
