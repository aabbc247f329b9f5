import { afterEach, describe, expect, test } from "bun:test";
import { createServer, type TLSSocket } from "node:tls";
import { openBunNetwork } from "../../../../src/kernel/upstream/bun-network.bun.ts";
import { ConnectionError, createHeaders } from "../../../../src/kernel/upstream/http-client.ts";
import { makeCertificates } from "../../../support/certificates.ts";
import { errorOf } from "../../../support/error-of.ts";
import { answerOf } from "../../../support/raw-server.ts";
import { openClient, requestText, requestTo } from "./requests.ts";

const certificates = makeCertificates();
if (certificates === undefined) console.log("TLS is not tested: there is no openssl command to make certificates with");

const toStop: (() => void)[] = [];
afterEach(() => {
  for (const stop of toStop.splice(0)) stop();
});

/** A server that speaks TLS and keeps what it saw. */
async function start(cert: string) {
  const seen = { texts: [] as string[], names: [] as unknown[], protocols: [] as unknown[] };
  const open = new Set<TLSSocket>();
  const server = createServer(
    { key: certificates?.key as string, cert, ALPNProtocols: ["h2", "http/1.1"] },
    (socket) => {
      open.add(socket);
      seen.names.push(socket.servername);
      seen.protocols.push(socket.alpnProtocol);
      socket.on("error", () => socket.destroy());
      socket.on("data", (bytes) => {
        seen.texts.push(bytes.toString());
        socket.write(answerOf("hello"));
      });
    },
  );
  server.on("tlsClientError", () => undefined);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  toStop.push(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  const { port } = server.address() as { port: number };
  return { seen, named: `https://localhost:${port}`, addressed: `https://127.0.0.1:${port}` };
}

describe.skipIf(certificates === undefined)("over TLS", () => {
  const { ca, cert, foreignCert, oldCert } = certificates ?? { ca: "", cert: "", foreignCert: "", oldCert: "" };
  const headers = createHeaders({ authorization: "Bearer secret" });

  test("a certificate of a known authority is accepted, the name said, HTTP/1.1 chosen, the connection kept", async () => {
    const { seen, named } = await start(cert);
    const { client } = openClient({ ca });
    expect([await requestText(client, named), await requestText(client, named)]).toEqual(["hello", "hello"]);
    expect(seen.names).toEqual(["localhost"]);
    expect(seen.protocols).toEqual(["http/1.1"]);
  });

  test("an address may stand in the certificate as well", async () => {
    const { seen, addressed } = await start(cert);
    expect(await requestText(openClient({ ca }).client, addressed)).toBe("hello");
    expect(seen.texts).toHaveLength(1);
  });

  test.each([
    ["of an unknown authority", cert, undefined],
    ["for another host", foreignCert, ca],
    ["that is over", oldCert, ca],
  ])("a certificate %s is refused before a key is sent", async (_, shown, known) => {
    const { seen, named, addressed } = await start(shown);
    const { client } = openClient(known === undefined ? undefined : { ca: known });
    for (const baseUrl of [named, addressed]) {
      const error = await errorOf(client.request(requestTo(baseUrl, { headers })));
      expect(error).toBeInstanceOf(ConnectionError);
      const { kind, message, wasSent } = error as ConnectionError;
      expect([kind, wasSent]).toEqual(["bad_response", false]);
      expect(message).toMatch(/^Cannot connect to the provider: certificate not accepted \([A-Z_]+\)$/);
    }
    expect(seen.texts).toEqual([]);
  });

  test("the gateway verifies certificates, whatever the environment says", async () => {
    const before = process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
    try {
      const { seen, named } = await start(cert);
      // Without the gateway's own settings the environment counts.
      expect((await fetch(named, { method: "POST", body: "{}" })).status).toBe(200);
      const { network, close } = openBunNetwork({});
      const error = await errorOf(network.client.request(requestTo(named, { headers })));
      expect(error.message).toContain("certificate not accepted");
      expect(seen.texts).toHaveLength(1);
      close();
    } finally {
      if (before === undefined) delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      else process.env.NODE_TLS_REJECT_UNAUTHORIZED = before;
    }
  });

  test("a server that does not speak it fails in one sentence", async () => {
    const plain = Bun.listen({
      hostname: "127.0.0.1",
      port: 0,
      socket: { data: (socket) => void socket.end("HTTP/1.1 400 Bad Request\r\n\r\n") },
    });
    toStop.push(() => plain.stop(true));
    const error = await errorOf(openClient().client.request(requestTo(`https://localhost:${plain.port}`)));
    expect(error.message).toBe("Cannot connect to the provider: the TLS handshake failed");
  });
});
